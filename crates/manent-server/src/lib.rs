//! HTTP server of Manent: the native API, its OpenAPI description, and the web page. Handlers parse, call one method,
//! respond.

mod problem;
mod options;
mod auth;
mod limits;
mod middleware;
mod wire;
mod http;
mod metrics;
mod app;
mod serve;

pub use auth::secret::{Secret, write_private};
pub use auth::token;
pub use limits::rate::Rate;
pub use options::{Limits, ServeOptions};
pub use serve::{Server, StartProblem};
pub use wire::native::BASE;
pub use wire::native::handlers::operations;
pub use wire::native::openapi::description;
pub use wire::native::operation::{Access, Operation};
