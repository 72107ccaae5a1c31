//! Shared state of all handlers.

use crate::auth::Auth;
use crate::limits::budget::ByteBudget;
use crate::limits::concurrency::{ConcurrencyLimiter, ConcurrencyPermit, TenantShare};
use crate::limits::fair_queue::FairQueue;
use crate::metrics::Metrics;
use crate::middleware::audit::AuditRecorder;
use crate::middleware::idempotency::InFlight;
use crate::middleware::rate_limit::RateLimits;
use crate::options::Limits;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::operation::Rules;
use axum::http::StatusCode;
use manent::model::TenantId;
use manent::{BackupPlan, Tenants};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// The state of a running server; cloning it is cheap.
///
/// It has no database: a handler gets the one of the authenticated caller, with that caller's access scope.
#[derive(Clone)]
pub struct App {
    /// Tenants with their stores and keys.
    pub tenants: Tenants,
    /// Authentication: the server token and the sessions.
    pub auth: Arc<Auth>,
    /// Request rate limits.
    pub rates: Arc<RateLimits>,
    /// Writer of the audit log.
    pub audit: Arc<AuditRecorder>,
    /// Limits on sizes, times and rates.
    pub limits: Limits,
    /// Access rules by route.
    pub rules: Arc<Rules>,
    /// Backup schedule, if enabled.
    pub backups: Option<Arc<BackupPlan>>,
    /// The OpenAPI description, as JSON text.
    pub description: Arc<str>,
    /// The HTML reference page.
    pub reference: Arc<str>,
    /// Prometheus counters.
    pub metrics: Arc<Metrics>,
    /// Writes in progress, by idempotency key.
    pub in_flight: Arc<InFlight>,
    /// Concurrency limit of requests.
    pub requests: Arc<ConcurrencyLimiter>,
    /// Fair queues of requests.
    pub queue: Arc<FairQueue>,
    /// Fair queues of requests with large responses.
    pub large_reads: Arc<FairQueue>,
    /// Byte budget of request and response bodies.
    pub budget: Arc<ByteBudget>,
    /// Folder for uploads until they are stored.
    pub spool: PathBuf,
    /// Concurrency limit of imports and exports, which occupy a thread each until their last byte.
    pub transfers: Arc<ConcurrencyLimiter>,
    /// Concurrency limit of live tails.
    pub tails: Arc<ConcurrencyLimiter>,
    /// Becomes true on shutdown: tails end, accepted requests are finished.
    pub stopping: watch::Receiver<bool>,
}

impl App {
    /// Acquires a permit for an import or export, to be held until the last byte.
    pub fn transfer(&self, tenant: TenantId) -> ApiResult<ConcurrencyPermit> {
        self.transfers.acquire(Some(tenant), self.share()).ok_or_else(|| {
            let why = "too many concurrent imports and exports";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why)
        })
    }

    /// Returns the share of a concurrency limit that one tenant may hold.
    pub fn share(&self) -> TenantShare {
        match self.tenants.are_several() {
            true => TenantShare::Half,
            false => TenantShare::All,
        }
    }
}
