//! Read connection to a server.

use super::client::Client;
use super::options::PostgresOptions;
use super::{PAUSE, is_lost, reconnect};
use crate::engine::cache::Caches;
use crate::engine::fault::{Fault, Outcome};
use crate::engine::read::Reading;
use crate::engine::readers::Reader;
use crate::error::Result;
use manent_model::DigestKey;
use std::time::Instant;

/// A read connection with its caches.
pub(super) struct PostgresReader {
    options: PostgresOptions,
    client: Client,
    caches: Caches,
}

impl PostgresReader {
    /// Connects; a server that is away is waited for as long as callers may wait.
    pub(super) fn open(options: &PostgresOptions) -> Result<Self> {
        Self::open_until(options, Instant::now() + options.patience)
    }

    fn open_until(options: &PostgresOptions, until: Instant) -> Result<Self> {
        let client = reconnect(options, until)?;
        Ok(Self { options: options.clone(), client, caches: Caches::default() })
    }

    fn inside<T>(&mut self, key: &DigestKey, read: impl Fn(&mut Reading<'_>) -> Outcome<T>) -> Outcome<T> {
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
        read: impl Fn(&mut Reading<'_>) -> Outcome<T>,
    ) -> Result<T> {
        let until = Instant::now() + self.options.patience;
        loop {
            // The connection may have been closed while it was idle.
            self.client.push();
            if self.client.is_closed() {
                *self = Self::open_until(&self.options, until)?;
            }
            let outcome = self.inside(key, &read);
            self.client.end_reading();
            match outcome {
                Err(Fault::Engine(error)) if is_lost(&error) && Instant::now() < until => std::thread::sleep(PAUSE),
                outcome => return outcome.map_err(|fault| fault.said(doing)),
            }
        }
    }

    fn is_open(&self) -> bool {
        !self.client.is_closed()
    }
}
