//! Limits per key, address and tenant: rates, concurrency, fair queues, bytes.

pub(crate) mod concurrency;
pub(crate) mod fair_queue;
pub(crate) mod budget;
pub(crate) mod rate;
