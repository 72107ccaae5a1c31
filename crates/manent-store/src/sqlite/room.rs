//! Connection budget: limits the number of connections that the stores of a crew have open at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a caller waits for a permit before it checks again for idle connections.
const PATIENCE: Duration = Duration::from_millis(5);

pub(super) struct Room {
    max: usize,
    open: Mutex<usize>,
    freed: Condvar,
}

/// Stands for one open connection of a store. It is dropped after the connection, never before.
pub(super) struct Slot {
    room: Arc<Room>,
    held: Arc<AtomicUsize>,
    counts: Counts,
}

/// Whether a connection takes room from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Yes,
    /// There is room set aside for it.
    No,
}

impl Room {
    pub(super) fn new(max: usize) -> Self {
        Self { max, open: Mutex::new(0), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open now.
    pub(super) fn open(&self) -> usize {
        *self.lock()
    }

    /// Takes room for a connection of a store, if there is any.
    pub(super) fn take(self: &Arc<Self>, held: &Arc<AtomicUsize>) -> Option<Slot> {
        let mut open = self.lock();
        if *open >= self.max {
            return None;
        }
        *open += 1;
        Some(self.slot(held, Counts::Yes))
    }

    /// Stands for a connection that has its own room and is closed by the thread that opened it.
    pub(super) fn aside(self: &Arc<Self>, held: &Arc<AtomicUsize>) -> Slot {
        let _open = self.lock();
        self.slot(held, Counts::No)
    }

    fn slot(self: &Arc<Self>, held: &Arc<AtomicUsize>, counts: Counts) -> Slot {
        held.fetch_add(1, Ordering::Relaxed);
        Slot { room: self.clone(), held: held.clone(), counts }
    }

    /// Waits a moment for a connection to be closed.
    pub(super) fn wait(&self) {
        let open = self.lock();
        if *open >= self.max {
            drop(self.freed.wait_timeout(open, PATIENCE));
        }
    }

    /// Waits until a store has none open.
    pub(super) fn wait_for_none(&self, held: &AtomicUsize) {
        let mut open = self.lock();
        while held.load(Ordering::Relaxed) > 0 {
            open = self.freed.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.room.lock();
        self.held.fetch_sub(1, Ordering::Relaxed);
        if self.counts == Counts::Yes {
            *open -= 1;
        }
        drop(open);
        self.room.freed.notify_all();
    }
}
