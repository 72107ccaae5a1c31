//! What a caller says when a message is to be added.

use crate::ids::Ids;
use manent_model::{Author, Body, Content, Json, JsonProblem, MessageId, MessageStatus, NewMessage, Part, Seen, Time};

/// A message that is to be added. What is not given is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageDraft {
    /// Its id; sending the same one again is a retry.
    pub id: Option<MessageId>,
    /// What it says; the time counts only if `time_given`.
    pub content: Content,
    /// The time in `content` was given by the caller.
    pub time_given: bool,
}

impl MessageDraft {
    /// Begins a message of any role with parts.
    pub fn new(role: impl Into<String>, parts: &[Part]) -> Self {
        Self { id: None, content: Content::new(role, Time::default(), Body::of(parts)), time_given: false }
    }

    /// Begins a message of any role with parts as JSON text, kept as it is.
    pub fn from_json(role: impl Into<String>, parts: &str) -> Result<Self, JsonProblem> {
        let body = Body::parse(parts)?;
        Ok(Self { id: None, content: Content::new(role, Time::default(), body), time_given: false })
    }

    /// Begins a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("user", &[Part::text(text)])
    }

    /// Begins a message of the assistant.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new("assistant", &[Part::text(text)])
    }

    /// Gives it an id, so that sending it again is a retry.
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// Says when.
    pub fn at(mut self, time: Time) -> Self {
        self.content.time = time;
        self.time_given = true;
        self
    }

    /// Says who.
    pub fn by(mut self, author: Author) -> Self {
        self.content.author = Some(author);
        self
    }

    /// Says which model wrote it.
    pub fn by_model(mut self, model: impl Into<String>) -> Self {
        self.content.model = Some(model.into());
        self
    }

    /// Says how many tokens it has.
    pub fn with_tokens(mut self, tokens: u32) -> Self {
        self.content.tokens = Some(tokens);
        self
    }

    /// Says which turn it belongs to.
    pub fn in_turn(mut self, turn: u32) -> Self {
        self.content.turn = Some(turn);
        self
    }

    /// Keeps something with it.
    pub fn with_metadata(mut self, metadata: Json) -> Self {
        self.content.metadata = Some(metadata);
        self
    }

    /// Says which message it answers in a group.
    pub fn replying_to(mut self, message: MessageId) -> Self {
        self.content.reply_to = Some(message);
        self
    }

    /// Says who sees it.
    pub fn seen(mut self, seen: Seen) -> Self {
        self.content.seen = seen;
        self
    }

    /// Says where it is in its life.
    pub fn with_status(mut self, status: MessageStatus) -> Self {
        self.content.status = status;
        self
    }

    pub(crate) fn finish(self, ids: &Ids) -> NewMessage {
        let mut content = self.content;
        if !self.time_given {
            content.time = Time::exact(ids.now().0);
        }
        NewMessage { id: self.id.unwrap_or_else(|| ids.make(MessageId::new)), content }
    }
}
