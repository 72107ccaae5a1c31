//! The store of Manent: one trait, and two engines (SQLite and PostgreSQL) that implement it.
//!
//! [`Transaction`] is the only way to write; [`Store`] lists the few ways to read. The engines are in [`sqlite`] and
//! [`postgres`]. Contract tests over the trait define what an engine must do.

pub mod error;
pub mod transaction;
mod journal_kind;
mod opaque;
mod list_cursor;
mod attached_cursor;
pub mod query;
pub mod search;
pub mod maintenance;
mod destroyed;
mod damage;
pub mod store;
pub mod system;
pub mod granted;
mod image;
mod engine;
pub mod postgres;
pub mod sqlite;

pub use attached_cursor::AttachedCursor;
pub use damage::{DamageLog, DamagedRecord};
pub use destroyed::Destroyed;
pub use error::{Conflict, Result, StoreError};
pub use granted::{Claim, Claims, Grant, GrantedStore, On};
pub use journal_kind::JournalKind;
pub use list_cursor::{CursorProblem, ListCursor};
pub use maintenance::{BackupReport, DoctorReport, VerifyProblem, VerifyReport};
pub use query::*;
pub use search::{
    Also, Counting, Found, Grouping, HITS_MAX, Hit, Indexed, NEIGHBOURS_MAX, Neighbour, Reach, Search, SearchCursor,
    SearchCursorProblem, SearchOrder,
};
pub use store::{Store, Turn};
pub use transaction::*;
