//! Concurrency limits: a share of the running requests for each tenant, and a fair queue between tenants.

use crate::app::App;
use crate::limits::concurrency::TenantShare;
use crate::middleware::context::RequestContext;
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Runs a request within the concurrency limits.
pub async fn concurrency(State(app): State<App>, request: Request, next: Next) -> Response {
    let context = match RequestContext::of(&request) {
        Ok(context) => context,
        Err(problem) => return problem.into_response(),
    };
    let tenant = context.tenant.get().copied();
    // Unauthenticated callers leave room for authenticated ones.
    let share = if tenant.is_some() { app.share() } else { TenantShare::Half };
    // Held until the handler has responded. Page assets and health checks read no body and wait for nothing, so they
    // need no permit.
    let permit = app.requests.acquire(tenant, share);
    if permit.is_none() && context.rule.is_some() {
        let why = "too many concurrent requests";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why).into_response();
    }
    match tenant.filter(|_| app.tenants.are_several()) {
        Some(tenant) => app.queue.run(tenant, next.run(request)).await,
        None => next.run(request).await,
    }
}
