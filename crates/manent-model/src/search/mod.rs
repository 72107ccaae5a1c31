//! Full-text search, the part that needs no store: what can be found in a text, what the index holds of it, what a
//! person asks, and whether it is there.
//!
//! Read in this order: a text falls into [`units`]; the index holds their [`tokens`].

mod script;
mod fold;
mod word;
pub mod units;
pub mod tokens;

pub use fold::fold_name;
pub use tokens::{ANALYZER_VERSION, RESERVED, distinct_tokens, tokens};
pub use units::{Form, Unit, units};
