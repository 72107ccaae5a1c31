//! Axum extractors. Input that does not match becomes a problem that names the field and the reason.

use crate::app::App;
use crate::auth::principal::Principal;
use crate::limits::budget::Reservation;
use crate::middleware::idempotency_key::IdempotencyKey;
use crate::problem::{ApiResult, Problem};
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use manent::store::Expect;
use manent::{ConversationId, Database};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::str::FromStr;

/// A JSON body.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &App) -> ApiResult<Self> {
        // Middleware has already read it, within the size limit and the byte budget.
        let bytes = request.into_body().collect().await.map_err(|_| ended_early())?.to_bytes();
        // Serde would read a list as the fields of an object in order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_body",
                "the request body must be a JSON object",
            ));
        }
        read_json(&bytes).map(Self)
    }
}

/// Parses JSON; the error names the path of the field that does not match.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let (path, cause) = (error.path().to_string(), error.into_inner());
        let unreadable = cause.is_syntax() || cause.is_eof();
        match unreadable {
            true => Problem::new(StatusCode::BAD_REQUEST, "malformed_json", cause.to_string()),
            false => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", format!("{path}: {cause}")),
        }
    })?;
    deserializer.end().map_err(|error| Problem::new(StatusCode::BAD_REQUEST, "malformed_json", error.to_string()))?;
    Ok(value)
}

/// Memory factor of a JSON body while its request is processed: the text, the parsed value, and what is stored.
const BODY_COST: usize = 4;

/// Reads a body up to a limit and reserves its memory as it arrives. A larger `Content-Length` is refused without
/// reading.
pub(crate) async fn read_body(mut body: Body, limit: usize, reservation: &mut Reservation) -> ApiResult<Bytes> {
    let too_large = || {
        let why = format!("the body is larger than {limit} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why)
    };
    if http_body::Body::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| ended_early())?.into_data() else { continue };
        if bytes.len() + piece.len() > limit {
            return Err(too_large());
        }
        reservation.grow(piece.len() * BODY_COST)?;
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

fn ended_early() -> Problem {
    Problem::invalid("the body ended early")
}

/// Query parameters.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> ApiResult<Self> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        query
            .map(|axum::extract::Query(parameters)| Self(parameters))
            .map_err(|error| Problem::invalid(error.body_text()))
    }
}

/// An id path parameter. An id of the wrong type is not found.
pub struct PathId<T>(pub T);

/// The name of an id's path parameter.
pub trait InPath: FromStr {
    /// The name between the braces.
    const NAME: &'static str;
}

macro_rules! in_path {
    ($($id:ty = $name:literal;)*) => {$(
        impl InPath for $id {
            const NAME: &'static str = $name;
        }
    )*};
}

in_path! {
    ConversationId = "conversation";
    manent::MessageId = "message";
    manent::model::BranchId = "branch";
    manent::model::FoldId = "fold";
    manent::model::NoteId = "note";
    manent::model::MemoryId = "memory";
    manent::model::ProjectId = "project";
    manent::model::SourceId = "source";
    manent::model::TenantId = "tenant";
    manent::model::KeyId = "key";
}

impl<T: InPath> FromRequestParts<App> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let text = in_path(parts, app, T::NAME).await?;
        text.parse().map(Self).map_err(|_| Problem::not_found(T::NAME, text))
    }
}

/// Reads a path parameter.
pub async fn in_path(parts: &mut Parts, app: &App, name: &'static str) -> ApiResult<String> {
    let found = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
    let Path(mut found) = found.map_err(|_| Problem::invalid("the path is not valid UTF-8"))?;
    found.remove(name).ok_or_else(|| Problem::not_found(name, ""))
}

/// A name path parameter.
pub struct PathName(pub String);

impl FromRequestParts<App> for PathName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        in_path(parts, app, "name").await.map(Self)
    }
}

/// A user id path parameter.
pub struct PathUser(pub String);

impl FromRequestParts<App> for PathUser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        in_path(parts, app, "user").await.map(Self)
    }
}

/// A document kind path parameter.
pub struct PathKind(pub String);

impl FromRequestParts<App> for PathKind {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        in_path(parts, app, "kind").await.map(Self)
    }
}

/// The caller's database, limited to the caller's access scope. Handlers get a database only through this extractor.
pub struct CallerDatabase(pub Database);

impl FromRequestParts<App> for CallerDatabase {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> ApiResult<Self> {
        principal(parts).map(|principal| Self(principal.database.clone()))
    }
}

/// The authenticated caller.
pub struct Caller(pub Principal);

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> ApiResult<Self> {
        principal(parts).cloned().map(Self)
    }
}

fn principal(parts: &Parts) -> ApiResult<&Principal> {
    // A route without authentication must not access any store.
    let unknown = || {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "authentication required: send the server token or an API key",
        )
    };
    parts.extensions.get::<Principal>().ok_or_else(unknown)
}

/// The database for a write: carries the idempotency key of the request and the expected version.
pub struct WriteDatabase(pub Database);

impl FromRequestParts<App> for WriteDatabase {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let own = principal(parts)?.database.clone();
        let mut database = match parts.extensions.get::<IdempotencyKey>() {
            Some(key) => own.idempotent(&key.text).await?,
            None => own,
        };
        if let Some(version) = expected_version(parts)? {
            let PathId(conversation) = PathId::<ConversationId>::from_request_parts(parts, app).await?;
            database = database.with_precondition(Expect::Version { conversation, version });
        }
        Ok(Self(database))
    }
}

/// Parses `If-Match`. `*` adds no condition: operations on missing objects fail anyway.
fn expected_version(parts: &Parts) -> ApiResult<Option<i64>> {
    let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).and_then(|text| text.parse().ok());
    version.map(Some).ok_or_else(|| Problem::invalid("If-Match is the ETag of a conversation, such as \"3\""))
}
