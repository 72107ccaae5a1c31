//! What the threads of one store share.

use super::keeper::Keeper;
use super::readers::Readers;
use crate::engine::queue::Queue;
use crate::transaction::Position;
use manent_model::DigestKey;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

pub(super) struct Shared {
    pub key: DigestKey,
    pub queue: Queue,
    pub readers: Readers,
    pub keeper: Keeper,
    pub position: Known,
}

impl Shared {
    /// Tells the tails how far the store has come.
    pub(super) fn publish(&self, position: Position) {
        self.position.publish(position);
    }
}

/// The last position, as far as it is known here, until the store is closed.
pub(super) struct Known(Mutex<Option<watch::Sender<Position>>>);

impl Known {
    pub(super) fn new(position: Position) -> Self {
        Self(Mutex::new(Some(watch::Sender::new(position))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<watch::Sender<Position>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a watch on it; one that has ended if the store is closed.
    pub(super) fn subscribe(&self) -> watch::Receiver<Position> {
        self.lock().as_ref().map_or_else(|| watch::channel(0).1, watch::Sender::subscribe)
    }

    fn publish(&self, position: Position) {
        if let Some(sender) = self.lock().as_ref() {
            sender.send_if_modified(|known| {
                let newer = position > *known;
                if newer {
                    *known = position;
                }
                newer
            });
        }
    }

    /// Ends every watch.
    pub(super) fn close(&self) {
        self.lock().take();
    }
}
