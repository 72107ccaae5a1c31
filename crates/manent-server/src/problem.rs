//! Error responses as RFC 9457 problem JSON, with a stable code for programs.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use manent::store::{Conflict, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a handler.
pub type ApiResult<T> = Result<T, Problem>;

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The problem type: a URN that ends with the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The problem type, for people.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Description of this occurrence.
    pub detail: String,
    /// A stable code for programs.
    pub code: String,
    /// Character offset in the search query at which the problem occurred, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// Seconds until a retry is worthwhile (`Retry-After`).
    #[serde(skip)]
    pub(crate) wait: u16,
}

impl Problem {
    /// Creates a problem.
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:manent:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Problem").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            at: None,
            wait: 1,
        }
    }

    /// Invalid request (400).
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", detail)
    }

    /// A defect of the server (500); the log has the details under the request id.
    pub fn internal() -> Self {
        let why = "internal server error; the server log has the details under this request id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", why)
    }

    /// Missing object (404).
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("no {what} {id}"))
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self).expect("texts and a number are JSON");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(self.wait));
        }
        // For the log, and for wires with another error shape.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if let StoreError::Internal(why) = &error {
            tracing::error!(why, "internal error");
            return Self::internal();
        }
        let status = match &error {
            StoreError::NotFound { .. } => StatusCode::NOT_FOUND,
            StoreError::Forbidden { .. } => StatusCode::FORBIDDEN,
            StoreError::Conflict(Conflict::Version { .. }) => StatusCode::PRECONDITION_FAILED,
            StoreError::Conflict(Conflict::Key) => StatusCode::UNPROCESSABLE_ENTITY,
            StoreError::Conflict(_) => StatusCode::CONFLICT,
            StoreError::Invalid(_) => StatusCode::BAD_REQUEST,
            StoreError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            StoreError::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
            StoreError::OutcomeUnknown | StoreError::Busy(_) | StoreError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            StoreError::Altered { .. }
            | StoreError::NewerSchema { .. }
            | StoreError::NotOurs { .. }
            | StoreError::UnsafeSqlite { .. }
            | StoreError::Internal(_)
            | StoreError::Engine { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if let StoreError::Engine { doing, source } = &error {
            tracing::error!(doing, %source, "the engine failed");
        }
        Self::new(status, error.code(), error.to_string())
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

impl From<manent::Error> for Problem {
    fn from(error: manent::Error) -> Self {
        match error {
            manent::Error::Store(error) => error.into(),
            manent::Error::Name(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string()),
            manent::Error::Query(ref problem) => {
                let at = Some(problem.at);
                Self { at, ..Self::new(StatusCode::BAD_REQUEST, error.code(), problem.to_string()) }
            }
            manent::Error::NothingToUndo | manent::Error::NothingToRedo => {
                Self::new(StatusCode::CONFLICT, error.code(), error.to_string())
            }
            manent::Error::Ambiguous { .. } => Self::new(StatusCode::CONFLICT, error.code(), error.to_string()),
            manent::Error::Unreadable { source: manent::formats::ReadError::Unrecognised { .. } } => {
                let known = manent::formats::known_formats();
                Self::invalid(format!("unknown format; known formats: {known}; `as` sets one"))
            }
            manent::Error::Unreadable { source: manent::formats::ReadError::Internal(why) }
            | manent::Error::Unwritable { source: manent::formats::WriteError::Internal(why) } => {
                tracing::error!(why, "internal error");
                Self::internal()
            }
            // The input is unusable; the reason is in the source and quotes only the input.
            manent::Error::Unreadable { ref source } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), with_causes(source))
            }
            manent::Error::Unwritable { ref source } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), with_causes(source))
            }
            manent::Error::File { ref source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                StoreError::DiskFull.into()
            }
            // Server paths are not shown to clients; the log has them.
            manent::Error::File { doing, ref path, ref source } => {
                tracing::error!(doing, path, %source, "a file failed");
                let why = format!("{doing} a file of the server failed; its log says which");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.code(), why)
            }
        }
    }
}
