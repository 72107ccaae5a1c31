//! Request and response types that differ from the library's own types.

use crate::problem::{ApiResult, Problem};
use manent::model::{TimeSource, Timestamp, Visibility};
use manent::store::Direction;
use manent::{Author, Body, Json, MessageDraft, MessageId, MessageStatus, Part, Time};
use schemars::JsonSchema;
use serde::Deserialize;

/// A message to add. Give `text`, or `parts` for other content.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageInput {
    /// Client-generated id; sending the same one again is a retry.
    pub id: Option<MessageId>,
    /// `user`, `assistant`, `tool`, or a custom role; stored as given.
    pub role: String,
    /// Content as plain text.
    pub text: Option<String>,
    /// Content as parts.
    pub parts: Option<Body>,
    /// The author.
    pub author: Option<Author>,
    /// Time of the message; defaults to now.
    pub time: Option<Timestamp>,
    /// Status of the message.
    pub status: Option<MessageStatus>,
    /// Visibility.
    pub seen: Option<Visibility>,
    /// The number of the turn it belongs to.
    pub turn: Option<u32>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Token count.
    pub tokens: Option<u32>,
    /// The provider's usage record.
    pub usage: Option<Json>,
    /// Custom metadata.
    pub metadata: Option<Json>,
    /// The message that it replies to in a group.
    pub reply_to: Option<MessageId>,
}

impl MessageInput {
    /// Converts it to the library's draft type.
    pub fn draft(mut self) -> ApiResult<MessageDraft> {
        match body(self.text.take(), self.parts.take())? {
            Some(body) => Ok(self.draft_of(body)),
            None => Err(Problem::invalid("a message has text or parts")),
        }
    }

    /// Converts it to a draft of a message that will be streamed.
    pub fn draft_of_stream(mut self) -> ApiResult<MessageDraft> {
        let body = body(self.text.take(), self.parts.take())?;
        Ok(self.draft_of(body.unwrap_or_else(|| Body::of(&[]))))
    }

    fn draft_of(self, body: Body) -> MessageDraft {
        let mut draft = MessageDraft::new(self.role, &[]);
        draft.id = self.id;
        if let Some(at) = self.time {
            draft = draft.at(Time { at, source: TimeSource::Exact });
        }
        let content = &mut draft.content;
        content.body = body;
        content.author = self.author;
        content.status = self.status.unwrap_or_default();
        content.seen = self.seen.unwrap_or_default();
        content.turn = self.turn;
        content.model = self.model;
        content.tokens = self.tokens;
        content.usage = self.usage;
        content.metadata = self.metadata;
        content.reply_to = self.reply_to;
        draft
    }
}

/// Returns the content of a message; fails if it is given both as text and as parts.
pub fn body(text: Option<String>, parts: Option<Body>) -> ApiResult<Option<Body>> {
    match (text, parts) {
        (Some(_), Some(_)) => Err(Problem::invalid("a message has either text or parts")),
        (Some(text), None) => Ok(Some(Body::of(&[Part::text(text)]))),
        (None, parts) => Ok(parts),
    }
}

/// Converts messages to the library's draft type.
pub fn drafts(messages: Vec<MessageInput>) -> ApiResult<Vec<MessageDraft>> {
    messages.into_iter().map(MessageInput::draft).collect()
}

/// Reading direction of a page.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Towards {
    /// Towards the start.
    #[default]
    Backward,
    /// Towards the head.
    Forward,
}

impl From<Towards> for Direction {
    fn from(towards: Towards) -> Self {
        match towards {
            Towards::Backward => Self::Backward,
            Towards::Forward => Self::Forward,
        }
    }
}
