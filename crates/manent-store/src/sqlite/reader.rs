//! A connection that reads a file.

use super::connection::{SqliteOptions, open_reader};
use super::index::IndexReader;
use crate::engine::cache::Caches;
use crate::engine::connection::execute;
use crate::engine::fault::Outcome;
use crate::engine::read::Reading;
use crate::engine::readers::Reader;
use crate::engine::search::SEARCHING;
use crate::error::Result;
use manent_model::DigestKey;
use rusqlite::Connection;
use std::time::{Duration, Instant};

/// No read may keep the WAL from being copied for long.
const READ_MAX: Duration = Duration::from_secs(5);

/// A connection that reads, with what it remembers.
pub(super) struct SqliteReader {
    connection: Connection,
    /// Opened for the first search.
    index: Option<IndexReader>,
    options: SqliteOptions,
    caches: Caches,
}

impl SqliteReader {
    pub(super) fn open(options: &SqliteOptions) -> Result<Self> {
        let connection = open_reader(options)?;
        Ok(Self { connection, index: None, options: options.clone(), caches: Caches::default() })
    }

    fn inside<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let connection = &self.connection;
        let index = self.index.as_ref().map(|index| &index.connection).filter(|_| doing == SEARCHING);
        // The index first: what it does not know yet is then in the file.
        if let Some(index) = index {
            execute(index, "begin", ())?;
        }
        execute(connection, "begin", ())?;
        // What a reader remembers never changes: words and the ranges of branches. Sums, which may, it does not use.
        let mut reading = Reading { connection: connection.into(), caches: &mut self.caches, key, index };
        let value = read(&mut reading);
        if let Some(index) = index {
            let _ = execute(index, "rollback", ());
        }
        let value = value?;
        execute(connection, "commit", ())?;
        Ok(value)
    }
}

impl Reader for SqliteReader {
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> Outcome<T>,
    ) -> Result<T> {
        let until = Instant::now() + READ_MAX;
        let guard = self.connection.progress_handler(100_000, Some(move || Instant::now() > until));
        guard.map_err(|error| super::connection::failed(doing, error))?;
        if doing == SEARCHING && self.index.as_ref().is_none_or(|index| !index.is_current(&self.options)) {
            self.index = IndexReader::open(&self.options);
        }
        let outcome = self.inside(key, doing, read);
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "rollback", ());
        }
        outcome.map_err(|fault| fault.said(doing))
    }

    fn is_open(&self) -> bool {
        true
    }
}
