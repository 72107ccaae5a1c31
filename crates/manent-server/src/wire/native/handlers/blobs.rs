//! Blob endpoints: content-addressed bytes, stored once under their SHA-256.

use crate::app::App;
use crate::http::io_bridge::{self, BodyError};
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, CallerDatabase, WriteDatabase, in_path};
use crate::wire::native::operation::{Operation, group};
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use manent::model::KeyScope;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::File;
use tokio::runtime::Handle;

/// The memory that an upload takes while it is stored: a few chunks of 1 MiB in flight.
const UPLOAD_COST: usize = 4 << 20;

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::POST, "/blobs", "putBlob", put)
            .access(KeyScope::Append)
            .summary("Stores a blob under its SHA-256.")
            .library("put_blob")
            .library("put_blob_from")
            .body_bytes("application/octet-stream")
            .response::<StoredBlob>(201),
        Operation::new(Method::GET, "/blobs/{sha256}", "getBlob", get)
            .summary("Returns the bytes of a blob as a download.")
            .library("blob")
            .library("next_piece")
            .response_bytes("application/octet-stream"),
    ];
    group("Blobs", operations)
}

/// A stored blob.
#[derive(Debug, Serialize, JsonSchema)]
struct StoredBlob {
    /// SHA-256 of the bytes, the id of the blob.
    sha256: String,
}

async fn put(State(app): State<App>, request: Request) -> ApiResult<(StatusCode, axum::Json<StoredBlob>)> {
    let (mut parts, body) = request.into_parts();
    let WriteDatabase(database) = WriteDatabase::from_request_parts(&mut parts, &app).await?;
    let Caller(asker) = Caller::from_request_parts(&mut parts, &app).await?;
    let mut reservation = app.budget.begin(Some(asker.tenant), app.share());
    reservation.grow(UPLOAD_COST)?;
    let file = spooled(&app, body).await?;
    // Hashing and reading the file on a runtime thread would block every other request of that thread.
    let runtime = Handle::current();
    let storing = tokio::task::spawn_blocking(move || {
        let _reservation = reservation;
        runtime.block_on(database.put_blob_from(file))
    });
    let sha256 = storing.await.map_err(|_| Problem::internal())??;
    Ok((StatusCode::CREATED, axum::Json(StoredBlob { sha256 })))
}

/// Spools a body to an unnamed temporary file, which is removed when its handle is closed.
async fn spooled(app: &App, body: Body) -> ApiResult<File> {
    let limit = app.limits.blob_bytes;
    let too_large = || {
        let why = format!("the blob is larger than {limit} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why)
    };
    if http_body::Body::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    let mut reader = io_bridge::reader(body, limit);
    let folder = app.spool.clone();
    let writing = tokio::task::spawn_blocking(move || {
        let mut file = tempfile::tempfile_in(folder)?;
        std::io::copy(&mut reader, &mut file)?;
        Ok(file)
    });
    let file: std::io::Result<File> = writing.await.map_err(|_| Problem::internal())?;
    file.map_err(|source| match BodyError::of(&source) {
        // Nothing of it is stored, unlike an import that is cut off.
        Some(BodyError::TooLarge { .. }) => too_large(),
        Some(error) => error.into(),
        None => manent::Error::File { doing: "keeping", path: "an upload".to_owned(), source }.into(),
    })
}

async fn get(
    State(app): State<App>,
    CallerDatabase(database): CallerDatabase,
    request: Request,
) -> ApiResult<Response> {
    let (mut parts, _) = request.into_parts();
    let sha256 = in_path(&mut parts, &app, "sha256").await?;
    let mut reader = database.blob_reader(&sha256)?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable"),
        (HeaderName::from_static("content-security-policy"), "default-src 'none'; sandbox"),
    ];
    let first = reader.next_piece().await?.unwrap_or_default();
    let Some(second) = reader.next_piece().await? else { return Ok((headers, first).into_response()) };
    let begun = stream::iter([first, second].map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece))));
    // The response has begun: a stream from a damaged blob is aborted, so that a partial body is not taken for the
    // whole.
    let rest = stream::try_unfold(reader, |mut reader| async move {
        let next = reader.next_piece().await.map_err(|error| {
            tracing::error!(code = error.code(), "a blob could not be read to its end");
            std::io::Error::other(error)
        })?;
        Ok(next.map(|piece| (Bytes::from(piece), reader)))
    });
    Ok((headers, Body::from_stream(begun.chain(rest))).into_response())
}
