//! Message draft: the input for adding a message.

use crate::database::ulid::UlidGenerator;
use crate::error::Result;
use manent_model::{
    Author, Body, Content, Json, JsonProblem, MessageId, MessageStatus, NewMessage, Part, Time, TimeSource, Timestamp,
    Visibility,
};
use manent_store::StoreError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A message to add. Omitted fields get defaults.
///
/// In JSON it is flat, as a message is: `{"role": "user", "parts": [{"type": "text", "text": "…"}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
pub struct MessageDraft {
    /// Client-generated id; sending the same one again is a retry.
    pub id: Option<MessageId>,
    /// The content; its time counts only if `time_given`.
    pub content: Content,
    /// Whether the caller set the time in `content`.
    pub time_given: bool,
}

impl MessageDraft {
    /// Creates a message of any role with parts.
    pub fn new(role: impl Into<String>, parts: &[Part]) -> Self {
        Self { id: None, content: Content::new(role, Time::default(), Body::of(parts)), time_given: false }
    }

    /// Creates a message of any role with parts as JSON text, stored verbatim.
    pub fn from_json(role: impl Into<String>, parts: &str) -> Result<Self, JsonProblem> {
        let body = Body::parse(parts)?;
        Ok(Self { id: None, content: Content::new(role, Time::default(), body), time_given: false })
    }

    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("user", &[Part::text(text)])
    }

    /// Creates a message of the assistant.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new("assistant", &[Part::text(text)])
    }

    /// Sets the id, so that sending it again is a retry.
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the time.
    pub fn at(mut self, time: Time) -> Self {
        self.content.time = time;
        self.time_given = true;
        self
    }

    /// Sets the author.
    pub fn by(mut self, author: Author) -> Self {
        self.content.author = Some(author);
        self
    }

    /// Sets the model that wrote it.
    pub fn by_model(mut self, model: impl Into<String>) -> Self {
        self.content.model = Some(model.into());
        self
    }

    /// Sets its token count.
    pub fn with_tokens(mut self, tokens: u32) -> Self {
        self.content.tokens = Some(tokens);
        self
    }

    /// Sets the turn it belongs to.
    pub fn in_turn(mut self, turn: u32) -> Self {
        self.content.turn = Some(turn);
        self
    }

    /// Sets custom metadata.
    pub fn with_metadata(mut self, metadata: Json) -> Self {
        self.content.metadata = Some(metadata);
        self
    }

    /// Sets the message it replies to in a group.
    pub fn replying_to(mut self, message: MessageId) -> Self {
        self.content.reply_to = Some(message);
        self
    }

    /// Sets its visibility.
    pub fn seen(mut self, seen: Visibility) -> Self {
        self.content.seen = seen;
        self
    }

    /// Sets its status.
    pub fn with_status(mut self, status: MessageStatus) -> Self {
        self.content.status = status;
        self
    }

    /// Returns the message to store. One without content is refused; a stream may begin without any.
    pub(crate) fn finish(self, ids: &UlidGenerator) -> Result<NewMessage> {
        let mut content = self.content;
        if content.status != MessageStatus::Streaming && content.body.is_blank() {
            let why = "the message is empty: give it text, or parts with content";
            return Err(StoreError::Invalid(why.to_owned()).into());
        }
        if !self.time_given {
            content.time = Time::exact(ids.now().0);
        }
        Ok(NewMessage { id: self.id.unwrap_or_else(|| ids.make(MessageId::new)), content })
    }
}

/// A draft in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Flat {
    /// Client-generated id; sending the same one again is a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<MessageId>,
    /// `user`, `assistant`, `tool`, or a custom role; stored as given.
    role: String,
    /// The author, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<Author>,
    /// Time of the message; defaults to now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    /// Precision of the time, if not exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_source: Option<TimeSource>,
    /// Status of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<MessageStatus>,
    /// Visibility; everybody by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<Visibility>,
    /// The number of the turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Token count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    /// The provider's usage record, stored verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Json>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    /// The message that it replies to in a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    /// Its parts.
    parts: Body,
}

impl From<Flat> for MessageDraft {
    fn from(flat: Flat) -> Self {
        let time = Time { at: flat.time.unwrap_or_default(), source: flat.time_source.unwrap_or_default() };
        let content = Content {
            role: flat.role,
            author: flat.author,
            time,
            status: flat.status.unwrap_or_default(),
            seen: flat.seen.unwrap_or_default(),
            turn: flat.turn,
            model: flat.model,
            tokens: flat.tokens,
            usage: flat.usage,
            metadata: flat.metadata,
            reply_to: flat.reply_to,
            body: flat.parts,
        };
        Self { id: flat.id, content, time_given: flat.time.is_some() }
    }
}

impl From<MessageDraft> for Flat {
    fn from(draft: MessageDraft) -> Self {
        let content = draft.content;
        let time = Some(content.time).filter(|_| draft.time_given);
        Self {
            id: draft.id,
            role: content.role,
            author: content.author,
            time: time.map(|time| time.at),
            time_source: time.map(|time| time.source).filter(|known| *known != TimeSource::Exact),
            status: Some(content.status).filter(|status| *status != MessageStatus::Complete),
            seen: Some(content.seen).filter(|seen| *seen != Visibility::default()),
            turn: content.turn,
            model: content.model,
            tokens: content.tokens,
            usage: content.usage,
            metadata: content.metadata,
            reply_to: content.reply_to,
            parts: content.body,
        }
    }
}

impl JsonSchema for MessageDraft {
    fn schema_name() -> Cow<'static, str> {
        "MessageDraft".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Flat::json_schema(generator)
    }
}
