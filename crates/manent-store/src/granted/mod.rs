//! A store as the holder of a key has it: what the key may do, and what it reaches.
//!
//! Every way to a row leads through [`Store`], so this is where a key is looked at, once: whoever has only a
//! [`GrantedStore`] cannot reach a row otherwise. What is outside looks like what does not exist. In reading order:

mod scope;
mod claim;
mod names;
mod fit;
mod upload;
mod store;

pub use claim::{Claim, Claims, On};

use crate::error::{Result, StoreError};
use crate::store::Store;
use manent_model::{Author, KeyScopes, Realm};
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex};
use upload::Uploads;

/// What a key was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Names the key: its requests are its own, and so are the blobs that it brought.
    pub id: String,
    /// What it may do.
    pub scopes: KeyScopes,
    /// What it reaches.
    pub realm: Realm,
    /// Who its changes are recorded as, whatever they say.
    pub actor: Option<Author>,
}

/// A store that does what a grant allows.
///
/// It answers what a request needs, also to those who may not read: which operation takes which scope is for those to say
/// who know the operation. Every change is looked at.
pub struct GrantedStore {
    /// Everything: what is written goes here, after it was looked at.
    whole: Arc<dyn Store>,
    /// What the grant reaches: what is read comes from here.
    view: Arc<dyn Store>,
    grant: Grant,
    uploads: Mutex<Uploads>,
}

impl GrantedStore {
    /// Limits a store to a grant.
    pub fn new(inner: Arc<dyn Store>, grant: Grant) -> Self {
        let view = match grant.realm.is_limited() {
            true => inner.clone().within(grant.realm.clone()),
            false => inner.clone(),
        };
        Self { whole: inner, view, grant, uploads: Mutex::default() }
    }

    /// Returns the key of a request as the store knows it: two grants never answer each other's.
    fn own_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        if key.is_empty() || key.len() > 255 {
            return Err(StoreError::Invalid("an idempotency key has 1 to 255 bytes".to_owned()));
        }
        let mut hasher = Sha256::new();
        hasher.update((self.grant.id.len() as u64).to_le_bytes());
        hasher.update(self.grant.id.as_bytes());
        hasher.update(key);
        Ok(hasher.finalize().to_vec())
    }
}
