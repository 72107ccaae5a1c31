//! HTTP server of Manent: the native API, its OpenAPI description, and the web page. Handlers parse, call one method,
//! respond.

mod problem;
mod options;
mod app;
mod secret;
mod rate;
mod concurrency;
mod budget;
mod principal;
mod request_limits;
mod fair_queue;
mod metrics;
mod auth;
mod extract;
mod guard;
mod idempotency;
mod io_bridge;
mod dto;
mod variants;
mod operation;
mod examples;
mod api;
mod api_docs;
mod assets;
mod connections;
mod serve;

pub use api::operations;
pub use auth::token;
pub use operation::{Access, BASE, Operation, description};
pub use options::{Limits, ServeOptions};
pub use rate::Rate;
pub use secret::{Secret, make_private_folder, write_private};
pub use serve::{Server, StartProblem};
