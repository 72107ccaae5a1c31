//! System store of a server: its tenants, users and API keys, and the audit log.
//!
//! It is a SQLite file beside those of the tenants, or tables of a PostgreSQL database that the role of the tenants
//! cannot read.

mod audit;
mod backup;
mod worker;

pub use audit::{AuditPage, AuditProblem, AuditQuery, AuditReport, AuditSubject, NewAuditRecord};

use crate::api::error::Result;
use crate::api::query::PAGE_MAX;
use crate::engine::interface::run_blocking;
use crate::engine::sql::connection::{Connection, begin_reading, end_reading};
use crate::engine::system;
use crate::engine::system::tenant::set_status;
use crate::postgres::PostgresOptions;
use manent_model::{Key, KeyDigest, KeyId, Tenant, TenantId, TenantStatus, Timestamp, User};
use std::path::PathBuf;
use tokio::sync::watch;
use worker::{SystemConnection, SystemWorker};

/// Where a system store is.
#[derive(Debug, Clone)]
pub enum SystemLocation {
    /// A file of its own.
    File(PathBuf),
    /// A server, beside the tenants.
    Server(PostgresOptions),
}

/// How a tenant is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRef {
    /// By its id.
    Id(TenantId),
    /// By its name.
    Name(String),
}

/// A tenant, and where its rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRow {
    /// Its number on a server of PostgreSQL.
    pub no: i64,
    /// The tenant.
    pub tenant: Tenant,
    /// The receipt of its erasure, as JSON.
    pub receipt: Option<String>,
    /// It has users, so that objects in it may belong to one.
    pub has_users: bool,
}

/// A key, and the digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The key.
    pub key: Key,
    /// The digest.
    pub digest: KeyDigest,
    /// The name of the user that it acts for.
    pub user_name: Option<String>,
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
                let page = system::tenant::list(connection, after, PAGE_MAX)?;
                match page.is_empty() {
                    true => break,
                    false => tenants.extend(page),
                }
            }
            let keys = system::key::changed_since(connection, change)?;
            let key_ids = system::key::ids(connection)?;
            Ok(ChangeSet { change: system::changes(connection)?, keys, key_ids, tenants })
        };
        self.worker.read("reading keys", read).await
    }

    /// Creates a tenant whose store does not exist yet.
    pub async fn create_tenant(
        &self,
        id: TenantId,
        name: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<TenantRow> {
        self.worker.write("making a tenant", move |c| system::tenant::create(c, id, &name, at, &line)).await
    }

    /// Returns a tenant.
    pub async fn tenant(&self, which: TenantRef) -> Result<Option<TenantRow>> {
        self.worker.read("reading a tenant", move |c| system::tenant::find(c, &which)).await
    }

    /// Returns tenants in the order they were made, after a number.
    pub async fn tenants(&self, after: i64, limit: u32) -> Result<Vec<TenantRow>> {
        self.worker.read("reading tenants", move |c| system::tenant::list(c, after, limit.min(PAGE_MAX))).await
    }

    /// Changes the status of a tenant, if the transition is allowed.
    pub async fn set_tenant_status(
        &self,
        id: TenantId,
        from: &'static [TenantStatus],
        to: TenantStatus,
        at: Timestamp,
        line: Option<NewAuditRecord>,
    ) -> Result<TenantRow> {
        let set = move |c: Connection<'_>| set_status(c, id, from, to, at, line.as_ref());
        match to {
            TenantStatus::Erasing => self.worker.write_for_deletion("changing a tenant", set).await,
            _ => self.worker.write("changing a tenant", set).await,
        }
    }

    /// Deletes the users and the keys of a tenant that is being erased, and erases the audit payloads about them.
    pub async fn forget_tenant(&self, id: TenantId) -> Result<PurgeCounts> {
        self.worker.write_and_wipe("erasing a tenant", move |c| system::tenant::forget(c, id)).await
    }

    /// Keeps the receipt of a tenant that was erased, and nothing else; returns the one that is kept, which is the
    /// first.
    pub async fn finish_erasing(
        &self,
        id: TenantId,
        receipt: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<String> {
        let finish = move |c: Connection<'_>| system::tenant::finish_erasing(c, id, &receipt, at, &line);
        self.worker.write_and_wipe("erasing a tenant", finish).await
    }

    /// Creates a user; an existing one gets the name.
    pub async fn put_user(
        &self,
        tenant: TenantId,
        id: String,
        name: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<User> {
        self.worker.write("keeping a user", move |c| system::user::put(c, tenant, &id, &name, at, &line)).await
    }

    /// Returns a user.
    pub async fn user(&self, tenant: TenantId, id: String) -> Result<Option<User>> {
        self.worker.read("reading a user", move |c| system::user::find(c, tenant, &id)).await
    }

    /// Returns users in the order of their ids, after one.
    pub async fn users(&self, tenant: TenantId, after: String, limit: u32) -> Result<Vec<User>> {
        self.worker.read("reading users", move |c| system::user::list(c, tenant, &after, limit.min(PAGE_MAX))).await
    }

    /// Deletes a user and the keys that acted for them, and erases the audit payloads about them.
    pub async fn forget_user(
        &self,
        tenant: TenantId,
        id: String,
        at: Timestamp,
        line: NewAuditRecord,
    ) -> Result<PurgeCounts> {
        let forget = move |c: Connection<'_>| system::user::forget(c, tenant, &id, at, &line);
        self.worker.write_and_wipe("erasing a user", forget).await
    }

    /// Keeps a new key. A key for a user needs that user.
    pub async fn create_key(&self, key: Key, digest: KeyDigest, line: NewAuditRecord) -> Result<()> {
        self.worker.write("keeping a key", move |c| system::key::create(c, &key, &digest, &line)).await
    }

    /// Returns the keys of a tenant in the order they were made, after one.
    pub async fn keys(&self, tenant: TenantId, after: Option<KeyId>, limit: u32) -> Result<Vec<Key>> {
        self.worker.read("reading keys", move |c| system::key::list(c, tenant, after, limit.min(PAGE_MAX))).await
    }

    /// Ends a key; one that was ended before stays as it is.
    pub async fn revoke_key(&self, tenant: TenantId, id: KeyId, at: Timestamp, line: NewAuditRecord) -> Result<Key> {
        self.worker.write("ending a key", move |c| system::key::revoke(c, tenant, id, at, &line)).await
    }

    /// Notes when keys were last used.
    pub async fn note_use(&self, used: Vec<(KeyId, Timestamp)>) -> Result<()> {
        self.worker.write("noting the use of keys", move |c| system::key::used(c, &used)).await
    }

    /// Adds a line to the audit log. One that a purge or an erasure waits for is written on a full disk too.
    pub async fn audit(&self, at: Timestamp, line: NewAuditRecord) -> Result<()> {
        let is_of_deletion = matches!(line.action.as_str(), "purge" | "erase");
        let add = move |c: Connection<'_>| Ok(system::audit::add(c, at, &line)?);
        match is_of_deletion {
            true => self.worker.write_for_deletion("writing the audit log", add).await,
            false => self.worker.write("writing the audit log", add).await,
        }
    }

    /// Returns lines of the audit log, the newest first.
    pub async fn audit_page(&self, query: AuditQuery) -> Result<AuditPage> {
        self.worker.read("reading the audit log", move |c| system::audit::page(c, &query)).await
    }

    /// Walks the chain of the audit log, and names lines that were altered or lost; one too many at the end counts as
    /// lost.
    pub async fn verify_audit(&self) -> Result<AuditReport> {
        // Not of one that is closed.
        self.worker.read("reading the system store", |connection| Ok(system::changes(connection)?)).await?;
        let place = self.location.clone();
        // With a connection of its own: requests meanwhile do not wait for the whole log.
        run_blocking("manent-audit", move || {
            let link = SystemConnection::open(&place)?;
            let doing = "checking the audit log";
            begin_reading(link.connection()).map_err(|error| error.into_store_error(doing))?;
            let report = system::audit::verify(link.connection());
            end_reading(link.connection());
            report.map_err(|fault| fault.into_store_error(doing))
        })
        .await
    }

    /// Finishes the accepted requests and closes the store.
    pub async fn close(&self) -> Result<()> {
        self.worker.close().await
    }
}
