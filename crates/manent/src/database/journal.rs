//! The journal: all changes in order, for readers that follow them.

use crate::database::Database;
use crate::error::Result;
use manent_store::{JournalPage, JournalQuery, Position, StoreError};

impl Database {
    /// Returns changes after a position, oldest first.
    ///
    /// Each page scans a bounded number of rows: continue from `reached` while `more` is set, even if a page is empty.
    pub async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        Ok(self.store.journal(query).await?)
    }

    /// Returns the newest known position: the starting point for readers of future changes.
    ///
    /// A commit of another process may be some milliseconds ahead of it.
    pub fn position(&self) -> Position {
        *self.store.watch_position().borrow()
    }

    /// Waits for a change after a position, committed by any process, and returns it.
    ///
    /// Fails with `Closed` once the store is closed.
    pub async fn tail(&self, mut query: JournalQuery) -> Result<JournalPage> {
        let mut position = self.store.watch_position();
        loop {
            let known = *position.wait_for(|known| *known > query.after).await.map_err(|_| StoreError::Closed)?;
            let page = self.journal(query.clone()).await?;
            if !page.entries.is_empty() {
                return Ok(page);
            }
            // A row may span several positions: if the query began inside the last one, nothing is left up to the
            // known position, and repeating the query would never make progress.
            query.after = if page.more { page.scanned_to } else { page.scanned_to.max(known) };
        }
    }
}
