//! The public interface: the [`store::Store`] trait, [`transaction`]s, queries, results and errors.

pub mod error;
pub mod transaction;
pub mod permissions;
pub(crate) mod journal_kind;
pub mod query;
pub(crate) mod clock;
pub mod search;
pub(crate) mod cursor_serde;
pub(crate) mod list_cursor;
pub(crate) mod annotations_cursor;
pub mod maintenance;
pub(crate) mod damage;
pub(crate) mod deletion_report;
pub mod store;
