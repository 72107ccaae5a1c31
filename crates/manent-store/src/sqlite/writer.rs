//! The writer: one thread per file that commits whatever waits, many transactions to one sync.
//!
//! Nothing is answered before COMMIT has returned. What happens when something fails is in `batch`.

use super::connection::{SqliteOptions, failed, open_again};
use super::index::{Index, throw_away};
use super::shared::Shared;
use super::wal;
use crate::engine::answers::{Answer, Answers};
use crate::engine::cache::Caches;
use crate::engine::connection::{EngineError, Ran, execute, maybe};
use crate::engine::fault::{Fault, Outcome};
use crate::engine::prepare::Prepared;
use crate::engine::queue::{Job, Next};
use crate::engine::search::TAIL_MAX;
use crate::engine::steps::{answered_before, forget_requests, is_exclusive, refuses_before_it_writes, steps};
use crate::engine::tx::{Tx, Unindexed};
use crate::error::{Result, StoreError};
use crate::transaction::{Committed, Lane, Position};
use rusqlite::{Connection, ErrorCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a batch may hold the lock before it commits what it has.
const LOCK_MAX: Duration = Duration::from_millis(20);

/// How long a commit is held up at most when the index lags behind.
const HELD_UP_MAX: Duration = Duration::from_millis(100);

pub(super) struct Writer {
    shared: Arc<Shared>,
    options: SqliteOptions,
    /// None while the file cannot be trusted; each batch tries to open it again.
    connection: Option<Connection>,
    caches: Caches,
    data_version: i64,
    wal: wal::Watch,
    answers: Answers,
    /// What leaves the index before the open transaction is committed.
    unindexed: Unindexed,
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

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, options: SqliteOptions, connection: Connection) -> Self {
        Self {
            shared,
            options,
            connection: Some(connection),
            caches: Caches::default(),
            data_version: -1,
            wal: wal::Watch::default(),
            answers: Answers::start(),
            unindexed: Unindexed::default(),
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        if let Some(connection) = &self.connection {
            // Old requests cost space, not truth; what fails here is tried again at the next start.
            let _ = forget_requests(connection);
        }
        loop {
            match self.shared.queue.next() {
                Next::Closed => break,
                Next::Nudge => self.tidy_wal(),
                Next::Batch(batch) => {
                    if let Err(error) = self.ensure_open() {
                        answer_all(batch, || match &error {
                            StoreError::DiskFull => StoreError::DiskFull,
                            _ => StoreError::Busy("the file is being recovered after a failed write"),
                        });
                        continue;
                    }
                    // A panic drops the callers' ends, which tells them that the outcome is unknown; the file is then opened anew.
                    let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        self.batch(batch);
                        self.tidy_wal();
                    }));
                    if worked.is_err() {
                        self.distrust();
                    }
                }
            }
        }
        self.shared.readers.pause();
        drop(self.connection.take());
        self.shared.readers.resume();
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("ensure_open came before")
    }

    /// After a failed sync: open anew, and only go on once what the WAL holds is in the file.
    fn ensure_open(&mut self) -> Result<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        self.shared.readers.pause();
        let opened = (|| -> Result<Connection> {
            let connection = open_again(&self.options)?;
            wal::truncate(&connection)?;
            Ok(connection)
        })();
        self.shared.readers.resume();
        self.caches.clear();
        self.data_version = -1;
        self.connection = Some(opened?);
        Ok(())
    }

    /// What came of a failed sync is unknown until the file was closed and opened again.
    fn distrust(&mut self) {
        self.shared.readers.pause();
        drop(self.connection.take());
        self.shared.readers.resume();
        // Failing here is fine: the next batch tries again, and says so to its callers.
        let _ = self.ensure_open();
    }

    fn batch(&mut self, mut batch: Vec<Job>) {
        let exclusive = batch.iter().position(|job| is_exclusive(&job.prepared));
        match exclusive {
            Some(0) => {
                let rest = batch.split_off(1);
                self.shared.queue.put_back(rest);
                for job in batch {
                    self.alone(job);
                }
                return;
            }
            Some(place) => {
                let rest = batch.split_off(place);
                self.shared.queue.put_back(rest);
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
        self.shared.queue.put_back(rest);
        self.publish(next - 1);
        let is_import = batch.iter().all(|job| job.prepared.transaction.lane == Lane::Low);
        let answers: Vec<Answer> = batch.drain(..).map(|job| job.answer).zip(outcomes).collect();
        self.answers.give(answers);
        if self.options.has_index() && !is_import {
            // A search looks through what is not indexed yet, so that may not grow without bound.
            self.shared.indexing.hold_up(next - 1, TAIL_MAX as Position, HELD_UP_MAX);
        }
        Ok(())
    }

    fn alone(&mut self, job: Job) {
        let outcome = self.alone_outcome(&job.prepared);
        let unknown = matches!(outcome, Err(StoreError::OutcomeUnknown));
        let _ = job.answer.send(outcome);
        if unknown {
            self.distrust();
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
        self.shared.readers.pause();
        let wiped = wal::truncate(self.connection());
        self.shared.readers.resume();
        self.wal.forget();
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
                // Another process has written: what we remember of the file may no longer be true.
                if version != self.data_version {
                    self.caches.clear();
                    self.data_version = version;
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
        self.caches.clear();
        self.unindexed = Unindexed::default();
    }

    /// Takes what is about to be destroyed out of the index, and out of its WAL. If the commit then fails, the index looks
    /// again at what it forgot; the other way round a crash would leave words behind that are nowhere else.
    fn unindex(&mut self, first: Position) -> Ran<()> {
        let gone = std::mem::take(&mut self.unindexed);
        if gone.is_empty() {
            return Ok(());
        }
        if !self.options.has_index() {
            // Somebody else's would keep what goes; it is made again.
            if self.options.vfs.is_none() {
                throw_away(&self.options);
            }
            return Ok(());
        }
        let forgotten = (|| -> Ran<()> {
            let index = Index::open(&self.options).map_err(|_| EngineError::Index)?;
            index.begin()?;
            match gone.all {
                true => index.forget_all(first)?,
                false => index.forget(&gone.docs, first)?,
            }
            index.commit()?;
            // Readers of this process may not keep the WAL from being emptied.
            self.shared.readers.pause();
            let wiped = index.wipe();
            self.shared.readers.resume();
            wiped.map_err(|_| EngineError::Index)
        })();
        match forgotten {
            Err(error) if error.is_damage() => {
                throw_away(&self.options);
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
        self.shared.publish(position);
    }

    /// Applies one transaction inside the open one. A refusal leaves no trace.
    fn one(&mut self, prepared: &Prepared, next: &mut Position, company: Company) -> Outcome<Committed> {
        let connection = self.connection.as_ref().expect("ensure_open came before");
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
        let mut tx = Tx::new(connection.into(), &mut self.caches, &self.shared.key, prepared.transaction.at, *next);
        let outcome = steps(&mut tx, prepared);
        let (used, unindexed) = (tx.next, tx.unindexed);
        match outcome {
            Ok(committed) => {
                self.unindexed.add(unindexed);
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
                    self.caches.clear();
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
        let Some(connection) = self.connection.as_ref() else { return };
        self.wal.after_batch(connection, &self.options, &self.shared);
    }
}

fn answer_all(batch: Vec<Job>, error: impl Fn() -> StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error()));
    }
}
