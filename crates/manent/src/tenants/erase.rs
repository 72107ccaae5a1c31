//! Erasure of a tenant or a user, managed backups included, with a receipt of what was removed.

use super::{Tenants, files, spawn_detached};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::location::Location;
use crate::transfer::backup::renew_backups;
use manent_model::{DEFAULT_TENANT, KeyId, Tenant, TenantId, TenantStatus, Timestamp};
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::SqliteStore;
use manent_store::system::{AuditSubject, NewAuditRecord, PurgeCounts, TenantRow};
use manent_store::{DeletionReport, EraseTarget, ListQuery, Receipt, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

// Receipts are kept for ever: fields that are added later need a default.
/// Receipt of an erasure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The tenant.
    pub tenant: String,
    /// When.
    pub at: Timestamp,
    /// Erased conversations.
    pub conversations: i64,
    /// Erased messages.
    pub messages: i64,
    /// Erased attached data: notes, states, memories, drafts, blobs, old values, index entries.
    pub annotations: i64,
    /// Erased users.
    pub users: i64,
    /// Erased keys.
    pub keys: i64,
    /// Audit log entries whose details were erased.
    pub audit: i64,
    /// Removed managed backups.
    pub backups: i64,
    /// Removed files, without backups.
    pub files: i64,
    /// Bytes of the removed files.
    pub bytes: i64,
    /// Removed rows, on a server.
    pub rows: i64,
}

impl Tenants {
    /// Erases a tenant: its store, its index, its backups, its users and keys, and personal details in the audit log.
    /// An interrupted erasure is resumed at the next start.
    pub async fn erase_tenant(&self, id: TenantId, by: AuditSubject) -> Result<Erasure> {
        if id == DEFAULT_TENANT {
            let why = "the first tenant is the store itself: it cannot be erased while it is open";
            return Err(StoreError::Invalid(why.to_owned()).into());
        }
        let tenants = self.clone();
        spawn_detached(async move { tenants.erase_tenant_now(id, by).await }).await
    }

    async fn erase_tenant_now(&self, id: TenantId, by: AuditSubject) -> Result<Erasure> {
        let _turn = self.inner.erasures.lock(id).await;
        let row = self.tenant_row(&id.to_string()).await?;
        if row.tenant.status == TenantStatus::Erased {
            return Err(Error::not_found("tenant", id));
        }
        use TenantStatus::{Active, Erasing, Making, Suspended};
        // An erasure that another process began is finished by the next caller.
        const FROM: &[TenantStatus] = &[Making, Active, Suspended, Erasing];
        self.move_tenant(id, FROM, TenantStatus::Erasing, "tenant.erase", by).await?;
        self.resume_erasures(&row).await
    }

    /// Finishes the erasure of a tenant that a crash interrupted.
    pub(super) async fn finish_erasure(&self, row: &TenantRow) -> Result<Erasure> {
        let _turn = self.inner.erasures.lock(row.tenant.id).await;
        self.resume_erasures(row).await
    }

    /// Erases what remains of a tenant with status `erasing`.
    async fn resume_erasures(&self, row: &TenantRow) -> Result<Erasure> {
        let id = row.tenant.id;
        let mut erasure = Erasure { tenant: id.to_string(), at: manent_store::now(), ..Erasure::default() };
        let gone = self.destroy(row).await?;
        (erasure.conversations, erasure.messages) = (gone.conversations, gone.messages);
        (erasure.rows, erasure.files, erasure.bytes) = (gone.rows, gone.files, gone.bytes);
        if let Some(folder) = self.backups_of(id) {
            let gone = files::remove_folder(&folder)?;
            erasure.backups = gone.files;
            erasure.bytes += gone.bytes;
        }
        erasure.backups += self.forget_system_backups().await?;
        let PurgeCounts { users, keys, audit } = self.inner.system.forget_tenant(id).await?;
        (erasure.users, erasure.keys, erasure.audit) = (users, keys, audit);
        let receipt = serde_json::to_string(&erasure).expect("numbers are JSON");
        let by = AuditSubject::actor(manent_model::AuditActor::Server);
        let line = NewAuditRecord::new("tenant.erased", Some(id), by).detail(&erasure);
        let kept = self.inner.system.finish_erasing(id, receipt, manent_store::now(), line).await?;
        self.renew_system_backups().await?;
        self.refresh().await?;
        // If another process erased it at the same time, its receipt was stored first and is returned.
        read_receipt(id, &kept)
    }

    /// Closes the store of a tenant and deletes it.
    pub(super) async fn destroy(&self, row: &TenantRow) -> Result<DeletionReport> {
        let destroy = async {
            Ok(match &self.place_of(row) {
                Location::File(path) => SqliteStore::destroy(path).await?,
                Location::Server(options) => PostgresStore::destroy(options).await?,
            })
        };
        self.inner.databases.while_closed(row.tenant.id, destroy).await
    }

    /// Returns the receipt of a tenant that was erased.
    pub async fn receipt(&self, id: TenantId) -> Result<Option<Erasure>> {
        let row = self.tenant_row(&id.to_string()).await?;
        row.receipt.map(|receipt| read_receipt(id, &receipt)).transpose()
    }

    /// Erases everything that a user wrote and all data about them: conversations of theirs alone, their messages in
    /// others, drafts, keys, audit log details, and the managed backups that contain it.
    pub async fn erase_user(&self, tenant: TenantId, user: &str, by: AuditSubject) -> Result<Erasure> {
        let (tenants, user) = (self.clone(), user.to_owned());
        spawn_detached(async move { tenants.erase_user_now(tenant, &user, by).await }).await
    }

    async fn erase_user_now(&self, tenant: TenantId, user: &str, by: AuditSubject) -> Result<Erasure> {
        self.user(tenant, user).await?;
        // Before taking the lock: if the tenant is being erased too, opening its store waits for that.
        let database = self.database(tenant).await?;
        let _turn = self.inner.erasures.lock(tenant).await;
        self.user(tenant, user).await?;
        // Audited before it is done, and again with the result.
        self.audit(NewAuditRecord::new("user.erase", Some(tenant), by.clone()).about(user)).await?;
        self.revoke_keys_of(tenant, user, &by).await?;
        let mut erasure = Erasure { tenant: tenant.to_string(), at: manent_store::now(), ..Erasure::default() };
        // Content that the user imported with a key is stored under the name of the key. The store accepts nothing
        // more from the revoked key, so nothing is added after the search below.
        let keys = self.keys_of(tenant, user).await?;
        for key in &keys {
            erasure.add(&database.erase(EraseTarget::Person(key.to_string())).await?);
        }
        let alone = only_tenant(&database, user).await?.into_iter().map(EraseTarget::Conversation);
        for target in alone.chain([EraseTarget::Person(user.to_owned())]) {
            match database.erase(target).await {
                Ok(receipt) => erasure.add(&receipt),
                // Another process erased it meanwhile; or the user wrote nothing and is in no conversation.
                Err(Error::Store(StoreError::NotFound { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(folder) = self.backups_of(tenant) {
            erasure.backups = renew_backups(&database, &folder).await?;
        }
        // Before the user is deleted: a crash then leaves a server without old backups, not backups with the user's
        // data.
        erasure.backups += self.forget_system_backups().await?;
        (erasure.users, erasure.keys) = (1, keys.len() as i64);
        let line = NewAuditRecord::new("user.erased", Some(tenant), by).detail(&erasure);
        let gone = self.inner.system.forget_user(tenant, user.to_owned(), manent_store::now(), line).await?;
        (erasure.users, erasure.keys, erasure.audit) = (gone.users, gone.keys, gone.audit);
        self.renew_system_backups().await?;
        self.refresh().await?;
        Ok(erasure)
    }

    /// Revokes the keys of a user, so that nothing new is written during the erasure.
    async fn revoke_keys_of(&self, tenant: TenantId, user: &str, by: &AuditSubject) -> Result<()> {
        for key in self.keys_of(tenant, user).await? {
            self.revoke_key(tenant, key, by.clone()).await?;
        }
        Ok(())
    }

    async fn keys_of(&self, tenant: TenantId, user: &str) -> Result<Vec<KeyId>> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.keys(tenant, after, manent_store::PAGE_MAX).await?;
            let Some(last) = page.last() else { return Ok(found) };
            after = Some(last.id);
            found.extend(page.iter().filter(|key| key.user.as_deref() == Some(user)).map(|key| key.id));
        }
    }

    /// Returns the folder of a tenant's managed backups.
    pub fn backups_of(&self, id: TenantId) -> Option<PathBuf> {
        let folder = self.inner.backups.as_ref()?;
        Some(match id == DEFAULT_TENANT {
            true => folder.clone(),
            false => folder.join(id.to_string()),
        })
    }

    /// Returns the tenants whose stores are to be backed up.
    pub async fn tenants_in_use(&self) -> Result<Vec<Tenant>> {
        let mut all: Vec<Tenant> = Vec::new();
        loop {
            let page = self.tenants(all.last().map(|tenant| tenant.id), manent_store::PAGE_MAX).await?;
            match page.is_empty() {
                true => break,
                false => all.extend(page),
            }
        }
        all.retain(Tenant::is_in_use);
        Ok(all)
    }
}

impl Erasure {
    fn add(&mut self, receipt: &Receipt) {
        self.conversations += receipt.conversations;
        self.messages += receipt.messages;
        self.annotations += receipt.annotations + receipt.scratch + receipt.blobs + receipt.journal;
    }
}

fn read_receipt(id: TenantId, receipt: &str) -> Result<Erasure> {
    let altered = |_| StoreError::Altered { what: "receipt", id: id.to_string() };
    Ok(serde_json::from_str(receipt).map_err(altered)?)
}

/// Returns the conversations that a user created and that have no other members.
async fn only_tenant(database: &Database, user: &str) -> Result<Vec<manent_model::ConversationId>> {
    use manent_model::ConversationStatus::{Active, Archived, Importing, Trashed};
    let mut query = ListQuery {
        statuses: vec![Active, Archived, Trashed, Importing],
        creator: Some(user.to_owned()),
        limit: manent_store::PAGE_MAX,
        ..ListQuery::default()
    };
    let mut found = Vec::new();
    loop {
        let page = database.list(query.clone()).await?;
        let is_alone =
            |conversation: &manent_model::Conversation| conversation.members.iter().all(|member| member.id == user);
        found.extend(page.conversations.iter().filter(|one| is_alone(one)).map(|one| one.id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}
