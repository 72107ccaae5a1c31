//! Keyed mutex: one holder at a time per tenant, independent of other tenants.

use manent_model::TenantId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Keyed mutex by tenant.
#[derive(Default)]
pub(super) struct Turns {
    of: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// Acquires the lock of a tenant; it is released when the guard is dropped.
    pub(super) async fn of(&self, id: TenantId) -> OwnedMutexGuard<()> {
        self.turn(id).lock_owned().await
    }

    /// Acquires the lock of a tenant, if it is free.
    pub(super) fn try_of(&self, id: TenantId) -> Option<OwnedMutexGuard<()>> {
        self.turn(id).try_lock_owned().ok()
    }

    fn turn(&self, id: TenantId) -> Arc<tokio::sync::Mutex<()>> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        of.retain(|_, turn| Arc::strong_count(turn) > 1);
        of.entry(id).or_default().clone()
    }
}
