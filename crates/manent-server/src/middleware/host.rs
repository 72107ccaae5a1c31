//! `Host` check: protects a server on loopback against DNS rebinding.

use crate::middleware::header_text;
use crate::problem::{ApiResult, Problem};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Allowed `Host` names.
#[derive(Debug, Clone)]
pub struct Hosts {
    names: Vec<String>,
    port: u16,
}

impl Hosts {
    /// Allows loopback names and the given additional ones.
    pub fn new(more: &[String], port: u16) -> Self {
        let loopback = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        let names = loopback.into_iter().chain(more.iter().map(|name| name.to_ascii_lowercase())).collect();
        Self { names, port }
    }

    fn allows(&self, authority: &str) -> bool {
        let Some(authority) = authority.parse::<Authority>().ok().filter(|_| !authority.contains('@')) else {
            return false;
        };
        let known = self.names.iter().any(|name| name.eq_ignore_ascii_case(authority.host()));
        // An allowed name may be served by a proxy on a port of its own.
        let own_port = authority.port_u16().is_none_or(|port| port == self.port);
        known && (own_port || !is_loopback(authority.host()))
    }
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// Returns the host that a request names.
pub(super) fn host_of(request: &Request) -> Option<&str> {
    request.uri().authority().map(Authority::as_str).or_else(|| header_text(request.headers(), header::HOST))
}

/// Refuses a request to a host name that is not allowed.
pub async fn host(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    match check(&hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(hosts: &Hosts, request: &Request) -> ApiResult<()> {
    // With several `Host` headers, a proxy may have checked a different one.
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Err(Problem::invalid("more than one `Host` header; send exactly one"));
    }
    if host_of(request).is_some_and(|host| hosts.allows(host)) {
        return Ok(());
    }
    let why = "`Host` header not allowed; add it with --allow-host";
    Err(Problem::new(StatusCode::FORBIDDEN, "host", why))
}
