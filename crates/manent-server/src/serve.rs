//! A server from its start to its end.

use crate::app::App;
use crate::auth::{self, Auth};
use crate::connections;
use crate::guard::{Hosts, guard};
use crate::operation::{BASE, description, routes};
use crate::options::ServeOptions;
use crate::secret::Secret;
use crate::{api, pages, reference};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use manent::Database;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// How often it is looked whether a backup is due.
const BACKUP_LOOK: Duration = Duration::from_secs(15 * 60);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartProblem {
    /// The token or the sessions cannot be read or written.
    #[error("the token in {folder} cannot be used")]
    Token {
        /// The folder.
        folder: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Others could reach it, and nobody said that they may.
    #[error("listening on {listen} lets other machines in; give them a token of your own with MANENT_TOKEN")]
    Exposed {
        /// Where it was to listen.
        listen: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {listen}{}", if source.kind() == io::ErrorKind::AddrInUse {
        "; a server may run there already (open its page, or choose another address with --listen)"
    } else {
        ""
    })]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// A server that listens, and answers once it is run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Secret,
    app: App,
    stop: watch::Sender<bool>,
    router: Router,
}

impl Server {
    /// Listens. `token` is one that somebody chose; without it, the one that was made at the first start counts.
    pub async fn bind(database: Database, options: ServeOptions, token: Option<Secret>) -> Result<Self, StartProblem> {
        let listen = options.listen;
        if token.is_none() && !listen.ip().is_loopback() {
            return Err(StartProblem::Exposed { listen });
        }
        let unusable = |source| StartProblem::Token { folder: options.home.display().to_string(), source };
        let token = token.map_or_else(|| auth::token(&options.home), Ok).map_err(unusable)?;
        let bound = TcpListener::bind(listen).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|source| StartProblem::Listen { listen, source })?;
        let operations = api::operations();
        let (stop, stopping) = watch::channel(false);
        let description = description(&operations);
        let long = operations.iter().filter(|operation| operation.long);
        let app = App {
            database,
            auth: Arc::new(Auth::open(&options.home, &token, address.port()).map_err(unusable)?),
            limits: options.limits,
            unhurried: Arc::new(long.map(|operation| format!("{BASE}{}", operation.path)).collect()),
            backups: options.backups.map(Arc::new),
            reference: reference::page(&description).into(),
            description: description.to_string().into(),
            requests: Arc::new(Semaphore::new(options.limits.requests)),
            tails: Arc::new(Semaphore::new(options.limits.tails)),
            stopping,
        };
        let hosts = Arc::new(Hosts::new(&options.hosts, address.port()));
        let router = routes(operations)
            .route(&format!("{BASE}/openapi.json"), get(openapi))
            .route("/docs/api", get(reference_page))
            .route("/docs/api.css", get(reference_style))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .fallback(pages::page)
            .method_not_allowed_fallback(pages::wrong_method)
            .layer(middleware::from_fn_with_state((app.clone(), hosts), guard))
            .with_state(app.clone());
        Ok(Self { listener, address, token, app, stop, router })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the link that lets its owner in. The token stands behind the `#`, which browsers do not send.
    pub fn login_link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token.reveal())
    }

    /// Answers until `end` comes, then finishes what was accepted and closes the database.
    pub async fn run(self, end: impl Future<Output = ()>) -> manent::Result<()> {
        let backups = tokio::spawn(keep_backups(self.app.clone()));
        let stop = self.stop;
        let ended = async move {
            end.await;
            // Live tails end first: they would keep their connections open for ever.
            let _ = stop.send(true);
        };
        connections::serve(self.listener, self.router, ended).await;
        backups.abort();
        self.app.database.close().await
    }
}

async fn openapi(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.description.to_string()).into_response()
}

async fn reference_page(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], app.reference.to_string()).into_response()
}

async fn reference_style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], reference::STYLE).into_response()
}

/// Ready means that the store answers.
async fn ready(State(app): State<App>) -> Response {
    match app.database.store().conversation_ids(None, 1).await {
        Ok(_) => "ready\n".into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response(),
    }
}

async fn keep_backups(app: App) {
    let Some(plan) = app.backups else { return };
    loop {
        match app.database.backup_if_due(&plan).await {
            Ok(None) => {}
            Ok(Some(report)) => tracing::info!(path = report.path, position = report.position, "a backup was taken"),
            Err(error) => tracing::error!(code = error.code(), "a backup failed"),
        }
        tokio::time::sleep(BACKUP_LOOK).await;
    }
}
