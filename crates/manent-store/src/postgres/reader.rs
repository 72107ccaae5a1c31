//! A connection that reads from a server.

use super::client::Client;
use super::migrate::connect;
use super::options::PostgresOptions;
use crate::engine::cache::Caches;
use crate::engine::fault::Outcome;
use crate::engine::read::Reading;
use crate::engine::readers::Reader;
use crate::error::Result;
use manent_model::DigestKey;

/// A connection that reads, with what it remembers.
pub(super) struct PostgresReader {
    options: PostgresOptions,
    client: Client,
    caches: Caches,
}

impl PostgresReader {
    pub(super) fn open(options: &PostgresOptions) -> Result<Self> {
        Ok(Self { options: options.clone(), client: connect(options)?, caches: Caches::default() })
    }

    fn inside<T>(&mut self, key: &DigestKey, read: impl FnOnce(&mut Reading<'_>) -> Outcome<T>) -> Outcome<T> {
        self.client.begin_reading()?;
        let mut reading = Reading { connection: (&self.client).into(), caches: &mut self.caches, key };
        read(&mut reading)
    }
}

impl Reader for PostgresReader {
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl FnOnce(&mut Reading<'_>) -> Outcome<T>,
    ) -> Result<T> {
        // It may have gone while nobody asked.
        self.client.push();
        if self.client.is_closed() {
            *self = Self::open(&self.options)?;
        }
        let outcome = self.inside(key, read);
        self.client.end_reading();
        outcome.map_err(|fault| fault.said(doing))
    }

    fn is_open(&self) -> bool {
        !self.client.is_closed()
    }
}
