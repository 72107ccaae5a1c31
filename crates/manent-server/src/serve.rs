//! Server lifecycle: bind, run, background jobs, shutdown.

use crate::app::App;
use crate::auth::secret::Secret;
use crate::auth::{self, Auth};
use crate::http::router::METRICS;
use crate::http::{connections, router};
use crate::limits::budget::ByteBudget;
use crate::limits::concurrency::ConcurrencyLimiter;
use crate::limits::fair_queue::{FairQueue, FairQueueOptions};
use crate::middleware::host::Hosts;
use crate::options::ServeOptions;
use crate::wire::native::operation::{Access, Rule};
use crate::wire::native::{NATIVE, api_docs, handlers, openapi};
use crate::wire::{self, Mount};
use axum::Router;
use manent::model::TenantId;
use manent::{BackupPlan, Tenants};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Interval of the check for due backups.
const BACKUP_CHECK_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// Minimum interval of the job that ends idle streams.
const STREAM_ROUND_MIN: Duration = Duration::from_millis(50);

/// Minimum length of a user-chosen token, and of its distinct characters. The token grants full access, and memorable
/// ones can be guessed.
const TOKEN_LENGTH: usize = 20;
const TOKEN_DIFFERENT: usize = 8;

fn is_weak(token: &Secret) -> bool {
    let different: BTreeSet<char> = token.reveal().chars().collect();
    token.reveal().chars().count() < TOKEN_LENGTH || different.len() < TOKEN_DIFFERENT
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartProblem {
    /// The token or the sessions could not be read or written.
    #[error("the token in {folder} cannot be used")]
    Token {
        /// The folder.
        folder: String,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The address is reachable from other machines, and this was not allowed explicitly.
    #[error("listening on {listen} lets other machines in; give them a token of your own with MANENT_TOKEN")]
    Exposed {
        /// The address.
        listen: SocketAddr,
    },
    /// The user-chosen token is too easy to guess.
    #[error(
        "MANENT_TOKEN is too easy to guess: take at least {TOKEN_LENGTH} characters, {TOKEN_DIFFERENT} of them different"
    )]
    WeakToken,
    /// The tenants could not be loaded.
    #[error("the tenants cannot be read")]
    Tenants(#[source] manent::Error),
    /// The address could not be bound.
    #[error("cannot listen on {listen}{}", if source.kind() == io::ErrorKind::AddrInUse {
        "; a server may run there already (open its page, or choose another address with --listen)"
    } else {
        ""
    })]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
}

/// A server that is bound, and serves requests once it is run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Secret,
    app: App,
    stop: watch::Sender<bool>,
    router: Router,
}

impl Server {
    /// Binds the address. `token` is a user-chosen token; without it, the one generated at the first start is used.
    pub async fn bind(tenants: Tenants, options: ServeOptions, token: Option<Secret>) -> Result<Self, StartProblem> {
        let listen = options.listen;
        if token.as_ref().is_some_and(is_weak) {
            return Err(StartProblem::WeakToken);
        }
        if token.is_none() && !listen.ip().is_loopback() {
            return Err(StartProblem::Exposed { listen });
        }
        let unusable = |source| StartProblem::Token { folder: options.home.display().to_string(), source };
        let token = token.map_or_else(|| auth::token(&options.home), Ok).map_err(unusable)?;
        let bound = TcpListener::bind(listen).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|source| StartProblem::Listen { listen, source })?;
        let mounts = [Mount { wire: &NATIVE, operations: handlers::operations() }];
        let (stop, stopping) = watch::channel(false);
        let description = openapi::description(&mounts[0].operations);
        for (tenant, error) in tenants.begin().await.map_err(StartProblem::Tenants)? {
            tracing::error!(%tenant, code = error.code(), "a tenant that was being made or erased could not be finished");
        }
        let metrics_rule = Rule {
            id: "metrics",
            wire: &NATIVE,
            access: Access::TenantAdmin,
            audited: None,
            has_no_timeout: false,
            takes_json: true,
            is_large: false,
        };
        let app = App {
            tenants,
            rates: Arc::default(),
            audit: Arc::default(),
            metrics: Arc::default(),
            auth: Arc::new(Auth::open(&options.home, &token, address.port()).map_err(unusable)?),
            limits: options.limits,
            rules: Arc::new(wire::rules(&mounts).and(METRICS, metrics_rule)),
            backups: options.backups.map(Arc::new),
            reference: api_docs::page(&description).into(),
            description: description.to_string().into(),
            in_flight: Arc::default(),
            requests: ConcurrencyLimiter::new(options.limits.requests),
            queue: FairQueue::new(FairQueueOptions::REQUESTS),
            large_reads: FairQueue::new(FairQueueOptions::LARGE_READS),
            budget: ByteBudget::new(options.limits.held_bytes),
            spool: options.home.clone(),
            transfers: ConcurrencyLimiter::new(options.limits.transfers),
            tails: ConcurrencyLimiter::new(options.limits.tails),
            stopping,
        };
        let hosts = Hosts::new(&options.hosts, address.port());
        let router = router::router(mounts, &app, hosts);
        Ok(Self { listener, address, token, app, stop, router })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the login link. The token is in the fragment, which browsers do not send to servers.
    pub fn login_link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token.reveal())
    }

    /// Serves requests until `end` resolves, then finishes accepted requests and closes the database.
    pub async fn run(self, end: impl Future<Output = ()>) -> manent::Result<()> {
        let backups = tokio::spawn(keep_backups(self.app.clone()));
        let streams = tokio::spawn(end_idle_streams(self.app.clone()));
        let tenants = self.app.tenants.clone();
        let following = tokio::spawn(async move { tenants.follow().await });
        let stop = self.stop;
        let ended = async move {
            end.await;
            // Live tails end first: they would keep their connections open for ever.
            let _ = stop.send(true);
        };
        connections::serve(self.listener, self.router, ended).await;
        backups.abort();
        streams.abort();
        following.abort();
        self.app.tenants.close().await
    }
}

/// Ends abandoned streams of open stores. Stores that are opened later are covered by the next round.
async fn end_idle_streams(app: App) {
    let idle = app.limits.stream_idle;
    loop {
        for (tenant, database) in app.tenants.open_databases() {
            match database.end_idle_streams(idle).await {
                Ok(0) => {}
                Ok(ended) => tracing::info!(%tenant, ended, "idle streams ended as incomplete"),
                Err(error) => tracing::error!(%tenant, code = error.code(), "idle streams could not be ended"),
            }
        }
        tokio::time::sleep((idle / 4).max(STREAM_ROUND_MIN)).await;
    }
}

async fn keep_backups(app: App) {
    let Some(plan) = app.backups else { return };
    loop {
        match app.tenants.tenants_in_use().await {
            Ok(tenants) => {
                for tenant in tenants {
                    keep_backup(&app.tenants, tenant.id, &plan).await;
                }
            }
            Err(error) => tracing::error!(code = error.code(), "the tenants could not be read"),
        }
        match app.tenants.backup_system_if_due(&plan).await {
            Ok(None) => {}
            Ok(Some(path)) => tracing::info!(path = %path.display(), "a backup of the tenants and keys was taken"),
            Err(error) => tracing::error!(code = error.code(), "a backup of the tenants and keys failed"),
        }
        tokio::time::sleep(BACKUP_CHECK_INTERVAL).await;
    }
}

/// Backs up one tenant if a backup is due.
async fn keep_backup(tenants: &Tenants, tenant: TenantId, plan: &BackupPlan) {
    let folder = tenants.backups_of(tenant).unwrap_or_else(|| plan.folder.clone());
    let plan = BackupPlan { folder, ..plan.clone() };
    let taken = async {
        // Checked first, so that a store is not opened without need.
        match plan.is_due()? {
            true => tenants.database(tenant).await?.backup_if_due(&plan).await,
            false => Ok(None),
        }
    };
    match taken.await {
        Ok(None) => {}
        Ok(Some(report)) => {
            tracing::info!(%tenant, path = report.path, position = report.position, "a backup was taken");
        }
        Err(error) => tracing::error!(%tenant, code = error.code(), "a backup failed"),
    }
}
