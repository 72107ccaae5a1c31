//! Manent's own lossless format: JSON lines of everything a store holds.
//!
//! A file begins with a `manent` line and ends with an `end` line that counts the others, so that truncation is
//! detected. Conversations are in order of creation, each complete: its branches with their messages, then what is
//! attached. Versions, cursors and addresses are internal to a store and not written; the order of lines implies them.

mod record;
mod line;
mod existing;
mod group;
mod blob;
mod export;
mod import;
mod branch;

pub(crate) use export::or_damaged;
pub use export::{ExportSelection, LinesReport};
pub use import::{ImportProblem, JsonlImportReport};
