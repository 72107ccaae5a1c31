//! Watch channel of the last committed position.

use crate::api::transaction::Position;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The last position, as far as it is known here, until the store is closed.
pub(crate) struct PositionWatch(Mutex<Option<watch::Sender<Position>>>);

impl PositionWatch {
    pub(crate) fn new(position: Position) -> Self {
        Self(Mutex::new(Some(watch::Sender::new(position))))
    }

    /// Returns a watch on it; one that has ended if the store is closed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Position> {
        self.0.lock().as_ref().map_or_else(|| watch::channel(0).1, watch::Sender::subscribe)
    }

    /// Returns the last known position.
    pub(crate) fn last(&self) -> Position {
        self.0.lock().as_ref().map_or(0, |sender| *sender.borrow())
    }

    /// Says whether anything watches it besides the store itself.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|sender| sender.receiver_count() > 1)
    }

    /// Publishes a position to all watches; returns whether it is newer than the last.
    pub(crate) fn publish(&self, position: Position) -> bool {
        self.0.lock().as_ref().is_some_and(|sender| {
            sender.send_if_modified(|known| {
                let newer = position > *known;
                if newer {
                    *known = position;
                }
                newer
            })
        })
    }

    /// Ends every watch.
    pub(crate) fn close(&self) {
        self.0.lock().take();
    }
}
