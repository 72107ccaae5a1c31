//! Readers: a few threads with a connection each. They can be paused, so that every connection is closed.

use super::connection::{SqliteOptions, open_reader};
use crate::engine::cache::Caches;
use crate::engine::fault::Outcome;
use crate::engine::read::Reading;
use crate::error::{Result, StoreError};
use manent_model::DigestKey;
use rusqlite::Connection;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// No read may keep the WAL from being copied for long.
const READ_MAX: Duration = Duration::from_secs(5);
/// How many reads may wait; more are told to come back.
const WAITING_MAX: usize = 4_096;

type Job = Box<dyn FnOnce(Result<&mut Reader>) + Send>;

/// A connection that reads, with what it remembers.
pub(super) struct Reader {
    connection: Connection,
    caches: Caches,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    open: usize,
    paused: usize,
    closed: bool,
}

#[derive(Default)]
pub(super) struct Readers {
    state: Mutex<State>,
    changed: Condvar,
}

impl Readers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every reading connection and holds new reads back; returns when none is open.
    pub(super) fn pause(&self) {
        let mut state = self.lock();
        state.paused += 1;
        self.changed.notify_all();
        while state.open > 0 {
            state = self.wait(state);
        }
    }

    pub(super) fn resume(&self) {
        self.lock().paused -= 1;
        self.changed.notify_all();
    }

    /// Ends the threads once what was accepted is answered.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Lets somebody else open a connection for a moment, unless connections are being closed.
    pub(super) fn visit<T>(&self, visit: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
        {
            let mut state = self.lock();
            if state.paused > 0 {
                return None;
            }
            state.open += 1;
        }
        let outcome = visit();
        self.lock().open -= 1;
        self.changed.notify_all();
        Some(outcome)
    }

    /// Runs a read on one of the threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        key: DigestKey,
        doing: &'static str,
        read: impl FnOnce(&mut Reading<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let outcome = reader.and_then(|reader| reader.run(&key, doing, read));
            // The caller may have gone; nothing is lost.
            let _ = answer.send(outcome);
        });
        {
            let mut state = self.lock();
            if state.closed {
                return Err(StoreError::Closed);
            }
            if state.jobs.len() >= WAITING_MAX {
                return Err(StoreError::Busy("too many reads are waiting"));
            }
            state.jobs.push_back(job);
        }
        self.changed.notify_one();
        // Every read is answered unless it panicked.
        answered.await.map_err(|_| StoreError::altered("the file", doing))?
    }

    /// The life of one reading thread.
    pub(super) fn serve(&self, options: &SqliteOptions) {
        let mut reader: Option<Reader> = None;
        let mut state = self.lock();
        loop {
            if state.paused > 0 || (state.closed && state.jobs.is_empty()) {
                if reader.take().is_some() {
                    state.open -= 1;
                    self.changed.notify_all();
                }
                if state.closed && state.jobs.is_empty() {
                    return;
                }
                state = self.wait(state);
                continue;
            }
            let Some(job) = state.jobs.pop_front() else {
                state = self.wait(state);
                continue;
            };
            if reader.is_none() {
                state.open += 1;
            }
            drop(state);
            let opened = match reader.as_mut() {
                Some(reader) => Ok(reader),
                None => Reader::open(options).map(|opened| reader.insert(opened)),
            };
            // A damaged file can break what the rules of paths take for granted. That ends the read, not the thread:
            // a thread that is gone would leave every later read without an answer.
            if catch_unwind(AssertUnwindSafe(|| job(opened))).is_err() {
                reader = None;
            }
            state = self.lock();
            if reader.is_none() {
                state.open -= 1;
                self.changed.notify_all();
            }
        }
    }
}

impl Reader {
    fn open(options: &SqliteOptions) -> Result<Self> {
        Ok(Self { connection: open_reader(options)?, caches: Caches::default() })
    }

    /// Runs a read inside one short transaction, so that everything it sees is of one moment.
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl FnOnce(&mut Reading<'_>) -> Outcome<T>,
    ) -> Result<T> {
        let until = Instant::now() + READ_MAX;
        let guard = self.connection.progress_handler(100_000, Some(move || Instant::now() > until));
        guard.map_err(|error| super::connection::failed(doing, error))?;
        let outcome = self.inside(key, read);
        if !self.connection.is_autocommit() {
            let _ = crate::engine::connection::execute(&self.connection, "rollback", ());
        }
        outcome.map_err(|fault| fault.said(doing))
    }

    fn inside<T>(&mut self, key: &DigestKey, read: impl FnOnce(&mut Reading<'_>) -> Outcome<T>) -> Outcome<T> {
        let connection = &self.connection;
        crate::engine::connection::execute(connection, "begin", ())?;
        // What a reader remembers never changes: words and the ranges of branches. Sums, which may, it does not use.
        let mut reading = Reading { connection: connection.into(), caches: &mut self.caches, key };
        let value = read(&mut reading)?;
        crate::engine::connection::execute(connection, "commit", ())?;
        Ok(value)
    }
}
