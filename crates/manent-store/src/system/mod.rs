//! System store of a server: its tenants, users and API keys, and the audit log.
//!
//! It is a SQLite file beside those of the tenants, or tables of a PostgreSQL database that the role of the tenants
//! cannot read. Its statements run on either engine.
//!
//! Every change writes a line of the audit log in the same transaction. In reading order:

mod audit;
mod audit_log;
mod tenant;
mod user;
mod key;
mod worker;
mod copy;
mod backup;

pub use audit::{AuditPage, AuditProblem, AuditQuery, AuditReport, AuditSubject, NewAuditRecord};
pub use key::KeyRow;
pub use tenant::{TenantRef, TenantRow};

use crate::api::error::Result;
use crate::api::query::PAGE_MAX;
use crate::engine::sql::connection::{Connection, DbResult, execute, query_one};
use crate::postgres::PostgresOptions;
use manent_model::{DEFAULT_TENANT, KeyId, Timestamp};
use std::path::PathBuf;
use tokio::sync::watch;
use worker::SystemWorker;

/// Lines of the audit log that are read at a time: the log has no bound.
const LINES_PAGE: i64 = 500;

/// Where a system store is.
#[derive(Debug, Clone)]
pub enum SystemLocation {
    /// A file of its own.
    File(PathBuf),
    /// A server, beside the tenants.
    Server(PostgresOptions),
}

/// A change set of tenants and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    /// How often something has changed until now.
    pub change: i64,
    /// Keys that were made or ended.
    pub keys: Vec<KeyRow>,
    /// All keys that there are.
    pub key_ids: Vec<KeyId>,
    /// All tenants.
    pub tenants: Vec<TenantRow>,
}

/// Deletion counts of users and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeCounts {
    /// Users.
    pub users: i64,
    /// Keys.
    pub keys: i64,
    /// Lines of the audit log whose particulars are gone.
    pub audit: i64,
}

/// The system store. A change is answered once it is on disk, with its line of the audit log.
pub struct SystemStore {
    worker: SystemWorker,
    location: SystemLocation,
}

impl SystemStore {
    /// Opens it, or makes it.
    pub fn open(place: SystemLocation, now: Timestamp) -> Result<Self> {
        Ok(Self { worker: SystemWorker::open(place.clone(), now)?, location: place })
    }

    /// Returns a watch on how often tenants, users or keys have changed; changes of other processes show within a
    /// second.
    pub fn changes(&self) -> watch::Receiver<i64> {
        self.worker.changes()
    }

    /// Returns the changes after a change number.
    pub async fn changed_since(&self, change: i64) -> Result<ChangeSet> {
        let read = move |connection: Connection<'_>| {
            let mut tenants = Vec::new();
            loop {
                let after = tenants.last().map_or(0, |row: &TenantRow| row.no);
                let page = tenant::list(connection, after, PAGE_MAX)?;
                match page.is_empty() {
                    true => break,
                    false => tenants.extend(page),
                }
            }
            let keys = key::changed_since(connection, change)?;
            let key_ids = key::ids(connection)?;
            Ok(ChangeSet { change: current_change(connection)?, keys, key_ids, tenants })
        };
        self.worker.read("reading keys", read).await
    }

    /// Finishes the accepted requests and closes the store.
    pub async fn close(&self) -> Result<()> {
        self.worker.close().await
    }
}

/// Writes the first rows, unless they exist.
fn create_rows(connection: Connection<'_>, at: i64) -> DbResult<()> {
    let sql = "insert into system_head (one, tenant_no, change, audit_no, audit_digest) values (1, 1, 0, 0, $1)
         on conflict do nothing";
    execute(connection, sql, [[0u8; 32]])?;
    let sql = "insert into system_tenant (no, id, name, status, created_at) values (1, $1, $2, $3, $4)
         on conflict do nothing";
    execute(connection, sql, (DEFAULT_TENANT.as_bytes(), tenant::DEFAULT_NAME, tenant::ACTIVE, at))
}

/// Increments the change counter of tenants, users and keys, and returns it. Every change begins with this: on a server
/// the row is the lock that serializes changes.
fn next_change(connection: Connection<'_>) -> DbResult<i64> {
    query_one(connection, "update system_head set change = change + 1 returning change", (), |row| row.get(0))
}

/// Returns how often something has changed.
fn current_change(connection: Connection<'_>) -> DbResult<i64> {
    query_one(connection, "select change from system_head", (), |row| row.get(0))
}
