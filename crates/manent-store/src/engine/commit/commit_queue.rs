//! Commit queue with two priorities; a semaphore that callers hold bounds its bytes.

use crate::api::error::Result;
use crate::api::transaction::{Committed, Priority};
use crate::engine::commit::prepare::Prepared;
use crate::runtime::scheduler::Waker;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::oneshot;

/// A queued transaction with the channel for its result.
pub(crate) struct Job {
    pub prepared: Prepared,
    pub reply: oneshot::Sender<Result<Committed>>,
}

#[derive(Default)]
struct QueueState {
    normal: VecDeque<Job>,
    low: VecDeque<Job>,
    closed: bool,
    woken: bool,
    /// The writer waits for this many transactions; with fewer it need not be woken.
    group_opened_at: usize,
}

#[derive(Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
    /// Signals a writer that blocks on this queue.
    changed: Condvar,
    /// Wakes a writer that does not block here.
    waker: Option<Waker>,
}

/// The next action of the writer.
pub(crate) enum NextWork {
    /// These, together.
    Batch(Vec<Job>),
    /// Something other than a transaction waits for the writer.
    Wake,
    /// The queue is closed and empty.
    Closed,
}

const BATCH_MAX: usize = 512;
const BATCH_BYTES: usize = 16 << 20;
/// Maximum bytes of a batch of low priority while none of normal priority waits; those that arrive meanwhile wait for
/// it.
const LOW_BYTES: usize = 1 << 20;

impl CommitQueue {
    /// Creates a queue whose writer does not block on it but runs when it is woken, and then calls [`CommitQueue::look`].
    pub(crate) fn with_waker(waker: Waker) -> Self {
        Self { waker: Some(waker), ..Self::default() }
    }

    fn wake(&self) {
        match &self.waker {
            Some(waker) => waker(),
            None => {
                self.changed.notify_one();
            }
        }
    }

    /// Returns the job if the queue is closed.
    pub(crate) fn push(&self, job: Job) -> Option<Job> {
        let mut state = self.state.lock();
        if state.closed {
            return Some(job);
        }
        match job.prepared.transaction.priority {
            Priority::Normal => state.normal.push_back(job),
            Priority::Background => state.low.push_back(job),
        }
        let is_enough = state.normal.len() >= state.group_opened_at;
        drop(state);
        if is_enough {
            self.wake();
        }
        None
    }

    /// Puts jobs that were not run back to the front, in their order.
    pub(crate) fn put_back(&self, jobs: Vec<Job>) {
        let mut state = self.state.lock();
        for job in jobs.into_iter().rev() {
            match job.prepared.transaction.priority {
                Priority::Normal => state.normal.push_front(job),
                Priority::Background => state.low.push_front(job),
            }
        }
    }

    /// How many wait.
    pub(crate) fn queued(&self) -> usize {
        self.state.lock().normal.len()
    }

    /// Group-commit delay: waits until this many transactions are queued, but at most for the limit.
    pub(crate) fn wait_for_group(&self, many: usize, limit: Duration) {
        let mut state = self.state.lock();
        state.group_opened_at = many;
        let too_few = |state: &mut QueueState| state.normal.len() < many && !state.closed && !state.woken;
        self.changed.wait_while_for(&mut state, too_few, limit);
        state.group_opened_at = 0;
    }

    pub(crate) fn wake_writer(&self) {
        self.state.lock().woken = true;
        self.wake();
    }

    /// Closes the queue to new transactions; those that were accepted are still handed out.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake();
    }

    /// Says whether there is work for the writer, or the queue was closed.
    pub(crate) fn has_work(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.woken || !state.normal.is_empty() || !state.low.is_empty()
    }

    /// Waits for work.
    pub(crate) fn next(&self) -> NextWork {
        let mut state = self.state.lock();
        loop {
            if let Some(next) = state.next() {
                return next;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Returns what there is to do, if there is anything.
    pub(crate) fn look(&self) -> Option<NextWork> {
        self.state.lock().next()
    }
}

impl QueueState {
    /// A batch takes all transactions of normal priority and one of low priority, so that these are never starved;
    /// without any of normal priority, it takes several of low priority.
    fn next(&mut self) -> Option<NextWork> {
        if std::mem::take(&mut self.woken) {
            return Some(NextWork::Wake);
        }
        if self.normal.is_empty() && self.low.is_empty() {
            return self.closed.then_some(NextWork::Closed);
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_MAX && bytes < BATCH_BYTES {
            let Some(job) = self.normal.pop_front() else { break };
            bytes += job.prepared.bytes;
            batch.push(job);
        }
        let low_bytes = if batch.is_empty() { LOW_BYTES } else { 1 };
        let mut bytes = 0;
        while bytes < low_bytes
            && let Some(job) = self.low.pop_front()
        {
            bytes += job.prepared.bytes.max(1);
            batch.push(job);
        }
        Some(NextWork::Batch(batch))
    }
}
