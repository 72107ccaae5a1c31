//! Keyed mutex: one holder at a time per tenant, independent of other tenants.

use manent_model::TenantId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// Keyed mutex by tenant.
#[derive(Default)]
pub(super) struct KeyedMutex {
    of: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>>,
}

impl KeyedMutex {
    /// Acquires the lock of a tenant; it is released when the guard is dropped.
    pub(super) async fn lock(&self, id: TenantId) -> OwnedMutexGuard<()> {
        self.mutex_of(id).lock_owned().await
    }

    /// Acquires the lock of a tenant, if it is free.
    pub(super) fn try_lock(&self, id: TenantId) -> Option<OwnedMutexGuard<()>> {
        self.mutex_of(id).try_lock_owned().ok()
    }

    fn mutex_of(&self, id: TenantId) -> Arc<tokio::sync::Mutex<()>> {
        let mut of = self.of.lock();
        of.retain(|_, turn| Arc::strong_count(turn) > 1);
        of.entry(id).or_default().clone()
    }
}
