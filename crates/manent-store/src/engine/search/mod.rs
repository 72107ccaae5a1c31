//! Full-text search: the index documents, the change feed that fills the index, and the evaluation of hits.
//!
//! The index returns texts that may match; each is then checked against the text itself, with the rules of the model.
//! So both engines find the same, and an index that lags behind or has stale rows never shows in an answer. In reading
//! order:

pub(crate) mod docs;
pub(crate) mod feed;
pub(crate) mod indexing;
pub(crate) mod segment_table;
pub(crate) mod scan;
mod unindexed;
mod visibility;
mod evaluate;
pub(crate) mod execute;
pub(crate) mod check;

pub(crate) use unindexed::UNINDEXED_MAX;

/// Read label of searches; the reader of a file opens the index for it.
pub(crate) const SEARCHING: &str = "searching";

/// The kind of text of an index row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum DocKind {
    /// A message, without its reasoning.
    Message = 0,
    /// The reasoning of the model.
    Reasoning = 1,
    /// The name and the tags of a conversation.
    Conversation = 2,
    /// The summary of a fold.
    Fold = 3,
}

/// The name of a row of the index: a kind, and a number in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocKey(pub i64);

impl DocKey {
    pub(crate) fn new(kind: DocKind, no: i64) -> Self {
        Self(no << 2 | kind as i64)
    }

    pub(crate) fn kind(self) -> DocKind {
        match self.0 & 3 {
            0 => DocKind::Message,
            1 => DocKind::Reasoning,
            2 => DocKind::Conversation,
            _ => DocKind::Fold,
        }
    }

    /// The address of a message, or the number of a conversation or fold.
    pub(crate) fn no(self) -> i64 {
        self.0 >> 2
    }
}

/// An index row with its sort key: the later one is the newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// When, in the words of the message itself.
    pub at: i64,
    /// When it came.
    pub arrival: i64,
    pub key: DocKey,
}

/// A row of the index and its tokens, with a space between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doc {
    pub entry: Entry,
    pub tokens: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_knows_what_it_names() {
        for kind in [DocKind::Message, DocKind::Reasoning, DocKind::Conversation, DocKind::Fold] {
            for no in [0, 1, 1 << 24 | 7, i64::MAX >> 2] {
                let key = DocKey::new(kind, no);
                assert_eq!((key.kind(), key.no()), (kind, no));
            }
        }
    }
}
