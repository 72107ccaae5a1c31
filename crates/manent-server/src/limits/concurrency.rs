//! Concurrency limiter with a maximum share per tenant.

use manent::model::TenantId;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

/// The limiter: its permits and their holders.
pub struct ConcurrencyLimiter {
    all: usize,
    held: Mutex<HashMap<Option<TenantId>, usize>>,
}

/// A permit, released on drop.
pub struct ConcurrencyPermit {
    places: Arc<ConcurrencyLimiter>,
    tenant: Option<TenantId>,
}

/// The share of the permits that one tenant may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantShare {
    /// All of them: there is no other tenant.
    All,
    /// Half of them.
    Half,
}

impl TenantShare {
    /// Returns the share as a number.
    pub fn of(self, all: usize) -> usize {
        match self {
            Self::All => all,
            Self::Half => all.div_ceil(2),
        }
    }
}

impl ConcurrencyLimiter {
    /// Creates a limiter.
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: Mutex::default() })
    }

    /// Acquires a permit; `None` if all are held, or this tenant holds its share.
    pub fn acquire(self: &Arc<Self>, tenant: Option<TenantId>, share: TenantShare) -> Option<ConcurrencyPermit> {
        let mut held = self.lock();
        let most = share.of(self.all);
        let own = held.get(&tenant).copied().unwrap_or(0);
        if own >= most || held.values().sum::<usize>() >= self.all {
            return None;
        }
        held.insert(tenant, own + 1);
        drop(held);
        Some(ConcurrencyPermit { places: self.clone(), tenant })
    }

    /// Returns the number of held permits by tenant.
    pub fn held(&self) -> Vec<(Option<TenantId>, usize)> {
        self.lock().iter().map(|(tenant, count)| (*tenant, *count)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<TenantId>, usize>> {
        self.held.lock()
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        let mut held = self.places.lock();
        if let Some(count) = held.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_leaves_places_for_others() {
        let places = ConcurrencyLimiter::new(4);
        let (one, other) = (TenantId::new(1, [1; 10]), TenantId::new(1, [2; 10]));
        let mut held: Vec<ConcurrencyPermit> =
            (0..2).filter_map(|_| places.acquire(Some(one), TenantShare::Half)).collect();
        assert_eq!(held.len(), 2);
        assert!(places.acquire(Some(one), TenantShare::Half).is_none());
        held.extend((0..3).filter_map(|_| places.acquire(Some(other), TenantShare::Half)));
        assert_eq!(held.len(), 4);
        assert!(places.acquire(None, TenantShare::Half).is_none(), "all are held");
        held.clear();
        assert!(places.held().is_empty());
        held.extend((0..9).filter_map(|_| places.acquire(Some(one), TenantShare::All)));
        assert_eq!(held.len(), 4);
    }
}
