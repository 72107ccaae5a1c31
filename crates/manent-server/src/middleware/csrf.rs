//! Protection against cross-site requests: origin, fetch metadata, and content types that a form cannot send.

use super::host::host_of;
use crate::middleware::header_text;
use crate::problem::{ApiResult, Problem};
use axum::extract::Request;
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Refuses a request that another site caused.
pub async fn same_origin(request: Request, next: Next) -> Response {
    match check_origin(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check_origin(request: &Request) -> ApiResult<()> {
    let headers = request.headers();
    let refused = || Problem::new(StatusCode::FORBIDDEN, "origin", "cross-origin request refused");
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        if origin.is_none() || origin != host_of(request) {
            return Err(refused());
        }
    }
    let cross_site = header_text(headers, HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let navigates = header_text(headers, HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
    // A link on another site may open a page, but nothing else.
    if cross_site && !(navigates && request.method() == Method::GET) {
        return Err(refused());
    }
    Ok(())
}

/// Refuses a body whose content type a cross-site form could send.
pub async fn content_type(request: Request, next: Next) -> Response {
    let has_body = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
    if has_body && !header_text(request.headers(), header::CONTENT_TYPE).is_some_and(is_accepted) {
        let why =
            "send application/json (blobs and files: application/octet-stream, our own lines: application/x-ndjson)";
        return Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type", why).into_response();
    }
    next.run(request).await
}

fn is_accepted(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["application/json", "application/octet-stream", "application/x-ndjson"]
        .iter()
        .any(|accepted| essence.eq_ignore_ascii_case(accepted))
}
