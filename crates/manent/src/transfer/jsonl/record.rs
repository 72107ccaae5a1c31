//! Record types of the JSON lines format.

use manent_model::{
    BranchId, ConversationDraft, ConversationId, ConversationStatus, ConversationTimes, MessageId, MessageRange,
};
use manent_store::BranchReason;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Format version that this program writes; it reads this one and older ones.
pub(crate) const FORMAT: u32 = 1;

/// Record type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Manent,
    Project,
    Blob,
    Source,
    Quarantined,
    Conversation,
    Branch,
    Message,
    Head,
    Note,
    Bookmark,
    State,
    Fold,
    Call,
    ToolCall,
    Event,
    Input,
    Document,
    Memory,
    Origin,
    Scratch,
    /// A record that was damaged when the file was written.
    Damaged,
    End,
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The conversation that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The record, in the model's JSON. Its nesting depth is checked when it is stored, because a value at the limit
    /// is nested deeper here. A value that was written over several lines is stored as a string.
    pub value: Box<RawValue>,
}

impl Line {
    /// Creates a line. Foreign JSON is kept as written, including line breaks between its tokens.
    pub(crate) fn of<T: Serialize>(
        kind: Kind,
        conversation: Option<ConversationId>,
        value: &T,
    ) -> serde_json::Result<Self> {
        let value = serde_json::value::to_raw_value(value)?;
        let value = match value.get().contains(['\n', '\r']) {
            true => serde_json::value::to_raw_value(value.get())?,
            false => value,
        };
        Ok(Self { kind, conversation, value })
    }

    /// Returns the record as JSON.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self.value.get().starts_with('"') {
            true => serde_json::from_str(self.value.get()).map_or(Cow::Borrowed(""), Cow::Owned),
            false => Cow::Borrowed(self.value.get()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Beginning {
    pub format: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub lines: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConversationRecord {
    pub id: ConversationId,
    pub branch: BranchId,
    pub draft: ConversationDraft,
    pub status: ConversationStatus,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    pub times: ConversationTimes,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BranchRecord {
    pub id: BranchId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<BranchId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<MessageId>,
    /// Number of the following messages that are inside the ranges.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_in_ranges: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<MessageRange>,
    pub reason: BranchReason,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MessageRecord {
    pub branch: BranchId,
    pub id: MessageId,
    pub content: manent_model::Content,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<manent_store::MessageOrigin>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeadRecord {
    pub branch: BranchId,
    pub message: Option<MessageId>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlobRecord {
    pub sha256: String,
    pub base64: String,
    /// Set for a chunk of a larger blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<PieceRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PieceRecord {
    pub n: i64,
    /// The total size; only on the last chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}
