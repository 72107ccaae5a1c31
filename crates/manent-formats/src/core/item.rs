//! Items emitted by readers: nouns of the model, with external ids of the other program.
//!
//! The order is: a root; its records outside conversations; then each conversation with what is attached to it, up to
//! its end. The messages of a conversation are numbered from 0 in order of emission, and that number identifies them
//! until the store assigns ids.

use crate::core::problem::{Problem, ReadError, Repair};
use manent_model::{
    Author, Content, ConversationKind, ConversationStatus, FoldKind, Json, Time, Timestamp, ToolState, ToolStep,
};

/// The number of a message in its conversation, in the order of items.
pub type MessageIndex = u32;

/// One thing that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A root begins: a file, or a folder that belongs together.
    Root(Root),
    /// The number of records of one type in the source being read.
    Found {
        /// The word of the program for them.
        record: &'static str,
        /// How many.
        count: u64,
    },
    /// Something of records that no noun holds was kept with them.
    Unmapped {
        /// The word of the program for the record.
        record: &'static str,
        /// The member; none for whole records.
        key: Option<String>,
        /// In how many.
        count: u64,
    },
    /// A document or project that several conversations share.
    Project(ProjectItem),
    /// A small thing by kind and id.
    Document(DocumentItem),
    /// A piece of bytes that are kept as they are. It comes before what names them.
    Blob(BlobItem),
    /// A conversation begins.
    Conversation(Box<ConversationItem>),
    /// A message of it.
    Message(Box<MessageItem>),
    /// A compaction in it.
    Fold(FoldItem),
    /// A value that was set in it.
    State(StateItem),
    /// The record of a tool call.
    ToolCall(ToolCallItem),
    /// An entry of a log.
    Event(EventItem),
    /// A named place.
    Bookmark(BookmarkItem),
    /// It ends.
    End {
        /// The last message of the path that is shown; none for the last that came.
        head: Option<MessageIndex>,
    },
    /// A record was skipped.
    Problem(Problem),
    /// Something was repaired.
    Repair(Repair),
    /// A file of the tree that belongs to nothing that was read.
    LeftOut {
        /// Its name.
        name: String,
        /// Why.
        why: &'static str,
    },
}

impl Item {
    /// The other program's record type; `None` if it has no record of its own.
    pub fn record(&self) -> Option<&'static str> {
        let record = match self {
            Self::Project(item) => item.record,
            Self::Document(item) => item.record,
            Self::Conversation(item) => item.record,
            Self::Message(item) => item.record,
            Self::Fold(item) => item.record,
            Self::State(item) => item.record,
            Self::ToolCall(item) => item.record,
            Self::Event(item) => item.record,
            Self::Bookmark(item) => item.record,
            Self::Root(_)
            | Self::Found { .. }
            | Self::Unmapped { .. }
            | Self::Blob(_)
            | Self::End { .. }
            | Self::Problem(_)
            | Self::Repair(_)
            | Self::LeftOut { .. } => "",
        };
        Some(record).filter(|record| !record.is_empty())
    }
}

/// A file, or a folder that belongs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The name of the format.
    pub format: &'static str,
    /// The generation that wrote it.
    pub generation: String,
    /// Its path, for people.
    pub path: String,
    /// Style and separators between the records.
    pub style: Json,
}

/// See [`manent_model::Project`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectItem {
    /// Its id there.
    pub external: String,
    /// What it is.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Other metadata.
    pub metadata: Option<Json>,
    /// Layout for the writer.
    pub frame: Option<Json>,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::Document`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentItem {
    /// What it is.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The project that it belongs to, by its id there.
    pub project: Option<String>,
    /// The value.
    pub body: Json,
    /// Layout for the writer.
    pub frame: Option<Json>,
    /// The record that it came from.
    pub record: &'static str,
}

/// A piece of a blob; the pieces of one come behind each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobItem {
    /// The SHA-256 of the whole.
    pub sha256: [u8; 32],
    /// The size of the whole.
    pub size: u64,
    /// Its number, from 0 on.
    pub n: u64,
    /// No other follows.
    pub is_last: bool,
    /// At most 1 MiB.
    pub bytes: Vec<u8>,
}

/// See [`manent_model::Conversation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationItem {
    /// Its id there, with whatever makes it unique in its root.
    pub external: String,
    /// Its name.
    pub title: String,
    /// Its purpose.
    pub kind: ConversationKind,
    /// Status.
    pub status: ConversationStatus,
    /// Kept at the top of the list.
    pub pinned: bool,
    /// The project it belongs to, by its id there.
    pub project: Option<String>,
    /// The creator.
    pub creator: Option<Author>,
    /// Other metadata.
    pub metadata: Option<Json>,
    /// The conversation of the same root that it goes on from, by its id there; it may come before or later.
    pub continued_from: Option<String>,
    /// The conversation that it forked from; see [`Self::continued_from`].
    pub forked_from: Option<String>,
    /// When it was made, if known.
    pub created_at: Option<Timestamp>,
    /// When something was last said, if that is written down.
    pub active_at: Option<Timestamp>,
    /// When it was trashed.
    pub trashed_at: Option<Timestamp>,
    /// Whether its messages are all that its program shows.
    pub extent: Extent,
    /// Layout for the writer.
    pub frame: Json,
    /// The record that it came from.
    pub record: &'static str,
}

impl ConversationItem {
    /// A chat with nothing said about it.
    pub fn new(external: String, frame: Json, record: &'static str) -> Self {
        Self {
            external,
            title: String::new(),
            kind: ConversationKind::Chat,
            status: ConversationStatus::Active,
            pinned: false,
            project: None,
            creator: None,
            metadata: None,
            continued_from: None,
            forked_from: None,
            created_at: None,
            active_at: None,
            trashed_at: None,
            extent: Extent::default(),
            frame,
            record,
        }
    }
}

/// A record about messages that are not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// Nothing: stored messages stay where they are shown. The messages have ids, or do not depend on others.
    #[default]
    Open,
    /// Nothing, because some of the list could not be read. Its messages have no ids and are known by their order.
    Partial,
    /// Its program does not show them: the list was read whole. Its messages have no ids and are known by their order.
    Whole,
}

/// The note of a tool call that a reader sealed because its file has no result for it.
pub const SEALED_NOTE: &str = "no result in the file";

/// The parent of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follows {
    /// Behind the one that came before it.
    #[default]
    Last,
    /// Behind this one, which may have others behind it; none for the start.
    At(Option<MessageIndex>),
}

/// A message as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageItem {
    /// Its id there; it may repeat or be absent.
    pub external: Option<String>,
    /// The parent.
    pub follows: Follows,
    /// Its content.
    pub content: Content,
    /// The message that it answers apart from the order.
    pub reply_to: Option<MessageIndex>,
    /// The source record; none where a noun holds all of it.
    pub raw: Option<String>,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::Fold`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldItem {
    /// Its id there.
    pub external: Option<String>,
    /// The message after which it holds.
    pub after: MessageIndex,
    /// Its effect.
    pub kind: FoldKind,
    /// The first and the last covered message; `None` if unknown.
    pub covers: Option<(MessageIndex, MessageIndex)>,
    /// The summary.
    pub summary: Option<String>,
    /// Free-form record of the author of the fold.
    pub made_by: Option<Json>,
    /// In force.
    pub active: bool,
    /// When.
    pub at: Option<Time>,
    /// The source record.
    pub raw: String,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::State`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateItem {
    /// Its name.
    pub name: String,
    /// The message after which it holds; none for the start.
    pub after: Option<MessageIndex>,
    /// The value.
    pub value: Json,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallItem {
    /// The message that asked, and the part of it.
    pub part: (MessageIndex, u32),
    /// The provider's id.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Current state.
    pub state: ToolState,
    /// The source record.
    pub body: Json,
    /// Its trail.
    pub steps: Vec<ToolStep>,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventItem {
    /// The log.
    pub channel: String,
    /// When.
    pub at: Timestamp,
    /// The event, as it was written.
    pub body: Json,
    /// The record that it came from.
    pub record: &'static str,
}

/// See [`manent_model::Bookmark`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookmarkItem {
    /// Its name.
    pub name: String,
    /// The last message of the path that it remembers.
    pub head: Option<MessageIndex>,
    /// The rest of it.
    pub metadata: Option<Json>,
    /// The record that it came from.
    pub record: &'static str,
}

/// Receiver of the items of a reader.
pub trait Sink {
    /// Takes one item; an error ends the reading.
    fn take(&mut self, item: Item) -> Result<(), ReadError>;
}

impl Sink for Vec<Item> {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        self.push(item);
        Ok(())
    }
}
