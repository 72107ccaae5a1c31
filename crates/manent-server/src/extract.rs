//! What handlers read from a request. Whatever does not fit is a problem that says what and where.

use crate::app::App;
use crate::budget::Reservation;
use crate::guard::Key;
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
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

    async fn from_request(request: Request, _: &App) -> Answer<Self> {
        // The guard has read it within its limit and within the byte budget.
        let bytes = request.into_body().collect().await.map_err(|_| ended_early())?.to_bytes();
        // A list would be read as the members of an object in their order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", "the body is an object"));
        }
        read_json(&bytes).map(Self)
    }
}

/// Reads JSON and says where it does not fit.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Answer<T> {
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

/// How much memory a JSON body takes while its request is worked on: its text, what is read from it, and what is stored.
const BODY_COST: usize = 4;

/// Reads a body up to a limit, and reserves the memory that it takes as it arrives. What says beforehand that it is larger
/// is refused unread.
pub(crate) async fn read_body(mut body: Body, limit: usize, reservation: &mut Reservation) -> Answer<Bytes> {
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

/// Reads the parameters after the question mark.
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        let query = Query::try_from_uri(&parts.uri);
        query.map(|Query(asked)| Self(asked)).map_err(|error| Problem::invalid(error.body_text()))
    }
}

/// An id in the path, by the name it has there. An id of another kind names nothing.
pub struct Id<T>(pub T);

/// The name that an id has in paths.
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

impl<T: InPath> FromRequestParts<App> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        let text = in_path(parts, app, T::NAME).await?;
        text.parse().map(Self).map_err(|_| Problem::not_found(T::NAME, text))
    }
}

/// A word in the path.
pub async fn in_path(parts: &mut Parts, app: &App, name: &'static str) -> Answer<String> {
    let found = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
    let Path(mut found) = found.map_err(|_| Problem::invalid("the path is not text"))?;
    found.remove(name).ok_or_else(|| Problem::not_found(name, ""))
}

/// A name in the path.
pub struct Word(pub String);

impl FromRequestParts<App> for Word {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        in_path(parts, app, "name").await.map(Self)
    }
}

/// The id of a user in the path.
pub struct UserName(pub String);

impl FromRequestParts<App> for UserName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        in_path(parts, app, "user").await.map(Self)
    }
}

/// The kind of a document in the path.
pub struct Kind(pub String);

impl FromRequestParts<App> for Kind {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        in_path(parts, app, "kind").await.map(Self)
    }
}

/// The database of whoever asks, as far as they reach. There is no other way to one.
pub struct Here(pub Database);

impl FromRequestParts<App> for Here {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        principal(parts).map(|principal| Self(principal.database.clone()))
    }
}

/// Whoever asks.
pub struct Asker(pub Principal);

impl FromRequestParts<App> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Answer<Self> {
        principal(parts).cloned().map(Self)
    }
}

fn principal(parts: &Parts) -> Answer<&Principal> {
    // A route that needs nobody to be known has no business with anybody's store.
    let unknown = || Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token, a key or a session is needed");
    parts.extensions.get::<Principal>().ok_or_else(unknown)
}

/// The database, for a change: with the key of the request and the version that the caller has read.
pub struct Write(pub Database);

impl FromRequestParts<App> for Write {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Answer<Self> {
        let own = principal(parts)?.database.clone();
        let mut database = match parts.extensions.get::<Key>() {
            Some(key) => own.once(&key.text).await?,
            None => own,
        };
        if let Some(version) = expected_version(parts)? {
            let Id(conversation) = Id::<ConversationId>::from_request_parts(parts, app).await?;
            database = database.expecting(Expect::Version { conversation, version });
        }
        Ok(Self(database))
    }
}

/// Reads `If-Match`. `*` asks for nothing: an operation on what does not exist fails anyway.
fn expected_version(parts: &Parts) -> Answer<Option<i64>> {
    let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).and_then(|text| text.parse().ok());
    version.map(Some).ok_or_else(|| Problem::invalid("If-Match is the ETag of a conversation, such as \"3\""))
}
