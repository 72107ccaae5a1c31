//! Where a store on PostgreSQL is, and whose it is.

use crate::error::{Result, StoreError};
use std::time::Duration;
use tokio_postgres::Config;

/// Where a store on PostgreSQL is, and whose it is.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The server: a URL or a list of settings, as libpq takes it. It may name several hosts.
    pub server: String,
    /// Whose rows these are.
    pub tenant: i64,
    /// How many threads read.
    pub readers: usize,
    /// How long to try to reach a server that is gone before callers are told.
    pub patience: Duration,
}

impl PostgresOptions {
    /// The first tenant of a server.
    pub fn new(server: impl Into<String>) -> Self {
        Self { server: server.into(), tenant: 1, readers: 4, patience: Duration::from_secs(10) }
    }

    pub(super) fn config(&self) -> Result<Config> {
        // What is wrong with it is not repeated: it may hold a password.
        let mut config: Config = self
            .server
            .parse()
            .map_err(|_| StoreError::Invalid("that is not the address of a PostgreSQL".to_owned()))?;
        config.application_name("manent").connect_timeout(Duration::from_secs(5));
        Ok(config)
    }
}
