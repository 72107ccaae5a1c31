//! Append cache: the rows that the writer wrote last and that its next appends would read again.
//!
//! Valid while no other process writes and only appends run; any other write clears it.

use crate::engine::commit::tx::ConversationRow;
use manent_model::{BranchNo, ConversationId, Sums};
use std::collections::HashMap;

/// More than any batch appends to; beyond it everything is forgotten.
const RECENT_MAX: usize = 10_000;

#[derive(Default)]
pub(crate) struct AppendCache {
    conversations: HashMap<ConversationId, ConversationRow>,
    ends: HashMap<BranchNo, (i64, Sums)>,
}

impl AppendCache {
    pub(crate) fn forget(&mut self) {
        self.conversations.clear();
        self.ends.clear();
    }

    /// Returns a conversation as the last append left it.
    pub(crate) fn conversation(&self, id: ConversationId) -> Option<&ConversationRow> {
        self.conversations.get(&id)
    }

    /// Returns the last own slot of a branch with the sums up to it.
    pub(crate) fn end(&self, no: BranchNo) -> Option<(i64, Sums)> {
        self.ends.get(&no).copied()
    }

    pub(crate) fn put_conversation(&mut self, row: ConversationRow) {
        if self.conversations.len() >= RECENT_MAX {
            self.forget();
        }
        self.conversations.insert(row.id, row);
    }

    pub(crate) fn put_end(&mut self, no: BranchNo, slot: i64, sums: Sums) {
        if self.ends.len() >= RECENT_MAX {
            self.forget();
        }
        self.ends.insert(no, (slot, sums));
    }
}
