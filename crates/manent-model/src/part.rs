//! Parts: what a message is made of.

use crate::json::{Json, JsonProblem};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Members of a part that this version does not name, in their order, as their source text.
pub type Extra = Vec<(String, Json)>;

/// One piece of a message.
///
/// A part whose type is not known here, or whose members do not fit its type, is `Opaque` and kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words for the reader.
    Text {
        /// The words.
        text: String,
        /// What else stood in the part.
        extra: Extra,
    },
    /// What the model thought before it answered.
    Reasoning {
        /// The thoughts.
        text: String,
        /// What else stood in the part, a provider's signature for one.
        extra: Extra,
    },
    /// A model asks for a tool.
    ToolCall {
        /// The provider's id; it may repeat in a conversation.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as they were written.
        input: Json,
        /// What else stood in the part.
        extra: Extra,
    },
    /// What a tool answered.
    ToolResult {
        /// The id of the call that is answered.
        call: String,
        /// The answer as it was written.
        content: Json,
        /// What else stood in the part.
        extra: Extra,
    },
    /// A picture, sound, film or file.
    Media {
        /// Its media type, such as `image/png`.
        mime: String,
        /// The SHA-256 of the blob that holds it, if we hold it.
        blob: Option<String>,
        /// What else stood in the part: a URL, a name, a provider's file id.
        extra: Extra,
    },
    /// Where something in the message comes from.
    Source {
        /// A title for people.
        title: String,
        /// What else stood in the part: a URL, a quotation, a score.
        extra: Extra,
    },
    /// A summary that stands for earlier messages.
    Summary {
        /// The summary.
        text: String,
        /// What else stood in the part.
        extra: Extra,
    },
    /// What went wrong, for the reader.
    Error {
        /// What went wrong.
        text: String,
        /// What else stood in the part.
        extra: Extra,
    },
    /// A part that only its own program understands.
    Opaque(Json),
}

impl Part {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Extra::new() }
    }

    /// Returns the words that a reader sees in this part, if it has any.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } | Self::Summary { text, .. } | Self::Error { text, .. } => Some(text),
            _ => None,
        }
    }

    fn from_members(members: Vec<(String, Json)>) -> Option<Self> {
        let mut members = Members(members);
        let kind = members.string("type")?;
        let part = match kind.as_str() {
            "text" => Self::Text { text: members.string("text")?, extra: members.rest(&["text"])? },
            "reasoning" => Self::Reasoning { text: members.string("text")?, extra: members.rest(&["text"])? },
            "tool_call" => Self::ToolCall {
                id: members.string("id")?,
                name: members.string("name")?,
                input: members.take("input")?,
                extra: members.rest(&["id", "name", "input"])?,
            },
            "tool_result" => Self::ToolResult {
                call: members.string("call")?,
                content: members.take("content")?,
                extra: members.rest(&["call", "content"])?,
            },
            "media" => Self::Media {
                mime: members.string("mime")?,
                blob: match members.has("blob") {
                    true => Some(members.string("blob")?),
                    false => None,
                },
                extra: members.rest(&["mime", "blob"])?,
            },
            "source" => Self::Source { title: members.string("title")?, extra: members.rest(&["title"])? },
            "summary" => Self::Summary { text: members.string("text")?, extra: members.rest(&["text"])? },
            "error" => Self::Error { text: members.string("text")?, extra: members.rest(&["text"])? },
            _ => return None,
        };
        Some(part)
    }
}

struct Members(Vec<(String, Json)>);

impl Members {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(place).1)
    }

    fn string(&mut self, name: &str) -> Option<String> {
        self.take(name)?.read().ok()
    }

    /// Returns the members that the type does not name. A repeated key has no second home in a typed part; the whole
    /// part is then kept as it is.
    fn rest(&mut self, named: &[&str]) -> Option<Extra> {
        let rest = std::mem::take(&mut self.0);
        let repeated = rest.iter().enumerate().any(|(place, (key, _))| {
            key == "type" || named.contains(&key.as_str()) || rest[..place].iter().any(|(other, _)| other == key)
        });
        (!repeated).then_some(rest)
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::Opaque(json) => return json.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        let extra = match self {
            Self::Text { text, extra } => text_members(&mut map, "text", text).map(|()| extra),
            Self::Reasoning { text, extra } => text_members(&mut map, "reasoning", text).map(|()| extra),
            Self::Summary { text, extra } => text_members(&mut map, "summary", text).map(|()| extra),
            Self::Error { text, extra } => text_members(&mut map, "error", text).map(|()| extra),
            Self::Source { title, extra } => {
                map.serialize_entry("type", "source")?;
                map.serialize_entry("title", title).map(|()| extra)
            }
            Self::ToolCall { id, name, input, extra } => {
                map.serialize_entry("type", "tool_call")?;
                map.serialize_entry("id", id)?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("input", input).map(|()| extra)
            }
            Self::ToolResult { call, content, extra } => {
                map.serialize_entry("type", "tool_result")?;
                map.serialize_entry("call", call)?;
                map.serialize_entry("content", content).map(|()| extra)
            }
            Self::Media { mime, blob, extra } => {
                map.serialize_entry("type", "media")?;
                map.serialize_entry("mime", mime)?;
                match blob {
                    Some(blob) => map.serialize_entry("blob", blob).map(|()| extra),
                    None => Ok(extra),
                }
            }
            Self::Opaque(_) => unreachable!("returned above"),
        }?;
        for (name, value) in extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn text_members<M: SerializeMap>(map: &mut M, kind: &str, text: &str) -> Result<(), M::Error> {
    map.serialize_entry("type", kind)?;
    map.serialize_entry("text", text)
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let members: Option<OrderedMembers> = json.read().ok();
        Ok(members.and_then(|members| Self::from_members(members.0)).unwrap_or(Self::Opaque(json)))
    }
}

struct OrderedMembers(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for OrderedMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = OrderedMembers;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(OrderedMembers(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The parts of a message as the JSON text that the store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(Box<str>);

impl Body {
    /// Writes parts as text.
    pub fn of(parts: &[Part]) -> Self {
        Self(serde_json::to_string(parts).expect("parts have string keys and finite numbers").into())
    }

    /// Checks that a text is an array of parts and keeps it as it is.
    pub fn parse(text: &str) -> Result<Self, JsonProblem> {
        let json = Json::parse(text)?;
        match json.read::<Vec<Part>>() {
            Ok(_) => Ok(Self(json.text().into())),
            Err(_) => Err(JsonProblem { at: 0, why: "a body is an array of parts".to_owned() }),
        }
    }

    /// Wraps a text that `of` or `parse` made before; the store knows this by the digest beside it.
    pub fn trusted(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text that the store keeps.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Reads the parts.
    pub fn parts(&self) -> Vec<Part> {
        serde_json::from_str(&self.0).expect("the text was checked when the body was made")
    }

    /// Returns the words that a reader sees, one paragraph per part.
    pub fn words(&self) -> String {
        let parts = self.parts();
        parts.iter().filter_map(Part::words).collect::<Vec<_>>().join("\n\n")
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::parse(json.text()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Body {
    fn schema_name() -> Cow<'static, str> {
        "Parts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<Part>() })
    }
}

impl JsonSchema for Part {
    fn schema_name() -> Cow<'static, str> {
        "Part".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One piece of a message. A type that is not known here, and members that a type does not name, \
                            are kept as they were written. Known: text, reasoning, summary and error with `text`; \
                            tool_call with `id`, `name`, `input`; tool_result with `call`, `content`; media with `mime` \
                            and perhaps `blob`; source with `title`.",
            "type": "object",
            "properties": { "type": { "type": "string" }, "text": {} },
            "additionalProperties": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_same(text: &str) {
        let body = Body::parse(text).expect("an array of parts");
        assert_eq!(serde_json::to_string(&body.parts()).expect("parts are JSON"), text);
    }

    #[test]
    fn every_kind_of_part_comes_back_as_it_was_written() {
        check_same(
            r#"[{"type":"text","text":"你好","meta":{"a": 1.0}},{"type":"reasoning","text":"hm","signature":"x"},{"type":"tool_call","id":"c1","name":"fs","input":{"path" : "a\/b","n":1.50}},{"type":"tool_result","call":"c1","content":[1, 2],"error":true},{"type":"media","mime":"image/png","blob":"ab","name":"x.png"},{"type":"media","mime":"image/png","url":"u"},{"type":"source","title":"t"},{"type":"summary","text":"s"},{"type":"error","text":"e"}]"#,
        );
    }

    #[test]
    fn what_is_not_known_is_kept_byte_for_byte() {
        check_same(r#"[{"type":"hologram", "depth" : 3.00},"bare text",null,7e-1,{"no":"type"}]"#);
        check_same(r#"[{"type":"text","text":1},{"type":"text","text":"a","text":"b"},{"type":"tool_call","id":"x"}]"#);
        check_same(r#"[{"type":"text","text":"a","meta":1,"meta":2}]"#);
    }

    #[test]
    fn a_name_that_only_another_type_uses_is_extra() {
        let body = Body::parse(r#"[{"type":"media","mime":"image/png","name":"x.png","id":"f1"}]"#).expect("a body");
        let [Part::Media { extra, .. }] = &body.parts()[..] else { panic!("not a media part") };
        assert_eq!(extra.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["name", "id"]);
    }

    #[test]
    fn a_body_is_an_array() {
        assert!(Body::parse(r#"{"type":"text"}"#).is_err());
        assert!(Body::parse("[").is_err());
    }
}
