//! The store of Manent: one trait, and two engines (SQLite and PostgreSQL) that implement it.
//!
//! [`Transaction`] is the only way to write; [`Store`] lists the few ways to read. The engines are in [`sqlite`] and
//! [`postgres`]. Contract tests over the trait define what an engine must do.

pub mod api;
pub mod authz;
mod runtime;
mod engine;
pub mod sqlite;
pub mod postgres;
pub mod system;

pub use api::annotations_cursor::AnnotationsCursor;
pub use api::clock::now;
pub use api::damage::{DamageLog, DamagedRecord};
pub use api::deletion_report::DeletionReport;
pub use api::error::{Conflict, Result, StoreError};
pub use api::journal_kind::JournalKind;
pub use api::list_cursor::{CursorProblem, ListCursor};
pub use api::maintenance::{BackupReport, DoctorReport, VerifyProblem, VerifyReport};
pub use api::permissions::Permissions;
pub use api::query::*;
pub use api::search::{
    CONTEXT_MAX, ContextMessage, CountMode, Coverage, Grouping, HITS_MAX, Hit, Include, IndexStatus, Search,
    SearchCursor, SearchCursorProblem, SearchOrder, SearchPage,
};
pub use api::store::{ImportLock, Store};
pub use api::transaction::*;
pub use authz::StoreView;
