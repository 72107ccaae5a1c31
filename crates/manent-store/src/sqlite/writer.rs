//! Writer with group commit: many transactions of a file in one sync, one batch per turn.
//!
//! Nothing is acknowledged before COMMIT has returned. Failures are handled in `batch`.

use super::connection::{failed, open_again};
use super::index::{Index, throw_away};
use super::member::Member;
use super::room::Slot;
use super::wal;
use crate::engine::answers::{Answer, Answers};
use crate::engine::cache::Caches;
use crate::engine::connection::{EngineError, Ran, execute, maybe};
use crate::engine::fault::{Fault, Outcome};
use crate::engine::prepare::Prepared;
use crate::engine::queue::{Job, Next};
use crate::engine::search::TAIL_MAX;
use crate::engine::steps::{
    answered_before, forget_requests, is_deletion, is_exclusive, refuses_before_it_writes, steps,
};
use crate::engine::turns::Again;
use crate::engine::tx::{Tx, Unindexed};
use crate::error::{Result, StoreError};
use crate::transaction::{Committed, Lane, Position};
use rusqlite::{Connection, ErrorCode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Maximum time that a batch holds the lock before it commits.
const LOCK_MAX: Duration = Duration::from_millis(20);

/// How long a commit is held up at most when the index lags behind.
const HELD_UP_MAX: Duration = Duration::from_millis(100);

/// Writer state of a store between turns.
pub(super) struct Held {
    /// None while idle, or while the file cannot be trusted; a batch opens it again.
    connection: Option<(Connection, Slot)>,
    /// Since when it is unused.
    idle_since: Instant,
    /// Cleared after a failed sync: the content of the WAL is unknown until it is checkpointed.
    is_trusted: bool,
    has_begun: bool,
    caches: Caches,
    data_version: i64,
    wal: wal::Watch,
    /// Entries to remove from the index before the open transaction is committed.
    unindexed: Unindexed,
}

impl Held {
    pub(super) fn new(connection: Connection, slot: Slot) -> Self {
        Self {
            connection: Some((connection, slot)),
            idle_since: Instant::now(),
            is_trusted: true,
            has_begun: false,
            caches: Caches::default(),
            data_version: -1,
            wal: wal::Watch::default(),
            unindexed: Unindexed::default(),
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
    pub(super) fn let_go(&mut self) -> Option<(Connection, Slot)> {
        self.forget();
        self.connection.take()
    }

    fn forget(&mut self) {
        self.caches.clear();
        self.data_version = -1;
        self.unindexed = Unindexed::default();
        // Closing the last connection to a file removes its WAL.
        self.wal.forget();
    }
}

/// One turn of a store.
pub(super) struct Writer<'a> {
    member: &'a Member,
    held: &'a mut Held,
    answers: &'a Answers,
    /// The index is far behind.
    is_held_up: bool,
}

/// Whether a transaction shares its commit with others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Batch,
    Alone,
}

/// How a commit ended.
enum Ended {
    Committed,
    /// The transaction is gone; nothing of it is on disk.
    Gone(EngineError),
    /// It may or may not be on disk.
    Unknown,
}

/// Runs the next action for a store; says when it wants another turn.
pub(super) fn turn(member: &Member, answers: &Answers) -> Again {
    let mut held = member.writer();
    let again = Writer { member, held: &mut held, answers, is_held_up: false }.turn();
    held.idle_since = Instant::now();
    again
}

impl Writer<'_> {
    fn turn(&mut self) -> Again {
        if !std::mem::replace(&mut self.held.has_begun, true)
            && let Some((connection, _)) = &self.held.connection
        {
            // Old answers cost space, but do no harm; a failed cleanup is retried at the next start.
            let _ = forget_requests(connection);
        }
        match self.member.queue.look() {
            None => return Again::WhenAsked,
            Some(Next::Closed) => {
                self.end();
                return Again::WhenAsked;
            }
            Some(Next::Nudge) => self.tidy_wal(),
            Some(Next::Batch(batch)) => self.take(batch),
        }
        match (self.is_held_up, self.member.queue.has_work()) {
            (true, _) => {
                self.member.hold_up();
                Again::After(HELD_UP_MAX)
            }
            (false, true) => Again::Now,
            (false, false) => Again::WhenAsked,
        }
    }

    fn take(&mut self, batch: Vec<Job>) {
        let was_trusted = self.held.is_trusted;
        let mut opened = self.ensure_open();
        if matches!(opened, Err(StoreError::DiskFull))
            && batch.iter().any(|job| is_deletion(&job.prepared))
            && self.member.reserve.release()
        {
            opened = self.ensure_open();
        }
        if let Err(error) = opened {
            return answer_all(batch, || match &error {
                StoreError::DiskFull => StoreError::DiskFull,
                StoreError::Altered { what, id } => StoreError::Altered { what, id: id.clone() },
                _ if was_trusted => StoreError::Busy("the file cannot be opened"),
                _ => StoreError::Busy("the file is being recovered after a failed write"),
            });
        }
        // A panic drops the callers' ends, which tells them that the outcome is unknown; the file is then opened anew.
        let worked = catch_unwind(AssertUnwindSafe(|| {
            self.batch(batch);
            self.tidy_wal();
            self.look_after_reserve();
        }));
        if worked.is_err() {
            self.distrust();
        }
    }

    /// All that was accepted is answered, and the queue is closed.
    fn end(&mut self) {
        self.member.reads.pause();
        drop(self.held.let_go());
        self.member.reads.resume();
        self.member.written_out();
    }

    fn connection(&self) -> &Connection {
        &self.held.connection.as_ref().expect("ensure_open came before").0
    }

    /// Opens the file again if it is not open.
    fn ensure_open(&mut self) -> Result<()> {
        if self.held.connection.is_some() {
            return Ok(());
        }
        self.held.forget();
        let slot = self.member.slot();
        let opened = match self.held.is_trusted {
            true => self.open(),
            false => self.open_and_recover(),
        };
        self.held.connection = Some((opened?, slot));
        self.held.is_trusted = true;
        Ok(())
    }

    fn open(&self) -> Result<Connection> {
        let connection = open_again(&self.member.options)?;
        self.member.look_over(&connection)?;
        Ok(connection)
    }

    /// Reopens after a failed sync, and continues only once the WAL is checkpointed into the file.
    fn open_and_recover(&self) -> Result<Connection> {
        self.member.reads.pause();
        let opened = self.open().and_then(|connection| wal::truncate(&connection).map(|()| connection));
        self.member.reads.resume();
        opened
    }

    /// The outcome of a failed sync is unknown until the file was closed and opened again.
    fn distrust(&mut self) {
        self.held.is_trusted = false;
        self.member.reads.pause();
        drop(self.held.let_go());
        self.member.reads.resume();
        // Failing here is fine: the next batch tries again, and says so to its callers.
        let _ = self.ensure_open();
    }

    fn batch(&mut self, mut batch: Vec<Job>) {
        let exclusive = batch.iter().position(|job| is_exclusive(&job.prepared));
        match exclusive {
            Some(0) => {
                let rest = batch.split_off(1);
                self.member.queue.put_back(rest);
                for job in batch {
                    self.alone(job);
                }
                return;
            }
            Some(place) => {
                let rest = batch.split_off(place);
                self.member.queue.put_back(rest);
            }
            None => {}
        }
        match self.together(&mut batch) {
            Ok(()) => {}
            // Something failed after something was written: each one alone, each with its own outcome.
            Err(Ended::Gone(_)) => {
                for job in batch {
                    match self.ensure_open() {
                        Ok(()) => self.alone(job),
                        Err(error) => drop(job.answer.send(Err(error))),
                    }
                }
            }
            Err(_) => {
                answer_all(batch, || StoreError::OutcomeUnknown);
                self.distrust();
            }
        }
    }

    /// Commits a batch with one sync. On error nothing has been answered; jobs stay in the batch.
    fn together(&mut self, batch: &mut Vec<Job>) -> std::result::Result<(), Ended> {
        let first = self.begin().map_err(Ended::Gone)?;
        let mut next = first;
        let started = Instant::now();
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch.iter() {
            if !outcomes.is_empty() && started.elapsed() > LOCK_MAX {
                break;
            }
            let before = next;
            match self.one(&job.prepared, &mut next, Company::Batch) {
                Ok(committed) => outcomes.push(Ok(committed)),
                Err(Fault::Refused(error)) => {
                    next = before;
                    outcomes.push(Err(error));
                }
                Err(Fault::Engine(error)) => {
                    self.roll_back();
                    return Err(Ended::Gone(error));
                }
            }
        }
        self.unindex(first).map_err(Ended::Gone)?;
        match self.commit() {
            Ended::Committed => {}
            ended => return Err(ended),
        }
        let rest = batch.split_off(outcomes.len());
        self.member.queue.put_back(rest);
        self.publish(next - 1);
        let is_import = batch.iter().all(|job| job.prepared.transaction.lane == Lane::Low);
        let answers: Vec<Answer> = batch.drain(..).map(|job| job.answer).zip(outcomes).collect();
        self.answers.give(answers);
        // A search scans the unindexed tail, so that must not grow without bound.
        self.is_held_up = self.member.options.has_index()
            && !is_import
            && self.member.indexing.is_far_behind(next - 1, TAIL_MAX as Position);
        Ok(())
    }

    fn alone(&mut self, job: Job) {
        let mut outcome = self.alone_outcome(&job.prepared);
        // A full disk may show as an index that cannot be written.
        let is_short = matches!(outcome, Err(StoreError::DiskFull | StoreError::Busy(_)));
        let uses_reserve = is_short && is_deletion(&job.prepared) && self.member.reserve.release();
        if uses_reserve {
            outcome = self.ensure_open().and_then(|()| self.alone_outcome(&job.prepared));
        }
        let unknown = matches!(outcome, Err(StoreError::OutcomeUnknown));
        let _ = job.answer.send(outcome);
        if unknown {
            self.distrust();
        }
        if uses_reserve {
            self.shrink_wal();
        }
    }

    /// Releases the space that the WAL of a deletion took, so that the next deletion finds a reserve as well.
    fn shrink_wal(&mut self) {
        let Some((connection, _)) = &self.held.connection else { return };
        self.member.reads.pause();
        // A failure here is not reported: the deletion is on disk.
        let _ = wal::try_truncate(connection);
        self.member.reads.resume();
        self.held.wal.forget();
    }

    /// Allocates the disk reserve as far as it is missing.
    fn look_after_reserve(&self) {
        let Some((connection, _)) = &self.held.connection else { return };
        if self.member.options.has_index()
            && let Ok(bytes) = wal::grown_bytes(connection)
        {
            // If the disk has no space for it now, it is tried again after the next batch.
            self.member.reserve.top_up(bytes);
        }
    }

    fn alone_outcome(&mut self, prepared: &Prepared) -> Result<Committed> {
        let first = self.begin().map_err(|error| failed("beginning a transaction", error))?;
        let mut next = first;
        let done = self.one(prepared, &mut next, Company::Alone);
        match done.and_then(|committed| Ok(self.unindex(first).map(|()| committed)?)) {
            Ok(committed) => match self.commit() {
                Ended::Committed => {
                    self.publish(next - 1);
                    match is_exclusive(prepared) && self.wipe_wal().is_err() {
                        // It is stored, but not yet forgotten by the WAL: neither "done" nor "nothing was changed" is
                        // true. What follows opens the file anew, which empties the WAL before anything else happens.
                        true => Err(StoreError::OutcomeUnknown),
                        false => Ok(committed),
                    }
                }
                Ended::Gone(error) => Err(failed("committing", error)),
                Ended::Unknown => Err(StoreError::OutcomeUnknown),
            },
            Err(fault) => {
                self.roll_back();
                Err(fault.said("writing"))
            }
        }
    }

    /// An erasure is done when the WAL has forgotten it too.
    fn wipe_wal(&mut self) -> Result<()> {
        self.member.reads.pause();
        let mut wiped = wal::truncate(self.connection());
        if matches!(wiped, Err(StoreError::DiskFull)) && self.member.reserve.release() {
            wiped = wal::truncate(self.connection());
        }
        self.member.reads.resume();
        self.held.wal.forget();
        wiped
    }

    /// Takes the write lock and returns the next free position.
    fn begin(&mut self) -> Ran<Position> {
        let connection = self.connection();
        execute(connection, "begin immediate", ())?;
        let look = || -> Ran<(i64, Position)> {
            let version = connection.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))?;
            let sql = "select pos + count from journal order by pos desc limit 1";
            Ok((version, maybe(connection, sql, (), |row| row.get(0))?.unwrap_or(1)))
        };
        match look() {
            Ok((version, next)) => {
                // Another process has written: the caches may be stale.
                if version != self.held.data_version {
                    self.held.caches.clear();
                    self.held.data_version = version;
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
        self.held.caches.clear();
        self.held.unindexed = Unindexed::default();
    }

    /// Removes content that is about to be destroyed from the index, and from its WAL. If the commit then fails, the
    /// indexer rechecks the removed entries; in the other order a crash would leave words that exist nowhere else.
    fn unindex(&mut self, first: Position) -> Ran<()> {
        let gone = std::mem::take(&mut self.held.unindexed);
        if gone.is_empty() {
            return Ok(());
        }
        if !self.member.options.has_index() {
            // An index that another process made would keep the content; it is deleted, and rebuilt later.
            if self.member.options.vfs.is_none() {
                throw_away(&self.member.options);
            }
            return Ok(());
        }
        let forgotten = (|| -> Ran<()> {
            let _slot = self.member.slot();
            let index = Index::open(&self.member.options).map_err(|_| EngineError::Index)?;
            index.begin()?;
            match gone.all {
                true => index.forget_all(first)?,
                false => index.forget(&gone.docs, first)?,
            }
            index.commit()?;
            // Readers of this process may not keep the WAL from being emptied.
            self.member.reads.pause();
            let wiped = index.wipe();
            self.member.reads.resume();
            wiped.map_err(|_| EngineError::Index)
        })();
        match forgotten {
            Err(error) if error.is_damage() => {
                throw_away(&self.member.options);
                Ok(())
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    fn commit(&mut self) -> Ended {
        let error = match execute(self.connection(), "commit", ()) {
            Ok(_) => return Ended::Committed,
            Err(error) => error,
        };
        let full =
            matches!(&error, EngineError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull));
        self.roll_back();
        match full {
            // A full disk cut the commit frame short, so it can never be read back as one.
            true => Ended::Gone(error),
            false => Ended::Unknown,
        }
    }

    fn publish(&self, position: Position) {
        self.member.publish(position);
    }

    /// Applies one transaction inside the open one. A refusal leaves no trace.
    fn one(&mut self, prepared: &Prepared, next: &mut Position, company: Company) -> Outcome<Committed> {
        let (connection, _) = self.held.connection.as_ref().expect("ensure_open came before");
        if let Some((key, digest)) = &prepared.request
            && let Some(committed) = answered_before(connection.into(), key, *digest)?
        {
            return Ok(committed);
        }
        let guarded = !refuses_before_it_writes(prepared);
        if guarded {
            execute(connection, "savepoint one", ())?;
        }
        let changes_before = connection.total_changes();
        let mut tx =
            Tx::new(connection.into(), &mut self.held.caches, &self.member.key, prepared.transaction.at, *next);
        let outcome = steps(&mut tx, prepared);
        let (used, unindexed) = (tx.next, tx.unindexed);
        match outcome {
            Ok(committed) => {
                self.held.unindexed.add(unindexed);
                if guarded {
                    execute(connection, "release one", ())?;
                }
                *next = used;
                Ok(committed)
            }
            Err(Fault::Refused(error)) => {
                if guarded && !connection.is_autocommit() {
                    execute(connection, "rollback to one", ())?;
                    execute(connection, "release one", ())?;
                    self.held.caches.clear();
                } else if company == Company::Batch && connection.total_changes() != changes_before {
                    // A refusal after a write would leave half a change in the batch, so each one runs again alone,
                    // where the rollback takes everything back.
                    return Err(Fault::Engine(EngineError::WroteAndRefused));
                }
                Err(Fault::Refused(error))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Copies the WAL into the file when it has grown, off this thread but for the last bit.
    fn tidy_wal(&mut self) {
        let Some((connection, _)) = &self.held.connection else { return };
        self.held.wal.after_batch(connection, self.member);
    }
}

fn answer_all(batch: Vec<Job>, error: impl Fn() -> StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error()));
    }
}
