//! Our own format: one JSON value a line, everything a store holds, without loss.
//!
//! A file begins with a `manent` line and ends with an `end` line that counts the others, so that a cut file is noticed.
//! Conversations come in the order they were made, each whole: its branches with their messages, then what is attached.
//! Versions, cursors and addresses are the store's own business and are not written; the order of lines says the same.

mod record;
mod line;
mod known;
mod group;
mod blob;
mod export;
mod import;
mod branch;

pub(crate) use export::or_damaged;
pub use export::{ExportSelection, LinesReport};
pub use import::{ImportProblem, ImportReport};
