//! Credential cache: tenants and API keys in memory. A key is looked up by the digest of the whole key, without a
//! query to the system store: an unknown key and a wrong one are both just not found, so they cannot be told apart.

use super::Tenants;
use crate::error::Result;
use manent_model::{ApiKeySecret, Author, Key, KeyDigest, KeyId, TenantId, TenantStatus, Timestamp};
use manent_store::Permissions;
use manent_store::system::{ChangeSet, KeyRow, TenantRow};
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Resolution at which the last use of a key is recorded.
const USE_STEP: i64 = 60_000_000;

/// Why a key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Malformed, or not a key of this server.
    #[error("the key is not one of this server")]
    Unknown,
    /// Expired.
    #[error("the key has expired")]
    Expired,
    /// Revoked.
    #[error("the key was revoked")]
    Revoked,
    /// Its tenant is suspended, not created yet, or erased.
    #[error("the tenant of the key is suspended")]
    Suspended,
}

impl Refusal {
    /// Returns a stable code that programs may match on.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unknown => "unauthorized",
            Self::Expired => "key_expired",
            Self::Revoked => "key_revoked",
            Self::Suspended => "tenant_suspended",
        }
    }
}

/// An authenticated key with its permissions, valid until it ends.
#[derive(Debug, Clone)]
pub struct AuthenticatedKey {
    /// The key.
    pub key: Arc<Key>,
    /// Display name of the user that it acts for.
    user_name: Arc<str>,
    key_end: watch::Receiver<bool>,
    tenant_end: watch::Receiver<bool>,
}

impl AuthenticatedKey {
    /// Returns its permissions and access scope.
    pub(super) fn grant(&self) -> Permissions {
        let key = &self.key;
        let actor = key.user.as_ref().map(|id| Author { id: id.clone(), name: self.user_name.to_string() });
        Permissions { id: key.id.to_string(), scopes: key.scopes.clone(), access: key.access_scope(), actor }
    }

    /// Waits until the key is revoked or deleted, or its tenant is suspended. Not until its expiry, which the caller
    /// knows.
    pub async fn ended(mut self) {
        let (key, tenant) = (self.key_end.wait_for(|end| *end), self.tenant_end.wait_for(|end| *end));
        tokio::select! {
            _ = key => {}
            _ = tenant => {}
        }
    }
}

struct CachedKey {
    key: Arc<Key>,
    user_name: Arc<str>,
    end: watch::Sender<bool>,
}

struct CachedTenant {
    is_active: bool,
    has_users: bool,
    end: watch::Sender<bool>,
}

#[derive(Default)]
struct CacheState {
    /// Number of the system store's change that it reflects.
    change: i64,
    /// Whether several tenants are served.
    are_several: bool,
    keys: HashMap<KeyId, CachedKey>,
    by_digest: HashMap<KeyDigest, KeyId>,
    tenants: HashMap<TenantId, CachedTenant>,
}

/// The cache of keys and tenants.
#[derive(Default)]
pub(super) struct CredentialCache {
    state: RwLock<CacheState>,
    used: Mutex<HashMap<KeyId, Timestamp>>,
}

impl CredentialCache {
    fn apply_changes(&self, changed: ChangeSet) {
        let mut held = self.state.write();
        // Two refreshes may overlap, and the later answer may arrive first.
        if changed.change < held.change {
            return;
        }
        held.change = changed.change;
        for row in changed.keys {
            held.keep_key(row);
        }
        let there: HashSet<KeyId> = changed.key_ids.into_iter().collect();
        for (_, gone) in held.keys.iter().filter(|(id, _)| !there.contains(id)) {
            gone.end.send_replace(true);
        }
        held.keys.retain(|id, _| there.contains(id));
        held.by_digest.retain(|_, id| there.contains(id));
        for row in changed.tenants {
            held.keep_tenant(&row);
        }
        held.are_several = held.tenants.values().filter(|tenant| tenant.is_active).count() > 1;
    }

    fn authenticate(&self, word: &str, now: Timestamp) -> Result<AuthenticatedKey, Refusal> {
        let digest = ApiKeySecret::read(word).ok_or(Refusal::Unknown)?.digest();
        let held = self.state.read();
        let found = held.by_digest.get(&digest).and_then(|id| held.keys.get(id));
        held.authenticated_key(found.ok_or(Refusal::Unknown)?, now)
    }

    fn authenticate_session(&self, id: KeyId, now: Timestamp) -> Result<AuthenticatedKey, Refusal> {
        let held = self.state.read();
        held.authenticated_key(held.keys.get(&id).ok_or(Refusal::Unknown)?, now)
    }
}

impl CacheState {
    fn is_active(&self, tenant: TenantId) -> bool {
        self.tenants.get(&tenant).is_some_and(|tenant| tenant.is_active)
    }

    /// Authenticates a key, if it is valid.
    fn authenticated_key(&self, found: &CachedKey, now: Timestamp) -> Result<AuthenticatedKey, Refusal> {
        let key = &found.key;
        if key.revoked_at.is_some() {
            return Err(Refusal::Revoked);
        }
        if !key.is_good_at(now) {
            return Err(Refusal::Expired);
        }
        let tenant = self.tenants.get(&key.tenant).filter(|tenant| tenant.is_active).ok_or(Refusal::Suspended)?;
        let (key_end, tenant_end) = (found.end.subscribe(), tenant.end.subscribe());
        Ok(AuthenticatedKey { key: key.clone(), user_name: found.user_name.clone(), key_end, tenant_end })
    }

    fn keep_key(&mut self, row: KeyRow) {
        let is_over = row.key.revoked_at.is_some();
        let (key, digest, user_name) = (Arc::new(row.key), row.digest, row.user_name.unwrap_or_default().into());
        match self.keys.get_mut(&key.id) {
            Some(held) => {
                (held.key, held.user_name) = (key, user_name);
                if is_over {
                    held.end.send_replace(true);
                }
            }
            None => {
                let end = watch::Sender::new(is_over);
                self.by_digest.insert(digest, key.id);
                self.keys.insert(key.id, CachedKey { key, user_name, end });
            }
        }
    }

    fn keep_tenant(&mut self, row: &TenantRow) {
        let is_active = row.tenant.status == TenantStatus::Active;
        let new = || CachedTenant { is_active, has_users: row.has_users, end: watch::Sender::new(!is_active) };
        let held = self.tenants.entry(row.tenant.id).or_insert_with(new);
        held.has_users = row.has_users;
        match (held.is_active, is_active) {
            (true, false) => {
                held.is_active = false;
                held.end.send_replace(true);
            }
            // A pass that ended stays ended; later requests get a new one.
            (false, true) => *held = new(),
            _ => {}
        }
    }
}

impl Tenants {
    /// Reloads tenants and keys that have changed.
    pub async fn refresh(&self) -> Result<()> {
        let known = self.inner.credentials.state.read().change;
        let changed = self.inner.system.changed_since(known).await?;
        self.inner.credentials.apply_changes(changed);
        self.inner.databases.close_others(|id| self.inner.credentials.state.read().is_active(id)).await
    }

    /// Follows changes of other processes and records the last use of keys, until it is dropped.
    pub async fn follow(&self) {
        const SECOND: Duration = Duration::from_secs(1);
        const MINUTE: Duration = Duration::from_secs(60);
        let (mut changes, mut rest) = (self.inner.system.changes(), MINUTE);
        loop {
            let rested = tokio::time::sleep(rest);
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = rested => {}
            }
            // Keys revoked by another process stay valid here until a refresh succeeds, so it is retried soon.
            let refreshed = self.refresh().await;
            let _ = self.flush_use().await;
            let _ = self.inner.databases.close_idle().await;
            rest = if refreshed.is_ok() { MINUTE } else { SECOND };
        }
    }

    /// Returns the tenant of a key, and the user it acts for.
    pub fn holder(&self, id: KeyId) -> Option<(TenantId, Option<String>)> {
        let held = self.inner.credentials.state.read();
        held.keys.get(&id).map(|held| (held.key.tenant, held.key.user.clone()))
    }

    /// Returns whether there are tenants besides the first one.
    pub fn are_several(&self) -> bool {
        self.inner.credentials.state.read().are_several
    }

    /// Returns whether a tenant has users, so that its content may belong to one.
    pub fn has_users(&self, tenant: TenantId) -> bool {
        self.inner.credentials.state.read().tenants.get(&tenant).is_some_and(|tenant| tenant.has_users)
    }

    /// Authenticates an API key, or returns why it is refused.
    pub fn authenticate(&self, word: &str) -> Result<AuthenticatedKey, Refusal> {
        let now = manent_store::now();
        let pass = self.inner.credentials.authenticate(word, now)?;
        self.note_use(&pass.key, now);
        Ok(pass)
    }

    /// Authenticates by key id, for a session that was started with the key.
    pub fn authenticate_session(&self, id: KeyId) -> Result<AuthenticatedKey, Refusal> {
        let now = manent_store::now();
        let pass = self.inner.credentials.authenticate_session(id, now)?;
        self.note_use(&pass.key, now);
        Ok(pass)
    }

    fn note_use(&self, key: &Key, now: Timestamp) {
        let minute = Timestamp(now.0 - now.0.rem_euclid(USE_STEP));
        self.inner.credentials.used.lock().insert(key.id, minute);
    }

    /// Records when keys were last used.
    pub(super) async fn flush_use(&self) -> Result<()> {
        let used = std::mem::take(&mut *self.inner.credentials.used.lock());
        match used.is_empty() {
            true => Ok(()),
            false => Ok(self.inner.system.note_use(used.into_iter().collect()).await?),
        }
    }
}
