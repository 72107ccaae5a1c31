//! Transactions, the only way to write: a list of changes that are applied together or not at all.

use crate::api::query::{UndoDirection, UndoScope};
use manent_model::{
    Author, BranchId, Call, ConversationDraft, ConversationId, ConversationPatch, FoldId, FoldKind, InputId, Json,
    Memory, MemoryId, MessageId, MessageRange, MessageStatus, NewMessage, NoteId, Origin, Project, ProjectId,
    ProjectPatch, Quarantined, Scratch, Source, SourceId, Timestamp, ToolCall, ToolState, ToolStep,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position in the journal; grows with every change.
pub type Position = i64;

/// A list of changes that are applied together or not at all.
#[derive(Debug, Clone, Serialize)]
pub struct Transaction {
    /// Idempotency key: the same key with the same changes returns the stored answer; with others it is a conflict.
    ///
    /// Appends need none: the ids of their messages serve as the key.
    #[serde(skip)]
    pub key: Option<Vec<u8>>,
    /// The time.
    #[serde(skip)]
    pub at: Timestamp,
    /// The author.
    pub actor: Option<Author>,
    /// Preconditions.
    #[serde(skip)]
    pub expect: Vec<Expect>,
    /// The changes.
    pub changes: Vec<Change>,
    /// The priority.
    #[serde(skip)]
    pub priority: Priority,
}

impl Transaction {
    /// Returns a transaction of one change.
    pub fn of(at: Timestamp, change: Change) -> Self {
        Self { key: None, at, actor: None, expect: Vec::new(), changes: vec![change], priority: Priority::Normal }
    }
}

/// Priority of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// A caller waits for it.
    #[default]
    Normal,
    /// Imports and maintenance: runs at low priority, between the others.
    Background,
}

/// A precondition of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Expect {
    /// The conversation has not changed since this version.
    Version {
        /// The conversation.
        conversation: ConversationId,
        /// The version that was read.
        version: i64,
    },
    /// The head is at this message; `None` for an empty path.
    Head {
        /// The conversation.
        conversation: ConversationId,
        /// The message.
        head: Option<MessageId>,
    },
    /// The project has not changed since this version; 0 for one that must not exist.
    Project {
        /// The project.
        id: ProjectId,
        /// The version that was read.
        version: i64,
    },
    /// The document has not changed since this version; 0 for one that must not exist, or was removed.
    Document {
        /// Its kind.
        kind: String,
        /// Its id.
        id: String,
        /// The version that was read.
        version: i64,
    },
    /// The run is still owned with this fencing token: no other owner has taken its lease, even if it has expired.
    Lease {
        /// The conversation.
        conversation: ConversationId,
        /// The token that taking the lease answered.
        token: i64,
    },
}

/// Why a branch was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchReason {
    /// The conversation began.
    Start,
    /// A fork: the conversation continues from an earlier message.
    Fork,
    /// The model was asked again.
    Retry,
    /// A message was edited, inserted or removed.
    Edit,
    /// A message could not be sent and was withdrawn.
    Withdrawal,
    /// The path was cleared.
    Clear,
    /// It came from another program.
    Import,
}

/// Where messages are appended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum MessageAt {
    /// After the head; `branch` is opened if the head is not at the end of its branch.
    Head {
        /// The id of the branch that may be opened.
        branch: BranchId,
    },
    /// On a new branch, after this message of the path; `None` for the start.
    After {
        /// The message.
        message: Option<MessageId>,
        /// The id of the new branch.
        branch: BranchId,
    },
    /// On a new branch, in place of this message of the path.
    InsteadOf {
        /// The message.
        message: MessageId,
        /// The id of the new branch.
        branch: BranchId,
    },
    /// At the end of a branch that exists.
    Branch {
        /// The branch.
        branch: BranchId,
    },
}

/// Whether the head moves when messages are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeadMove {
    /// It moves to the last appended message.
    Follow,
    /// It stays where it is.
    Stay,
}

/// Target of a head move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum HeadTarget {
    /// To this message: on the shown path if the message is on it, else on its own branch.
    Message(MessageId),
    /// To the end of this branch.
    End(BranchId),
    /// To this message of the path of this branch; `None` for its start.
    On {
        /// The branch.
        branch: BranchId,
        /// The message.
        message: Option<MessageId>,
    },
    /// To a new, empty branch with this id.
    Empty(BranchId),
}

/// The part of the shown path that a splice removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum SplicePosition {
    /// Nothing: the new messages are inserted after this one; `None` for the start.
    After(Option<MessageId>),
    /// These messages, both ends included.
    Replace(MessageRange),
}

/// The fork point of an imported branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BranchBase {
    /// The parent.
    pub parent: BranchId,
    /// The last message of its path that is taken; `None` takes none.
    pub fork: Option<MessageId>,
}

/// How a streaming message ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// `Complete`, `Incomplete` or `Failed`.
    pub status: MessageStatus,
    /// Its parts; `None` keeps its initial parts and its chunks.
    #[serde(default)]
    pub body: Option<manent_model::Body>,
    /// Its tokens, if counted.
    pub tokens: Option<u32>,
    /// The provider's usage record.
    pub usage: Option<Json>,
}

/// A fold to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFold {
    /// Its id.
    pub id: FoldId,
    /// The message after which it holds.
    pub after: MessageId,
    /// The kind of the fold.
    pub kind: FoldKind,
    /// The messages it covers.
    pub covers: Vec<MessageRange>,
    /// The summary, if it is one.
    pub summary: Option<String>,
    /// The fold that this one grew from.
    pub parent: Option<FoldId>,
    /// Its author: a person or a program.
    pub made_by: Option<Json>,
}

/// An event to log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// `progress`, `control`, `monitor`, or a word of the caller.
    pub channel: String,
    /// The time.
    pub at: Timestamp,
    /// The payload of the event.
    pub body: Json,
}

/// The address of a tool call part in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPart {
    /// The message.
    pub message: MessageId,
    /// The place of the part in it, counted from 0.
    pub part: u32,
}

/// The origin of an imported message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageOrigin {
    /// The message.
    pub message: MessageId,
    /// The file.
    pub source: SourceId,
    /// Its place in the file.
    pub ordinal: i64,
    /// Its id there; it may repeat or be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The source record as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// The target of an erasure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum EraseTarget {
    /// One message, on every path that reaches it.
    Message(MessageId),
    /// A conversation with everything in it.
    Conversation(ConversationId),
    /// Everything that this author wrote, by external id.
    Person(String),
}

/// One change. All kinds are journalled unless they say otherwise.
///
/// In JSON the kind is the only member and contains the rest: nested JSON stays exactly as it was written. The pieces
/// of a blob are bytes and are not read from JSON.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the nouns of the model; each variant says what happens to them")]
pub enum Change {
    /// Creates a conversation with its first branch. The same external id again is a retry.
    CreateConversation {
        id: ConversationId,
        branch: BranchId,
        draft: ConversationDraft,
        #[serde(default)]
        importing: bool,
    },
    /// Changes the metadata of a conversation.
    EditConversation { id: ConversationId, patch: ConversationPatch },
    /// Adds messages. `origins` belong to some of them by id.
    AppendMessages {
        conversation: ConversationId,
        at: MessageAt,
        head: HeadMove,
        why: BranchReason,
        messages: Vec<NewMessage>,
        #[serde(default)]
        origins: Vec<MessageOrigin>,
    },
    /// Adds a delta to a streaming message and renews its lease; an empty one only renews. Not undoable, the message
    /// is.
    AppendChunk { message: MessageId, delta: String },
    /// Ends a streaming message, once.
    FinishMessage { message: MessageId, finish: Finish },
    /// Opens an imported branch: base, own messages, pieces by their first and last message.
    OpenBranch {
        conversation: ConversationId,
        branch: BranchId,
        base: Option<BranchBase>,
        #[serde(default)]
        own: Vec<NewMessage>,
        #[serde(default)]
        pieces: Vec<MessageRange>,
        why: BranchReason,
        #[serde(default)]
        origins: Vec<MessageOrigin>,
    },
    /// Splices the shown path: inserts or removes messages in the middle; the tail is kept by reference.
    Splice {
        conversation: ConversationId,
        branch: BranchId,
        at: SplicePosition,
        messages: Vec<NewMessage>,
        #[serde(default)]
        origins: Vec<MessageOrigin>,
    },
    /// Moves the head: rewind, switch, clear.
    MoveHead { conversation: ConversationId, to: HeadTarget },
    /// Adds a note to a message.
    AddNote { id: NoteId, message: MessageId, kind: String, value: Json },
    /// Removes a note.
    RemoveNote { id: NoteId },
    /// Sets a bookmark; the same name again moves it.
    SetBookmark { conversation: ConversationId, name: String, head: Option<MessageId>, metadata: Option<Json> },
    /// Removes a bookmark.
    RemoveBookmark { conversation: ConversationId, name: String },
    /// Sets a state after a message; `None` for the start; no value unsets it.
    SetState { conversation: ConversationId, name: String, after: Option<MessageId>, value: Option<Json> },
    /// Adds a fold.
    AddFold { conversation: ConversationId, fold: NewFold },
    /// Activates or deactivates a fold.
    SetFoldActive { fold: FoldId, active: bool },
    /// Records a tool call; the first step of its trail is the state it begins in.
    PutToolCall { call: ToolCall, note: String },
    /// Records a tool call with the trail that another program kept; its transitions are taken as they were. With
    /// `instead_of`, it replaces the call that is recorded for that part of that message, which may be the same part; a
    /// part that has a record otherwise is a conflict.
    PutToolTrail {
        call: ToolCall,
        steps: Vec<ToolStep>,
        #[serde(default)]
        instead_of: Option<ToolPart>,
    },
    /// Moves a tool call along an allowed transition.
    MoveToolCall { message: MessageId, part: u32, to: ToolState, record: Option<Json>, note: String },
    /// Logs events.
    AppendEvents { conversation: ConversationId, events: Vec<NewEvent> },
    /// Queues an input for a run.
    PutInput { conversation: ConversationId, id: InputId, body: Json },
    /// Takes inputs out of the queue, in the commit that uses them.
    TakeInputs { conversation: ConversationId, ids: Vec<InputId> },
    /// Acquires the lease of a run if it is free or has expired; not undoable.
    TakeLease { conversation: ConversationId, owner: String, until: Timestamp },
    /// Extends a lease that the token still holds; not undoable.
    RenewLease { conversation: ConversationId, token: i64, until: Timestamp },
    /// Releases a lease; not undoable.
    ReleaseLease { conversation: ConversationId, token: i64 },
    /// Writes the next version of a document; no body deletes it.
    PutDocument { kind: String, id: String, project: Option<ProjectId>, body: Option<Json> },
    /// Records a request to a model.
    RecordCall { conversation: ConversationId, call: Call },
    /// Stages one piece of a blob; the last one completes it and checks its SHA-256. Content-addressed: not undoable.
    #[serde(skip_deserializing)]
    PutBlobPiece { sha256: [u8; 32], size: i64, n: i64, last: bool, bytes: Vec<u8> },
    /// Records an imported file.
    PutSource { source: Source },
    /// Records where an object came from.
    PutOrigin { origin: Origin },
    /// Keeps bytes that could not be parsed.
    Quarantine { quarantined: Quarantined },
    /// Stores a memory; the same id again replaces it.
    PutMemory { memory: Memory },
    /// Removes a memory.
    RemoveMemory { id: MemoryId },
    /// Overwrites a draft, read mark or pointer; not journalled.
    PutScratch { scratch: Scratch },
    /// Removes a scratch value; not journalled.
    RemoveScratch { kind: String, id: String, actor: String },
    /// Creates a project.
    CreateProject { project: Project },
    /// Changes a project.
    EditProject { id: ProjectId, patch: ProjectPatch },
    /// Removes a project from the list; its conversations stay.
    RemoveProject { id: ProjectId },
    /// Undoes the commit that begins at this position; undoing an undo is a redo.
    Undo { position: Position },
    /// Undoes or redoes the last change of a scope at the time when the transaction is applied.
    Step { scope: UndoScope, step: UndoDirection },
    /// Purges a conversation in the trash by one bounded step; not undoable. Returns whether it is finished.
    Purge { conversation: ConversationId },
    /// Erases content everywhere by one bounded step, with a receipt; not undoable. Send it until it is finished.
    Erase { target: EraseTarget },
}

/// The result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Committed {
    /// The position of its first journal row: the name by which it is undone.
    pub first: Position,
    /// The last position it owns: a read that has seen it sees everything the transaction did.
    pub position: Position,
    /// The time of the transaction; a retry of the request is built with the same time.
    #[serde(default)]
    pub at: Timestamp,
    /// The result of each change.
    pub results: Vec<ChangeResult>,
    /// The transaction was applied before; this is the stored answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_replay: bool,
}

/// The result of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeResult {
    /// It was applied; there is nothing else to return.
    Applied,
    /// The conversation, new or existing.
    Conversation(ConversationId),
    /// The last message that was added.
    Messages(Option<MessageId>),
    /// The cursor of the last event that was logged.
    Events(i64),
    /// The fencing token.
    Lease(i64),
    /// The new version of a document.
    Version(i64),
    /// Whether nothing is left to purge.
    Purged(bool),
    /// The counts of what was erased.
    Erased(Receipt),
}

/// The receipt of an erasure: what it removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The time.
    pub at: Timestamp,
    /// The erasure is finished: nothing is left in the file or its WAL.
    pub finished: bool,
    /// Messages whose content was erased.
    pub messages: i64,
    /// Deleted conversations.
    pub conversations: i64,
    /// Notes, states, folds, tool calls, events, inputs, calls, memories, origins and memberships that went with them.
    pub annotations: i64,
    /// Blobs without any remaining reference.
    pub blobs: i64,
    /// Drafts and other scratch.
    pub scratch: i64,
    /// Before-images in the journal.
    pub journal: i64,
}
