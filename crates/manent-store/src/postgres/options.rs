//! Where a store on PostgreSQL is, and whose it is.

use crate::error::{Result, StoreError};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

/// Where a store on PostgreSQL is, and whose it is.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The server: a URL or a list of settings, as libpq takes it. It may name several hosts; the one that takes writes
    /// is used.
    pub server: String,
    /// Whose rows these are.
    pub tenant: i64,
    /// How many threads read.
    pub readers: usize,
    /// How long a server may be gone or silent before callers are told.
    pub patience: Duration,
}

impl PostgresOptions {
    /// The first tenant of a server.
    pub fn new(server: impl Into<String>) -> Self {
        Self { server: server.into(), tenant: 1, readers: 4, patience: Duration::from_secs(10) }
    }

    /// Returns the server as people may see it: without its password and its settings.
    pub fn address(&self) -> String {
        let Ok(config) = self.server.parse::<Config>() else { return "postgres://…".to_owned() };
        let ports = config.get_ports();
        let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(5432);
        let hosts = config.get_hosts().iter().enumerate().map(|(place, host)| match host {
            Host::Tcp(name) => format!("{name}:{}", port(place)),
            Host::Unix(folder) => folder.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
        format!("postgres://{user}{}{database}", hosts.join(","))
    }

    pub(super) fn config(&self) -> Result<Config> {
        // What is wrong with it is not repeated: it may hold a password.
        let mut config: Config = self
            .server
            .parse()
            .map_err(|_| StoreError::Invalid("that is not the address of a PostgreSQL".to_owned()))?;
        config.application_name("manent");
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        // A host that vanished without a word is noticed, also where nobody waits for an answer.
        config.keepalives_idle(Duration::from_secs(10)).tcp_user_timeout(Duration::from_secs(20));
        Ok(config)
    }
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the address: it may hold a password.
        let Self { server: _, tenant, readers, patience } = self;
        f.debug_struct("PostgresOptions")
            .field("tenant", tenant)
            .field("readers", readers)
            .field("patience", patience)
            .finish_non_exhaustive()
    }
}
