//! The store of Manent: one trait, and two engines (SQLite and PostgreSQL) that implement it.
//!
//! [`Transaction`] is the only way to write; [`Store`] lists the few ways to read. The engines are in [`sqlite`] and
//! [`postgres`]. Contract tests over the trait define what an engine must do.

pub mod error;
pub mod transaction;
mod journal_kind;
mod cursor_serde;
mod list_cursor;
mod attached_cursor;
pub mod query;
pub mod search;
pub mod maintenance;
mod deletion_report;
mod damage;
pub mod store;
pub mod system;
pub mod authz;
mod before_image;
mod engine;
pub mod postgres;
pub mod sqlite;

pub use attached_cursor::AttachedCursor;
pub use authz::{AccessCheck, AccessChecks, AuthorizedStore, PathOf, Permissions};
pub use damage::{DamageLog, DamagedRecord};
pub use deletion_report::DeletionReport;
pub use error::{Conflict, Result, StoreError};
pub use journal_kind::JournalKind;
pub use list_cursor::{CursorProblem, ListCursor};
pub use maintenance::{BackupReport, DoctorReport, VerifyProblem, VerifyReport};
pub use query::*;
pub use search::{
    CONTEXT_MAX, ContextMessage, CountMode, Coverage, Grouping, HITS_MAX, Hit, Include, IndexStatus, Search,
    SearchCursor, SearchCursorProblem, SearchOrder, SearchPage,
};
pub use store::{ImportLock, Store};
pub use transaction::*;
