//! What is sent where the library's own types are not it.

use crate::problem::{Answer, Problem};
use manent::model::{Known, Micros, Seen};
use manent::store::Direction;
use manent::{Author, Body, Json, MessageDraft, MessageId, MessageStatus, Part, Time};
use schemars::JsonSchema;
use serde::Deserialize;

/// A message that is to be added. Give `text`, or `parts` for anything else than words.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageInput {
    /// Its id, made by the caller; sending the same one again is a retry.
    pub id: Option<MessageId>,
    /// An open word, kept as given: `user`, `assistant`, `tool`.
    pub role: String,
    /// What it says, in words.
    pub text: Option<String>,
    /// What it says, in parts.
    pub parts: Option<Body>,
    /// Who speaks.
    pub author: Option<Author>,
    /// When; now if it is not given.
    pub time: Option<Micros>,
    /// Where it is in its life.
    pub status: Option<MessageStatus>,
    /// Who sees it.
    pub seen: Option<Seen>,
    /// The number of the turn it belongs to.
    pub turn: Option<u32>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Its tokens.
    pub tokens: Option<u32>,
    /// The provider's usage record.
    pub usage: Option<Json>,
    /// Whatever the caller wants to keep with it.
    pub metadata: Option<Json>,
    /// The message that it answers in a group.
    pub reply_to: Option<MessageId>,
}

impl MessageInput {
    /// Turns it into what the library takes.
    pub fn draft(mut self) -> Answer<MessageDraft> {
        match body(self.text.take(), self.parts.take())? {
            Some(body) => Ok(self.draft_of(body)),
            None => Err(Problem::invalid("a message has text or parts")),
        }
    }

    /// The same, for a message that is yet to be written.
    pub fn draft_of_stream(mut self) -> Answer<MessageDraft> {
        let body = body(self.text.take(), self.parts.take())?;
        Ok(self.draft_of(body.unwrap_or_else(|| Body::of(&[]))))
    }

    fn draft_of(self, body: Body) -> MessageDraft {
        let mut draft = MessageDraft::new(self.role, &[]);
        draft.id = self.id;
        if let Some(at) = self.time {
            draft = draft.at(Time { at, known: Known::Exact });
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

/// What a message says, if it says it once.
pub fn body(text: Option<String>, parts: Option<Body>) -> Answer<Option<Body>> {
    match (text, parts) {
        (Some(_), Some(_)) => Err(Problem::invalid("a message has either text or parts")),
        (Some(text), None) => Ok(Some(Body::of(&[Part::text(text)]))),
        (None, parts) => Ok(parts),
    }
}

/// Turns messages into what the library takes.
pub fn drafts(messages: Vec<MessageInput>) -> Answer<Vec<MessageDraft>> {
    messages.into_iter().map(MessageInput::draft).collect()
}

/// Which way a page reaches.
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
