//! Backup of the system store (tenants, users, keys, audit log), and restoring tenants.

use super::{Tenants, system_place};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::location::Location;
use crate::transfer::backup;
use crate::transfer::backup::BackupPlan;
use manent_model::TenantId;
use manent_store::sqlite;
use manent_store::system::{AuditSubject, NewAuditRecord, SystemStore, TenantRow};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the system store's backups, beside those of the tenants.
const SYSTEM: &str = "system";

impl Tenants {
    /// Writes a backup of tenants, users, keys and audit log that is checked before this returns.
    pub async fn backup_system(&self, to: impl AsRef<Path>) -> Result<()> {
        Ok(self.inner.system.backup(to.as_ref()).await?)
    }

    /// Makes a managed backup of tenants, users, keys and audit log if one is due, unless the system store does not
    /// exist.
    pub async fn backup_system_if_due(&self, plan: &BackupPlan) -> Result<Option<PathBuf>> {
        let _one = self.inner.system_backups.lock().await;
        self.keep_system_backup(plan).await
    }

    async fn keep_system_backup(&self, plan: &BackupPlan) -> Result<Option<PathBuf>> {
        let Some(folder) = self.system_backups() else { return Ok(None) };
        if self.inner.system.is_new().await? {
            return Ok(None);
        }
        let plan = BackupPlan { folder, ..plan.clone() };
        backup::keep(&plan, async |path| {
            self.backup_system(path).await?;
            Ok(path.to_owned())
        })
        .await
    }

    /// Returns whether a file is a backup of the system store, not of a tenant's store.
    pub fn is_system_backup(path: impl AsRef<Path>) -> bool {
        sqlite::is_system(path.as_ref())
    }

    /// Restores tenants, users, keys and audit log from a backup, if there are none yet. Tenant stores are restored
    /// one by one.
    pub async fn restore_system(from: impl AsRef<Path>, place: &Location, by: AuditSubject) -> Result<()> {
        backup::refuse_half(from.as_ref())?;
        let system = SystemStore::open(system_place(place)?, manent_store::now())?;
        let line = NewAuditRecord::new("system.restore", None, by);
        let restored =
            backup::with_copy(from.as_ref(), async |copy| Ok(system.restore(copy, manent_store::now(), line).await?))
                .await;
        system.close().await?;
        restored
    }

    /// Restores the store of a missing tenant from a backup.
    pub async fn restore_tenant(&self, id: TenantId, from: impl AsRef<Path>, by: AuditSubject) -> Result<()> {
        self.tenant_to_restore(id).await?;
        self.audit(NewAuditRecord::new("tenant.restore", Some(id), by)).await?;
        let restore = async {
            let row = self.tenant_to_restore(id).await?;
            Database::restore_backup(from, &self.place_of(&row)).await
        };
        self.inner.databases.while_closed(id, restore).await?;
        self.must_have_stayed(id).await
    }

    /// An erased tenant is not restored under the same id.
    async fn tenant_to_restore(&self, id: TenantId) -> Result<TenantRow> {
        let row = self.tenant_row(&id.to_string()).await?;
        match row.tenant.is_in_use() {
            true => Ok(row),
            false => Err(Error::not_found("tenant", id)),
        }
    }

    /// Removes the managed backups of the system store because of an erasure; returns how many were removed.
    pub(super) async fn forget_system_backups(&self) -> Result<i64> {
        let _one = self.inner.system_backups.lock().await;
        match self.system_backups() {
            Some(folder) => backup::remove(&backup::of_before(&folder)?),
            None => Ok(0),
        }
    }

    /// Makes a new backup after an erasure, and removes backups that another process may have made before it.
    pub(super) async fn renew_system_backups(&self) -> Result<()> {
        let Some(folder) = self.system_backups() else { return Ok(()) };
        let _one = self.inner.system_backups.lock().await;
        let before = backup::of_before(&folder)?;
        let plan = BackupPlan { folder, every: Duration::ZERO, keep: before.len() + 1 };
        let kept = self.keep_system_backup(&plan).await;
        // Also if no new backup was made: the old ones contain data of the erased user.
        backup::remove(&before)?;
        kept.map(drop)
    }

    fn system_backups(&self) -> Option<PathBuf> {
        self.inner.backups.as_ref().map(|folder| folder.join(SYSTEM))
    }
}
