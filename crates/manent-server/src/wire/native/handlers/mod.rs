//! The native API: one handler per library operation. A handler parses, calls one method, responds.

mod conversations;
mod messages;
mod branches;
mod streams;
mod annotations;
mod runs;
mod projects;
mod library;
mod blobs;
mod journal;
mod search;
mod jsonl;
mod import_export;
mod maintenance;
mod tenants;
mod users;
mod keys;
mod audit;
mod session;

use crate::problem::{ApiResult, Problem};
use crate::wire::native::operation::Operation;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use manent::Conversation;
use manent::store::PAGE_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns all operations, in the order of the reference page.
pub fn operations() -> Vec<Operation> {
    [
        conversations::operations(),
        messages::operations(),
        branches::operations(),
        streams::operations(),
        annotations::operations(),
        runs::operations(),
        projects::operations(),
        library::operations(),
        blobs::operations(),
        journal::operations(),
        search::operations(),
        jsonl::operations(),
        import_export::operations(),
        maintenance::operations(),
        tenants::operations(),
        users::operations(),
        keys::operations(),
        audit::operations(),
        session::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A conversation response with the ETag that `If-Match` expects.
struct Tagged(Conversation);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let tag = HeaderValue::from_str(&format!("\"{}\"", self.0.version)).expect("digits between quotation marks");
        ([(header::ETAG, tag)], axum::Json(self.0)).into_response()
    }
}

/// An empty response object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Default page size.
const PAGE: u32 = 50;

fn limit(given: Option<u32>) -> ApiResult<u32> {
    match given.unwrap_or(PAGE) {
        limit if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        _ => Err(Problem::invalid(format!("limit: 1 to {PAGE_MAX}"))),
    }
}
