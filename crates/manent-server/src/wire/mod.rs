//! Wires: the HTTP APIs that the server speaks. Each has its own path prefix, credentials and error shape, and they are
//! served by the same middleware.

pub(crate) mod native;

use crate::app::App;
use crate::problem::Problem;
use crate::wire::native::operation::{Operation, Rules};
use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;

/// An HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Path prefix of its operations.
    pub prefix: &'static str,
    /// Reads the token or API key of a request.
    pub secret: fn(&HeaderMap) -> PresentedSecret<'_>,
    /// Whether browser sessions are accepted in place of a secret.
    pub has_sessions: bool,
    /// Renders an error response.
    pub error: fn(&Problem) -> Response,
}

/// The secret that a request presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresentedSecret<'a> {
    /// No credentials header.
    Missing,
    /// A credentials header of another scheme.
    Malformed,
    /// A token or an API key, not yet verified.
    Secret(&'a str),
}

/// A wire and its operations, as they are served.
pub struct Mount {
    pub wire: &'static Wire,
    pub operations: Vec<Operation>,
}

impl Mount {
    /// Builds the router of its operations, below the prefix.
    pub fn router(self) -> Router<App> {
        let Self { wire, operations } = self;
        let routes = operations
            .into_iter()
            .fold(Router::new(), |router, operation| router.route(operation.path, operation.handler));
        Router::new().nest(wire.prefix, routes)
    }
}

/// Derives the rules of all routes.
pub fn rules(mounts: &[Mount]) -> Rules {
    mounts.iter().fold(Rules::default(), |rules, mount| rules.with(mount.wire, &mount.operations))
}
