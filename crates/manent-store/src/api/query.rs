//! Queries of a store and their results.

use crate::api::annotations_cursor::AnnotationsCursor;
use crate::api::error::StoreError;
use crate::api::journal_kind::JournalKind;
use crate::api::list_cursor::ListCursor;
use crate::api::transaction::{BranchReason, Position};
use manent_model::{
    Author, Bookmark, BranchId, Call, Conversation, ConversationId, ConversationKind, ConversationStatus, Day,
    Document, Event, Fold, Input, Lease, Memory, Message, MessageId, MessageRange, Note, ProjectId, State, Timestamp,
    ToolCall, ToolStep,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum page size.
pub const PAGE_MAX: u32 = 1_000;

/// Maximum bytes of messages in one page; a single message may be larger.
pub const PAGE_BYTES: usize = 4 << 20;

/// Maximum number of message ids in one journal entry.
pub const ENTRY_MESSAGES_MAX: usize = 100;

/// Default page size.
pub const PAGE_DEFAULT: u32 = 50;

/// The address of a conversation: its id or its external id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationRef {
    /// By its id.
    Id(ConversationId),
    /// By the id that its creator's system gave it.
    External(String),
}

/// The object that an id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdKind {
    /// A conversation, in any status.
    Conversation,
    /// A message of one of those, on any branch.
    Message,
    /// A project.
    Project,
}

/// Filters of a conversation list; the default is the first page of the active ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListQuery {
    /// Their status; empty means active.
    pub statuses: Vec<ConversationStatus>,
    /// Their kind.
    pub kind: Option<ConversationKind>,
    /// Their project.
    pub project: Option<ProjectId>,
    /// Pinned, or not.
    pub pinned: Option<bool>,
    /// A tag they have.
    pub tag: Option<String>,
    /// The external id of their creator.
    pub creator: Option<String>,
    /// The external id of a participant.
    pub member: Option<String>,
    /// Active at or after this time.
    pub since: Option<Timestamp>,
    /// Active before this time.
    pub until: Option<Timestamp>,
    /// A key of their metadata, and its value if one is asked for.
    pub metadata: Option<(String, Option<String>)>,
    /// A text in the title, ignoring case.
    pub title: Option<String>,
    /// In which order.
    pub order: ListOrder,
    /// The cursor of the previous page, in the same order.
    pub after: Option<ListCursor>,
    /// How many; at most [`PAGE_MAX`].
    pub limit: u32,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            statuses: Vec::new(),
            kind: None,
            project: None,
            pinned: None,
            tag: None,
            creator: None,
            member: None,
            since: None,
            until: None,
            metadata: None,
            title: None,
            order: ListOrder::Activity,
            after: None,
            limit: PAGE_DEFAULT,
        }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListOrder {
    /// Pinned first, then the latest active.
    #[default]
    Activity,
    /// The youngest first, by the time that their ids carry.
    Created,
}

/// A bounded count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoundedCount {
    /// The counted number.
    pub n: u32,
    /// There are more; the count is bounded.
    pub more: bool,
}

/// A page of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationPage {
    /// The conversations.
    pub conversations: Vec<Conversation>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<ListCursor>,
}

/// A branch of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchInfo {
    /// Its id.
    pub id: BranchId,
    /// The parent branch.
    pub parent: Option<BranchId>,
    /// The last message of the parent's path that belongs to its path.
    pub fork: Option<MessageId>,
    /// How many of its own messages are inside the ranges.
    pub own_in_ranges: i64,
    /// Ranges of messages of other branches that its path includes.
    pub ranges: Vec<MessageRange>,
    /// How many messages of its own it has.
    pub own_messages: i64,
    /// The head is on it.
    pub is_head: bool,
    /// Why it was opened.
    pub reason: BranchReason,
}

/// The direction of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the start.
    Backward,
    /// Towards the head.
    Forward,
}

/// A page of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePageQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// The path of this branch to its end, instead of the shown one.
    pub branch: Option<BranchId>,
    /// Where to begin, not included; `None` begins at the end when going backward, at the start when going forward.
    /// A message of the conversation that is not on the path is gone on from along its own branch.
    pub from: Option<MessageId>,
    /// Which way.
    pub direction: Direction,
    /// How many; at most [`PAGE_MAX`], and no more than [`PAGE_BYTES`] hold.
    pub limit: u32,
}

/// Messages of a path, always in reading order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<Message>,
    /// There is more in the direction that was asked. A page may hold fewer messages than asked for and still have more
    /// behind it, because it is cut by bytes as well; the next one begins from its last message in that direction.
    pub more: bool,
}

/// Which messages to read when it is not a page of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagesQuery {
    /// These.
    Ids(Vec<MessageId>),
    /// The own messages of a branch after this one; for copying a conversation whole.
    Branch {
        /// The branch.
        branch: BranchId,
        /// After this message; `None` begins at the first.
        after: Option<MessageId>,
        /// How many, and no more than [`PAGE_BYTES`] hold; the last page is the empty one.
        limit: u32,
    },
    /// Messages that had this id in another program.
    External(String),
}

/// The kind of related messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Related {
    /// The siblings: alternatives at its position, itself included, in order of creation.
    Siblings,
    /// The message, the message it replies to, and all replies of the thread, in order of arrival; a thousand at most.
    Thread,
}

/// A query for a page of messages related to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedQuery {
    /// The message.
    pub message: MessageId,
    /// Which ones.
    pub related: Related,
    /// Those after this one of them; none begins at the first.
    pub after: Option<MessageId>,
}

/// Messages with their places, as many as [`PAGE_BYTES`] hold; a single message may be larger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LocatedMessagePage {
    /// The messages.
    pub messages: Vec<LocatedMessage>,
    /// There are more behind the last one.
    pub more: bool,
}

/// A message that is still streaming, with the version that a finish of it must expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStream {
    /// The conversation that owns it.
    pub conversation: ConversationId,
    /// The version of the conversation; it grows with every chunk.
    pub version: i64,
    /// The message.
    pub message: MessageId,
    /// When it began or its last chunk came.
    pub renewed_at: Timestamp,
}

/// A message and the conversation that owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LocatedMessage {
    /// The conversation.
    pub conversation: ConversationId,
    /// The branch.
    pub branch: BranchId,
    /// It is on the shown path of its conversation.
    pub on_path: bool,
    /// The message.
    pub message: Message,
}

/// A query for a page of the attachments of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationsQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// Behind this place; `None` begins at the first record.
    pub after: Option<AnnotationsCursor>,
    /// How many records of all kinds together; at most [`PAGE_MAX`], and no more than [`PAGE_BYTES`] hold.
    pub limit: u32,
}

impl From<ConversationId> for AnnotationsQuery {
    fn from(conversation: ConversationId) -> Self {
        Self { conversation, after: None, limit: PAGE_MAX }
    }
}

/// A page of the attachments of a conversation. Pages hold the kinds one after another, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Annotations {
    /// Notes on the conversation and its messages.
    pub notes: Vec<Note>,
    /// Bookmarks.
    pub bookmarks: Vec<Bookmark>,
    /// All states, with their positions.
    pub states: Vec<State>,
    /// Its folds, in force or not.
    pub folds: Vec<Fold>,
    /// Its model calls.
    pub calls: Vec<Call>,
    /// Its tool calls.
    pub tool_calls: Vec<ToolCallTrail>,
    /// Inputs of its run, waiting or taken.
    pub inputs: Vec<Input>,
    /// The lease of its run; on the first page.
    pub lease: Option<Lease>,
    /// Text of messages that are still streaming.
    pub streams: Vec<(MessageId, String)>,
    /// Where the next page begins; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AnnotationsCursor>,
}

impl Annotations {
    /// Adds the page behind this one.
    pub fn append(&mut self, page: Self) {
        let Self { notes, bookmarks, states, folds, calls, tool_calls, inputs, lease, streams, next } = page;
        self.notes.extend(notes);
        self.bookmarks.extend(bookmarks);
        self.states.extend(states);
        self.folds.extend(folds);
        self.calls.extend(calls);
        self.tool_calls.extend(tool_calls);
        self.inputs.extend(inputs);
        self.lease = self.lease.take().or(lease);
        self.streams.extend(streams);
        self.next = next;
    }
}

/// A tool call with its audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallTrail {
    /// The record.
    pub call: ToolCall,
    /// The trail.
    pub steps: Vec<ToolStep>,
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// Only these channels; empty means all.
    pub channels: Vec<String>,
    /// After this cursor.
    pub after: i64,
    /// How many.
    pub limit: u32,
}

/// Events in order; the cursor of the last one is where to go on from.
pub type Events = Vec<Event>;

/// Which documents to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DocumentsQuery {
    /// The newest version of each of a kind, in order of id; deleted ones left out.
    Kind(String),
    /// The newest version of one.
    Newest {
        /// The kind.
        kind: String,
        /// The id.
        id: String,
    },
    /// Every version of one, oldest first, deleted ones as well.
    Versions {
        /// The kind.
        kind: String,
        /// The id.
        id: String,
    },
    /// Everything, for copying: kinds and ids in order, every version.
    All,
}

/// Which memories to read, in the order they were kept; the default is the first page of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoriesQuery {
    /// Only of this collection.
    pub collection: Option<String>,
    /// Only of this project.
    pub project: Option<ProjectId>,
    /// Only with this external id.
    pub external: Option<String>,
    /// After this memory.
    pub after: Option<manent_model::MemoryId>,
    /// How many; at most [`PAGE_MAX`].
    pub limit: u32,
}

impl Default for MemoriesQuery {
    fn default() -> Self {
        Self { collection: None, project: None, external: None, after: None, limit: PAGE_DEFAULT }
    }
}

/// Which scratch to read; the default is all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScratchQuery {
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only about this.
    pub id: Option<String>,
    /// Only of this actor; empty for values without an actor.
    pub actor: Option<String>,
}

/// Which rows of the journal to read; the default is the first page of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JournalQuery {
    /// After this position.
    pub after: Position,
    /// Only changes of this conversation.
    pub conversation: Option<ConversationId>,
    /// How many; at most [`PAGE_MAX`].
    pub limit: u32,
}

impl Default for JournalQuery {
    fn default() -> Self {
        Self { after: 0, conversation: None, limit: PAGE_DEFAULT }
    }
}

/// A page of the journal, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalPage {
    /// The rows.
    pub entries: Vec<JournalEntry>,
    /// Rows up to this position were scanned: the next page begins after it.
    pub scanned_to: Position,
    /// There are more rows after it.
    pub more: bool,
}

/// A journal row in the change feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    /// Its position.
    pub position: Position,
    /// How many positions it owns.
    pub count: i64,
    /// The first position of its commit.
    pub first: Position,
    /// When.
    pub at: Timestamp,
    /// The kind of the change.
    pub kind: JournalKind,
    /// The conversation it is about.
    pub conversation: Option<ConversationId>,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Author>,
    /// The commit that it undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Position>,
    /// The messages it is about, in order, at most [`ENTRY_MESSAGES_MAX`]: those that were added, finished, extended or
    /// erased, the one that a note, state, fold or call is attached to, the one that the head or a bookmark now points
    /// to. An undo or redo names the messages of the commit that it undoes or restores. Purged messages are left
    /// out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
    /// It is about more messages than are listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages_cut: bool,
}

/// The scope of an undo or redo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoScope {
    /// The last change of anything.
    Everything,
    /// The last change of this conversation.
    Conversation(ConversationId),
    /// The last change of anything that belongs to no conversation: projects, documents, memories.
    Workspace,
}

/// Undo or redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoDirection {
    /// Undo.
    Undo,
    /// Redo.
    Redo,
}

/// Which messages to count: those on the shown paths of all conversations that are active or archived, unless it says
/// less.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsQuery {
    /// Only this conversation, in any status. Not together with `project` or `tag`.
    pub conversation: Option<ConversationId>,
    /// Only the conversations of this project.
    pub project: Option<ProjectId>,
    /// Only the conversations with this tag.
    pub tag: Option<String>,
    /// Only messages of this day (in UTC) or later.
    pub since: Option<Day>,
    /// Only messages of days before this one.
    pub until: Option<Day>,
}

impl StatsQuery {
    /// Counts one conversation.
    pub fn conversation(id: ConversationId) -> Self {
        Self { conversation: Some(id), ..Self::default() }
    }

    /// Counts the conversations of a project.
    pub fn project(id: ProjectId) -> Self {
        Self { project: Some(id), ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.conversation.is_some() && (self.project.is_some() || self.tag.is_some()) {
            true => Err(StoreError::Invalid("statistics of one conversation take no project and no tag".to_owned())),
            false => Ok(()),
        }
    }

    pub(crate) fn is_limited_to_days(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// The days to count.
    pub(crate) fn days(&self) -> std::ops::Range<i64> {
        self.since.map_or(i64::MIN, |day| day.0)..self.until.map_or(i64::MAX, |day| day.0)
    }
}

/// Filters of origins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginsQuery {
    /// Of objects other than messages, by file.
    Source(manent_model::SourceId),
    /// Of one object, in the order of the files that brought it.
    Object(manent_model::OriginObject),
    /// By the id in the other program, in any file.
    External(String),
}

/// The newest documents or versions.
pub type Documents = Vec<Document>;

/// Memories in the order they were kept.
pub type Memories = Vec<Memory>;
