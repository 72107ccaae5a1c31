//! The engine-independent part of the store: applies changes to rows and answers reads from rows.
//!
//! Everything here runs on [`connection`], which is a SQLite file or a PostgreSQL server. What differs between those
//! (opening, locking, committing, recovering, backups) is in the folders of the engines.
//!
//! Join tables on plain columns, not on expressions over another table's columns: under row-level security PostgreSQL
//! uses no index for those. Compute such a number first, in a part of the statement that is evaluated by itself: a
//! `materialized` CTE, a subquery with a limit, or a scalar subquery. In reading order:

pub(crate) mod value;
pub(crate) mod connection;
pub(crate) mod disk_codes;
pub(crate) mod body_mac;
pub(crate) mod row_mac;
pub(crate) mod source_record;
pub(crate) mod message_header;
pub(crate) mod tx_error;
pub(crate) mod append_cache;
pub(crate) mod row_cache;
pub(crate) mod prepare;
pub(crate) mod participants;
pub(crate) mod backfill_authors;
pub(crate) mod access_filter;
pub(crate) mod document_name;
pub(crate) mod tx;
pub(crate) mod apply;
pub(crate) mod execute;
pub(crate) mod prefetch_plan;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod statistics;
pub(crate) mod verify;
pub(crate) mod scheduler;
pub(crate) mod commit_queue;
pub(crate) mod reply_dispatcher;
pub(crate) mod position_watch;
pub(crate) mod read_queue;
pub(crate) mod store;
pub(crate) mod system;
pub(crate) mod filtered_store;
