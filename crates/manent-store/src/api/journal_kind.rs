//! Kinds of journal rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! journal_kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)*) => {
        /// The kind of change that a journal row records. The numbers are stored on disk: a number keeps its meaning
        /// for ever.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum JournalKind { $($(#[$doc])* $variant = $code),* }

        impl JournalKind {
            pub(crate) fn of(code: i64) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

journal_kinds! {
    /// A conversation was made.
    ConversationCreated = 1,
    /// The metadata of a conversation was changed.
    ConversationEdited = 2,
    /// Messages were added.
    MessagesAppended = 3,
    /// A streaming message ended.
    MessageFinished = 4,
    /// A branch was opened.
    BranchOpened = 5,
    /// The head went elsewhere.
    HeadMoved = 6,
    /// Something was said about a message.
    NoteAdded = 7,
    /// A note was withdrawn.
    NoteRemoved = 8,
    /// A place was named.
    BookmarkSet = 9,
    /// A named place was forgotten.
    BookmarkRemoved = 10,
    /// A named value was set or unset.
    StateSet = 11,
    /// Messages were folded.
    FoldAdded = 12,
    /// A fold was put in or out of force.
    FoldSwitched = 13,
    /// A tool call was recorded.
    ToolCallPut = 14,
    /// A tool call went to another state.
    ToolCallMoved = 15,
    /// Events were logged.
    EventsAppended = 16,
    /// An input was queued.
    InputPut = 17,
    /// Inputs were taken.
    InputsTaken = 18,
    /// A lease was taken, extended or given back.
    LeaseChanged = 19,
    /// A version of a document was written.
    DocumentPut = 20,
    /// A request to a model was recorded.
    CallRecorded = 21,
    /// A blob is complete.
    BlobPut = 22,
    /// An imported file was recorded.
    SourcePut = 23,
    /// Where an object came from was recorded.
    OriginPut = 24,
    /// Bytes that could not be parsed were kept.
    Quarantined = 25,
    /// A text was remembered.
    MemoryPut = 26,
    /// A memory was forgotten.
    MemoryRemoved = 27,
    /// A project was made.
    ProjectCreated = 28,
    /// A project was changed.
    ProjectEdited = 29,
    /// A project was removed.
    ProjectRemoved = 30,
    /// A commit was undone.
    Undone = 31,
    /// A commit was redone.
    Redone = 32,
    /// A conversation was destroyed.
    Purged = 33,
    /// Content was destroyed.
    Erased = 34,
    /// A streaming message grew.
    ChunkAppended = 35,
}

impl JournalKind {
    /// Changes before this one cannot be undone.
    pub(crate) fn is_barrier(self) -> bool {
        matches!(self, Self::Purged | Self::Erased)
    }

    /// Its key is the address of a message, or of the start of a path; with its count, of the messages that it added.
    pub(crate) fn has_message_key(self) -> bool {
        use JournalKind::*;
        matches!(
            self,
            MessagesAppended
                | MessageFinished
                | BranchOpened
                | HeadMoved
                | NoteAdded
                | NoteRemoved
                | BookmarkSet
                | BookmarkRemoved
                | StateSet
                | FoldAdded
                | FoldSwitched
                | ToolCallPut
                | ToolCallMoved
                | CallRecorded
                | Erased
                | ChunkAppended
        )
    }

    /// Its key and count name messages that the row added.
    pub(crate) fn adds_messages(self) -> bool {
        matches!(self, Self::MessagesAppended | Self::BranchOpened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_journal_kind_has_its_own_number() {
        for code in 1..=35 {
            assert_eq!(JournalKind::of(code).map(|kind| kind as i64), Some(code));
        }
        assert_eq!(JournalKind::of(36), None);
    }
}
