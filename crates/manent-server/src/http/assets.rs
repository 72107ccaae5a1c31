//! Static assets of the web page, embedded at build time and compressed.

use crate::problem::Problem;
use crate::wire::native::BASE;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// An embedded asset.
struct Asset {
    path: &'static str,
    media_type: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

const NO_ASSETS: &str = "This program was built without its page. Build it with `make serve`.\n";

/// Serves an asset. All client-side routes serve the index.
pub async fn page(request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with(BASE) || path.starts_with("/api/") {
        return Problem::new(StatusCode::NOT_FOUND, "no_route", "there is no such route").into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return wrong_method().await;
    }
    let wanted = path.trim_start_matches('/');
    let found = ASSETS.iter().find(|asset| asset.path == wanted);
    let is_route = !wanted.contains('.') && !wanted.starts_with("assets/");
    match found.or_else(|| ASSETS.iter().find(|asset| is_route && asset.path == "index.html")) {
        Some(asset) => send(asset, request.headers()),
        None if is_route => (StatusCode::OK, NO_ASSETS).into_response(),
        None => Problem::new(StatusCode::NOT_FOUND, "no_route", "there is no such file").into_response(),
    }
}

/// Responds 405 to a method that the route does not have.
pub async fn wrong_method() -> Response {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this route does not know that method").into_response()
}

fn send(asset: &Asset, headers: &HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |coding: &str| accepted.split(',').any(|word| word.split(';').next().unwrap_or("").trim() == coding);
    let (bytes, coding) = match (asset.brotli, asset.gzip) {
        (Some(bytes), _) if accepts("br") => (bytes, Some("br")),
        (_, Some(bytes)) if accepts("gzip") => (bytes, Some("gzip")),
        _ => (asset.plain, None),
    };
    // Asset names contain a digest and can be cached forever; the index refers to them, so it must be revalidated.
    let caching = match asset.path.starts_with("assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}
