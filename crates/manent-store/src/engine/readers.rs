//! Readers: a few threads with a connection each. They can be paused, so that every connection is closed.

use super::fault::Outcome;
use super::read::Reading;
use crate::error::{Result, StoreError};
use manent_model::DigestKey;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// How many reads may wait; more are told to come back.
const WAITING_MAX: usize = 4_096;

type Job<R> = Box<dyn FnOnce(Result<&mut R>) + Send>;

/// A connection that reads, with what it remembers.
pub(crate) trait Reader: 'static {
    /// Runs a read inside one short transaction, so that everything it sees is of one moment; again, if need be.
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> Outcome<T>,
    ) -> Result<T>;

    /// Says whether it can be used again.
    fn is_open(&self) -> bool;
}

struct State<R> {
    jobs: VecDeque<Job<R>>,
    open: usize,
    paused: usize,
    closed: bool,
}

pub(crate) struct Readers<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
}

impl<R> Default for Readers<R> {
    fn default() -> Self {
        let state = State { jobs: VecDeque::new(), open: 0, paused: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<R: Reader> Readers<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every reading connection and holds new reads back; returns when none is open.
    pub(crate) fn pause(&self) {
        let mut state = self.lock();
        state.paused += 1;
        self.changed.notify_all();
        while state.open > 0 {
            state = self.wait(state);
        }
    }

    pub(crate) fn resume(&self) {
        self.lock().paused -= 1;
        self.changed.notify_all();
    }

    /// Ends the threads once what was accepted is answered.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Lets somebody else open a connection for a moment, unless connections are being closed.
    pub(crate) fn visit<T>(&self, visit: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
        {
            let mut state = self.lock();
            if state.paused > 0 {
                return None;
            }
            state.open += 1;
        }
        // A visit that panics has ended as well.
        let outcome = catch_unwind(AssertUnwindSafe(visit));
        self.lock().open -= 1;
        self.changed.notify_all();
        match outcome {
            Ok(outcome) => Some(outcome),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Runs a read on one of the threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        key: DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job<R> = Box::new(move |reader| {
            let outcome = reader.and_then(|reader: &mut R| reader.run(&key, doing, read));
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
    pub(crate) fn serve(&self, open: impl Fn() -> Result<R>) {
        let mut reader: Option<R> = None;
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
                None => open().map(|opened| reader.insert(opened)),
            };
            // A damaged file can break what the rules of paths take for granted. That ends the read, not the thread:
            // a thread that is gone would leave every later read without an answer.
            if catch_unwind(AssertUnwindSafe(|| job(opened))).is_err()
                || reader.as_ref().is_some_and(|reader| !reader.is_open())
            {
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
