//! Annotations of conversations: notes, bookmarks, states, folds.

use crate::id::{FoldId, MessageId, NoteId};
use crate::json::Json;
use crate::message::Author;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub at: Timestamp,
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
    pub at: Timestamp,
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
    pub at: Timestamp,
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
    pub covers: Vec<MessageRange>,
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
    pub at: Timestamp,
}

/// The messages that a fold covers or a call sent, as the first and the last of a stretch of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageRange {
    /// The first message.
    pub first: MessageId,
    /// The last message.
    pub last: MessageId,
}
