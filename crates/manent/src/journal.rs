//! The journal: the order of all changes, for those who follow them.

use crate::database::Database;
use crate::error::Result;
use manent_store::{JournalEntry, Position};

impl Database {
    /// Returns changes after a position, oldest first.
    pub async fn journal(&self, after: Position, limit: u32) -> Result<Vec<JournalEntry>> {
        Ok(self.store.journal(after, limit).await?)
    }

    /// Waits until something comes after a position, whichever process commits it, and returns it.
    pub async fn tail(&self, after: Position, limit: u32) -> Result<Vec<JournalEntry>> {
        let mut position = self.store.position();
        // The sender lives as long as the store, so waiting cannot fail while this handle exists.
        let _ = position.wait_for(|known| *known > after).await;
        self.journal(after, limit).await
    }
}
