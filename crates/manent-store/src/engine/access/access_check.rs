//! Access checks of a transaction: what its changes name, and the conditions that a limited caller must meet.
//!
//! They are evaluated inside the transaction, all of them, in order, before anything else: so a membership that was
//! removed a moment ago counts, and an object outside the scope is refused with the error of an unknown one.

use crate::api::query::UndoDirection;
use crate::api::transaction::Position;
use manent_model::{AccessScope, BranchId, ConversationId, FoldId, MemoryId, MessageId, NoteId, ProjectId};

/// The access checks of a transaction.
pub(crate) struct AccessChecks {
    /// The access scope that must contain the objects.
    pub access: AccessScope,
    /// The id of the key, as in [`Permissions::id`](crate::Permissions::id).
    pub key: String,
    /// In the order in which the transaction names them.
    pub checks: Vec<AccessCheck>,
}

/// A condition on one object that a change names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum AccessCheck {
    /// A conversation that is there.
    Conversation(ConversationId),
    /// A conversation that is there, or was withdrawn and may be restored.
    Known(ConversationId),
    /// A new conversation: if its id or its external id is taken, then by one within.
    NewConversation {
        id: ConversationId,
        /// The id that its creator's system gives it.
        external: Option<String>,
    },
    /// A message of a conversation within.
    Message {
        id: MessageId,
        /// Where else it may be: a path may contain messages that another conversation owns.
        on: PathOf,
    },
    /// A branch of a conversation within.
    Branch(BranchId),
    /// A branch that may be opened: if its id is taken, then within.
    NewBranch(BranchId),
    /// A note.
    Note(NoteId),
    /// A fold.
    Fold(FoldId),
    /// A memory.
    Memory(MemoryId),
    /// A memory that is made or replaced: if its id is taken, then by one within.
    NewMemory(MemoryId),
    /// A project that can be seen.
    Project(ProjectId),
    /// A document that is made or changed. If its name is used outside, it is stored under another.
    Document {
        kind: String,
        id: String,
        /// The project that it is put into.
        project: Option<ProjectId>,
    },
    /// A blob that a message within shows, or that the same key has uploaded.
    Blob([u8; 32]),
    /// A commit of which every row is about a conversation within.
    Commit(Position),
    /// The last change of a conversation, of which every row is about a conversation within.
    Step {
        conversation: ConversationId,
        /// Back or forth.
        step: UndoDirection,
    },
}

/// Where a message may be, besides in a conversation within.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PathOf {
    /// Nowhere else.
    Owner,
    /// On the shown path of this conversation, which is checked as well.
    Path(ConversationId),
    /// On the path of this branch, which is checked as well.
    Branch(BranchId),
}
