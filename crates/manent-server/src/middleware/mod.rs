//! Middleware before every handler, one file per job. [`apply`] defines the order.

pub(crate) mod context;
pub(crate) mod request_id;
pub(crate) mod security_headers;
pub(crate) mod log;
pub(crate) mod errors;
pub(crate) mod host;
pub(crate) mod csrf;
pub(crate) mod authenticate;
pub(crate) mod rate_limit;
pub(crate) mod authorize;
pub(crate) mod audit;
pub(crate) mod idempotency_key;
pub(crate) mod revocation;
pub(crate) mod concurrency;
pub(crate) mod timeout;
pub(crate) mod body;
pub(crate) mod idempotency;

use crate::app::App;
use crate::problem::Problem;
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use host::Hosts;
use std::sync::Arc;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

/// Wraps all routes; the first layer is the outermost.
pub(crate) fn apply(router: Router<App>, app: &App, hosts: Hosts) -> Router<App> {
    let outer = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), context::context))
        .layer(request_id::set())
        .layer(request_id::propagate())
        .layer(axum::middleware::map_response(security_headers::security_headers))
        .layer(from_fn_with_state(app.clone(), log::log))
        .layer(from_fn(errors::errors))
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(from_fn_with_state(Arc::new(hosts), host::host))
        .layer(from_fn(csrf::same_origin));
    let access = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), authenticate::authenticate))
        .layer(from_fn_with_state(app.clone(), rate_limit::rate_limit))
        .layer(from_fn_with_state(app.clone(), authorize::authorize))
        .layer(from_fn_with_state(app.clone(), audit::audit))
        .layer(from_fn(csrf::content_type))
        .layer(from_fn(idempotency_key::idempotency_key));
    let handling = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), revocation::revocation))
        .layer(from_fn_with_state(app.clone(), concurrency::concurrency))
        .layer(from_fn_with_state(app.clone(), timeout::timeout))
        .layer(from_fn_with_state(app.clone(), body::body))
        .layer(from_fn_with_state(app.clone(), idempotency::idempotency));
    router.layer(handling).layer(access).layer(outer)
}

/// Returns a header as text.
pub(crate) fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
