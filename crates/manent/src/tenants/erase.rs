//! Erasing a tenant or a user: everything goes, managed backups as well, and a receipt says what.

use super::{Tenants, files, to_the_end};
use crate::backup::renew_backups;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids::now;
use crate::place::Place;
use manent_model::{DEFAULT_TENANT, KeyId, Micros, Tenant, TenantId, TenantStatus};
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::SqliteStore;
use manent_store::system::{AuditDraft, By, Forgotten, TenantRow};
use manent_store::{Destroyed, Erase, ListQuery, Receipt, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

// Receipts are kept for ever: a field that is added later needs a default.
/// What an erasure removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The tenant.
    pub tenant: String,
    /// When.
    pub at: Micros,
    /// Conversations that are gone.
    pub conversations: i64,
    /// Messages whose content is gone.
    pub messages: i64,
    /// What went with them: notes, states, memories, drafts, pictures, old values, words of the index.
    pub attached: i64,
    /// Users that are forgotten.
    pub users: i64,
    /// Keys that are gone.
    pub keys: i64,
    /// Lines of the audit log whose particulars are gone.
    pub audit: i64,
    /// Managed backups that are gone.
    pub backups: i64,
    /// Files that are gone, backups left out.
    pub files: i64,
    /// Bytes of the files that are gone.
    pub bytes: i64,
    /// Rows that are gone, on a server.
    pub rows: i64,
}

impl Tenants {
    /// Destroys a tenant: its store, its index, its backups, its users and keys, and what the audit log tells of its
    /// people. What a crash interrupts is finished at the next start.
    pub async fn erase_tenant(&self, id: TenantId, by: By) -> Result<Erasure> {
        if id == DEFAULT_TENANT {
            let why = "the first tenant is the store itself: it cannot be erased while it is open";
            return Err(StoreError::Invalid(why.to_owned()).into());
        }
        let tenants = self.clone();
        to_the_end(async move { tenants.erase_tenant_now(id, by).await }).await
    }

    async fn erase_tenant_now(&self, id: TenantId, by: By) -> Result<Erasure> {
        let _turn = self.inner.erasures.of(id).await;
        let row = self.tenant_row(&id.to_string()).await?;
        if row.tenant.status == TenantStatus::Erased {
            return Err(Error::not_found("tenant", id));
        }
        use TenantStatus::{Active, Erasing, Making, Suspended};
        // One that another began to erase is erased by whoever asks again.
        const FROM: &[TenantStatus] = &[Making, Active, Suspended, Erasing];
        self.move_tenant(id, FROM, TenantStatus::Erasing, "tenant.erase", by).await?;
        self.go_on_erasing(&row).await
    }

    /// Erases a tenant that a crash left half erased.
    pub(super) async fn finish_erasing(&self, row: &TenantRow) -> Result<Erasure> {
        let _turn = self.inner.erasures.of(row.tenant.id).await;
        self.go_on_erasing(row).await
    }

    /// Destroys what is left of a tenant that is being erased.
    async fn go_on_erasing(&self, row: &TenantRow) -> Result<Erasure> {
        let id = row.tenant.id;
        let mut erasure = Erasure { tenant: id.to_string(), at: now(), ..Erasure::default() };
        let gone = self.destroy(row).await?;
        (erasure.conversations, erasure.messages) = (gone.conversations, gone.messages);
        (erasure.rows, erasure.files, erasure.bytes) = (gone.rows, gone.files, gone.bytes);
        if let Some(folder) = self.backups_of(id) {
            let gone = files::remove_folder(&folder)?;
            erasure.backups = gone.files;
            erasure.bytes += gone.bytes;
        }
        erasure.backups += self.forget_system_backups().await?;
        let Forgotten { users, keys, audit } = self.inner.system.forget_tenant(id).await?;
        (erasure.users, erasure.keys, erasure.audit) = (users, keys, audit);
        let receipt = serde_json::to_string(&erasure).expect("numbers are JSON");
        let by = By::actor(manent_model::AuditActor::Server);
        let line = AuditDraft::new("tenant.erased", Some(id), by).detail(&erasure);
        let kept = self.inner.system.finish_erasing(id, receipt, now(), line).await?;
        self.renew_system_backups().await?;
        self.refresh().await?;
        // Another process may have erased it at the same time: what it removed is told by the receipt that was first.
        read_receipt(id, &kept)
    }

    /// Closes the store of a tenant and destroys it.
    pub(super) async fn destroy(&self, row: &TenantRow) -> Result<Destroyed> {
        let destroy = async {
            Ok(match &self.place_of(row) {
                Place::File(path) => SqliteStore::destroy(path).await?,
                Place::Server(options) => PostgresStore::destroy(options).await?,
            })
        };
        self.inner.stores.while_closed(row.tenant.id, destroy).await
    }

    /// Returns the receipt of a tenant that was erased.
    pub async fn receipt(&self, id: TenantId) -> Result<Option<Erasure>> {
        let row = self.tenant_row(&id.to_string()).await?;
        row.receipt.map(|receipt| read_receipt(id, &receipt)).transpose()
    }

    /// Destroys all that a user wrote and all that is known of them: conversations that were theirs alone, their messages
    /// in others, drafts, keys, what the audit log tells, and the managed backups that still hold it.
    pub async fn erase_user(&self, tenant: TenantId, user: &str, by: By) -> Result<Erasure> {
        let (tenants, user) = (self.clone(), user.to_owned());
        to_the_end(async move { tenants.erase_user_now(tenant, &user, by).await }).await
    }

    async fn erase_user_now(&self, tenant: TenantId, user: &str, by: By) -> Result<Erasure> {
        self.user(tenant, user).await?;
        // Before our turn: where the tenant goes as well, whoever opens its store waits for that.
        let database = self.database(tenant).await?;
        let _turn = self.inner.erasures.of(tenant).await;
        self.user(tenant, user).await?;
        // It is told before it is done, and once more with what went.
        self.audit(AuditDraft::new("user.erase", Some(tenant), by.clone()).about(user)).await?;
        self.revoke_keys_of(tenant, user, &by).await?;
        let mut erasure = Erasure { tenant: tenant.to_string(), at: now(), ..Erasure::default() };
        // What they brought with a key is kept under the name of the key; with this the store takes nothing more from it, so that
        // nothing comes behind what is looked for below.
        let keys = self.keys_of(tenant, user).await?;
        for key in &keys {
            erasure.add(&database.erase(Erase::Author(key.to_string())).await?);
        }
        let alone = alone_of(&database, user).await?.into_iter().map(Erase::Conversation);
        for target in alone.chain([Erase::Author(user.to_owned())]) {
            match database.erase(target).await {
                Ok(receipt) => erasure.add(&receipt),
                // Somebody else destroyed it meanwhile; or they never wrote anything, and take part in nothing.
                Err(Error::Store(StoreError::NotFound { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(folder) = self.backups_of(tenant) {
            erasure.backups = renew_backups(&database, &folder).await?;
        }
        // Before it is forgotten: what a crash leaves then is a server without old backups, not backups that tell.
        erasure.backups += self.forget_system_backups().await?;
        (erasure.users, erasure.keys) = (1, keys.len() as i64);
        let line = AuditDraft::new("user.erased", Some(tenant), by).detail(&erasure);
        let gone = self.inner.system.forget_user(tenant, user.to_owned(), now(), line).await?;
        (erasure.users, erasure.keys, erasure.audit) = (gone.users, gone.keys, gone.audit);
        self.renew_system_backups().await?;
        self.refresh().await?;
        Ok(erasure)
    }

    /// Ends the keys of a user, so that nothing new is written while the old goes.
    async fn revoke_keys_of(&self, tenant: TenantId, user: &str, by: &By) -> Result<()> {
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

    /// Returns where the managed backups of a tenant lie.
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
        self.attached += receipt.attached + receipt.scratch + receipt.blobs + receipt.journal;
    }
}

fn read_receipt(id: TenantId, receipt: &str) -> Result<Erasure> {
    let altered = |_| StoreError::Altered { what: "receipt", id: id.to_string() };
    Ok(serde_json::from_str(receipt).map_err(altered)?)
}

/// Returns the conversations that a user made and that nobody else belongs to.
async fn alone_of(database: &Database, user: &str) -> Result<Vec<manent_model::ConversationId>> {
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
