//! Read connection to a file.

use super::connection::{failed, open_reader};
use super::connection_budget::ConnectionPermit;
use super::index::{IndexReader, discard};
use super::open_store::OpenStore;
use crate::api::error::Result;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::read::Reading;
use crate::engine::search::SEARCHING;
use crate::engine::sql::connection::execute;
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::engine::statistics::COUNTING;
use crate::runtime::read_queue::Reader;
use manent_model::DigestKey;
use rusqlite::Connection;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No read may keep the WAL from being copied for long.
const READ_MAX: Duration = Duration::from_secs(5);

/// Says whether a read opens the index.
fn uses_index(doing: &str) -> bool {
    matches!(doing, SEARCHING | COUNTING)
}

/// A read connection with its caches.
pub(super) struct SqliteReader {
    connection: Connection,
    /// Opened for the first search or statistics.
    index: Option<(IndexReader, ConnectionPermit)>,
    /// The store lets go of its connections before it ends.
    store: Arc<OpenStore>,
    caches: RowCache,
    _slot: ConnectionPermit,
}

impl SqliteReader {
    /// Opens one, in the room that was taken for it.
    pub(super) fn open(store: &Arc<OpenStore>, slot: ConnectionPermit) -> Result<Self> {
        let connection = open_reader(&store.options)?;
        store.verify_identity(&connection)?;
        Ok(Self { connection, index: None, store: store.clone(), caches: RowCache::default(), _slot: slot })
    }

    /// Lends the connection itself, for as long as it takes.
    pub(super) fn connection(&mut self) -> Result<&Connection> {
        self.connection.progress_handler(0, None::<fn() -> bool>).map_err(|error| failed("reading", error))?;
        Ok(&self.connection)
    }

    /// Opens the index if it is not open, or is another one by now.
    fn open_index(&mut self) {
        let options = &self.store.options;
        if self.index.as_ref().is_some_and(|(index, _)| index.is_current(options)) {
            return;
        }
        self.index = None;
        if !IndexReader::is_there(options) {
            return;
        }
        let slot = self.store.connection_permit();
        match IndexReader::open(options) {
            Ok(index) => self.index = index.map(|index| (index, slot)),
            Err(error) if error.is_damage() => self.lose_index(),
            Err(_) => {}
        }
    }

    /// Deletes a damaged index; the indexer rebuilds it.
    fn lose_index(&mut self) {
        self.index = None;
        discard(&self.store.options);
        self.store.indexing.request_rebuild();
    }

    fn inside<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: &impl Fn(&mut Reading<'_>) -> TxResult<T>,
    ) -> TxResult<T> {
        let connection = &self.connection;
        let index = self.index.as_ref().map(|(index, _)| &index.connection).filter(|_| uses_index(doing));
        // The snapshot of the index first: the snapshot of the file then contains everything that the index does not.
        if let Some(index) = index {
            execute(index, "begin", ())?;
        }
        execute(connection, "begin", ())?;
        // A reader caches only what never changes: words and the ranges of branches. It does not use sums, which may
        // change.
        let mut reading =
            Reading { connection: connection.into(), caches: &mut self.caches, key, index, damaged: None };
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
        read: impl Fn(&mut Reading<'_>) -> TxResult<T>,
    ) -> Result<T> {
        let until = Instant::now() + READ_MAX;
        let guard = self.connection.progress_handler(100_000, Some(move || Instant::now() > until));
        guard.map_err(|error| failed(doing, error))?;
        if uses_index(doing) {
            self.open_index();
        }
        let mut outcome = self.inside(key, doing, &read);
        self.roll_back();
        if uses_index(doing)
            && self.index.is_some()
            && matches!(&outcome, Err(TxError::Database(error)) if error.is_damage())
        {
            // Without the index, damage of the file itself shows.
            self.lose_index();
            outcome = self.inside(key, doing, &read);
            self.roll_back();
        }
        outcome.map_err(|fault| fault.into_store_error(doing))
    }

    fn is_open(&self) -> bool {
        true
    }
}
