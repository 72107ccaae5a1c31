//! A member of a crew: one open store with its queues, connection pools and flags.

use super::connection::{SqliteOptions, failed, open_first};
use super::crew::{NOBODY, Shared};
use super::reader::SqliteReader;
use super::reads::{Reads, Visit};
use super::reserve::Reserve;
use super::room::Slot;
use super::{indexer, watcher, writer};
use crate::engine::connection::{Ran, maybe};
use crate::engine::known::Known;
use crate::engine::queue::Queue;
use crate::engine::search::indexing::{GATHER, Indexing};
use crate::engine::turns::{Again, Bell};
use crate::error::{Result, StoreError};
use crate::transaction::Position;
use manent_model::DigestKey;
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;
use tokio::sync::oneshot;

pub(super) struct Member {
    pub number: u64,
    pub crew: Arc<Shared>,
    pub options: SqliteOptions,
    pub key: DigestKey,
    pub queue: Queue,
    pub reads: Reads,
    pub position: Known,
    pub indexing: Indexing,
    pub seen: Mutex<watcher::Seen>,
    pub reserve: Reserve,
    writer: Mutex<writer::Held>,
    index: Mutex<indexer::Held>,
    /// The keeper is to copy the WAL.
    copy_wanted: AtomicBool,
    /// The writer waits for the index.
    held_up: AtomicBool,
    /// All that was accepted is written, and nothing more comes.
    written_out: AtomicBool,
    ended: Mutex<Option<oneshot::Sender<()>>>,
    /// How many connections are open.
    connections: Arc<AtomicUsize>,
}

impl Member {
    /// Opens a file, or makes it, and lets the crew work for it.
    pub(super) fn open(crew: &Arc<Shared>, options: SqliteOptions, schema: i64) -> Result<Arc<Self>> {
        let doing = "reading the file";
        let connections = Arc::default();
        let slot = crew.slot(NOBODY, &connections);
        let connection = open_first(&options, schema)?;
        crew.settle(&connection).map_err(|error| failed(doing, error))?;
        let key = DigestKey::new(digest_key(&connection).map_err(|error| failed(doing, error))?);
        let last = last_position(&connection).map_err(|error| failed(doing, error))?;
        let number = crew.next_number();
        let ring = |ring: fn(&Shared, u64)| -> Bell {
            let crew = crew.clone();
            Box::new(move || ring(&crew, number))
        };
        let member = Arc::new(Self {
            number,
            crew: crew.clone(),
            key,
            queue: Queue::with_bell(ring(|crew, number| crew.writers.ask(number))),
            reads: Reads::new(
                options.readers,
                ring(|crew, number| crew.readers.ask(number)),
                ring(|crew, number| crew.keeper.hurry(number)),
            ),
            position: Known::new(last),
            indexing: Indexing::with_bell(ring(|crew, number| crew.indexer.hurry(number))),
            seen: Mutex::default(),
            reserve: Reserve::of(&options.path),
            writer: Mutex::new(writer::Held::new(connection, slot)),
            index: Mutex::default(),
            copy_wanted: AtomicBool::new(false),
            held_up: AtomicBool::new(false),
            written_out: AtomicBool::new(false),
            ended: Mutex::default(),
            connections,
            options,
        });
        crew.join(&member);
        Ok(member)
    }

    /// Locks the writer state; waits while the writer runs.
    pub(super) fn writer(&self) -> MutexGuard<'_, writer::Held> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the indexer state; waits while the indexer runs.
    pub(super) fn index(&self) -> MutexGuard<'_, indexer::Held> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the tails how far the store has come, and the indexer that there is more.
    pub(super) fn publish(&self, position: Position) {
        if self.position.publish(position) {
            self.crew.indexer.ask_after(self.number, GATHER);
        }
    }

    /// Asks for the WAL to be copied.
    pub(super) fn want_copy(&self) {
        self.copy_wanted.store(true, Ordering::Relaxed);
        self.crew.keeper.hurry(self.number);
    }

    /// Says whether the WAL is to be copied, once.
    pub(super) fn takes_copy(&self) -> bool {
        self.copy_wanted.swap(false, Ordering::Relaxed)
    }

    /// The writer waits for the index, but not for long.
    pub(super) fn hold_up(&self) {
        self.held_up.store(true, Ordering::Relaxed);
    }

    /// The index has come further.
    pub(super) fn go_on(&self) {
        if self.held_up.swap(false, Ordering::Relaxed) {
            self.crew.writers.hurry(self.number);
        }
    }

    /// Takes room for a connection.
    pub(super) fn slot(&self) -> Slot {
        let slot = self.crew.slot(self.number, &self.connections);
        self.crew.keeper.ask_after(self.number, self.crew.idle_max);
        slot
    }

    /// Applies the settings of a connection, and verifies that it is to the file that was opened first.
    ///
    /// While a store has no connection, its file may be replaced by another. That one's rows have other digests, and
    /// our writes would corrupt it.
    pub(super) fn look_over(&self, connection: &Connection) -> Result<()> {
        let doing = "opening the file again";
        let found = digest_key(connection).map_err(|error| failed(doing, error))?;
        if DigestKey::new(found).digest(&[]) != self.key.digest(&[]) {
            return Err(StoreError::altered("the file", self.options.path.display()));
        }
        self.crew.settle(connection).map_err(|error| failed(doing, error))
    }

    /// Opens a connection that reads.
    pub(super) fn open_reader(self: &Arc<Self>) -> Result<SqliteReader> {
        SqliteReader::open(self, self.slot())
    }

    /// Uses a connection that reads for a moment, unless they are being closed. One that ends with the visit takes no
    /// room from others.
    pub(super) fn visit<T>(
        self: &Arc<Self>,
        end: Visit,
        visit: impl FnOnce(&mut SqliteReader) -> Result<T>,
    ) -> Option<Result<T>> {
        let slot = || match end {
            Visit::Stays => self.slot(),
            Visit::Ends => self.crew.room.aside(&self.connections),
        };
        self.reads.visit(end, || SqliteReader::open(self, slot()), visit)
    }

    /// Runs a short read on the file: with the connection of the writer while that is unused, or else with a reader.
    pub(super) fn look<T>(self: &Arc<Self>, look: impl FnOnce(&Connection) -> Result<T>) -> Option<Result<T>> {
        let writer = try_lock(&self.writer);
        match writer.as_ref().and_then(|held| held.connection()) {
            Some(connection) => Some(look(connection)),
            None => {
                drop(writer);
                self.visit(Visit::Ends, |reader| look(reader.connection()?))
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
        let writer = try_lock(&self.writer).map(|held| held.idle_since());
        let index = try_lock(&self.index).map(|held| held.idle_since());
        let is_busy = writer.is_none() || index.is_none();
        let idle = [writer.flatten(), index.flatten(), self.reads.idle_since()];
        let last = idle.into_iter().flatten().max()?;
        Some(if is_busy { Instant::now() } else { last })
    }

    /// Closes connections that have been idle since before a moment. Closing the last connection to a file checkpoints
    /// its WAL, which takes a while, so each connection is first removed from its pool.
    pub(super) fn close_idle(&self, before: Instant) {
        self.reads.close_idle(before);
        let index = try_lock(&self.index).filter(|held| held.idle_since().is_some_and(|since| since < before));
        drop(index.and_then(|mut held| held.let_go()));
        let writer = try_lock(&self.writer).filter(|held| held.idle_since().is_some_and(|since| since < before));
        drop(writer.and_then(|mut held| held.let_go()));
    }

    /// Closes the store to new requests. Accepted ones are finished, then every connection is closed; the answer comes
    /// after that.
    pub(super) fn close(&self) -> oneshot::Receiver<()> {
        let (ended, answer) = oneshot::channel();
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
        self.queue.close();
        // It may be waiting for the index.
        self.crew.writers.hurry(self.number);
        answer
    }

    /// The writer has nothing more to do.
    pub(super) fn written_out(&self) {
        self.written_out.store(true, Ordering::Release);
        self.crew.keeper.hurry(self.number);
    }

    /// Leaves the crew if all that was accepted is finished; it is called again when more of it is.
    pub(super) fn leave(&self) -> Option<Again> {
        if !self.written_out.load(Ordering::Acquire) {
            return None;
        }
        let (crew, number) = (&self.crew, self.number);
        crew.watcher.leave(number);
        self.indexing.close();
        crew.indexer.leave(number);
        if !self.reads.close() {
            return Some(Again::WhenAsked);
        }
        crew.readers.leave(number);
        crew.writers.leave(number);
        drop(self.index().let_go());
        crew.leave(number);
        crew.room.wait_for_none(&self.connections);
        self.position.close();
        if let Some(ended) = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The caller may have gone.
            let _ = ended.send(());
        }
        Some(Again::Never)
    }
}

fn digest_key(connection: &Connection) -> rusqlite::Result<[u8; 32]> {
    connection.query_row("select value from meta where name = 'digest_key'", [], |row| row.get(0))
}

/// Returns how far a file has come.
pub(super) fn last_position(connection: &Connection) -> Ran<Position> {
    let sql = "select pos + count - 1 from journal order by pos desc limit 1";
    Ok(maybe(connection, sql, (), |row| row.get(0))?.unwrap_or(0))
}

/// Locks a mutex if it is free.
fn try_lock<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
