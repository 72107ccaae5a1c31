//! Authorization: checks the permission that an operation requires and opens the caller's database.

use super::timeout::within;
use crate::app::App;
use crate::auth::Authenticated;
use crate::auth::principal::{Credential, Principal};
use crate::middleware::context::RequestContext;
use crate::problem::ApiResult;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Authorizes a request and adds the [`Principal`] to it.
pub async fn authorize(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match check(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn check(app: &App, request: &mut Request) -> ApiResult<()> {
    let context = RequestContext::of(request)?;
    let Some(Authenticated { who, session }) = request.extensions_mut().remove::<Authenticated>() else {
        return Ok(());
    };
    who.authorize(context.access)?;
    let session = session.map(Arc::from);
    let principal = within(app.limits.request, principal(app, who, context.address)).await??;
    request.extensions_mut().insert(Principal { session, ..principal });
    Ok(())
}

/// Opens the store of the caller.
async fn principal(app: &App, who: Credential, address: Option<IpAddr>) -> ApiResult<Principal> {
    let (audit_subject, tenant) = (who.by(address), who.tenant());
    let database = match &who {
        Credential::Token => app.tenants.home().clone(),
        Credential::Key(key) => app.tenants.granted(key).await?,
    };
    Ok(Principal { credential: who, tenant, database, audit_subject, session: None })
}
