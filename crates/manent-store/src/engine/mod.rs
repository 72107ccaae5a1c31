//! The engine-independent part of the store: applies changes to rows and answers reads from rows.
//!
//! Everything here runs on [`connection`], which is a SQLite file or a PostgreSQL server. What differs between those
//! (opening, locking, committing, recovering, backups) is in the folders of the engines.
//!
//! Join tables on plain columns, not on expressions over another table's columns: under row-level security PostgreSQL
//! uses no index for those. Compute such a number first, in a part of the statement that is evaluated by itself: a
//! `materialized` CTE, a subquery with a limit, or a scalar subquery. In reading order:

pub(crate) mod cell;
pub(crate) mod connection;
pub(crate) mod codes;
pub(crate) mod seal;
pub(crate) mod row_mac;
pub(crate) mod raw;
pub(crate) mod facts;
pub(crate) mod fault;
pub(crate) mod recent;
pub(crate) mod cache;
pub(crate) mod prepare;
pub(crate) mod participant;
pub(crate) mod writer;
pub(crate) mod within;
pub(crate) mod document_name;
pub(crate) mod tx;
pub(crate) mod apply;
pub(crate) mod steps;
pub(crate) mod ahead;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod statistics;
pub(crate) mod verify;
pub(crate) mod turns;
pub(crate) mod queue;
pub(crate) mod answers;
pub(crate) mod known;
pub(crate) mod readers;
pub(crate) mod store;
pub(crate) mod system;
pub(crate) mod view;
