//! The native API: JSON over HTTP with RFC 9457 errors, described by OpenAPI.

pub(crate) mod operation;
pub(crate) mod extract;
pub(crate) mod dto;
pub(crate) mod events;
pub(crate) mod handlers;
pub(crate) mod openapi;
pub(crate) mod variants;
pub(crate) mod examples;
pub(crate) mod api_docs;

use crate::wire::{PresentedSecret, Wire};
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;

/// Base path of the API.
pub const BASE: &str = "/api/v1";

/// The native wire.
pub static NATIVE: Wire =
    Wire { prefix: BASE, secret: bearer, has_sessions: true, error: |problem| problem.clone().into_response() };

/// Reads `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> PresentedSecret<'_> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return PresentedSecret::Missing };
    match value.to_str().ok().and_then(|text| text.split_once(' ')) {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => PresentedSecret::Secret(secret.trim()),
        _ => PresentedSecret::Malformed,
    }
}
