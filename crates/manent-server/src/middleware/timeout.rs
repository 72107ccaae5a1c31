//! Request timeout. Its length depends on the operation and on the caller, so it is not a fixed tower layer.

use crate::app::App;
use crate::middleware::context::RequestContext;
use crate::problem::{ApiResult, Problem};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;

/// Timeout of unauthenticated requests.
const UNAUTHENTICATED: Duration = Duration::from_secs(10);

/// Limits the time until a handler responds.
pub async fn timeout(State(app): State<App>, request: Request, next: Next) -> Response {
    let context = match RequestContext::of(&request) {
        Ok(context) => context,
        Err(problem) => return problem.into_response(),
    };
    let limit = if context.rule.is_some_and(|rule| rule.has_no_timeout) {
        Duration::MAX
    } else if context.tenant.get().is_some() {
        app.limits.request
    } else {
        app.limits.request.min(UNAUTHENTICATED)
    };
    within(limit, next.run(request)).await.unwrap_or_else(IntoResponse::into_response)
}

/// Runs a step of a request with a time limit.
pub(super) async fn within<T>(limit: Duration, step: impl Future<Output = T>) -> ApiResult<T> {
    let timed_out = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "time_out", "the request took too long");
    tokio::time::timeout(limit, step).await.map_err(timed_out)
}
