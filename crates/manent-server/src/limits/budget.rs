//! Byte budget: limits the memory that request and response bodies hold, in total and per tenant.

use crate::limits::concurrency::TenantShare;
use crate::problem::{ApiResult, Problem};
use axum::http::StatusCode;
use bytes::Bytes;
use manent::model::TenantId;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

/// A byte budget with its current reservations.
pub struct ByteBudget {
    all: usize,
    held: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    sum: usize,
    /// `None` counts unauthenticated callers.
    by_tenant: HashMap<Option<TenantId>, usize>,
}

/// Reserved bytes, released on drop.
pub struct Reservation {
    budget: Arc<ByteBudget>,
    tenant: Option<TenantId>,
    share: TenantShare,
    bytes: usize,
}

impl ByteBudget {
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, held: Mutex::default() })
    }

    /// Starts an empty reservation for a tenant.
    pub fn begin(self: &Arc<Self>, tenant: Option<TenantId>, share: TenantShare) -> Reservation {
        Reservation { budget: self.clone(), tenant, share, bytes: 0 }
    }

    /// Returns the number of reserved bytes.
    pub fn held(&self) -> usize {
        self.lock().sum
    }

    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.held.lock()
    }
}

impl Reservation {
    /// Reserves more bytes. Fails with 429 if the tenant has used up its share, with 503 if the server has no more.
    pub fn grow(&mut self, bytes: usize) -> ApiResult<()> {
        let mut held = self.budget.lock();
        let own = held.by_tenant.get(&self.tenant).copied().unwrap_or(0);
        if own.saturating_add(bytes) > self.share.of(self.budget.all) {
            let why = "this tenant has reached its memory limit for requests and responses in progress; try again";
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_bytes", why));
        }
        if held.sum.saturating_add(bytes) > self.budget.all {
            let why = "the server has reached its memory limit for requests and responses in progress; try again";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why));
        }
        held.sum += bytes;
        held.by_tenant.insert(self.tenant, own + bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Ties the reservation to bytes: it is released with the last copy of them, even one in a connection's send
    /// buffer.
    pub fn attach(self, bytes: Bytes) -> Bytes {
        struct WithReservation(Bytes, #[expect(dead_code, reason = "it is dropped with the bytes")] Reservation);
        impl AsRef<[u8]> for WithReservation {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
        Bytes::from_owner(WithReservation(bytes, self))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut held = self.budget.lock();
        held.sum -= self.bytes;
        if let Some(own) = held.by_tenant.get_mut(&self.tenant) {
            *own -= self.bytes;
            if *own == 0 {
                held.by_tenant.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_one_tenant_is_refused_while_another_is_served() {
        let budget = ByteBudget::new(100);
        let tenant = |number| Some(TenantId::new(1, [number; 10]));
        let mut one = budget.begin(tenant(1), TenantShare::Half);
        one.grow(50).expect("its share");
        assert_eq!(one.grow(1).expect_err("more than its share").status, 429);
        let mut other = budget.begin(tenant(2), TenantShare::Half);
        other.grow(50).expect("its share");
        let third = budget.begin(tenant(3), TenantShare::Half).grow(1);
        assert_eq!(third.expect_err("nothing is left").status, 503);
        // The reservation is held as long as a copy exists.
        let bytes = other.attach(Bytes::from_static(b"answer"));
        let copy = bytes.clone();
        drop((bytes, one));
        assert_eq!((&copy[..], budget.held()), (&b"answer"[..], 50));
        drop(copy);
        assert_eq!(budget.held(), 0);
        assert!(budget.lock().by_tenant.is_empty());
    }
}
