//! The engine-independent part of the store: applies changes to rows and answers reads from rows.
//!
//! Everything here runs on [`sql::connection`], which is a SQLite file or a PostgreSQL server. What differs between those
//! (opening, locking, committing, recovering, backups) is in the folders of the engines.
//!
//! Join tables on plain columns, not on expressions over another table's columns: under row-level security PostgreSQL
//! uses no index for those. Compute such a number first, in a part of the statement that is evaluated by itself: a
//! `materialized` CTE, a subquery with a limit, or a scalar subquery. In reading order:

pub(crate) mod sql;
pub(crate) mod codec;
pub(crate) mod commit;
pub(crate) mod apply;
pub(crate) mod erase;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod statistics;
pub(crate) mod verify;
pub(crate) mod access;
pub(crate) mod interface;
