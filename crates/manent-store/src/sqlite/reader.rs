//! A connection that reads a file.

use super::connection::{SqliteOptions, open_reader};
use super::index::{IndexReader, throw_away};
use super::shared::Shared;
use crate::engine::cache::Caches;
use crate::engine::connection::execute;
use crate::engine::fault::{Fault, Outcome};
use crate::engine::read::Reading;
use crate::engine::readers::Reader;
use crate::engine::search::SEARCHING;
use crate::error::Result;
use manent_model::DigestKey;
use rusqlite::Connection;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No read may keep the WAL from being copied for long.
const READ_MAX: Duration = Duration::from_secs(5);

/// A connection that reads, with what it remembers.
pub(super) struct SqliteReader {
    connection: Connection,
    /// Opened for the first search.
    index: Option<IndexReader>,
    shared: Arc<Shared>,
    options: SqliteOptions,
    caches: Caches,
}

impl SqliteReader {
    pub(super) fn open(shared: &Arc<Shared>, options: &SqliteOptions) -> Result<Self> {
        let connection = open_reader(options)?;
        let (shared, options) = (shared.clone(), options.clone());
        Ok(Self { connection, index: None, shared, options, caches: Caches::default() })
    }

    /// Opens the index if it is not open, or is another one by now.
    fn open_index(&mut self) {
        if self.index.as_ref().is_some_and(|index| index.is_current(&self.options)) {
            return;
        }
        match IndexReader::open(&self.options) {
            Ok(index) => self.index = index,
            Err(error) if error.is_damage() => self.lose_index(),
            Err(_) => self.index = None,
        }
    }

    /// Throws a damaged index away; whoever fills it makes it anew.
    fn lose_index(&mut self) {
        self.index = None;
        throw_away(&self.options);
        self.shared.indexing.make_anew();
    }

    fn inside<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: &impl Fn(&mut Reading<'_>) -> Outcome<T>,
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

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "rollback", ());
        }
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
        if doing == SEARCHING {
            self.open_index();
        }
        let mut outcome = self.inside(key, doing, &read);
        self.roll_back();
        if doing == SEARCHING
            && self.index.is_some()
            && matches!(&outcome, Err(Fault::Engine(error)) if error.is_damage())
        {
            // Without it, what is wrong with the file itself shows.
            self.lose_index();
            outcome = self.inside(key, doing, &read);
            self.roll_back();
        }
        outcome.map_err(|fault| fault.said(doing))
    }

    fn is_open(&self) -> bool {
        true
    }
}
