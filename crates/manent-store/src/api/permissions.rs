//! Permissions of a key: what its holder may read and change.

use manent_model::{AccessScope, Author, KeyScope, KeyScopes};

/// The permissions of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// Names the key: idempotency keys and uploads belong to it.
    pub id: String,
    /// The operations that it may do.
    pub scopes: KeyScopes,
    /// The objects that it may reach.
    pub access: AccessScope,
    /// The author that its changes are recorded with, whatever they name.
    pub actor: Option<Author>,
}

impl Permissions {
    /// Returns these permissions without those that another key lacks, so that a view of a view reaches no more than
    /// either. It acts under the name of the other key: what that one uploaded stays its own, and it ends with it.
    pub(crate) fn within(self, outer: &Self) -> Self {
        let scopes = [KeyScope::Read, KeyScope::Append, KeyScope::Manage, KeyScope::Admin];
        let held = |scope: &KeyScope| self.scopes.holds(*scope) && outer.scopes.holds(*scope);
        Self {
            id: outer.id.clone(),
            scopes: scopes.into_iter().filter(held).collect(),
            access: outer.access.and(&self.access),
            actor: outer.actor.clone().or(self.actor),
        }
    }
}
