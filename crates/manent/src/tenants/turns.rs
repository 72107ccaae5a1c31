//! One at a time for each tenant, and nobody waits for another tenant.

use manent_model::TenantId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Those who wait for their turn with a tenant.
#[derive(Default)]
pub(super) struct Turns {
    of: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// Waits until nobody else has the turn of a tenant; it ends when this is dropped.
    pub(super) async fn of(&self, id: TenantId) -> OwnedMutexGuard<()> {
        self.turn(id).lock_owned().await
    }

    /// Takes the turn of a tenant, if nobody has it or waits for it.
    pub(super) fn try_of(&self, id: TenantId) -> Option<OwnedMutexGuard<()>> {
        self.turn(id).try_lock_owned().ok()
    }

    fn turn(&self, id: TenantId) -> Arc<tokio::sync::Mutex<()>> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        of.retain(|_, turn| Arc::strong_count(turn) > 1);
        of.entry(id).or_default().clone()
    }
}
