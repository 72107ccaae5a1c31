//! What every handler can reach.

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
/// No database is here: a handler has the one of whoever asks, as far as they reach.
#[derive(Clone)]
pub struct App {
    /// Whose stores these are, and who may come in.
    pub tenants: Tenants,
    /// The token and the sessions.
    pub auth: Arc<Auth>,
    /// Tells the audit log.
    pub witness: Arc<Witness>,
    /// How much is too much.
    pub limits: Limits,
    /// What each route needs.
    pub rules: Arc<Rules>,
    /// Where backups go, if anywhere.
    pub backups: Option<Arc<BackupPlan>>,
    /// The description of the API, as JSON text.
    pub description: Arc<str>,
    /// The reference page.
    pub reference: Arc<str>,
    /// What happened.
    pub metrics: Arc<Metrics>,
    /// Writes under way, by their idempotency keys.
    pub in_flight: Arc<InFlight>,
    /// Places for requests.
    pub requests: Arc<Places>,
    /// Lines before the handlers.
    pub lines: Arc<Lines>,
    /// Lines before the handlers whose answers may be large.
    pub large_reads: Arc<Lines>,
    /// What the bodies of requests and answers hold.
    pub budget: Arc<Budget>,
    /// The folder in which uploads lie until they are stored.
    pub spool: PathBuf,
    /// Places for imports and exports, which take a thread each until their last byte.
    pub transfers: Arc<Places>,
    /// Places for live tails.
    pub tails: Arc<Places>,
    /// Turns true when the server is to stop: tails end, what was accepted is finished.
    pub stopping: watch::Receiver<bool>,
}

impl App {
    /// Takes a place for an import or an export; it is to be held until the last byte.
    pub fn transfer(&self, tenant: TenantId) -> Answer<Place> {
        self.transfers.take(Some(tenant), self.share()).ok_or_else(|| {
            let why = "too many imports and exports at a time";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why)
        })
    }

    /// Returns how many places one tenant may hold.
    pub fn share(&self) -> Share {
        match self.tenants.are_several() {
            true => Share::Half,
            false => Share::All,
        }
    }
}
