//! What every handler can reach.

use crate::auth::Auth;
use crate::options::Limits;
use manent::{BackupPlan, Database};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// The state of a running server; cloning it is cheap.
#[derive(Clone)]
pub struct App {
    /// The database.
    pub database: Database,
    /// Who may come in.
    pub auth: Arc<Auth>,
    /// How much is too much.
    pub limits: Limits,
    /// Routes that may take as long as they take.
    pub unhurried: Arc<HashSet<String>>,
    /// Where backups go, if anywhere.
    pub backups: Option<Arc<BackupPlan>>,
    /// The description of the API, as JSON text.
    pub description: Arc<str>,
    /// The reference page.
    pub reference: Arc<str>,
    /// Places for requests.
    pub requests: Arc<Semaphore>,
    /// Places for live tails.
    pub tails: Arc<Semaphore>,
    /// Turns true when the server is to stop: tails end, what was accepted is finished.
    pub stopping: watch::Receiver<bool>,
}
