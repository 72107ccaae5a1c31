//! SQLite files of other programs: opened in memory as untrusted input, and created anew.
//!
//! A file of another program is never opened in place. Its bytes are read, its write-ahead log is applied by our own
//! code, and SQLite sees the result as a read-only in-memory database.

mod cell;
mod wal;
mod schema;
mod record;
mod open;
mod make;

pub(crate) use cell::{Cell, Row};
pub(crate) use make::Made;
pub(crate) use open::{Opened, candidates, candidates_below};
pub(crate) use record::Record;
pub(crate) use schema::{Pragmas, Schema, Statement, Table};
pub(crate) use wal::Applied;

/// Quotes an identifier for SQLite.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
