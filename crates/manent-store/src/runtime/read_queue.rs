//! Read executor: a few threads, each with a connection, that run blocking reads.

use crate::api::error::{Result, StoreError};
use crate::engine::read::Reading;
use crate::engine::sql::tx_error::TxResult;
use manent_model::DigestKey;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// How many reads may wait; more are refused as busy.
pub(crate) const WAITING_MAX: usize = 4_096;
pub(crate) const TOO_MANY: StoreError = StoreError::Busy("too many reads are waiting");

/// A read that waits for a connection, or for the error that there is none.
pub(crate) type Job<R> = Box<dyn FnOnce(Result<&mut R>) + Send>;

/// A read connection with its caches.
pub(crate) trait Reader: 'static {
    /// Runs a read inside one short transaction, so that everything it sees is one snapshot; again after a lost connection.
    fn run<T>(
        &mut self,
        key: &DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T>,
    ) -> Result<T>;

    /// Says whether it can be used again.
    fn is_open(&self) -> bool;
}

/// Sends a read to an executor and waits for its result.
pub(crate) async fn read<R: Reader, T: Send + 'static>(
    key: DigestKey,
    doing: &'static str,
    read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    push: impl FnOnce(Job<R>) -> Result<()>,
) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    push(Box::new(move |reader| {
        let outcome = reader.and_then(|reader: &mut R| reader.run(&key, doing, read));
        // The caller may have gone; nothing is lost.
        let _ = answer.send(outcome);
    }))?;
    // Every read is answered unless it panicked; the panic hook has printed where.
    answered.await.map_err(|_| StoreError::Internal(format!("{doing} panicked")))?
}

/// Runs a read. A damaged file can break invariants that the path code relies on; the panic ends the read, not the
/// thread: a dead thread would leave every later read without an answer. Says whether the read succeeded.
pub(crate) fn run<R>(job: Job<R>, opened: Result<&mut R>) -> bool {
    catch_unwind(AssertUnwindSafe(|| job(opened))).is_ok()
}

struct QueueState<R> {
    jobs: VecDeque<Job<R>>,
    closed: bool,
}

/// The reads that wait for the threads of one store.
pub(crate) struct ReadQueue<R> {
    state: Mutex<QueueState<R>>,
    changed: Condvar,
}

impl<R> Default for ReadQueue<R> {
    fn default() -> Self {
        Self { state: Mutex::new(QueueState { jobs: VecDeque::new(), closed: false }), changed: Condvar::new() }
    }
}

impl<R: Reader> ReadQueue<R> {
    /// Closes the executor: the threads end once the accepted reads are answered.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Runs a read on one of the threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        key: DigestKey,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        crate::runtime::read_queue::read(key, doing, read, |job| self.push(job)).await
    }

    fn push(&self, job: Job<R>) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(StoreError::Closed);
        }
        if state.jobs.len() >= WAITING_MAX {
            return Err(TOO_MANY);
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// The main loop of one reading thread.
    pub(crate) fn serve(&self, open: impl Fn() -> Result<R>) {
        let mut reader: Option<R> = None;
        let mut state = self.state.lock();
        loop {
            let Some(job) = state.jobs.pop_front() else {
                if state.closed {
                    return;
                }
                self.changed.wait(&mut state);
                continue;
            };
            drop(state);
            let opened = match reader.as_mut() {
                Some(reader) => Ok(reader),
                None => open().map(|opened| reader.insert(opened)),
            };
            if !run(job, opened) || reader.as_ref().is_some_and(|reader| !reader.is_open()) {
                reader = None;
            }
            state = self.state.lock();
        }
    }
}
