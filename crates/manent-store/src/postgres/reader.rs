//! Read connection to a server.

use super::client::Client;
use super::options::PostgresOptions;
use super::{RETRY_DELAY, is_lost, reconnect};
use crate::api::error::Result;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::read::Reading;
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::runtime::read_queue::Reader;
use manent_model::DigestKey;
use std::time::Instant;

/// A read connection with its caches.
pub(super) struct PostgresReader {
    options: PostgresOptions,
    client: Client,
    caches: RowCache,
}

impl PostgresReader {
    /// Connects; a server that is away is waited for as long as callers may wait.
    pub(super) fn open(options: &PostgresOptions) -> Result<Self> {
        Self::open_until(options, Instant::now() + options.statement_timeout)
    }

    fn open_until(options: &PostgresOptions, until: Instant) -> Result<Self> {
        let client = reconnect(options, until)?;
        Ok(Self { options: options.clone(), client, caches: RowCache::default() })
    }

    fn inside<T>(&mut self, key: &DigestKey, read: impl Fn(&mut Reading<'_>) -> TxResult<T>) -> TxResult<T> {
        self.client.begin_reading()?;
        let mut reading =
            Reading { connection: (&self.client).into(), caches: &mut self.caches, key, index: None, damaged: None };
        read(&mut reading)
    }
}

impl Reader for PostgresReader {
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T>,
    ) -> Result<T> {
        let until = Instant::now() + self.options.statement_timeout;
        loop {
            // The connection may have been closed while it was idle.
            self.client.push();
            if self.client.is_closed() {
                *self = Self::open_until(&self.options, until)?;
            }
            let outcome = self.inside(key, &read);
            self.client.end_reading();
            match outcome {
                Err(TxError::Database(error)) if is_lost(&error) && Instant::now() < until => {
                    std::thread::sleep(RETRY_DELAY)
                }
                outcome => return outcome.map_err(|fault| fault.into_store_error(doing)),
            }
        }
    }

    fn is_open(&self) -> bool {
        !self.client.is_closed()
    }
}
