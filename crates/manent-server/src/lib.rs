//! HTTP server of Manent: the native API, its OpenAPI description, and the web page. Handlers parse, call one method,
//! respond.

mod problem;
mod options;
mod app;
mod secret;
mod rates;
mod places;
mod budget;
mod principal;
mod witness;
mod lines;
mod metrics;
mod auth;
mod extract;
mod guard;
mod idempotency;
mod pipe;
mod view;
mod variants;
mod operation;
mod examples;
mod api;
mod reference;
mod pages;
mod connections;
mod serve;

pub use api::operations;
pub use auth::token;
pub use operation::{BASE, Need, Operation, description};
pub use options::{Limits, ServeOptions};
pub use rates::Rate;
pub use secret::{Secret, make_private_folder, write_private};
pub use serve::{Server, StartProblem};
