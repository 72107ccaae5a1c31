//! [`Content`] in JSON: flat, like a message. Its time is a string, with `time_source` in a separate field.

use crate::MessageId;
use crate::json::Json;
use crate::message::{Author, Content, MessageStatus, Visibility};
use crate::part::Body;
use crate::time::{Time, TimeSource, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// The content of a message: everything except its address.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Flat<'a> {
    /// `user`, `assistant`, `bot`, `tool`, `developer`, or a custom role; stored as given.
    role: Cow<'a, str>,
    /// The author, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author: Option<Cow<'a, Author>>,
    /// When.
    #[serde(serialize_with = "timestamp_only", deserialize_with = "either_form")]
    #[schemars(with = "Timestamp")]
    time: Time,
    /// Precision of the time, if not exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_source: Option<TimeSource>,
    /// Status of the message.
    #[serde(default, skip_serializing_if = "MessageStatus::is_complete")]
    status: MessageStatus,
    /// Visibility.
    #[serde(default, skip_serializing_if = "Visibility::is_default")]
    seen: Visibility,
    /// The number of the turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'a, str>>,
    /// Token count, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    /// The provider's usage record, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Cow<'a, Json>>,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Cow<'a, Json>>,
    /// The message that it answers in a group, apart from the order of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    /// Its parts.
    body: Cow<'a, Body>,
}

fn timestamp_only<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    time.at.serialize(serializer)
}

/// Reads a moment, or the object with both members that older files have.
fn either_form<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Moment(Timestamp),
        Object(Time),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Moment(at) => Time { at, source: TimeSource::Exact },
        Form::Object(time) => time,
    })
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flat = Flat {
            role: Cow::Borrowed(&self.role),
            author: self.author.as_ref().map(Cow::Borrowed),
            time: self.time,
            time_source: Some(self.time.source).filter(|known| *known != TimeSource::Exact),
            status: self.status,
            seen: self.seen,
            turn: self.turn,
            model: self.model.as_deref().map(Cow::Borrowed),
            tokens: self.tokens,
            usage: self.usage.as_ref().map(Cow::Borrowed),
            metadata: self.metadata.as_ref().map(Cow::Borrowed),
            reply_to: self.reply_to,
            body: Cow::Borrowed(&self.body),
        };
        flat.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::deserialize(deserializer)?;
        Ok(Self {
            role: flat.role.into_owned(),
            author: flat.author.map(Cow::into_owned),
            time: Time { at: flat.time.at, source: flat.time_source.unwrap_or(flat.time.source) },
            status: flat.status,
            seen: flat.seen,
            turn: flat.turn,
            model: flat.model.map(Cow::into_owned),
            tokens: flat.tokens,
            usage: flat.usage.map(Cow::into_owned),
            metadata: flat.metadata.map(Cow::into_owned),
            reply_to: flat.reply_to,
            body: flat.body.into_owned(),
        })
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Flat::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_time_is_written_flat_and_read_in_both_forms() {
        let flat = r#"{"role":"user","time":"1970-01-01T00:00:01Z","time_source":"file","body":[]}"#;
        let content: Content = serde_json::from_str(flat).expect("the form that is written");
        assert_eq!(serde_json::to_string(&content).expect("JSON"), flat);
        let nested = r#"{"role":"user","time":{"at":"1970-01-01T00:00:01Z","known":"file"},"body":[]}"#;
        assert_eq!(serde_json::from_str::<Content>(nested).expect("the older form"), content);
        let number = r#"{"role":"user","time":1000000,"time_source":"file","body":[]}"#;
        assert_eq!(serde_json::from_str::<Content>(number).expect("microseconds"), content);
        serde_json::from_str::<Content>(r#"{"role":"user","time":1,"known":"file","body":[]}"#)
            .expect_err("no such member");
    }
}
