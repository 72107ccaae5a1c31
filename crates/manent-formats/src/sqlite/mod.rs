//! SQLite files of other programs: opened in memory as something hostile, and made anew.
//!
//! No file of another program is ever opened in place. Its bytes are read, a write-ahead log beside them is taken in by
//! ourselves, and SQLite sees the result as a database in memory that it may not change.

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

/// Writes a name as SQLite reads it, whatever stands in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
