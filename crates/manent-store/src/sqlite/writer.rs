//! Writer with group commit: many transactions of a file in one sync, one batch per turn.
//!
//! Nothing is acknowledged before COMMIT has returned. Failures are handled in `batch`.

use super::connection::{failed, open_again};
use super::connection_budget::ConnectionPermit;
use super::index::{Index, discard};
use super::open_store::OpenStore;
use super::wal;
use crate::api::error::{Result, StoreError};
use crate::api::transaction::{Committed, Position, Priority};
use crate::engine::commit::commit_queue::{Job, NextWork};
use crate::engine::commit::execute::{
    execute_transaction, find_replay, forget_requests, is_deletion, is_exclusive, validates_before_writing,
};
use crate::engine::commit::prepare::Prepared;
use crate::engine::commit::reply_dispatcher::{Reply, ReplyDispatcher};
use crate::engine::commit::row_cache::RowCache;
use crate::engine::commit::tx::{PendingIndexDeletes, Tx};
use crate::engine::search::UNINDEXED_MAX;
use crate::engine::sql::connection::{DbResult, EngineError, execute, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::runtime::scheduler::Reschedule;
use rusqlite::{Connection, ErrorCode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Maximum time that a batch holds the lock before it commits.
const LOCK_MAX: Duration = Duration::from_millis(20);

/// How long a commit is held up at most when the index lags behind.
const THROTTLED_MAX: Duration = Duration::from_millis(100);

/// Writer state of a store between turns.
pub(super) struct WriterState {
    /// None while idle, or while the file cannot be trusted; a batch opens it again.
    connection: Option<(Connection, ConnectionPermit)>,
    /// Since when it is unused.
    idle_since: Instant,
    /// Cleared after a failed sync: the content of the WAL is unknown until it is checkpointed.
    is_recovered: bool,
    has_begun: bool,
    caches: RowCache,
    data_version: i64,
    wal: wal::CheckpointPolicy,
    /// Entries to remove from the index before the open transaction is committed.
    index_deletes: PendingIndexDeletes,
}

impl WriterState {
    pub(super) fn new(connection: Connection, slot: ConnectionPermit) -> Self {
        Self {
            connection: Some((connection, slot)),
            idle_since: Instant::now(),
            is_recovered: true,
            has_begun: false,
            caches: RowCache::default(),
            data_version: -1,
            wal: wal::CheckpointPolicy::default(),
            index_deletes: PendingIndexDeletes::default(),
        }
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(connection, _)| connection)
    }

    /// Since when the connection is idle, if there is one.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.connection.as_ref().map(|_| self.idle_since)
    }

    /// Gives the connection away to be closed, with all that is true only for as long as it is open.
    pub(super) fn release(&mut self) -> Option<(Connection, ConnectionPermit)> {
        self.forget();
        self.connection.take()
    }

    fn forget(&mut self) {
        self.caches.clear();
        self.data_version = -1;
        self.index_deletes = PendingIndexDeletes::default();
        // Closing the last connection to a file removes its WAL.
        self.wal.forget();
    }
}

/// One turn of a store.
pub(super) struct Writer<'a> {
    store: &'a OpenStore,
    state: &'a mut WriterState,
    replies: &'a ReplyDispatcher,
    /// The index is far behind.
    is_throttled: bool,
}

/// Whether a transaction shares its commit with others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchKind {
    Group,
    Single,
}

/// How a commit ended.
enum CommitOutcome {
    Committed,
    /// The transaction is gone; nothing of it is on disk.
    RolledBack(EngineError),
    /// It may or may not be on disk.
    Unknown,
}

/// Runs the next action for a store; says when it wants another turn.
pub(super) fn turn(store: &OpenStore, answers: &ReplyDispatcher) -> Reschedule {
    let mut held = store.writer();
    let again = Writer { store, state: &mut held, replies: answers, is_throttled: false }.turn();
    held.idle_since = Instant::now();
    again
}

impl Writer<'_> {
    fn turn(&mut self) -> Reschedule {
        if !std::mem::replace(&mut self.state.has_begun, true)
            && let Some((connection, _)) = &self.state.connection
        {
            // Old answers cost space, but do no harm; a failed cleanup is retried at the next start.
            let _ = forget_requests(connection);
        }
        match self.store.queue.look() {
            None => return Reschedule::WhenWoken,
            Some(NextWork::Closed) => {
                self.end();
                return Reschedule::WhenWoken;
            }
            Some(NextWork::Wake) => self.tidy_wal(),
            Some(NextWork::Batch(batch)) => self.take(batch),
        }
        match (self.is_throttled, self.store.queue.has_work()) {
            (true, _) => {
                self.store.throttle_writer();
                Reschedule::After(THROTTLED_MAX)
            }
            (false, true) => Reschedule::Now,
            (false, false) => Reschedule::WhenWoken,
        }
    }

    fn take(&mut self, batch: Vec<Job>) {
        let was_trusted = self.state.is_recovered;
        let mut opened = self.ensure_open();
        if matches!(opened, Err(StoreError::DiskFull))
            && batch.iter().any(|job| is_deletion(&job.prepared))
            && self.store.reserve.release()
        {
            opened = self.ensure_open();
        }
        if let Err(error) = opened {
            return send_replies(batch, || match &error {
                StoreError::DiskFull => StoreError::DiskFull,
                StoreError::Altered { what, id } => StoreError::Altered { what, id: id.clone() },
                _ if was_trusted => StoreError::Busy("the file cannot be opened"),
                _ => StoreError::Busy("the file is being recovered after a failed write"),
            });
        }
        // A panic drops the callers' ends, which tells them that the outcome is unknown; the file is then opened again.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            self.batch(batch);
            self.tidy_wal();
            self.maintain_reserve();
        }));
        if worked.is_err() {
            self.mark_unrecovered();
        }
    }

    /// All that was accepted is answered, and the queue is closed.
    fn end(&mut self) {
        self.store.readers.pause();
        drop(self.state.release());
        self.store.readers.resume();
        self.store.mark_writer_finished();
    }

    fn connection(&self) -> &Connection {
        &self.state.connection.as_ref().expect("ensure_open came before").0
    }

    /// Opens the file again if it is not open.
    fn ensure_open(&mut self) -> Result<()> {
        if self.state.connection.is_some() {
            return Ok(());
        }
        self.state.forget();
        let slot = self.store.connection_permit();
        let opened = match self.state.is_recovered {
            true => self.open(),
            false => self.open_and_recover(),
        };
        self.state.connection = Some((opened?, slot));
        self.state.is_recovered = true;
        Ok(())
    }

    fn open(&self) -> Result<Connection> {
        let connection = open_again(&self.store.options)?;
        self.store.verify_identity(&connection)?;
        Ok(connection)
    }

    /// Reopens after a failed sync, and continues only once the WAL is checkpointed into the file.
    fn open_and_recover(&self) -> Result<Connection> {
        self.store.readers.pause();
        let opened = self.open().and_then(|connection| wal::truncate(&connection).map(|()| connection));
        self.store.readers.resume();
        opened
    }

    /// The outcome of a failed sync is unknown until the file was closed and opened again.
    fn mark_unrecovered(&mut self) {
        self.state.is_recovered = false;
        // Readers are closed too: after a failed sync the page cache may show pages that never reach the disk, and the
        // WAL is recovered from the disk only when the first connection opens it.
        self.store.readers.pause();
        drop(self.state.release());
        self.store.readers.resume();
        // Failing here is fine: the next batch tries again, and says so to its callers.
        let _ = self.ensure_open();
    }

    fn batch(&mut self, mut batch: Vec<Job>) {
        let exclusive = batch.iter().position(|job| is_exclusive(&job.prepared));
        match exclusive {
            Some(0) => {
                let rest = batch.split_off(1);
                self.store.queue.put_back(rest);
                for job in batch {
                    self.commit_single(job);
                }
                return;
            }
            Some(place) => {
                let rest = batch.split_off(place);
                self.store.queue.put_back(rest);
            }
            None => {}
        }
        match self.commit_batch(&mut batch) {
            Ok(()) => {}
            // Something failed after something was written: each one alone, each with its own outcome.
            Err(CommitOutcome::RolledBack(_)) => {
                for job in batch {
                    match self.ensure_open() {
                        Ok(()) => self.commit_single(job),
                        Err(error) => drop(job.reply.send(Err(error))),
                    }
                }
            }
            Err(_) => {
                send_replies(batch, || StoreError::OutcomeUnknown);
                self.mark_unrecovered();
            }
        }
    }

    /// Commits a batch with one sync. On error nothing has been answered; jobs stay in the batch.
    fn commit_batch(&mut self, batch: &mut Vec<Job>) -> std::result::Result<(), CommitOutcome> {
        let first = self.begin().map_err(CommitOutcome::RolledBack)?;
        let mut next = first;
        let started = Instant::now();
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch.iter() {
            if !outcomes.is_empty() && started.elapsed() > LOCK_MAX {
                break;
            }
            let before = next;
            match self.apply_transaction(&job.prepared, &mut next, BatchKind::Group) {
                Ok(committed) => outcomes.push(Ok(committed)),
                Err(TxError::Rejected(error)) => {
                    next = before;
                    outcomes.push(Err(error));
                }
                Err(TxError::Database(error)) => {
                    self.roll_back();
                    return Err(CommitOutcome::RolledBack(error));
                }
            }
        }
        self.delete_from_index(first).map_err(CommitOutcome::RolledBack)?;
        match self.commit() {
            CommitOutcome::Committed => {}
            ended => return Err(ended),
        }
        let rest = batch.split_off(outcomes.len());
        self.store.queue.put_back(rest);
        self.publish(next - 1);
        let is_import = batch.iter().all(|job| job.prepared.transaction.priority == Priority::Background);
        let answers: Vec<Reply> = batch.drain(..).map(|job| job.reply).zip(outcomes).collect();
        self.replies.send(answers);
        // A search scans the unindexed tail, so that must not grow without bound.
        self.is_throttled = self.store.options.has_index()
            && !is_import
            && self.store.indexing.is_far_behind(next - 1, UNINDEXED_MAX as Position);
        Ok(())
    }

    fn commit_single(&mut self, job: Job) {
        let mut outcome = self.single_outcome(&job.prepared);
        // A full disk may show as an index that cannot be written.
        let is_short = matches!(outcome, Err(StoreError::DiskFull | StoreError::Busy(_)));
        let uses_reserve = is_short && is_deletion(&job.prepared) && self.store.reserve.release();
        if uses_reserve {
            outcome = self.ensure_open().and_then(|()| self.single_outcome(&job.prepared));
        }
        let unknown = matches!(outcome, Err(StoreError::OutcomeUnknown));
        let _ = job.reply.send(outcome);
        if unknown {
            self.mark_unrecovered();
        }
        if uses_reserve {
            self.shrink_wal();
        }
    }

    /// Releases the disk space of the WAL of a deletion, so that the next deletion finds a reserve as well.
    fn shrink_wal(&mut self) {
        let Some((connection, _)) = &self.state.connection else { return };
        self.store.readers.pause();
        // A failure here is not reported: the deletion is on disk.
        let _ = wal::try_truncate(connection);
        self.store.readers.resume();
        self.state.wal.forget();
    }

    /// Allocates the disk reserve as far as it is missing.
    fn maintain_reserve(&self) {
        let Some((connection, _)) = &self.state.connection else { return };
        if self.store.options.has_index()
            && let Ok(bytes) = wal::grown_bytes(connection)
        {
            // If the disk has no space for it now, it is tried again after the next batch.
            self.store.reserve.top_up(bytes);
        }
    }

    fn single_outcome(&mut self, prepared: &Prepared) -> Result<Committed> {
        let first = self.begin().map_err(|error| failed("beginning a transaction", error))?;
        let mut next = first;
        let done = self.apply_transaction(prepared, &mut next, BatchKind::Single);
        match done.and_then(|committed| Ok(self.delete_from_index(first).map(|()| committed)?)) {
            Ok(committed) => match self.commit() {
                CommitOutcome::Committed => {
                    self.publish(next - 1);
                    match is_exclusive(prepared) && self.wipe_wal().is_err() {
                        // It is stored, but not yet forgotten by the WAL: neither "done" nor "nothing was changed" is
                        // true. What follows opens the file again, which empties the WAL before anything else happens.
                        true => Err(StoreError::OutcomeUnknown),
                        false => Ok(committed),
                    }
                }
                CommitOutcome::RolledBack(error) => Err(failed("committing", error)),
                CommitOutcome::Unknown => Err(StoreError::OutcomeUnknown),
            },
            Err(fault) => {
                self.roll_back();
                Err(fault.into_store_error("writing"))
            }
        }
    }

    /// An erasure is done when the WAL has forgotten it too.
    fn wipe_wal(&mut self) -> Result<()> {
        self.store.readers.pause();
        let mut wiped = wal::truncate(self.connection());
        if matches!(wiped, Err(StoreError::DiskFull)) && self.store.reserve.release() {
            wiped = wal::truncate(self.connection());
        }
        self.store.readers.resume();
        self.state.wal.forget();
        wiped
    }

    /// Takes the write lock and returns the next free position.
    fn begin(&mut self) -> DbResult<Position> {
        let connection = self.connection();
        execute(connection, "begin immediate", ())?;
        let look = || -> DbResult<(i64, Position)> {
            let version = connection.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))?;
            let sql = "select pos + count from journal order by pos desc limit 1";
            Ok((version, query_optional(connection, sql, (), |row| row.get(0))?.unwrap_or(1)))
        };
        match look() {
            Ok((version, next)) => {
                // Another process has written: the caches may be stale.
                if version != self.state.data_version {
                    self.state.caches.clear();
                    self.state.data_version = version;
                }
                Ok(next)
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    fn roll_back(&mut self) {
        // SQLite may have rolled back by itself; then there is nothing to do and this says so.
        if !self.connection().is_autocommit() {
            let _ = execute(self.connection(), "rollback", ());
        }
        self.state.caches.clear();
        self.state.index_deletes = PendingIndexDeletes::default();
    }

    /// Removes content that is about to be destroyed from the index, and from its WAL. If the commit then fails, the
    /// indexer rechecks the removed entries; in the other order a crash would leave words that exist nowhere else.
    fn delete_from_index(&mut self, first: Position) -> DbResult<()> {
        let gone = std::mem::take(&mut self.state.index_deletes);
        if gone.is_empty() {
            return Ok(());
        }
        if !self.store.options.has_index() {
            // An index that another process made would keep the content; it is deleted, and rebuilt later.
            if self.store.options.vfs.is_none() {
                discard(&self.store.options);
            }
            return Ok(());
        }
        let forgotten = (|| -> DbResult<()> {
            let _slot = self.store.connection_permit();
            let index = Index::open(&self.store.options).map_err(|_| EngineError::Index)?;
            index.begin()?;
            match gone.all {
                true => index.forget_all(first)?,
                false => index.forget(&gone.docs, first)?,
            }
            index.commit()?;
            // Readers of this process may not keep the WAL from being emptied.
            self.store.readers.pause();
            let wiped = index.wipe();
            self.store.readers.resume();
            wiped.map_err(|_| EngineError::Index)
        })();
        match forgotten {
            Err(error) if error.is_damage() => {
                discard(&self.store.options);
                Ok(())
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    fn commit(&mut self) -> CommitOutcome {
        let error = match execute(self.connection(), "commit", ()) {
            Ok(_) => return CommitOutcome::Committed,
            Err(error) => error,
        };
        let full =
            matches!(&error, EngineError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull));
        self.roll_back();
        match full {
            // A full disk cut the commit frame short, so it can never be read back as one.
            true => CommitOutcome::RolledBack(error),
            false => CommitOutcome::Unknown,
        }
    }

    fn publish(&self, position: Position) {
        self.store.publish(position);
    }

    /// Applies one transaction inside the open one. A refusal leaves no trace.
    fn apply_transaction(
        &mut self,
        prepared: &Prepared,
        next: &mut Position,
        company: BatchKind,
    ) -> TxResult<Committed> {
        let (connection, _) = self.state.connection.as_ref().expect("ensure_open came before");
        if let Some((key, digest)) = &prepared.request
            && let Some(committed) = find_replay(connection.into(), key, *digest)?
        {
            return Ok(committed);
        }
        let guarded = !validates_before_writing(prepared);
        if guarded {
            execute(connection, "savepoint one", ())?;
        }
        let changes_before = connection.total_changes();
        let mut tx =
            Tx::new(connection.into(), &mut self.state.caches, &self.store.key, prepared.transaction.at, *next);
        let outcome = execute_transaction(&mut tx, prepared);
        let (used, unindexed) = (tx.next, tx.index_deletes);
        match outcome {
            Ok(committed) => {
                self.state.index_deletes.add(unindexed);
                if guarded {
                    execute(connection, "release one", ())?;
                }
                *next = used;
                Ok(committed)
            }
            Err(TxError::Rejected(error)) => {
                if guarded && !connection.is_autocommit() {
                    execute(connection, "rollback to one", ())?;
                    execute(connection, "release one", ())?;
                    self.state.caches.clear();
                } else if company == BatchKind::Group && connection.total_changes() != changes_before {
                    // A refusal after a write would leave half a change in the batch, so each one runs again alone,
                    // where the rollback takes everything back.
                    return Err(TxError::Database(EngineError::WroteAndRejected));
                }
                Err(TxError::Rejected(error))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Copies the WAL into the file when it has grown, on the maintenance thread, except for the last frames.
    fn tidy_wal(&mut self) {
        let Some((connection, _)) = &self.state.connection else { return };
        self.state.wal.after_batch(connection, self.store);
    }
}

fn send_replies(batch: Vec<Job>, error: impl Fn() -> StoreError) {
    for job in batch {
        let _ = job.reply.send(Err(error()));
    }
}
