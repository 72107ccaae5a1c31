//! Byte budget of bodies: JSON bodies are reserved as they arrive, and responses stay reserved until they are sent.
//! Large reads have a concurrency limit of their own.

use crate::app::App;
use crate::limits::concurrency::TenantShare;
use crate::middleware::context::RequestContext;
use crate::problem::Problem;
use crate::wire::native::extract::read_body;
use crate::wire::native::operation::Access;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Maximum body size of unauthenticated requests.
const UNAUTHENTICATED_BODY_MAX: usize = 4 << 10;

/// Runs a handler within the byte budget.
pub async fn body(State(app): State<App>, request: Request, next: Next) -> Response {
    let context = match RequestContext::of(&request) {
        Ok(context) => context,
        Err(problem) => return problem.into_response(),
    };
    let Some(rule) = context.rule else { return next.run(request).await };
    let tenant = context.tenant.get().copied();
    let share = if tenant.is_some() { app.share() } else { TenantShare::Half };
    let mut reservation = app.budget.begin(tenant, share);
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read && rule.takes_json {
        let limit = if rule.access == Access::Public { UNAUTHENTICATED_BODY_MAX } else { app.limits.body_bytes };
        let (parts, body) = request.into_parts();
        // The reservation is held until the handler has responded.
        return match read_body(body, limit, &mut reservation).await {
            Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
            Err(problem) => problem.into_response(),
        };
    }
    let response = match tenant.filter(|_| rule.is_large) {
        Some(tenant) => app.large_reads.run(tenant, next.run(request)).await,
        None => next.run(request).await,
    };
    // A streamed response is always small.
    let size = http_body::Body::size_hint(response.body()).exact().filter(|_| is_read);
    let Some(size) = size else { return response };
    if let Err(problem) = reservation.grow(usize::try_from(size).unwrap_or(usize::MAX)) {
        return problem.into_response();
    }
    let (parts, body) = response.into_parts();
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => Response::from_parts(parts, Body::from(reservation.attach(bytes))),
        Err(_) => Problem::internal().into_response(),
    }
}
