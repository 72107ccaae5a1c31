//! User operations of a tenant.

use super::Tenants;
use crate::error::{Error, Result};
use manent_model::{TenantId, User};
use manent_store::StoreError;
use manent_store::system::{AuditSubject, NewAuditRecord};

/// Maximum length of a user id.
const ID_MAX: usize = 200;

impl Tenants {
    /// Creates a user, or updates the name of an existing one.
    pub async fn put_user(&self, tenant: TenantId, id: &str, name: &str, by: AuditSubject) -> Result<User> {
        let fits = (1..=ID_MAX).contains(&id.len()) && !id.chars().any(char::is_control) && id.trim() == id;
        if !fits {
            let why = format!("the id of a user has 1 to {ID_MAX} bytes on one line, with no blanks around it");
            return Err(StoreError::Invalid(why).into());
        }
        if name.len() > ID_MAX || name.chars().any(char::is_control) {
            return Err(StoreError::Invalid(format!("the name of a user has up to {ID_MAX} bytes on one line")).into());
        }
        let line = NewAuditRecord::new("user.put", Some(tenant), by).about(id);
        let user =
            self.inner.system.put_user(tenant, id.to_owned(), name.to_owned(), manent_store::now(), line).await?;
        self.refresh().await?;
        Ok(user)
    }

    /// Returns a user.
    pub async fn user(&self, tenant: TenantId, id: &str) -> Result<User> {
        let found = self.inner.system.user(tenant, id.to_owned()).await?;
        found.ok_or_else(|| Error::not_found("user", id))
    }

    /// Returns users in order of id, after the given one.
    pub async fn users(&self, tenant: TenantId, after: Option<&str>, limit: u32) -> Result<Vec<User>> {
        Ok(self.inner.system.users(tenant, after.unwrap_or_default().to_owned(), limit).await?)
    }
}
