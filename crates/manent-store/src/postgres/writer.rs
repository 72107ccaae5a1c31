//! The writer: one thread for each store that commits whatever waits, many transactions to one commit of the server.
//!
//! Whoever writes for a tenant holds its row in `counter`, so commits of a tenant follow each other, also those of
//! several programs, and positions are in the order of commits.

use super::Shared;
use super::client::Client;
use super::migrate::connect;
use super::options::PostgresOptions;
use crate::engine::answers::{Answer, Answers};
use crate::engine::cache::Caches;
use crate::engine::connection::{EngineError, execute, one};
use crate::engine::fault::{Fault, Outcome};
use crate::engine::prepare::Prepared;
use crate::engine::queue::{Job, Next};
use crate::engine::steps::{answered_before, steps};
use crate::engine::tx::Tx;
use crate::error::{Result, StoreError};
use crate::transaction::{Committed, Position};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::error::SqlState;

/// How long a batch may hold the lock before it commits what it has.
const LOCK_MAX: Duration = Duration::from_millis(20);
/// How often a batch that met others is tried again.
const TRIES: usize = 8;

pub(super) struct Writer {
    shared: Arc<Shared>,
    options: PostgresOptions,
    client: Option<Client>,
    caches: Caches,
    /// The next position after our last commit; another means that somebody else has written.
    expected: Position,
    answers: Answers,
}

/// Why a batch did not commit.
enum Ended {
    /// Nothing of it is stored.
    Gone(EngineError),
    /// It may or may not be stored.
    Unknown,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, options: PostgresOptions, client: Client) -> Self {
        Self {
            shared,
            options,
            client: Some(client),
            caches: Caches::default(),
            expected: -1,
            answers: Answers::start(),
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        loop {
            match self.shared.queue.next() {
                Next::Closed => return,
                Next::Nudge => {}
                Next::Batch(batch) => self.batch(batch),
            }
        }
    }

    fn batch(&mut self, mut batch: Vec<Job>) {
        for _ in 0..TRIES {
            if let Err(error) = self.ensure_open() {
                return answer_all(batch, || match &error {
                    StoreError::Busy(why) => StoreError::Busy(why),
                    _ => StoreError::Busy("the database server cannot be reached"),
                });
            }
            match self.together(&mut batch) {
                Ok(()) => return,
                Err(Ended::Unknown) => {
                    self.client = None;
                    return answer_all(batch, || StoreError::OutcomeUnknown);
                }
                Err(Ended::Gone(error)) if may_be_tried_again(&error) => {}
                // One of them cannot be stored: each alone, each with its own outcome.
                Err(Ended::Gone(error)) => {
                    if batch.len() == 1 {
                        let mut error = Some(error);
                        return answer_all(batch, || {
                            error.take().map_or(StoreError::OutcomeUnknown, |error| error.said("writing"))
                        });
                    }
                    for job in batch {
                        self.batch(vec![job]);
                    }
                    return;
                }
            }
        }
        answer_all(batch, || StoreError::Busy("others are writing the same rows"));
    }

    /// Connects anew where the connection is gone, for as long as callers may wait.
    fn ensure_open(&mut self) -> Result<()> {
        if self.client.as_ref().is_some_and(|client| !client.is_closed()) {
            return Ok(());
        }
        self.caches.clear();
        self.expected = -1;
        let until = Instant::now() + self.options.patience;
        loop {
            match connect(&self.options) {
                Ok(client) => {
                    self.client = Some(client);
                    return Ok(());
                }
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Commits a batch. On error nothing has been answered; jobs stay in the batch.
    fn together(&mut self, batch: &mut Vec<Job>) -> std::result::Result<(), Ended> {
        let mut next = self.begin().map_err(Ended::Gone)?;
        let first = next;
        let started = Instant::now();
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch.iter() {
            if !outcomes.is_empty() && started.elapsed() > LOCK_MAX {
                break;
            }
            match self.one(&job.prepared, &mut next) {
                Ok(committed) => outcomes.push(Ok(committed)),
                Err(Fault::Refused(error)) => outcomes.push(Err(error)),
                Err(Fault::Engine(error)) => {
                    self.roll_back();
                    return Err(Ended::Gone(error));
                }
            }
        }
        self.commit(first, next)?;
        let rest = batch.split_off(outcomes.len());
        self.shared.queue.put_back(rest);
        self.shared.position.publish(next - 1);
        let answers: Vec<Answer> = batch.drain(..).map(|job| job.answer).zip(outcomes).collect();
        self.answers.give(answers);
        Ok(())
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("ensure_open came before")
    }

    /// Takes the row of the journal and returns the next free position.
    fn begin(&mut self) -> std::result::Result<Position, EngineError> {
        let work = |client: &Client| {
            client.begin()?;
            one(client, "select next from counter where name = $1 for update", ["journal"], |row| row.get(0))
        };
        match work(self.client()) {
            Ok(next) => {
                if next != self.expected {
                    self.caches.clear();
                }
                Ok(next)
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    fn commit(&mut self, first: Position, next: Position) -> std::result::Result<(), Ended> {
        if next != first {
            let sql = "update counter set next = $1 where name = $2";
            if let Err(error) = execute(self.client(), sql, (next, "journal")) {
                self.roll_back();
                return Err(Ended::Gone(error));
            }
        }
        match self.client().run("commit") {
            Ok(()) => {
                self.expected = next;
                Ok(())
            }
            // The server has said no; a server that says nothing may have said yes.
            Err(error) if error.code().is_some() && !self.client().is_closed() => {
                self.roll_back();
                Err(Ended::Gone(error.into()))
            }
            Err(_) => Err(Ended::Unknown),
        }
    }

    fn roll_back(&mut self) {
        // A connection that is gone has rolled back by itself.
        let _ = self.client().run("rollback");
        self.caches.clear();
        self.expected = -1;
    }

    /// Applies one transaction inside the open one. A refusal leaves no trace.
    fn one(&mut self, prepared: &Prepared, next: &mut Position) -> Outcome<Committed> {
        let client = self.client.as_ref().expect("ensure_open came before");
        if let Some((key, digest)) = &prepared.request
            && let Some(committed) = answered_before(client.into(), key, *digest)?
        {
            return Ok(committed);
        }
        client.run("savepoint one")?;
        let mut tx = Tx::new(client.into(), &mut self.caches, &self.shared.key, prepared.transaction.at, *next);
        match steps(&mut tx, prepared) {
            Ok(committed) => {
                *next = tx.next;
                client.run("release one")?;
                Ok(committed)
            }
            Err(Fault::Refused(error)) => {
                client.run("rollback to one; release one")?;
                self.caches.clear();
                Err(Fault::Refused(error))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Others were in the way, or the connection broke before the commit: nothing is stored, and it may go well now.
fn may_be_tried_again(error: &EngineError) -> bool {
    match error {
        EngineError::Postgres(error) => match error.code() {
            Some(code) => {
                *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED
                    || *code == SqlState::ADMIN_SHUTDOWN
                    || *code == SqlState::CRASH_SHUTDOWN
            }
            None => error.is_closed(),
        },
        _ => false,
    }
}

fn answer_all(batch: Vec<Job>, mut error: impl FnMut() -> StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error()));
    }
}
