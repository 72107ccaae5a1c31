//! Indexing rounds and their state, for both engines, and the callers that wait for an index.

use crate::api::error::{Result, StoreError};
use crate::api::search::IndexStatus;
use crate::api::transaction::Position;
use crate::runtime::scheduler::{Reschedule, Waker};
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::sync::watch;

/// How long changes are collected before the next round; a search covers them through the unindexed tail.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(100);

/// Retry delay after a failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Default)]
struct IndexingState {
    closed: bool,
    /// A rebuild was requested.
    rebuild_requested: bool,
    /// It has caught up since it began; an index that never did is being built, and throttles no writer.
    has_caught_up: bool,
    known: IndexStatus,
}

/// State shared by the indexer and the callers that wait for it.
pub(crate) struct IndexingMonitor {
    state: Mutex<IndexingState>,
    /// Wakes a thread that waits here.
    changed: Condvar,
    /// Calls one that waits elsewhere.
    waker: Option<Waker>,
    status: watch::Sender<IndexStatus>,
}

impl Default for IndexingMonitor {
    fn default() -> Self {
        let status = watch::Sender::new(IndexStatus::default());
        Self { state: Mutex::default(), changed: Condvar::new(), waker: None, status }
    }
}

/// The result of one round.
pub(crate) enum IndexRound {
    /// There was something to do, and there may be more.
    More {
        /// Everything up to here is indexed or waits.
        position: Position,
        /// How many wait.
        waiting: i64,
        /// Changes arrive a few at a time: the next round waits, so that it has more of them.
        rest: bool,
    },
    /// Everything up to here is indexed.
    Idle(Position),
}

impl IndexingMonitor {
    /// Creates a monitor whose thread does not wait here but is woken for one [`IndexingMonitor::next_round`].
    pub(crate) fn with_waker(waker: Waker) -> Self {
        Self { waker: Some(waker), ..Self::default() }
    }

    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Requests a rebuild of the index.
    pub(crate) fn request_rebuild(&self) {
        let mut state = self.state.lock();
        (state.rebuild_requested, state.has_caught_up) = (true, false);
        state.known = IndexStatus::default();
        self.status.send_replace(state.known);
        drop(state);
        match &self.waker {
            Some(waker) => waker(),
            None => {
                self.changed.notify_all();
            }
        }
    }

    /// Says whether it has caught up since it began.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.state.lock().has_caught_up
    }

    /// Returns a watch on the indexed position.
    pub(crate) fn subscribe(&self) -> watch::Receiver<IndexStatus> {
        self.status.subscribe()
    }

    /// Says whether writers should be throttled because the index is too far behind. An index with errors throttles no
    /// writer.
    pub(crate) fn is_far_behind(&self, position: Position, ahead_max: Position) -> bool {
        let state = self.state.lock();
        // Pending documents come from an import, or are old: they are indexed later, and no caller waits for them.
        let behind = position - state.known.position;
        state.has_caught_up && !state.known.is_failing && !state.closed && behind > ahead_max
    }

    /// Runs one round and records its result: says when the next is due. A round that could not begin does not count.
    pub(crate) fn next_round(&self, round: impl FnOnce(bool) -> Result<Option<IndexRound>>) -> Reschedule {
        let state = self.state.lock();
        if state.closed {
            return Reschedule::WhenWoken;
        }
        let rebuild = state.rebuild_requested;
        drop(state);
        // A damaged row must not end the thread: others wait for it.
        let outcome = catch_unwind(AssertUnwindSafe(|| round(rebuild))).unwrap_or(Err(StoreError::Closed));
        let mut state = self.state.lock();
        let again = match outcome {
            // No reader could be used: reads are paused, or the store is closing.
            Ok(None) => return Reschedule::After(DEBOUNCE),
            Ok(Some(round)) => {
                state.rebuild_requested &= !rebuild;
                let (position, waiting, idle) = match round {
                    IndexRound::More { position, waiting, .. } => (position, waiting, false),
                    IndexRound::Idle(position) => (position, 0, !state.rebuild_requested),
                };
                // An emptied index is being rebuilt.
                state.has_caught_up &= position >= state.known.position;
                state.known = IndexStatus { position, waiting, idle, is_failing: false };
                state.has_caught_up |= idle;
                match round {
                    _ if state.rebuild_requested => Reschedule::Now,
                    IndexRound::More { rest: true, .. } => Reschedule::After(DEBOUNCE),
                    IndexRound::More { .. } => Reschedule::Now,
                    IndexRound::Idle(_) => Reschedule::WhenWoken,
                }
            }
            // Whatever the error was, opening the index again finds out whether it persists.
            Err(_) => {
                state.known = IndexStatus { idle: false, is_failing: true, ..state.known };
                Reschedule::After(RETRY_DELAY)
            }
        };
        self.status.send_if_modified(|status| std::mem::replace(status, state.known) != state.known);
        again
    }

    /// The main loop of a thread that only indexes. It polls for changes of other processes.
    pub(crate) fn serve(&self, mut round: impl FnMut(bool) -> Result<Option<IndexRound>>) {
        loop {
            let wait = match self.next_round(&mut round) {
                Reschedule::Now => continue,
                Reschedule::After(wait) => wait,
                Reschedule::WhenWoken | Reschedule::Never => DEBOUNCE,
            };
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            self.changed.wait_for(&mut state, wait);
        }
    }
}
