//! What the threads of one store share.

use super::keeper::Keeper;
use super::reader::SqliteReader;
use crate::engine::known::Known;
use crate::engine::queue::Queue;
use crate::engine::readers::Readers;
use crate::engine::search::indexing::Indexing;
use crate::transaction::Position;
use manent_model::DigestKey;

pub(super) struct Shared {
    pub key: DigestKey,
    pub queue: Queue,
    pub readers: Readers<SqliteReader>,
    pub keeper: Keeper,
    pub position: Known,
    pub indexing: Indexing,
}

impl Shared {
    /// Tells the tails how far the store has come.
    pub(super) fn publish(&self, position: Position) {
        self.position.publish(position);
    }
}
