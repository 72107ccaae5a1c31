//! The smaller nouns: attached to messages or stored beside conversations.

use crate::id::{CallId, ConversationId, FoldId, InputId, MemoryId, MessageId, NoteId, ProjectId, SourceId};
use crate::json::Json;
use crate::message::Author;
use crate::time::Micros;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A project: settings shared by several conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// `project`, or `instance` for a role-play.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Instructions that every conversation of the project begins with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Facts shared by its conversations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Grows with every change.
    pub version: i64,
}

/// Changes to a project; fields that are `None` stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPatch {
    /// A new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Facts to set, or to remove where there is no text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Option<String>>,
    /// Other metadata, or none.
    #[serde(default, deserialize_with = "crate::json::wish", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Option<Json>>,
}

/// A note on a message: a rating, a pin, a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its id.
    pub id: NoteId,
    /// The message.
    pub message: MessageId,
    /// `rating`, `pin`, `label`, or a custom kind.
    pub kind: String,
    /// The author of the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Author>,
    /// The value of the note.
    pub value: Json,
    /// When.
    pub at: Micros,
}

/// A named position in a conversation: a snapshot, a second head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bookmark {
    /// Its name inside the conversation.
    pub name: String,
    /// The last message of the path that it remembers.
    pub head: Option<MessageId>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// When.
    pub at: Micros,
}

/// A named value that follows the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The message after which it was set; none for the start.
    pub after: Option<MessageId>,
    /// The value; absent if it was unset.
    pub value: Option<Json>,
    /// When.
    pub at: Micros,
}

/// Effect of a fold on the messages it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoldKind {
    /// The model sees a summary in their place.
    Summary,
    /// Tool results are left out.
    ToolClear,
    /// Media are left out.
    MediaClear,
    /// They are not sent to the model.
    Drop,
}

/// A compaction: the folded messages of a path, and what the model sees in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fold {
    /// Its id.
    pub id: FoldId,
    /// The message after which it holds; paths that fork before do not see it.
    pub after: MessageId,
    /// Kind of the fold.
    pub kind: FoldKind,
    /// The covered messages.
    pub covers: Vec<Stretch>,
    /// The summary, for folds of that kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The fold that this one extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<FoldId>,
    /// Free-form record of how it was made: model, prompt, usage, cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Json>,
    /// In force.
    pub active: bool,
    /// When.
    pub at: Micros,
}

/// The messages that a fold covers or a call sent, as the first and the last of a stretch of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// The first message.
    pub first: MessageId,
    /// The last message.
    pub last: MessageId,
}

/// How one request to a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Answered.
    Answered,
    /// The provider or the way to it failed.
    Failed,
    /// Stopped by a user.
    Stopped,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The last message that it saw; none when it saw none.
    pub after: Option<MessageId>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<i64>,
    /// Tokens received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<i64>,
    /// Cost in millionths of the caller's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<i64>,
    /// The messages that were sent.
    pub sent: Vec<Stretch>,
    /// The manifest and the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
    /// When.
    pub at: Micros,
}

/// An entry of a run's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number in the conversation, counted from 1.
    pub cursor: i64,
    /// `progress`, `control`, `monitor`, or a custom channel.
    pub channel: String,
    /// When.
    pub at: Micros,
    /// Content of the event.
    pub body: Json,
}

/// Something that waits for a run to take it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Its id.
    pub id: InputId,
    /// When it was queued.
    pub at: Micros,
    /// Content of the input.
    pub body: Json,
    /// A run has taken it.
    pub taken: bool,
}

/// The lease of a run: owner, expiry and fencing token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The owner.
    pub owner: String,
    /// Grows with every new owner.
    pub token: i64,
    /// Until when.
    pub until: Micros,
}

/// A small versioned JSON value by kind and id: a character, a background, a template, settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Kind of the document.
    pub kind: String,
    /// Its id inside the kind.
    pub id: String,
    /// The project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Counts from 1.
    pub version: i64,
    /// The value; absent if it was removed.
    pub body: Option<Json>,
    /// When.
    pub at: Micros,
}

/// A text to remember, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// The collection it belongs to.
    pub collection: String,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The conversation it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The message it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The id that another program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The text.
    pub text: String,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// An imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its id.
    pub id: SourceId,
    /// Its format.
    pub format: String,
    /// The generation of the format.
    pub generation: String,
    /// Path of the file, for people; never opened.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Layout of the file: indentation, line endings, and the bytes between the records.
    pub style: Json,
    /// When it was read.
    pub at: Micros,
}

/// The origin of an imported object in its own program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Kind and id of the object in this store, such as `conversation` and `conv_…`.
    pub object: OriginObject,
    /// The imported file.
    pub source: SourceId,
    /// Index of its record in the file.
    pub ordinal: i64,
    /// Its id there; it may repeat or be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// Unmapped fields, as source text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// The object that an origin belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "id")]
pub enum OriginObject {
    /// A conversation.
    Conversation(ConversationId),
    /// A message.
    Message(MessageId),
    /// A project.
    Project(ProjectId),
    /// A fold.
    Fold(FoldId),
    /// A memory.
    Memory(MemoryId),
    /// A document, as `kind/id`.
    Document(String),
}

/// Unparsable bytes of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    /// The file.
    pub source: SourceId,
    /// Where in the file.
    pub at_byte: i64,
    /// Why.
    pub why: String,
    /// The bytes, in hexadecimal in JSON.
    #[serde(with = "crate::hex::serde_bytes")]
    #[schemars(with = "String")]
    pub bytes: Vec<u8>,
}

/// Something that is overwritten and not journalled: a draft, a read mark, a "current" pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// What it is: `draft`, `read`, `current`.
    pub kind: String,
    /// What it is about.
    pub id: String,
    /// Its owner; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// The value.
    pub body: Json,
    /// When.
    pub at: Micros,
}
