//! Connection budget: limits the number of connections that the stores of a runtime have open at a time.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a caller waits for a permit before it checks again for idle connections.
const WAIT_MAX: Duration = Duration::from_millis(5);

pub(super) struct ConnectionBudget {
    max: usize,
    open: Mutex<usize>,
    freed: Condvar,
}

/// Permit for one open connection of a store. It is dropped after the connection, never before.
pub(super) struct ConnectionPermit {
    budget: Arc<ConnectionBudget>,
    /// How many connections its store has open.
    open_of_store: Arc<AtomicUsize>,
    counts: Accounting,
}

/// Whether a connection counts against the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accounting {
    Counted,
    /// Its place is reserved.
    Uncounted,
}

impl ConnectionBudget {
    pub(super) fn new(max: usize) -> Self {
        Self { max, open: Mutex::new(0), freed: Condvar::new() }
    }

    /// How many are open now.
    pub(super) fn open(&self) -> usize {
        *self.open.lock()
    }

    /// Returns a permit for a connection of a store, if the limit allows one.
    pub(super) fn try_acquire(self: &Arc<Self>, held: &Arc<AtomicUsize>) -> Option<ConnectionPermit> {
        let mut open = self.open.lock();
        if *open >= self.max {
            return None;
        }
        *open += 1;
        Some(self.permit(held, Accounting::Counted))
    }

    /// Returns a permit outside the limit, for a connection that is closed by the thread that opened it.
    pub(super) fn uncounted_permit(self: &Arc<Self>, held: &Arc<AtomicUsize>) -> ConnectionPermit {
        let _open = self.open.lock();
        self.permit(held, Accounting::Uncounted)
    }

    fn permit(self: &Arc<Self>, held: &Arc<AtomicUsize>, counts: Accounting) -> ConnectionPermit {
        held.fetch_add(1, Ordering::Relaxed);
        ConnectionPermit { budget: self.clone(), open_of_store: held.clone(), counts }
    }

    /// Waits for a connection to be closed, up to a limit.
    pub(super) fn wait_for_release(&self) {
        let mut open = self.open.lock();
        if *open >= self.max {
            self.freed.wait_for(&mut open, WAIT_MAX);
        }
    }

    /// Waits until a store has none open.
    pub(super) fn wait_until_idle(&self, held: &AtomicUsize) {
        let mut open = self.open.lock();
        while held.load(Ordering::Relaxed) > 0 {
            self.freed.wait(&mut open);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.budget.open.lock();
        self.open_of_store.fetch_sub(1, Ordering::Relaxed);
        if self.counts == Accounting::Counted {
            *open -= 1;
        }
        drop(open);
        self.budget.freed.notify_all();
    }
}
