//! Indexing rounds and their state, for both engines, and the callers that wait for an index.

use crate::engine::turns::{Again, Bell};
use crate::error::{Result, StoreError};
use crate::search::Indexed;
use crate::transaction::Position;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long changes are collected before the next round; a search covers them through the unindexed tail.
pub(crate) const GATHER: Duration = Duration::from_millis(100);

/// Retry delay after a failure.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    closed: bool,
    /// A rebuild was requested.
    anew: bool,
    /// It has caught up since it began; an index that never did is being built, and throttles no writer.
    has_caught_up: bool,
    known: Indexed,
}

/// State shared by the indexer and the callers that wait for it.
pub(crate) struct Indexing {
    state: Mutex<State>,
    /// Wakes a thread that waits here.
    changed: Condvar,
    /// Calls one that waits elsewhere.
    bell: Option<Bell>,
    told: watch::Sender<Indexed>,
}

impl Default for Indexing {
    fn default() -> Self {
        let told = watch::Sender::new(Indexed::default());
        Self { state: Mutex::default(), changed: Condvar::new(), bell: None, told }
    }
}

/// The result of one round.
pub(crate) enum Round {
    /// There was something to do, and there may be more.
    More {
        /// Everything up to here is indexed or waits.
        position: Position,
        /// How many wait.
        waiting: i64,
        /// It comes little by little, so it is better gathered.
        rest: bool,
    },
    /// Everything up to here is indexed.
    Idle(Position),
}

impl Indexing {
    /// One whose thread does not wait here but comes when it is called, for one [`Indexing::turn`].
    pub(crate) fn with_bell(bell: Bell) -> Self {
        Self { bell: Some(bell), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Requests a rebuild of the index.
    pub(crate) fn make_anew(&self) {
        let mut state = self.lock();
        (state.anew, state.has_caught_up) = (true, false);
        state.known = Indexed::default();
        self.told.send_replace(state.known);
        drop(state);
        match &self.bell {
            Some(bell) => bell(),
            None => self.changed.notify_all(),
        }
    }

    /// Says whether it has caught up since it began.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.lock().has_caught_up
    }

    /// Returns a watch on how far it has come.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Indexed> {
        self.told.subscribe()
    }

    /// Says whether writers should be throttled because the index is too far behind. An index with errors throttles no
    /// writer.
    pub(crate) fn is_far_behind(&self, position: Position, ahead_max: Position) -> bool {
        let state = self.lock();
        // Pending documents come from an import, or are old: they are indexed later, and no caller waits for them.
        let behind = position - state.known.position;
        state.has_caught_up && !state.known.in_trouble && !state.closed && behind > ahead_max
    }

    /// Runs one round and records its result: says when the next is due. A round that could not begin does not count.
    pub(crate) fn turn(&self, round: impl FnOnce(bool) -> Result<Option<Round>>) -> Again {
        let state = self.lock();
        if state.closed {
            return Again::WhenAsked;
        }
        let anew = state.anew;
        drop(state);
        // A damaged row must not end the thread: others wait for it.
        let outcome = catch_unwind(AssertUnwindSafe(|| round(anew))).unwrap_or(Err(StoreError::Closed));
        let mut state = self.lock();
        let again = match outcome {
            // It was kept away; it comes again when others are done.
            Ok(None) => return Again::After(GATHER),
            Ok(Some(round)) => {
                state.anew &= !anew;
                let (position, waiting, idle) = match round {
                    Round::More { position, waiting, .. } => (position, waiting, false),
                    Round::Idle(position) => (position, 0, !state.anew),
                };
                // One that was emptied is being made again.
                state.has_caught_up &= position >= state.known.position;
                state.known = Indexed { position, waiting, idle, in_trouble: false };
                state.has_caught_up |= idle;
                match round {
                    _ if state.anew => Again::Now,
                    Round::More { rest: true, .. } => Again::After(GATHER),
                    Round::More { .. } => Again::Now,
                    Round::Idle(_) => Again::WhenAsked,
                }
            }
            // Whatever the error was, opening the index again finds out whether it persists.
            Err(_) => {
                state.known = Indexed { idle: false, in_trouble: true, ..state.known };
                Again::After(AFTER_TROUBLE)
            }
        };
        self.told.send_if_modified(|told| std::mem::replace(told, state.known) != state.known);
        again
    }

    /// The main loop of a thread that only indexes. It polls for changes of other processes.
    pub(crate) fn serve(&self, mut round: impl FnMut(bool) -> Result<Option<Round>>) {
        loop {
            let wait = match self.turn(&mut round) {
                Again::Now => continue,
                Again::After(wait) => wait,
                Again::WhenAsked | Again::Never => GATHER,
            };
            let state = self.lock();
            if state.closed {
                return;
            }
            drop(self.changed.wait_timeout(state, wait));
        }
    }
}
