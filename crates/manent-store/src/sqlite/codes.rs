//! The numbers that stand for words on disk. A number once given keeps its meaning.

use crate::transaction::Why;
use manent_model::{
    CallOutcome, ConversationKind, ConversationStatus, FoldKind, Known, MessageStatus, Seen, ToolState,
};

macro_rules! codes {
    ($($to:ident, $from:ident: $type:ty { $($variant:path = $code:literal),* $(,)? })*) => {$(
        pub(crate) fn $to(value: $type) -> i64 {
            match value { $($variant => $code),* }
        }
        pub(crate) fn $from(code: i64) -> Option<$type> {
            match code { $($code => Some($variant),)* _ => None }
        }
    )*};
}

codes! {
    kind_code, kind_of: ConversationKind {
        ConversationKind::Chat = 0, ConversationKind::Agent = 1, ConversationKind::Roleplay = 2,
        ConversationKind::Group = 3, ConversationKind::Channel = 4,
    }
    status_code, status_of: ConversationStatus {
        ConversationStatus::Active = 0, ConversationStatus::Archived = 1, ConversationStatus::Trashed = 2,
        ConversationStatus::Importing = 3,
    }
    fold_code, fold_of: FoldKind {
        FoldKind::Summary = 0, FoldKind::ToolClear = 1, FoldKind::MediaClear = 2, FoldKind::Drop = 3,
    }
    outcome_code, outcome_of: CallOutcome {
        CallOutcome::Answered = 0, CallOutcome::Failed = 1, CallOutcome::Stopped = 2,
    }
    tool_code, tool_of: ToolState {
        ToolState::Pending = 0, ToolState::ApprovalRequired = 1, ToolState::Approved = 2, ToolState::Executing = 3,
        ToolState::Completed = 4, ToolState::Failed = 5, ToolState::Denied = 6, ToolState::Sealed = 7,
    }
    why_code, why_of: Why {
        Why::Start = 0, Why::Fork = 1, Why::Retry = 2, Why::Edit = 3, Why::Withdrawn = 4, Why::Clear = 5,
        Why::Import = 6,
    }
    message_status_code, message_status_of: MessageStatus {
        MessageStatus::Complete = 0, MessageStatus::Streaming = 1, MessageStatus::Incomplete = 2,
        MessageStatus::Failed = 3,
    }
    known_code, known_of: Known {
        Known::Exact = 0, Known::Inherited = 1, Known::File = 2, Known::Unknown = 3,
    }
}

/// A conversation whose rows are going or gone; it is in no list.
pub(crate) const STATUS_PURGED: i64 = 4;

/// What kind of word a row of `name` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NameKind {
    Role = 0,
    Model = 1,
    Tag = 2,
    State = 3,
    Channel = 4,
    Collection = 5,
}

/// The small facts of a message in one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    pub status: MessageStatus,
    pub known: Known,
    pub seen: Seen,
    /// It was appended while it streamed: the chain knows it by its id until it is finished.
    pub streamed: bool,
    pub erased: bool,
}

impl Flags {
    pub(crate) fn code(self) -> i64 {
        message_status_code(self.status)
            | known_code(self.known) << 2
            | i64::from(!self.seen.by_reader) << 4
            | i64::from(!self.seen.by_model) << 5
            | i64::from(self.streamed) << 6
            | i64::from(self.erased) << 7
    }

    pub(crate) fn of(code: i64) -> Self {
        Self {
            status: message_status_of(code & 3).expect("two bits have four meanings"),
            known: known_of(code >> 2 & 3).expect("two bits have four meanings"),
            seen: Seen { by_reader: code & 16 == 0, by_model: code & 32 == 0 },
            streamed: code & 64 != 0,
            erased: code & 128 != 0,
        }
    }
}

macro_rules! journal_kinds {
    ($($variant:ident = $code:literal, $word:literal;)*) => {
        /// What a journal row records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind { $($variant = $code),* }

        impl Kind {
            pub(crate) fn of(code: i64) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

journal_kinds! {
    ConversationCreated = 1, "conversation_created";
    ConversationEdited = 2, "conversation_edited";
    MessagesAppended = 3, "messages_appended";
    MessageFinished = 4, "message_finished";
    BranchOpened = 5, "branch_opened";
    HeadMoved = 6, "head_moved";
    NoteAdded = 7, "note_added";
    NoteRemoved = 8, "note_removed";
    BookmarkSet = 9, "bookmark_set";
    BookmarkRemoved = 10, "bookmark_removed";
    StateSet = 11, "state_set";
    FoldAdded = 12, "fold_added";
    FoldSwitched = 13, "fold_switched";
    ToolCallPut = 14, "tool_call_put";
    ToolCallMoved = 15, "tool_call_moved";
    EventsAppended = 16, "events_appended";
    InputPut = 17, "input_put";
    InputsTaken = 18, "inputs_taken";
    LeaseChanged = 19, "lease_changed";
    DocumentPut = 20, "document_put";
    CallRecorded = 21, "call_recorded";
    BlobPut = 22, "blob_put";
    SourcePut = 23, "source_put";
    OriginPut = 24, "origin_put";
    Quarantined = 25, "quarantined";
    MemoryPut = 26, "memory_put";
    MemoryRemoved = 27, "memory_removed";
    ProjectCreated = 28, "project_created";
    ProjectEdited = 29, "project_edited";
    ProjectRemoved = 30, "project_removed";
    Undone = 31, "undone";
    Redone = 32, "redone";
    Purged = 33, "purged";
    Erased = 34, "erased";
    ChunkAppended = 35, "chunk_appended";
}

impl Kind {
    /// What came before cannot be undone once this happened.
    pub(crate) fn is_barrier(self) -> bool {
        matches!(self, Self::Purged | Self::Erased)
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
    fn flags_survive_the_disk() {
        for code in 0..256 {
            assert_eq!(Flags::of(code).code(), code);
        }
    }

    #[test]
    fn every_journal_kind_has_its_own_number() {
        for code in 1..=35 {
            assert_eq!(Kind::of(code).map(|kind| kind as i64), Some(code));
        }
        assert_eq!(Kind::of(36), None);
    }
}
