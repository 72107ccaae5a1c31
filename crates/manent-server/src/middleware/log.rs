//! Request log and metrics. Successful requests are logged at debug level; `MANENT_LOG=manent_server=debug` shows them.

use crate::app::App;
use crate::middleware::context::RequestContext;
use crate::middleware::header_text;
use crate::middleware::request_id::REQUEST_ID;
use crate::problem::Problem;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Instant;

/// Logs and counts a request.
pub async fn log(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let context = match RequestContext::of(&request) {
        Ok(context) => context,
        Err(problem) => return problem.into_response(),
    };
    let method = request.method().clone();
    let id = header_text(request.headers(), REQUEST_ID).unwrap_or("-").to_owned();
    let response = next.run(request).await;
    let (status, took) = (response.status().as_u16(), started.elapsed());
    if let Some(tenant) = context.tenant.get() {
        app.metrics.count(*tenant, status, took);
    }
    let path = context.route.as_ref().map_or("-", MatchedPath::as_str);
    let milliseconds = took.as_millis() as u64;
    // The code only: the detail may quote the request.
    let code = response.extensions().get::<Problem>().map(|problem| problem.code.as_str());
    match status {
        500.. => tracing::error!(request = id, %method, path, status, code, milliseconds, "answered"),
        400.. => tracing::info!(request = id, %method, path, status, code, milliseconds, "answered"),
        _ => tracing::debug!(request = id, %method, path, status, code, milliseconds, "answered"),
    }
    response
}
