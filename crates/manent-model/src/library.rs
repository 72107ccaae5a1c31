//! Objects beside conversations: projects, documents, memories, and the sources of imported objects.

use crate::id::{ConversationId, FoldId, MemoryId, MessageId, ProjectId, SourceId};
use crate::json::Json;
use crate::time::Timestamp;
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
    pub at: Timestamp,
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
    pub at: Timestamp,
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
    pub at: Timestamp,
}
