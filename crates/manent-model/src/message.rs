//! Messages: a role and parts, written by a person, a model or a tool.

use crate::address::Address;
use crate::digest::{Digest, DigestKey};
use crate::id::MessageId;
use crate::json::Json;
use crate::part::Body;
use crate::path::Sums;
use crate::time::{Time, TimeSource, Timestamp};
use crate::word_count::count_words;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// An author: a stable external id, and a display name that may change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// The id that the caller's system gives this person, bot or program.
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The life of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// Whole.
    #[default]
    Complete,
    /// Still being written; its text grows in chunks.
    Streaming,
    /// Ended early; partial content is kept.
    Incomplete,
    /// Could not be sent; not counted.
    Failed,
}

/// Initial visibility of a message. It can be hidden later by a fold or a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Visibility {
    /// Shown to the reader.
    pub by_reader: bool,
    /// Sent to the model.
    pub by_model: bool,
}

impl Default for Visibility {
    fn default() -> Self {
        Self { by_reader: true, by_model: true }
    }
}

impl Visibility {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl MessageStatus {
    pub(crate) fn is_complete(&self) -> bool {
        *self == Self::Complete
    }
}

/// The content of a message: everything except its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// `user`, `assistant`, `bot`, `tool`, `developer`, or a custom role; stored as given.
    pub role: String,
    /// The author, if known.
    pub author: Option<Author>,
    /// When.
    pub time: Time,
    /// Status of the message.
    pub status: MessageStatus,
    /// Visibility.
    pub seen: Visibility,
    /// The number of the turn it belongs to.
    pub turn: Option<u32>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Token count, if known.
    pub tokens: Option<u32>,
    /// The provider's usage record, as it was written.
    pub usage: Option<Json>,
    /// Custom metadata.
    pub metadata: Option<Json>,
    /// The message that it answers in a group, apart from the order of the path.
    pub reply_to: Option<MessageId>,
    /// Its parts.
    pub body: Body,
}

impl Content {
    /// Returns a complete message of a role at a time.
    pub fn new(role: impl Into<String>, time: Time, body: Body) -> Self {
        Self {
            role: role.into(),
            author: None,
            time,
            status: MessageStatus::Complete,
            seen: Visibility::default(),
            turn: None,
            model: None,
            tokens: None,
            usage: None,
            metadata: None,
            reply_to: None,
            body,
        }
    }

    /// Returns whether it counts as a message of its conversation.
    pub fn is_counted(&self) -> bool {
        self.seen.by_reader && self.status != MessageStatus::Failed
    }

    /// Returns what this message adds to the totals of its path. Words and tokens of a stream count when it ends.
    pub fn sums(&self) -> Sums {
        let visible = self.is_counted();
        let counted = visible && self.status != MessageStatus::Streaming;
        Sums {
            depth: 1,
            visible: i64::from(visible),
            words: if counted { i64::from(count_words(&self.body.words())) } else { 0 },
            tokens: if counted { i64::from(self.tokens.unwrap_or(0)) } else { 0 },
        }
    }

    /// Returns the keyed digest of the id and the content. It is stored, so a content without a later field must keep
    /// the digest that it had before that field existed.
    pub fn digest(&self, key: &DigestKey, id: MessageId) -> Digest {
        // No `..`: a new field does not compile until it is part of the digest.
        let Self { role, author, time, status, seen, turn, model, tokens, usage, metadata, reply_to, body } = self;
        let mut fixed = Vec::with_capacity(64);
        fixed.extend_from_slice(id.as_bytes());
        fixed.extend_from_slice(&time.at.0.to_le_bytes());
        fixed.push(match time.source {
            TimeSource::Exact => 0,
            TimeSource::Inherited => 1,
            TimeSource::File => 2,
            TimeSource::Unknown => 3,
        });
        fixed.push(*status as u8);
        fixed.push(u8::from(seen.by_reader) | u8::from(seen.by_model) << 1);
        fixed.extend_from_slice(&turn.map_or(-1, i64::from).to_le_bytes());
        fixed.extend_from_slice(&tokens.map_or(-1, i64::from).to_le_bytes());
        if let Some(reply_to) = reply_to {
            fixed.extend_from_slice(reply_to.as_bytes());
        }
        let author = author.as_ref();
        // One byte tells an absent field from an empty one.
        let present = [u8::from(author.is_some())
            | u8::from(model.is_some()) << 1
            | u8::from(usage.is_some()) << 2
            | u8::from(metadata.is_some()) << 3];
        key.digest(&[
            &fixed,
            &present,
            role.as_bytes(),
            author.map_or("", |author| &author.id).as_bytes(),
            author.map_or("", |author| &author.name).as_bytes(),
            model.as_deref().unwrap_or("").as_bytes(),
            usage.as_ref().map_or("", Json::text).as_bytes(),
            metadata.as_ref().map_or("", Json::text).as_bytes(),
            body.text().as_bytes(),
        ])
    }
}

/// A message to store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// Made by the caller; sending the same one again is a retry.
    pub id: MessageId,
    /// Its content.
    pub content: Content,
}

/// A message as the store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its address.
    pub address: Address,
    /// Its position in the journal.
    pub arrival: i64,
    /// Whether its content was erased; only its address remains.
    pub erased: bool,
    /// Its content.
    pub content: Content,
}

/// A message in JSON: flat, without its address, which the order of the response implies.
#[derive(Serialize, JsonSchema)]
struct Flat<'a> {
    /// Its id.
    id: MessageId,
    /// `user`, `assistant`, `tool`, or a custom role.
    role: &'a str,
    /// The author, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a Author>,
    /// When.
    time: Timestamp,
    /// Precision of the time, if not exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_source: Option<TimeSource>,
    /// Status of the message.
    status: MessageStatus,
    /// Visibility; everybody by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Visibility>,
    /// The number of the turn it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// Token count, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    /// The provider's usage record.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Json>,
    /// Custom metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Json>,
    /// The message that it replies to in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    /// Its parts.
    parts: &'a Body,
    /// Its position in the journal.
    position: i64,
    /// Its content was erased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    erased: bool,
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = &self.content;
        let flat = Flat {
            id: self.id,
            role: &content.role,
            author: content.author.as_ref(),
            time: content.time.at,
            time_source: Some(content.time.source).filter(|known| *known != TimeSource::Exact),
            status: content.status,
            seen: Some(content.seen).filter(|seen| !seen.is_default()),
            turn: content.turn,
            model: content.model.as_deref(),
            tokens: content.tokens,
            usage: content.usage.as_ref(),
            metadata: content.metadata.as_ref(),
            reply_to: content.reply_to,
            parts: &content.body,
            position: self.arrival,
            erased: self.erased,
        };
        flat.serialize(serializer)
    }
}

impl JsonSchema for Message {
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Flat::json_schema(generator)
    }
}
