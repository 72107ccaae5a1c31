//! Numeric codes of enum values on disk. A code never changes its meaning.

pub(crate) use crate::api::journal_kind::JournalKind as Kind;
use crate::api::transaction::BranchReason;
use manent_model::{
    CallOutcome, ConversationKind, ConversationStatus, FoldKind, MessageStatus, TimeSource, ToolState, Visibility,
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
    why_code, why_of: BranchReason {
        BranchReason::Start = 0, BranchReason::Fork = 1, BranchReason::Retry = 2, BranchReason::Edit = 3, BranchReason::Withdrawal = 4, BranchReason::Clear = 5,
        BranchReason::Import = 6,
    }
    message_status_code, message_status_of: MessageStatus {
        MessageStatus::Complete = 0, MessageStatus::Streaming = 1, MessageStatus::Incomplete = 2,
        MessageStatus::Failed = 3,
    }
    known_code, known_of: TimeSource {
        TimeSource::Exact = 0, TimeSource::Inherited = 1, TimeSource::File = 2, TimeSource::Unknown = 3,
    }
}

/// A conversation whose rows are going or gone; it is in no list.
pub(crate) const STATUS_PURGED: i64 = 4;

/// The kind of word in a row of `name`.
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
    pub time_source: TimeSource,
    pub seen: Visibility,
    /// It was appended while it streamed: the chain knows it by its id until it is finished.
    pub streamed: bool,
    pub erased: bool,
}

impl Flags {
    pub(crate) fn code(self) -> i64 {
        message_status_code(self.status)
            | known_code(self.time_source) << 2
            | i64::from(!self.seen.by_reader) << 4
            | i64::from(!self.seen.by_model) << 5
            | i64::from(self.streamed) << 6
            | i64::from(self.erased) << 7
    }

    pub(crate) fn of(code: i64) -> Self {
        Self {
            status: message_status_of(code & 3).expect("two bits have four meanings"),
            time_source: known_of(code >> 2 & 3).expect("two bits have four meanings"),
            seen: Visibility { by_reader: code & 16 == 0, by_model: code & 32 == 0 },
            streamed: code & 64 != 0,
            erased: code & 128 != 0,
        }
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
}
