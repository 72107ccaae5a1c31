//! The journal: the order of all changes, for those who follow them.

use crate::database::Database;
use crate::error::Result;
use manent_store::{JournalPage, JournalQuery, Position, StoreError};

impl Database {
    /// Returns changes after a position, oldest first.
    ///
    /// What one page looks at is bounded: go on from `reached` while there is `more`, even where a page is empty.
    pub async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        Ok(self.store.journal(query).await?)
    }

    /// Returns the last position that is known: where whoever wants only the future begins.
    ///
    /// A commit of another process may be some milliseconds ahead of it.
    pub fn position(&self) -> Position {
        *self.store.position().borrow()
    }

    /// Waits until something comes after a position, whichever process commits it, and returns it.
    ///
    /// Says that the store is closed once it is.
    pub async fn tail(&self, mut query: JournalQuery) -> Result<JournalPage> {
        let mut position = self.store.position();
        loop {
            let known = *position.wait_for(|known| *known > query.after).await.map_err(|_| StoreError::Closed)?;
            let page = self.journal(query.clone()).await?;
            if !page.entries.is_empty() {
                return Ok(page);
            }
            // A row may own several positions: where the query began in the middle of the last one, nothing is left
            // to be found up to what is known, and looking again would find nothing for ever.
            query.after = if page.more { page.reached } else { page.reached.max(known) };
        }
    }
}
