//! Authorization layer: a store limited to the scopes and the access scope of a key.
//!
//! Every access to a row goes through [`Store`], so keys are checked once, here: the owner of a [`GrantedStore`] cannot
//! reach a row in another way. An object outside the access scope looks like one that does not exist. In reading order:

mod required_scope;
mod access_check;
mod references;
mod constrain;
mod blob_possession;
mod store;
pub(crate) mod authorize;
pub(crate) mod filtered_store;
pub(crate) mod access_filter;

pub use access_check::{AccessCheck, AccessChecks, PathOf};

use crate::api::error::{Result, StoreError};
use crate::api::store::Store;
use blob_possession::PendingUploads;
use manent_model::{AccessScope, Author, KeyScopes};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The permissions of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// Names the key: its requests are its own, and so are the blobs that it brought.
    pub id: String,
    /// Its scopes.
    pub scopes: KeyScopes,
    /// Its access scope.
    pub realm: AccessScope,
    /// The author that its changes are recorded with, whatever they name.
    pub actor: Option<Author>,
}

/// A store that enforces a grant.
///
/// It answers any read inside the access scope, also for keys without the scope `read`: the caller knows the operation,
/// and decides which scope it requires. Every change is checked.
pub struct AuthorizedStore {
    /// The unrestricted store: writes go here, after the checks.
    unrestricted: Arc<dyn Store>,
    /// The access-filtered store: reads go here.
    visible: Arc<dyn Store>,
    permissions: Permissions,
    uploads: Mutex<PendingUploads>,
}

impl AuthorizedStore {
    /// Limits a store to a grant.
    pub fn new(inner: Arc<dyn Store>, permissions: Permissions) -> Self {
        let visible = match permissions.realm.is_limited() {
            true => inner.clone().restricted_to(permissions.realm.clone()),
            false => inner.clone(),
        };
        Self { unrestricted: inner, visible, permissions, uploads: Mutex::default() }
    }

    /// Returns the key of a request as the store knows it: two grants never answer each other's.
    fn own_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        if key.is_empty() || key.len() > 255 {
            return Err(StoreError::Invalid("an idempotency key has 1 to 255 bytes".to_owned()));
        }
        let mut hasher = Sha256::new();
        hasher.update((self.permissions.id.len() as u64).to_le_bytes());
        hasher.update(self.permissions.id.as_bytes());
        hasher.update(key);
        Ok(hasher.finalize().to_vec())
    }
}
