//! The audit log: what was done by whom.

use super::Tenants;
use crate::error::Result;
use crate::ids::now;
use manent_store::system::{AuditDraft, AuditPage, AuditQuery, AuditReport};

impl Tenants {
    /// Adds a line; it is on disk when this returns.
    pub async fn audit(&self, line: AuditDraft) -> Result<()> {
        Ok(self.inner.system.audit(now(), line).await?)
    }

    /// Returns lines, the newest first.
    pub async fn audit_page(&self, query: AuditQuery) -> Result<AuditPage> {
        Ok(self.inner.system.audit_page(query).await?)
    }

    /// Walks the chain, and names lines that were altered or lost; one too many at the end counts as lost.
    pub async fn verify_audit(&self) -> Result<AuditReport> {
        Ok(self.inner.system.verify_audit().await?)
    }
}
