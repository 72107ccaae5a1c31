//! One open store of a runtime: its queues, connection pools and flags.
//!
//! Closing takes these steps, each on the thread that owns the resource:
//!
//! 1. [`OpenStore::close`] closes the commit queue and wakes the writer.
//! 2. The writer commits what was accepted, closes its connection and calls [`OpenStore::mark_writer_finished`].
//! 3. The maintenance thread calls [`OpenStore::leave`]: change detection and indexing end, the reader pool accepts no
//!    further reads.
//! 4. If reads are still running, the pool wakes the maintenance thread when the last one ends, and it calls `leave` again.
//! 5. The store leaves all schedulers, and the last connections are closed.
//! 6. The caller of `close` is answered.

use super::connection::{SqliteOptions, failed, open_first};
use super::connection_budget::ConnectionPermit;
use super::reader::SqliteReader;
use super::reader_pool::{OnReturn, ReaderPool};
use super::reserve::Reserve;
use super::store_runtime::{NO_STORE, RuntimeInner};
use super::{change_detector, indexer, writer};
use crate::api::error::{Result, StoreError};
use crate::api::transaction::Position;
use crate::engine::commit::commit_queue::CommitQueue;
use crate::engine::search::indexing::{DEBOUNCE, IndexingMonitor};
use crate::engine::sql::connection::{DbResult, query_optional};
use crate::runtime::position_watch::PositionWatch;
use crate::runtime::scheduler::{Reschedule, Waker};
use manent_model::DigestKey;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::oneshot;

pub(super) struct OpenStore {
    pub number: u64,
    pub runtime: Arc<RuntimeInner>,
    pub options: SqliteOptions,
    pub key: DigestKey,
    pub queue: CommitQueue,
    pub readers: ReaderPool,
    pub position: PositionWatch,
    pub indexing: IndexingMonitor,
    pub last_change: Mutex<change_detector::ChangeDetector>,
    pub reserve: Reserve,
    writer: Mutex<writer::WriterState>,
    index: Mutex<indexer::IndexerState>,
    /// The maintenance thread is to copy the WAL.
    is_checkpoint_requested: AtomicBool,
    /// The writer waits for the index.
    is_throttled: AtomicBool,
    /// All accepted transactions are written, and the queue is closed.
    is_writer_finished: AtomicBool,
    ended: Mutex<Option<oneshot::Sender<()>>>,
    /// How many connections are open.
    connections: Arc<AtomicUsize>,
}

impl OpenStore {
    /// Opens a file, or makes it, and lets the runtime work for it.
    pub(super) fn open(runtime: &Arc<RuntimeInner>, options: SqliteOptions, schema: i64) -> Result<Arc<Self>> {
        let doing = "reading the file";
        let connections = Arc::default();
        let slot = runtime.connection_permit(NO_STORE, &connections);
        let connection = open_first(&options, schema)?;
        runtime.configure(&connection).map_err(|error| failed(doing, error))?;
        let key = DigestKey::new(digest_key(&connection).map_err(|error| failed(doing, error))?);
        let last = last_position(&connection).map_err(|error| failed(doing, error))?;
        let number = runtime.next_number();
        let waker = |waker: fn(&RuntimeInner, u64)| -> Waker {
            let runtime = runtime.clone();
            Box::new(move || waker(&runtime, number))
        };
        let store = Arc::new(Self {
            number,
            runtime: runtime.clone(),
            key,
            queue: CommitQueue::with_waker(waker(|runtime, number| runtime.writers.wake(number))),
            readers: ReaderPool::new(
                options.readers,
                waker(|runtime, number| runtime.readers.wake(number)),
                waker(|runtime, number| runtime.maintenance.wake_now(number)),
            ),
            position: PositionWatch::new(last),
            indexing: IndexingMonitor::with_waker(waker(|runtime, number| runtime.indexer.wake_now(number))),
            last_change: Mutex::default(),
            reserve: Reserve::of(&options.path),
            writer: Mutex::new(writer::WriterState::new(connection, slot)),
            index: Mutex::default(),
            is_checkpoint_requested: AtomicBool::new(false),
            is_throttled: AtomicBool::new(false),
            is_writer_finished: AtomicBool::new(false),
            ended: Mutex::default(),
            connections,
            options,
        });
        runtime.join(&store);
        Ok(store)
    }

    /// Locks the writer state; waits while the writer runs.
    pub(super) fn writer(&self) -> MutexGuard<'_, writer::WriterState> {
        self.writer.lock()
    }

    /// Locks the indexer state; waits while the indexer runs.
    pub(super) fn index(&self) -> MutexGuard<'_, indexer::IndexerState> {
        self.index.lock()
    }

    /// Publishes a position to the watches, and wakes the indexer.
    pub(super) fn publish(&self, position: Position) {
        if self.position.publish(position) {
            self.runtime.indexer.wake_after(self.number, DEBOUNCE);
        }
    }

    /// Asks for a checkpoint of the WAL.
    pub(super) fn request_checkpoint(&self) {
        self.is_checkpoint_requested.store(true, Ordering::Relaxed);
        self.runtime.maintenance.wake_now(self.number);
    }

    /// Takes the request to checkpoint the WAL, if there is one.
    pub(super) fn take_checkpoint_request(&self) -> bool {
        self.is_checkpoint_requested.swap(false, Ordering::Relaxed)
    }

    /// The writer waits for the index, but not for long.
    pub(super) fn throttle_writer(&self) {
        self.is_throttled.store(true, Ordering::Relaxed);
    }

    /// Wakes a throttled writer, because the index has caught up.
    pub(super) fn resume_writer(&self) {
        if self.is_throttled.swap(false, Ordering::Relaxed) {
            self.runtime.writers.wake_now(self.number);
        }
    }

    /// Takes room for a connection.
    pub(super) fn connection_permit(&self) -> ConnectionPermit {
        let slot = self.runtime.connection_permit(self.number, &self.connections);
        self.runtime.maintenance.wake_after(self.number, self.runtime.idle_max);
        slot
    }

    /// Applies the settings of a connection, and verifies that it is to the file that was opened first.
    ///
    /// While a store has no connection, its file may be replaced by another. That one's rows have other digests, and
    /// our writes would corrupt it.
    pub(super) fn verify_identity(&self, connection: &Connection) -> Result<()> {
        let doing = "opening the file again";
        let found = digest_key(connection).map_err(|error| failed(doing, error))?;
        if DigestKey::new(found).digest(&[]) != self.key.digest(&[]) {
            return Err(StoreError::altered("the file", self.options.path.display()));
        }
        self.runtime.configure(connection).map_err(|error| failed(doing, error))
    }

    /// Opens a connection that reads.
    pub(super) fn open_reader(self: &Arc<Self>) -> Result<SqliteReader> {
        SqliteReader::open(self, self.connection_permit())
    }

    /// Uses a connection for one short read, unless they are being closed. A connection that is closed after the read
    /// does not count against the limit.
    pub(super) fn with_reader<T>(
        self: &Arc<Self>,
        end: OnReturn,
        visit: impl FnOnce(&mut SqliteReader) -> Result<T>,
    ) -> Option<Result<T>> {
        let slot = || match end {
            OnReturn::Keep => self.connection_permit(),
            OnReturn::Close => self.runtime.connections.uncounted_permit(&self.connections),
        };
        self.readers.with_reader(end, || SqliteReader::open(self, slot()), visit)
    }

    /// Runs a short read on the file: with the connection of the writer while that is unused, or else with a reader.
    pub(super) fn check_for_changes<T>(
        self: &Arc<Self>,
        look: impl FnOnce(&Connection) -> Result<T>,
    ) -> Option<Result<T>> {
        let writer = self.writer.try_lock();
        match writer.as_ref().and_then(|held| held.connection()) {
            Some(connection) => Some(look(connection)),
            None => {
                drop(writer);
                self.with_reader(OnReturn::Close, |reader| look(reader.connection()?))
            }
        }
    }

    /// Says whether it was used recently, or is followed.
    pub(super) fn is_in_use(&self) -> bool {
        self.has_connections() || self.position.is_watched()
    }

    pub(super) fn has_connections(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > 0
    }

    /// Since when all open connections are idle; if one is in use, the current time. None if nothing can be closed.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        if !self.has_connections() {
            return None;
        }
        let writer = self.writer.try_lock().map(|held| held.idle_since());
        let index = self.index.try_lock().map(|held| held.idle_since());
        let is_busy = writer.is_none() || index.is_none();
        let idle = [writer.flatten(), index.flatten(), self.readers.idle_since()];
        let last = idle.into_iter().flatten().max()?;
        Some(if is_busy { Instant::now() } else { last })
    }

    /// Closes connections that have been idle since before a time. Closing the last connection to a file checkpoints
    /// its WAL, which takes a while, so each connection is first removed from its pool.
    pub(super) fn close_idle(&self, before: Instant) {
        self.readers.close_idle(before);
        let index = self.index.try_lock().filter(|held| held.idle_since().is_some_and(|since| since < before));
        drop(index.and_then(|mut held| held.release()));
        let writer = self.writer.try_lock().filter(|held| held.idle_since().is_some_and(|since| since < before));
        drop(writer.and_then(|mut held| held.release()));
    }

    /// Closes the store to new requests. Accepted ones are finished, then every connection is closed; the answer comes
    /// after that.
    pub(super) fn close(&self) -> oneshot::Receiver<()> {
        let (ended, answer) = oneshot::channel();
        *self.ended.lock() = Some(ended);
        self.queue.close();
        // It may be waiting for the index.
        self.runtime.writers.wake_now(self.number);
        answer
    }

    /// Called by the writer after its last transaction.
    pub(super) fn mark_writer_finished(&self) {
        self.is_writer_finished.store(true, Ordering::Release);
        self.runtime.maintenance.wake_now(self.number);
    }

    /// Leaves the runtime if all that was accepted is finished; it is called again when more of it is.
    pub(super) fn leave(&self) -> Option<Reschedule> {
        if !self.is_writer_finished.load(Ordering::Acquire) {
            return None;
        }
        let (runtime, number) = (&self.runtime, self.number);
        runtime.change_detector.leave(number);
        self.indexing.close();
        runtime.indexer.leave(number);
        if !self.readers.close() {
            return Some(Reschedule::WhenWoken);
        }
        runtime.readers.leave(number);
        runtime.writers.leave(number);
        drop(self.index().release());
        runtime.leave(number);
        runtime.connections.wait_until_idle(&self.connections);
        self.position.close();
        if let Some(ended) = self.ended.lock().take() {
            // The caller may have gone.
            let _ = ended.send(());
        }
        Some(Reschedule::Never)
    }
}

fn digest_key(connection: &Connection) -> rusqlite::Result<[u8; 32]> {
    connection.query_row("select value from meta where name = 'digest_key'", [], |row| row.get(0))
}

/// Returns the last position of a file.
pub(super) fn last_position(connection: &Connection) -> DbResult<Position> {
    let sql = "select pos + count - 1 from journal order by pos desc limit 1";
    Ok(query_optional(connection, sql, (), |row| row.get(0))?.unwrap_or(0))
}
