//! API key operations: create, list, revoke.

use super::Tenants;
use super::tenant::checked_name;
use crate::error::Result;
use manent_model::{ApiKeySecret, Key, KeyDraft, KeyId, TenantId};
use manent_store::StoreError;
use manent_store::system::{AuditSubject, NewAuditRecord};

/// Maximum number of projects that a key can be limited to.
const PROJECTS_MAX: usize = 100;

impl Tenants {
    /// Creates an API key. The secret is returned only here and not stored.
    pub async fn create_key(&self, tenant: TenantId, draft: KeyDraft, by: AuditSubject) -> Result<(Key, ApiKeySecret)> {
        let name = checked_name("key", &draft.name)?.to_owned();
        let at = manent_store::now();
        let refused = |why: &str| Err(StoreError::Invalid(why.to_owned()).into());
        if draft.scopes.is_empty() {
            return refused("a key has at least one scope: read, append, manage, admin");
        }
        if draft.rate == Some(0) {
            return refused("a key that may send no requests is of no use");
        }
        if draft.expires_at.is_some_and(|end| end <= at) {
            return refused("a key expires in the future");
        }
        if let Some(projects) = &draft.projects {
            if projects.is_empty() || projects.len() > PROJECTS_MAX {
                return refused("a key is limited to 1 to 100 projects");
            }
            let database = self.database(tenant).await?;
            for project in projects {
                database.project(*project).await?;
            }
        }
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret).expect("the system has random numbers");
        let word = ApiKeySecret::new(self.home().new_id(KeyId::new), secret);
        let KeyDraft { scopes, user, projects, rate, expires_at, .. } = draft;
        let (created_at, revoked_at, used_at) = (at, None, None);
        let key = Key {
            id: word.id,
            tenant,
            name,
            scopes,
            user,
            projects,
            rate,
            created_at,
            expires_at,
            revoked_at,
            used_at,
        };
        let mut line = NewAuditRecord::new("key.create", Some(tenant), by).detail((&key.id, &key.scopes));
        line.user.clone_from(&key.user);
        self.inner.system.create_key(key.clone(), word.digest(), line).await?;
        self.refresh().await?;
        Ok((key, word))
    }

    /// Returns the keys of a tenant in order of creation, after the given one.
    pub async fn keys(&self, tenant: TenantId, after: Option<KeyId>, limit: u32) -> Result<Vec<Key>> {
        self.flush_use().await?;
        Ok(self.inner.system.keys(tenant, after, limit).await?)
    }

    /// Revokes a key, and ends every stream and session that was opened with it.
    pub async fn revoke_key(&self, tenant: TenantId, id: KeyId, by: AuditSubject) -> Result<Key> {
        let line = NewAuditRecord::new("key.revoke", Some(tenant), by).detail(id);
        let key = self.inner.system.revoke_key(tenant, id, manent_store::now(), line).await?;
        self.refresh().await?;
        Ok(key)
    }
}
