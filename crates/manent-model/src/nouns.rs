//! The smaller nouns: what is said about messages and kept beside conversations.

use crate::id::{CallId, ConversationId, FoldId, InputId, MemoryId, MessageId, NoteId, ProjectId, SourceId};
use crate::json::Json;
use crate::message::Author;
use crate::time::Micros;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What several conversations share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// What it is: `project`, or `instance` for a role-play.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What every conversation in it begins with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// What is known across its conversations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Whatever the caller wants to keep with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Grows with every change.
    pub version: i64,
}

/// What to change of a project; what is `None` stays.
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

/// Something said about a message: a rating, a pin, a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its id.
    pub id: NoteId,
    /// The message.
    pub message: MessageId,
    /// What it is: `rating`, `pin`, `label`, or a word of the caller.
    pub kind: String,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Author>,
    /// What was said.
    pub value: Json,
    /// When.
    pub at: Micros,
}

/// A named place in a conversation: a snapshot, a second head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bookmark {
    /// Its name inside the conversation.
    pub name: String,
    /// The last message of the path that it remembers.
    pub head: Option<MessageId>,
    /// Whatever the caller wants to keep with it.
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
    /// The value; none where it was unset.
    pub value: Option<Json>,
    /// When.
    pub at: Micros,
}

/// What a fold does to the messages it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoldKind {
    /// A summary stands for them.
    Summary,
    /// Tool results are left out.
    ToolClear,
    /// Media are left out.
    MediaClear,
    /// They are not sent to the model.
    Drop,
}

/// A compaction: which messages of a path are folded, and what stands for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fold {
    /// Its id.
    pub id: FoldId,
    /// The message after which it holds; paths that fork before do not see it.
    pub after: MessageId,
    /// What it does.
    pub kind: FoldKind,
    /// The messages it covers.
    pub covers: Vec<Stretch>,
    /// The summary, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The fold that this one grew from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<FoldId>,
    /// Who or what made it: model, prompt, usage, cost.
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
    /// Stopped by somebody.
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
    /// What was sent.
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
    /// `progress`, `control`, `monitor`, or a word of the caller.
    pub channel: String,
    /// When.
    pub at: Micros,
    /// What happened.
    pub body: Json,
}

/// Something that waits for a run to take it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Its id.
    pub id: InputId,
    /// When it came.
    pub at: Micros,
    /// What it is.
    pub body: Json,
    /// A run has taken it.
    pub taken: bool,
}

/// Who owns a run, until when, with the token that fences off an earlier owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The owner.
    pub owner: String,
    /// Grows with every new owner.
    pub token: i64,
    /// Until when.
    pub until: Micros,
}

/// A small versioned thing by kind and id: a character, a background, a template, settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// What it is.
    pub kind: String,
    /// Its id inside the kind.
    pub id: String,
    /// The project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Counts from 1.
    pub version: i64,
    /// The value; none where it was deleted.
    pub body: Option<Json>,
    /// When.
    pub at: Micros,
}

/// A text to be remembered, tied to where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// The collection it lies in.
    pub collection: String,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The conversation it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The message it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The id that another program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The text.
    pub text: String,
    /// Whatever the caller wants to keep with it.
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
    /// Where it lay, for people; never used as a path.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// How it was written: indentation, line ends, what stood between the records.
    pub style: Json,
    /// When it was read.
    pub at: Micros,
}

/// What an imported object was in its own program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// What the object is and its id here, such as `conversation` and `conv_…`.
    pub object: OriginObject,
    /// The file it came from.
    pub source: SourceId,
    /// Its place in the file.
    pub ordinal: i64,
    /// Its id there; it may repeat or be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// What did not map, as its source text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// What an origin belongs to.
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

/// Bytes of a source that nobody could read.
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
    /// Whose it is; empty for nobody's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// The value.
    pub body: Json,
    /// When.
    pub at: Micros,
}
