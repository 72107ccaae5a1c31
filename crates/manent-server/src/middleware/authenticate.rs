//! Authentication: resolves the credential of a request.

use crate::app::App;
use crate::auth::Authenticated;
use crate::middleware::context::RequestContext;
use crate::problem::ApiResult;
use crate::wire::native::operation::Access;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Authenticates a request and adds [`Authenticated`] to it; routes without authentication pass.
pub async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match check(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn check(app: &App, request: &mut Request) -> ApiResult<()> {
    let context = RequestContext::of(request)?;
    if context.access == Access::Public {
        return Ok(());
    }
    let authenticated: Authenticated = match app.auth.authenticate(context.wire, &app.tenants, request.headers()) {
        Ok(authenticated) => authenticated,
        Err(error) => return Err(super::audit::refused(app, error, context.address).await),
    };
    let _ = context.tenant.set(authenticated.who.tenant());
    request.extensions_mut().insert(authenticated);
    Ok(())
}
