//! All routes of the server: the APIs, their documentation, health checks, metrics and the page.

use crate::app::App;
use crate::http::assets;
use crate::middleware::host::Hosts;
use crate::wire::Mount;
use crate::wire::native::{BASE, api_docs};
use crate::{metrics, middleware};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Path of the metrics endpoint.
pub const METRICS: &str = "/metrics";

/// Builds the router.
pub fn router(mounts: impl IntoIterator<Item = Mount>, app: &App, hosts: Hosts) -> Router {
    let apis = mounts.into_iter().fold(Router::new(), |router, mount| router.merge(mount.router()));
    let routes = apis
        .route(&format!("{BASE}/openapi.json"), get(openapi))
        .route("/docs/api", get(reference_page))
        .route("/docs/api.css", get(reference_style))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route(METRICS, get(metrics::metrics))
        .fallback(assets::page)
        .method_not_allowed_fallback(assets::wrong_method);
    middleware::apply(routes, app, hosts).with_state(app.clone())
}

async fn openapi(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.description.to_string()).into_response()
}

async fn reference_page(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], app.reference.to_string()).into_response()
}

async fn reference_style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], api_docs::STYLE).into_response()
}

/// Readiness check: succeeds if the store responds.
async fn ready(State(app): State<App>) -> Response {
    match app.tenants.home().store().conversation_ids(None, 1).await {
        Ok(_) => "ready\n".into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response(),
    }
}
