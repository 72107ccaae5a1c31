//! Blobs: pictures and files, kept once by their SHA-256.

use crate::app::App;
use crate::extract::{Here, Write, in_path, read_body};
use crate::operation::{Operation, group};
use crate::problem::Answer;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use manent::model::KeyScope;
use schemars::JsonSchema;
use serde::Serialize;

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::POST, "/blobs", "putBlob", put)
            .needs(KeyScope::Append)
            .says("Keeps bytes; the same bytes again are kept once.")
            .library("put_blob")
            .body_of("application/octet-stream")
            .answers::<Kept>(201),
        Operation::new(Method::GET, "/blobs/{sha256}", "getBlob", get)
            .says("Returns bytes, never to be shown as a page of this site.")
            .library("blob")
            .answers_with("application/octet-stream"),
    ];
    group("Blobs", operations)
}

/// Bytes that are kept.
#[derive(Debug, Serialize, JsonSchema)]
struct Kept {
    /// The name of the bytes.
    sha256: String,
}

async fn put(State(app): State<App>, request: Request) -> Answer<(StatusCode, axum::Json<Kept>)> {
    let (mut parts, body) = request.into_parts();
    let Write(database) = Write::from_request_parts(&mut parts, &app).await?;
    let bytes = read_body(body, app.limits.blob_bytes).await?;
    let sha256 = database.put_blob(&bytes).await?;
    Ok((StatusCode::CREATED, axum::Json(Kept { sha256 })))
}

async fn get(State(app): State<App>, Here(database): Here, request: Request) -> Answer<Response> {
    let (mut parts, _) = request.into_parts();
    let sha256 = in_path(&mut parts, &app, "sha256").await?;
    let bytes = database.blob(&sha256).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable"),
        (HeaderName::from_static("content-security-policy"), "default-src 'none'; sandbox"),
    ];
    Ok((headers, bytes).into_response())
}
