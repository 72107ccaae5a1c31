//! Conversations.

use crate::id::{ConversationId, MessageId, ProjectId};
use crate::json::Json;
use crate::message::Author;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Purpose of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    /// One person and a model; some call it private.
    #[default]
    #[serde(alias = "private")]
    Chat,
    /// A run of an agent with tools.
    Agent,
    /// A story with characters.
    Roleplay,
    /// Several people.
    Group,
    /// One speaks, many read.
    Channel,
}

/// Where a conversation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// In use.
    #[default]
    Active,
    /// Put away; listed only when asked for.
    Archived,
    /// In the trash; can be restored or purged.
    Trashed,
    /// Its import has not finished yet.
    Importing,
}

/// A conversation as people see it in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The id that its creator's system gave it; unique, so creating it again is a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Its name.
    pub title: String,
    /// Purpose of the conversation.
    pub kind: ConversationKind,
    /// Status.
    pub status: ConversationStatus,
    /// Kept at the top of the list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<Author>,
    /// The members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Author>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The conversation that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<ConversationId>,
    /// The conversation that this one forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ConversationId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Time of the latest message.
    pub active_at: Timestamp,
    /// When it was moved to the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trashed_at: Option<Timestamp>,
    /// Grows with every change of the conversation; for `If-Match`.
    pub version: i64,
    /// The last message of the path that is shown; none when it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<MessageId>,
    /// Messages on that path.
    pub messages: i64,
    /// Word count of that path.
    pub words: i64,
    /// Tokens on that path, where known.
    pub tokens: i64,
}

/// Properties of a new conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationDraft {
    /// See [`Conversation::external_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Title; stored as given.
    #[serde(default)]
    pub title: String,
    /// Purpose of the conversation.
    #[serde(default)]
    pub kind: ConversationKind,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<Author>,
    /// The members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Author>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The conversation that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<ConversationId>,
    /// The conversation that this one forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ConversationId>,
}

/// Changes to a conversation; fields that are `None` stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationPatch {
    /// A new title, stored as given; user-entered titles are validated before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A new life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ConversationStatus>,
    /// Pin or unpin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Another project, or none.
    #[serde(default, deserialize_with = "crate::json::wish", skip_serializing_if = "Option::is_none")]
    pub project: Option<Option<ProjectId>>,
    /// Other members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Author>>,
    /// Tags to add.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub add_tags: BTreeSet<String>,
    /// Tags to remove.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub remove_tags: BTreeSet<String>,
    /// Other metadata, or none.
    #[serde(default, deserialize_with = "crate::json::wish", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Option<Json>>,
    /// Times as an import knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<ConversationTimes>,
}

/// Times of an imported conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationTimes {
    /// When it was made.
    pub created_at: Timestamp,
    /// Time of the latest message.
    pub active_at: Timestamp,
    /// When it was moved to the trash.
    pub trashed_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_tells_null_from_absent() {
        let patch: ConversationPatch = serde_json::from_str(r#"{"project":null,"metadata":null}"#).expect("a patch");
        assert_eq!((patch.project, &patch.metadata), (Some(None), &Some(None)));
        assert_eq!(serde_json::to_string(&patch).expect("JSON"), r#"{"project":null,"metadata":null}"#);
        let patch: ConversationPatch = serde_json::from_str(r#"{"title":"a"}"#).expect("a patch");
        assert_eq!((patch.project, &patch.metadata), (None, &None));
        let patch: crate::ProjectPatch = serde_json::from_str(r#"{"metadata":null}"#).expect("a patch");
        assert_eq!(patch.metadata, Some(None));
    }
}
