//! The audit log: actions with actor and time, chained by digests.

use super::Tenants;
use crate::error::Result;
use manent_store::system::{AuditPage, AuditQuery, AuditReport, NewAuditRecord};

impl Tenants {
    /// Appends an entry; it is on disk when this returns.
    pub async fn audit(&self, line: NewAuditRecord) -> Result<()> {
        Ok(self.inner.system.audit(manent_store::now(), line).await?)
    }

    /// Returns entries, newest first.
    pub async fn audit_page(&self, query: AuditQuery) -> Result<AuditPage> {
        Ok(self.inner.system.audit_page(query).await?)
    }

    /// Verifies the digest chain and reports entries that were altered or lost; a mismatch at the end counts as lost.
    pub async fn verify_audit(&self) -> Result<AuditReport> {
        Ok(self.inner.system.verify_audit().await?)
    }
}
