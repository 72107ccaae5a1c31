//! The context of a request, which the other middleware reads: its route, its rule and the address of the client.

use crate::app::App;
use crate::http::connections::Peer;
use crate::middleware::request_id::REQUEST_ID;
use crate::problem::Problem;
use crate::wire::Wire;
use crate::wire::native::NATIVE;
use crate::wire::native::operation::{Access, Rule};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use manent::model::TenantId;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// The context of a request.
#[derive(Debug, Clone)]
pub struct RequestContext {
    /// The route pattern. Never the path itself in a log: it may contain user content.
    pub route: Option<MatchedPath>,
    /// `None` for routes that are not operations.
    pub rule: Option<Rule>,
    /// The API that the path belongs to.
    pub wire: &'static Wire,
    /// Required authorization.
    pub access: Access,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// The tenant of the caller, once authenticated.
    pub tenant: Arc<OnceLock<TenantId>>,
}

impl RequestContext {
    /// Returns the context of a request; every request has one.
    pub fn of(request: &Request) -> Result<Self, Problem> {
        request.extensions().get::<Self>().cloned().ok_or_else(Problem::internal)
    }
}

/// Adds the context to a request.
pub async fn context(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let path = route.as_ref().map_or("", MatchedPath::as_str);
    let rule = app.rules.get(request.method(), path);
    // Unknown routes require authentication too, so that unauthenticated callers cannot probe for routes.
    let access = match rule {
        Some(rule) => rule.access,
        None if request.uri().path().starts_with(NATIVE.prefix) => Access::Authenticated,
        None => Access::Public,
    };
    let wire = rule.map_or(&NATIVE, |rule| rule.wire);
    // An id of the client would reach the log.
    request.headers_mut().remove(REQUEST_ID);
    let address = request.extensions().get::<Peer>().map(|peer| peer.0);
    request.extensions_mut().insert(RequestContext { route, rule, wire, access, address, tenant: Arc::default() });
    next.run(request).await
}
