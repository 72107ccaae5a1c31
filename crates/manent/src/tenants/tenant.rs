//! Tenant operations: create, list, suspend, and recovery of interrupted operations.

use super::{TenantState, Tenants};
use crate::error::{Error, Result};
use manent_model::{DEFAULT_TENANT, Tenant, TenantId, TenantStatus};
use manent_store::StoreError;
use manent_store::system::{AuditSubject, NewAuditRecord, TenantRef, TenantRow};

/// Maximum length of the name of a tenant or key.
pub(super) const NAME_MAX: usize = 100;

impl Tenants {
    /// Creates a tenant with an empty store.
    pub async fn create_tenant(&self, name: &str, by: AuditSubject) -> Result<Tenant> {
        let name = checked_name("tenant", name)?;
        let id = self.home().new_id(TenantId::new);
        let line = NewAuditRecord::new("tenant.create", Some(id), by);
        let row = self.inner.system.create_tenant(id, name.to_owned(), manent_store::now(), line).await?;
        let made = self.make(&row).await?;
        self.refresh().await?;
        Ok(made)
    }

    /// Creates the store of a tenant and activates the tenant.
    async fn make(&self, row: &TenantRow) -> Result<Tenant> {
        let id = row.tenant.id;
        self.open_store(id, TenantState::Anew).await?;
        let (from, to) = (&[TenantStatus::Making], TenantStatus::Active);
        let row = self.inner.system.set_tenant_status(id, from, to, manent_store::now(), None).await?;
        Ok(row.tenant)
    }

    /// Returns a tenant by its id or name.
    pub async fn tenant(&self, text: &str) -> Result<Tenant> {
        self.tenant_row(text).await.map(|row| row.tenant)
    }

    pub(super) async fn tenant_row(&self, text: &str) -> Result<TenantRow> {
        let which = match text.parse::<TenantId>() {
            Ok(id) => TenantRef::Id(id),
            Err(_) => TenantRef::Name(text.to_owned()),
        };
        self.inner.system.tenant(which).await?.ok_or_else(|| Error::not_found("tenant", text))
    }

    /// Returns tenants in order of creation, after the given one; erased ones are omitted.
    pub async fn tenants(&self, after: Option<TenantId>, limit: u32) -> Result<Vec<Tenant>> {
        let mut after = match after {
            Some(id) => self.tenant_row(&id.to_string()).await?.no,
            None => 0,
        };
        let mut found = Vec::new();
        while found.len() < limit as usize {
            let page = self.inner.system.tenants(after, limit).await?;
            let Some(last) = page.last() else { break };
            after = last.no;
            let there = page.into_iter().map(|row| row.tenant).filter(|tenant| tenant.status != TenantStatus::Erased);
            found.extend(there.take(limit as usize - found.len()));
        }
        Ok(found)
    }

    /// Suspends a tenant: its keys are refused, running requests end, and all data is kept.
    pub async fn suspend(&self, id: TenantId, by: AuditSubject) -> Result<Tenant> {
        if id == DEFAULT_TENANT {
            return Err(
                StoreError::Invalid("the first tenant is the store itself: it cannot be suspended".to_owned()).into()
            );
        }
        self.move_tenant(id, &[TenantStatus::Active], TenantStatus::Suspended, "tenant.suspend", by).await
    }

    /// Resumes a suspended tenant.
    pub async fn resume(&self, id: TenantId, by: AuditSubject) -> Result<Tenant> {
        self.move_tenant(id, &[TenantStatus::Suspended], TenantStatus::Active, "tenant.resume", by).await
    }

    pub(super) async fn move_tenant(
        &self,
        id: TenantId,
        from: &'static [TenantStatus],
        to: TenantStatus,
        action: &str,
        by: AuditSubject,
    ) -> Result<Tenant> {
        let line = NewAuditRecord::new(action, Some(id), by);
        let row = self.inner.system.set_tenant_status(id, from, to, manent_store::now(), Some(line)).await?;
        self.refresh().await?;
        Ok(row.tenant)
    }

    /// Finishes interrupted operations; returns tenants for which that failed. They do not keep the others from being
    /// served.
    pub(super) async fn finish_tenants(&self) -> Result<Vec<(TenantId, Error)>> {
        let (mut after, mut left) = (0, Vec::new());
        loop {
            let page = self.inner.system.tenants(after, manent_store::PAGE_MAX).await?;
            let Some(last) = page.last() else { return Ok(left) };
            after = last.no;
            for row in &page {
                let finished = match row.tenant.status {
                    TenantStatus::Making => self.make(row).await.map(drop),
                    TenantStatus::Erasing => self.finish_erasure(row).await.map(drop),
                    TenantStatus::Active | TenantStatus::Suspended | TenantStatus::Erased => Ok(()),
                };
                left.extend(finished.err().map(|error| (row.tenant.id, error)));
            }
        }
    }
}

/// Validates a user-entered name.
pub(super) fn checked_name<'a>(what: &str, name: &'a str) -> Result<&'a str> {
    let name = name.trim();
    let characters = name.chars().count();
    match (1..=NAME_MAX).contains(&characters) && !name.chars().any(char::is_control) {
        true => Ok(name),
        false => {
            Err(StoreError::Invalid(format!("the name of a {what} has 1 to {NAME_MAX} characters on one line")).into())
        }
    }
}
