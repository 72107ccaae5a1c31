//! What the threads of one store share.

use super::keeper::Keeper;
use super::queue::Queue;
use super::readers::Readers;
use crate::transaction::Position;
use manent_model::DigestKey;
use tokio::sync::watch;

pub(super) struct Shared {
    pub key: DigestKey,
    pub queue: Queue,
    pub readers: Readers,
    pub keeper: Keeper,
    pub position: watch::Sender<Position>,
}

impl Shared {
    /// Tells the tails how far the store has come.
    pub(super) fn publish(&self, position: Position) {
        self.position.send_if_modified(|known| {
            let newer = position > *known;
            if newer {
                *known = position;
            }
            newer
        });
    }
}
