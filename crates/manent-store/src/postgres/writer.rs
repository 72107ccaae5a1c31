//! Writer thread with group commit: one thread for each store that commits all waiting transactions in one commit of
//! the server.
//!
//! A writer locks the `counter` row of its tenant, so commits of a tenant are serialized across processes, and
//! positions are in the order of commits. A commit with a lost answer is looked up in the journal, under that same
//! lock, which resolves its outcome.
//!
//! While no other process writes, a batch of appends reads nothing: it is sent to the server whole, with its commit,
//! and the next one may be sent before the answer has arrived. The server refuses it if the first one failed.

use super::client::{Client, CommitFailure, SentCommit};
use super::migrate::WRITER_ROLE;
use super::options::PostgresOptions;
use super::{RETRY_DELAY, Shared, UNAVAILABLE, is_lost, reconnect};
use crate::api::error::{Result, StoreError};
use crate::api::transaction::{Committed, Position};
use crate::engine::commit::commit_queue::{Job, NextWork};
use crate::engine::commit::execute::{
    appends_only, execute_transaction, find_replay, forget_requests, validates_before_writing,
};
use crate::engine::commit::prefetch_plan;
use crate::engine::commit::prepare::Prepared;
use crate::engine::commit::reply_dispatcher::{Reply, ReplyDispatcher};
use crate::engine::commit::row_cache::RowCache;
use crate::engine::commit::tx::Tx;
use crate::engine::sql::connection::{DbResult, EngineError, execute, query_all, query_one};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::Digest;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::error::SqlState;

/// Maximum time that a batch holds the lock before it commits.
const LOCK_MAX: Duration = Duration::from_millis(20);
/// Number of callers from which on a batch waits a moment for those that were answered last.
const GROUP_COMMIT_MIN: usize = 16;
/// How long; the round trips of a batch take several times as long.
const GROUP_COMMIT_DELAY: Duration = Duration::from_micros(300);

/// Locks the row that serializes writers.
const LOCK: &str = "select next from counter where name = $1 for update";

pub(super) struct Writer {
    shared: Arc<Shared>,
    options: PostgresOptions,
    client: Option<Client>,
    caches: RowCache,
    /// The next position after our last commit; a different one means that another process has written.
    expected: Position,
    /// The id of this writer. Writes without a position, such as a blob, are detected as another process's by this id.
    id: i64,
    /// Whether the row of the writer names us.
    is_last: bool,
    /// Whether every transaction gets a savepoint, also those that should refuse before they write.
    is_careful: bool,
    replies: ReplyDispatcher,
    /// Number of callers that were just answered or wait: the expected size of the next batch.
    group_size: usize,
    in_flight: Option<PendingCommit>,
}

/// The changes that a batch sent to the server, and how to find them there.
struct BatchResult {
    outcomes: Vec<Result<Committed>>,
    first: Position,
    next: Position,
    /// The rows of the journal.
    rows: Vec<(Position, Digest)>,
}

/// A batch whose commit was sent.
struct PendingCommit {
    batch: Vec<Job>,
    work: BatchResult,
    commit: SentCommit,
}

/// Why a batch did not commit.
enum CommitOutcome {
    /// Nothing of it is stored.
    RolledBack(EngineError),
    /// It may or may not be stored.
    Unknown(BatchResult),
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, options: PostgresOptions, client: Client) -> Self {
        Self {
            shared,
            options,
            client: Some(client),
            caches: RowCache::default(),
            expected: -1,
            id: random(),
            is_last: false,
            is_careful: false,
            replies: ReplyDispatcher::start(),
            group_size: 0,
            in_flight: None,
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        // Old answers cost space, but do no harm; a failed cleanup is retried at the next start.
        let forgotten = self.begin(&[]).and_then(|_| forget_requests(self.client()));
        if forgotten.and_then(|()| self.client().run("commit")).is_err() {
            self.roll_back();
        }
        loop {
            // A panic drops the callers' ends, which tells them that the outcome is unknown.
            match catch_unwind(AssertUnwindSafe(|| self.step())) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    self.client = None;
                    self.expected = -1;
                    self.in_flight = None;
                    self.is_careful = false;
                }
            }
        }
    }

    /// Runs the next action; says whether there may be more.
    fn step(&mut self) -> bool {
        let crowd = self.in_flight.as_ref().map_or(self.group_size, |flight| flight.batch.len());
        if crowd >= GROUP_COMMIT_MIN {
            // The callers that were just answered usually send again; with them the next commit serves all, not half of
            // them.
            self.shared.queue.wait_for_group(crowd, GROUP_COMMIT_DELAY);
        }
        if let Some(flight) = self.in_flight.take_if(|_| self.shared.queue.queued() == 0) {
            self.await_commit(flight);
            return true;
        }
        self.group_size = 0;
        match self.shared.queue.next() {
            NextWork::Closed => return false,
            NextWork::Wake => {}
            NextWork::Batch(batch) => self.take(batch),
        }
        true
    }

    /// Sends a batch without waiting if it reads nothing; otherwise waits for the commits in flight, and then for this
    /// one.
    fn take(&mut self, mut batch: Vec<Job>) {
        let sent = self.can_run_optimistically(&batch).then(|| self.send(&batch));
        let earlier = self.in_flight.take();
        match sent {
            Some(Ok((work, commit))) => {
                self.expected = work.next;
                // Transactions that were not sent stay first in the queue.
                self.shared.queue.put_back(batch.split_off(work.outcomes.len()));
                self.in_flight = Some(PendingCommit { batch, work, commit });
                earlier.into_iter().for_each(|flight| self.await_commit(flight));
            }
            unsent => {
                earlier.into_iter().for_each(|flight| self.await_commit(flight));
                if unsent.is_some() {
                    // A part of it is with the server.
                    self.roll_back();
                }
                self.batch(batch, None);
            }
        }
    }

    /// Sends a batch and its commit, without waiting for anything.
    fn send(&mut self, batch: &[Job]) -> DbResult<(BatchResult, SentCommit)> {
        let first = self.begin_optimistic(batch)?;
        let work = self.fill(batch, first)?;
        // A wrong assumption may be the cause of the refusal.
        if work.outcomes.iter().any(Result::is_err) {
            return Err(EngineError::WroteAndRejected);
        }
        Ok((work, self.client().send_commit()?))
    }

    /// Waits for a commit in flight. If it failed, the batches sent after it failed too: both run again, in order.
    fn await_commit(&mut self, flight: PendingCommit) {
        let first = self.client().await_result(flight.commit);
        if first.is_ok() {
            return self.send_replies(flight.batch, flight.work);
        }
        let mut ended = vec![(first, flight.batch, flight.work)];
        if let Some(behind) = self.in_flight.take() {
            ended.push((self.client().await_result(behind.commit), behind.batch, behind.work));
        }
        match ended.iter().any(|(landed, ..)| matches!(landed, Err((_, CommitFailure::Ambiguous)))) {
            true => self.client = None,
            false => self.roll_back(),
        }
        for (landed, batch, work) in ended {
            match landed {
                Ok(()) => self.send_replies(batch, work),
                Err((_, CommitFailure::RolledBack)) => self.batch(batch, None),
                Err((_, CommitFailure::Ambiguous)) => self.batch(batch, Some(work)),
            }
        }
    }

    fn batch(&mut self, batch: Vec<Job>, mut unknown: Option<BatchResult>) {
        let until = Instant::now() + self.options.statement_timeout;
        loop {
            let outcome = match self.ensure_open(until) {
                Ok(()) => self.attempt(&batch, unknown.take()),
                Err(error) => return unavailable(batch, error, unknown.is_some()),
            };
            match outcome {
                Ok(work) => return self.send_replies(batch, work),
                Err(CommitOutcome::Unknown(work)) => {
                    self.client = None;
                    self.expected = -1;
                    unknown = Some(work);
                    if Instant::now() > until {
                        return unavailable(batch, UNAVAILABLE, true);
                    }
                }
                Err(CommitOutcome::RolledBack(error)) if may_be_tried_again(&error) => {
                    if Instant::now() > until {
                        return unavailable(batch, UNAVAILABLE, false);
                    }
                    if !is_conflict(&error) {
                        self.client = None;
                    }
                    std::thread::sleep(RETRY_DELAY);
                }
                // One of them cannot be stored: each alone, each with its own outcome.
                Err(CommitOutcome::RolledBack(error)) => return self.commit_each(batch, error),
            }
        }
    }

    /// Runs each transaction of a batch alone, so that all of it can be rolled back.
    fn commit_each(&mut self, batch: Vec<Job>, error: EngineError) {
        let is_known = self.is_careful || !matches!(error, EngineError::WroteAndRejected);
        match <[Job; 1]>::try_from(batch) {
            Ok([job]) if is_known => drop(job.reply.send(Err(error.into_store_error("writing")))),
            Ok([job]) => self.commit_single(job),
            Err(batch) => batch.into_iter().for_each(|job| self.commit_single(job)),
        }
    }

    fn commit_single(&mut self, job: Job) {
        self.is_careful = true;
        self.batch(vec![job], None);
        self.is_careful = false;
    }

    /// Reconnects after a lost connection, for as long as callers may wait.
    fn ensure_open(&mut self, until: Instant) -> Result<()> {
        if let Some(client) = &self.client {
            // The connection may have been closed while it was idle.
            client.push();
            if !client.is_closed() {
                return Ok(());
            }
        }
        self.caches.clear();
        self.expected = -1;
        // Statements of the old connection may still be in flight; with a new id, their guard fails.
        self.id = random();
        self.is_last = false;
        self.client = Some(reconnect(&self.options, until)?);
        Ok(())
    }

    /// Resolves the outcome of an earlier attempt, if there was one; then tries.
    fn attempt(
        &mut self,
        batch: &[Job],
        earlier: Option<BatchResult>,
    ) -> std::result::Result<BatchResult, CommitOutcome> {
        let Some(work) = earlier else { return self.commit_batch(batch) };
        match self.resolve_outcome(&work) {
            Ok(Some(true)) => Ok(work),
            Ok(Some(false)) => self.commit_batch(batch),
            // It is stored in part, or left no row, or was changed since: the outcome cannot be resolved.
            Ok(None) => {
                let outcomes = work.outcomes.iter().map(|_| Err(StoreError::OutcomeUnknown)).collect();
                Ok(BatchResult { outcomes, ..work })
            }
            Err(_) => Err(CommitOutcome::Unknown(work)),
        }
    }

    /// Looks for the rows of a batch in the journal. The lock waits for a server that still works on it.
    fn resolve_outcome(&mut self, work: &BatchResult) -> DbResult<Option<bool>> {
        let next = self.begin(&[])?;
        let sql = "select pos, digest from journal where pos >= $1 and pos < $2 order by pos";
        let found: Vec<(Position, Digest)> =
            query_all(self.client(), sql, (work.first, work.next), |row| Ok((row.get(0)?, Digest(row.get(1)?))))?;
        // Statements in flight find another writer id here and fail: the checked state stays as it is.
        execute(self.client(), "update counter set next = $1 where name = $2", (self.id, WRITER_ROLE))?;
        // Not a rollback: the commit waits for the standbys, as the lost one should have. What was read is then
        // replicated too.
        self.client().run("commit")?;
        Ok(match (found.first(), work.rows.first()) {
            _ if next <= work.first => Some(false),
            // Its changes have no journal row, and others may have changed the rows since.
            (_, None) => None,
            _ if found == work.rows => Some(true),
            (Some(found), Some(ours)) if found.1 != ours.1 => Some(false),
            _ => None,
        })
    }

    /// Commits a batch, or as much of it as the time allows.
    fn commit_batch(&mut self, batch: &[Job]) -> std::result::Result<BatchResult, CommitOutcome> {
        let first = self.begin(batch).map_err(CommitOutcome::RolledBack)?;
        match self.fill(batch, first) {
            Ok(work) => self.commit(work),
            Err(error) => {
                self.roll_back();
                Err(CommitOutcome::RolledBack(error))
            }
        }
    }

    /// Applies a batch, or as much of it as the time allows.
    fn fill(&mut self, batch: &[Job], first: Position) -> DbResult<BatchResult> {
        let mut work = BatchResult { outcomes: Vec::with_capacity(batch.len()), first, next: first, rows: Vec::new() };
        let started = Instant::now();
        let changes_before = self.client().changes();
        let mut looked_ahead = 0;
        for (place, job) in batch.iter().enumerate() {
            if place > 0 && started.elapsed() > LOCK_MAX {
                break;
            }
            if place >= looked_ahead {
                let run = known_outcome(&batch[place..]);
                looked_ahead = place + run.len().max(1);
                if place > 0 {
                    self.client().clear_prefetched();
                    prefetch_plan::prefetch(self.client(), &self.caches, &run);
                }
                prefetch_plan::follow(self.client(), &self.caches, &run)?;
            }
            match self.apply_transaction(&job.prepared, &mut work) {
                Ok(committed) => work.outcomes.push(Ok(committed)),
                Err(TxError::Rejected(error)) => work.outcomes.push(Err(error)),
                Err(TxError::Database(error)) => return Err(error),
            }
        }
        let sql = "update counter set next = $1 where name = $2";
        if work.next != work.first {
            execute(self.client(), sql, (work.next, "journal"))?;
        }
        if !self.is_last && self.client().changes() != changes_before {
            execute(self.client(), sql, (self.id, WRITER_ROLE))?;
        }
        Ok(work)
    }

    fn send_replies(&mut self, mut batch: Vec<Job>, work: BatchResult) {
        self.shared.queue.put_back(batch.split_off(work.outcomes.len()));
        self.group_size = batch.len() + self.shared.queue.queued();
        self.shared.position.publish(work.next - 1);
        let answers: Vec<Reply> = batch.into_iter().map(|job| job.reply).zip(work.outcomes).collect();
        self.replies.send(answers);
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("ensure_open came before")
    }

    /// Locks the journal counter and returns the next free position. Prefetches of the batch are sent behind it.
    fn begin(&mut self, batch: &[Job]) -> DbResult<Position> {
        let look = "select next from counter where name = $1";
        let work = |client: &Client, caches: &RowCache| {
            client.clear_prefetched();
            client.begin()?;
            client.prefetch(LOCK, ["journal"]);
            client.prefetch(look, [WRITER_ROLE]);
            prefetch_plan::prefetch(client, caches, &known_outcome(batch));
            let next = query_one(client, LOCK, ["journal"], |row| row.get(0))?;
            let last: i64 = query_one(client, look, [WRITER_ROLE], |row| row.get(0))?;
            Ok((next, last))
        };
        match work(self.client(), &self.caches) {
            Ok((next, last)) => {
                self.is_last = last == self.id;
                if next != self.expected || !self.is_last {
                    self.caches.clear();
                    self.client().forget_numbers();
                    prefetch_plan::prefetch(self.client(), &self.caches, &known_outcome(batch));
                }
                Ok(next)
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    /// Says whether a batch can be sent whole: everything that it would read is cached from our last writes.
    fn can_run_optimistically(&self, batch: &[Job]) -> bool {
        let run = known_outcome(batch);
        let wrote_last = self.is_last && self.expected > 0;
        wrote_last && run.len() == batch.len() && prefetch_plan::is_known(&self.caches, &run)
    }

    /// Begins without waiting. If another process has written since, the server refuses all statements that follow.
    fn begin_optimistic(&mut self, batch: &[Job]) -> DbResult<Position> {
        let guard = "select cast(case count(*) when 2 then '2' else 'another process has written' end as bigint)
             from counter
             where name = $1 and next = $2 or name = $3 and next = $4";
        let client = self.client();
        client.clear_prefetched();
        client.begin()?;
        client.send_unread(LOCK, ["journal"])?;
        client.send_unread(guard, ("journal", self.expected, WRITER_ROLE, self.id))?;
        prefetch_plan::assume_new(client, &known_outcome(batch));
        Ok(self.expected)
    }

    fn commit(&mut self, work: BatchResult) -> std::result::Result<BatchResult, CommitOutcome> {
        let sent = self.client().send_commit().map_err(|error| (error, CommitFailure::RolledBack));
        match sent.and_then(|commit| self.client().await_result(commit)) {
            Ok(()) => {
                self.expected = work.next;
                Ok(work)
            }
            Err((error, CommitFailure::RolledBack)) => {
                self.roll_back();
                Err(CommitOutcome::RolledBack(error))
            }
            Err((_, CommitFailure::Ambiguous)) => Err(CommitOutcome::Unknown(work)),
        }
    }

    fn roll_back(&mut self) {
        self.client.iter().for_each(Client::roll_back);
        self.caches.clear();
        self.expected = -1;
    }

    /// Applies one transaction inside the open one. A refusal leaves no trace.
    fn apply_transaction(&mut self, prepared: &Prepared, work: &mut BatchResult) -> TxResult<Committed> {
        let client = self.client.as_ref().expect("ensure_open came before");
        if let Some((key, digest)) = &prepared.request
            && let Some(committed) = find_replay(client.into(), key, *digest)?
        {
            return Ok(committed);
        }
        let guarded = self.is_careful || !validates_before_writing(prepared);
        if guarded {
            client.send_plain("savepoint one")?;
        }
        let (changes_before, numbers_before) = (client.changes(), client.numbers());
        let mut tx = Tx::new(client.into(), &mut self.caches, &self.shared.key, prepared.transaction.at, work.next);
        match execute_transaction(&mut tx, prepared) {
            Ok(committed) => {
                work.next = tx.next;
                work.rows.append(&mut tx.written);
                if guarded {
                    client.send_plain("release one")?;
                }
                Ok(committed)
            }
            Err(TxError::Rejected(error)) if guarded => {
                // The result of the statements to roll back has to be known first: an error in them ends the batch.
                match client.changes() == changes_before {
                    true => {
                        client.send_plain("rollback to one")?;
                        client.send_plain("release one")?;
                    }
                    false => client.run("rollback to one; release one")?,
                }
                client.set_numbers(numbers_before);
                self.caches.clear();
                Err(TxError::Rejected(error))
            }
            Err(TxError::Rejected(_)) if client.changes() != changes_before => {
                Err(TxError::Database(EngineError::WroteAndRejected))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// A number that no other writer has.
fn random() -> i64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    i64::from_le_bytes(bytes)
}

/// Returns the transactions at the start of a batch whose reads are all cached.
fn known_outcome(batch: &[Job]) -> Vec<&Prepared> {
    batch.iter().map(|job| &job.prepared).take_while(|prepared| appends_only(prepared)).collect()
}

/// Others were in the way, or the connection broke before the commit: nothing is stored, and it may go well now.
fn may_be_tried_again(error: &EngineError) -> bool {
    is_lost(error) || is_conflict(error)
}

fn is_conflict(error: &EngineError) -> bool {
    let EngineError::Postgres(error) = error else { return false };
    matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
}

/// Answers all callers with the reason why the server is unavailable.
fn unavailable(batch: Vec<Job>, error: StoreError, perhaps_stored: bool) {
    let mut error = Some(error);
    for job in batch {
        let error = match perhaps_stored {
            true => StoreError::OutcomeUnknown,
            // An error cannot be cloned: the first caller gets it with its cause, the others get the summary.
            false => error.take().unwrap_or(UNAVAILABLE),
        };
        let _ = job.reply.send(Err(error));
    }
}
