//! Shared state of all handlers.

use crate::auth::Auth;
use crate::budget::Budget;
use crate::idempotency::InFlight;
use crate::lines::Lines;
use crate::metrics::Metrics;
use crate::operation::Rules;
use crate::options::Limits;
use crate::places::{Place, Places, Share};
use crate::problem::{Answer, Problem};
use crate::witness::Witness;
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
    /// Request rate limits and the audit log.
    pub witness: Arc<Witness>,
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
    pub requests: Arc<Places>,
    /// Fair queues of requests.
    pub lines: Arc<Lines>,
    /// Fair queues of requests with large responses.
    pub large_reads: Arc<Lines>,
    /// Byte budget of request and response bodies.
    pub budget: Arc<Budget>,
    /// Folder for uploads until they are stored.
    pub spool: PathBuf,
    /// Concurrency limit of imports and exports, which occupy a thread each until their last byte.
    pub transfers: Arc<Places>,
    /// Concurrency limit of live tails.
    pub tails: Arc<Places>,
    /// Becomes true on shutdown: tails end, accepted requests are finished.
    pub stopping: watch::Receiver<bool>,
}

impl App {
    /// Acquires a permit for an import or export, to be held until the last byte.
    pub fn transfer(&self, tenant: TenantId) -> Answer<Place> {
        self.transfers.take(Some(tenant), self.share()).ok_or_else(|| {
            let why = "too many concurrent imports and exports";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why)
        })
    }

    /// Returns the share of a concurrency limit that one tenant may hold.
    pub fn share(&self) -> Share {
        match self.tenants.are_several() {
            true => Share::Half,
            false => Share::All,
        }
    }
}
