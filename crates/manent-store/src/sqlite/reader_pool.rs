//! Reader pool of one store: the queue of reads, and the connections that run them. It can be paused, so that every
//! connection is closed.

use super::reader::SqliteReader;
use crate::api::error::{Result, StoreError};
use crate::runtime::read_queue;
use crate::runtime::read_queue::{Job, TOO_MANY, WAITING_MAX};
use crate::runtime::scheduler::Waker;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::time::Instant;

struct PoolState {
    jobs: VecDeque<Job<SqliteReader>>,
    /// Idle connections; the one used last is the last.
    idle: Vec<(SqliteReader, Instant)>,
    /// How many are open, being opened or being closed, those of visitors included.
    open: usize,
    /// How many reads are under way.
    busy: usize,
    paused: usize,
    closed: bool,
    /// How many wait for connections to be closed.
    waiting: usize,
}

pub(super) struct ReaderPool {
    state: Mutex<PoolState>,
    changed: Condvar,
    /// How many may be under way at a time.
    most: usize,
    /// Calls a thread that reads.
    waker: Waker,
    /// Signals that the store is closed and all accepted reads are answered.
    ended: Waker,
}

/// A read that may run now.
pub(super) struct NextRead<'a> {
    job: Job<SqliteReader>,
    reader: PooledReader<'a>,
    /// Whether another read can begin beside it.
    pub has_more: bool,
}

/// Whether a connection that a visitor opened is kept or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnReturn {
    /// It stays open, for the next one.
    Keep,
    /// It is closed.
    Close,
}

impl ReaderPool {
    pub(super) fn new(most: usize, waker: Waker, ended: Waker) -> Self {
        let (jobs, idle) = (VecDeque::new(), Vec::new());
        let state = PoolState { jobs, idle, open: 0, busy: 0, paused: 0, closed: false, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), most: most.max(1), waker, ended }
    }

    /// Lets a read wait for its turn.
    pub(super) fn push(&self, job: Job<SqliteReader>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(StoreError::Closed);
        }
        if state.jobs.len() >= WAITING_MAX {
            return Err(TOO_MANY);
        }
        state.jobs.push_back(job);
        let can_begin = self.can_start(&state);
        drop(state);
        if can_begin {
            (self.waker)();
        }
        Ok(())
    }

    fn can_start(&self, state: &PoolState) -> bool {
        state.paused == 0 && state.busy < self.most && !state.jobs.is_empty()
    }

    /// Takes the oldest waiting read, with a connection if one is idle.
    pub(super) fn next(&self) -> Option<NextRead<'_>> {
        let mut state = self.state.lock();
        if !self.can_start(&state) {
            return None;
        }
        let job = state.jobs.pop_front()?;
        state.busy += 1;
        let lent = self.check_out(&mut state, Use::Read, OnReturn::Keep);
        let has_more = self.can_start(&state);
        Some(NextRead { job, reader: lent, has_more })
    }

    fn check_out(&self, state: &mut PoolState, of: Use, end: OnReturn) -> PooledReader<'_> {
        let reader = state.idle.pop().map(|(reader, _)| reader);
        if reader.is_none() {
            state.open += 1;
        }
        // A connection that was open before stays open.
        let end = if reader.is_some() { OnReturn::Keep } else { end };
        PooledReader { reads: self, reader, of, on_return: end }
    }

    /// Lends a connection for one short read, unless connections are being closed.
    pub(super) fn with_reader<T>(
        &self,
        on_return: OnReturn,
        open: impl FnOnce() -> Result<SqliteReader>,
        visit: impl FnOnce(&mut SqliteReader) -> Result<T>,
    ) -> Option<Result<T>> {
        let mut lent = {
            let mut state = self.state.lock();
            if state.paused > 0 || state.closed {
                return None;
            }
            self.check_out(&mut state, Use::Visit, on_return)
        };
        Some(lent.open(open).and_then(visit))
    }

    /// Closes every reading connection and holds new reads back; returns when none is open.
    pub(super) fn pause(&self) {
        let mut state = self.state.lock();
        state.paused += 1;
        state = self.close_some(state, |_| true);
        while state.open > 0 {
            state.waiting += 1;
            self.changed.wait(&mut state);
            state.waiting -= 1;
        }
    }

    pub(super) fn resume(&self) {
        let mut state = self.state.lock();
        state.paused -= 1;
        let can_begin = self.can_start(&state);
        drop(state);
        if can_begin {
            (self.waker)();
        }
    }

    /// Accepts no more reads; says whether all that were accepted are answered and every connection is closed.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state.lock();
        state.closed = true;
        if !state.is_over() {
            return false;
        }
        state = self.close_some(state, |_| true);
        state.open == 0
    }

    /// Since when the connection that was used last is idle; if one is in use, the current time.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let last = state.idle.last()?.1;
        Some(if state.open > state.idle.len() { Instant::now() } else { last })
    }

    /// Closes the connections that have been idle since before a time.
    pub(super) fn close_idle(&self, before: Instant) {
        let is_over = self.close_some(self.state.lock(), |since| since < before).is_over();
        if is_over {
            (self.ended)();
        }
    }

    /// Closes idle connections. That may checkpoint a WAL, which takes time, so the lock is not held meanwhile.
    fn close_some<'a>(
        &'a self,
        mut state: MutexGuard<'a, PoolState>,
        which: impl Fn(Instant) -> bool,
    ) -> MutexGuard<'a, PoolState> {
        let going: Vec<_> = state.idle.extract_if(.., |(_, since)| which(*since)).collect();
        if going.is_empty() {
            return state;
        }
        drop(state);
        let many = going.len();
        drop(going);
        let mut state = self.state.lock();
        state.open -= many;
        self.notify_waiting(&state);
        state
    }

    /// Wakes the callers that wait for connections to be closed.
    fn notify_waiting(&self, state: &PoolState) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

impl PoolState {
    fn is_over(&self) -> bool {
        self.closed && self.jobs.is_empty() && self.busy == 0
    }
}

impl NextRead<'_> {
    /// Does the read.
    pub(super) fn run(self, open: impl FnOnce() -> Result<SqliteReader>) {
        let Self { job, reader: mut lent, .. } = self;
        if !read_queue::run(job, lent.open(open)) {
            lent.on_return = OnReturn::Close;
        }
    }
}

/// The purpose for which a connection is lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Visit,
}

/// A connection in use, or the right to open one. Dropping it returns it to the pool.
struct PooledReader<'a> {
    reads: &'a ReaderPool,
    reader: Option<SqliteReader>,
    of: Use,
    on_return: OnReturn,
}

impl PooledReader<'_> {
    fn open(&mut self, open: impl FnOnce() -> Result<SqliteReader>) -> Result<&mut SqliteReader> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            empty => Ok(empty.insert(open()?)),
        }
    }
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        // After a panic the connection may have an open transaction.
        let is_whole = self.on_return == OnReturn::Keep && !std::thread::panicking();
        let mut state = self.reads.state.lock();
        let stays = is_whole && state.paused == 0 && state.idle.len() < self.reads.most;
        match self.reader.take() {
            Some(reader) if stays => state.idle.push((reader, Instant::now())),
            Some(reader) => {
                drop(state);
                drop(reader);
                state = self.reads.state.lock();
                state.open -= 1;
            }
            None => state.open -= 1,
        }
        if self.of == Use::Read {
            state.busy -= 1;
        }
        self.reads.notify_waiting(&state);
        let (can_begin, is_over) = (self.reads.can_start(&state), state.is_over());
        drop(state);
        if can_begin && self.of == Use::Read {
            (self.reads.waker)();
        }
        if is_over {
            (self.reads.ended)();
        }
    }
}
