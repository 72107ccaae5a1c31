//! Parts: what a message is made of.

use crate::json::{Json, JsonProblem};
use crate::json_slice;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

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
        /// Other fields of the part.
        extra: Extra,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call that is answered.
        call: String,
        /// The answer as it was written.
        content: Json,
        /// Other fields of the part.
        extra: Extra,
    },
    /// A picture, sound, film or file.
    Media {
        /// Its media type, such as `image/png`.
        mime: String,
        /// The SHA-256 of the blob that holds it, if we hold it.
        blob: Option<String>,
        /// Other fields of the part: a URL, a name, a provider's file id.
        extra: Extra,
    },
    /// A source that the message cites.
    Source {
        /// A title for people.
        title: String,
        /// Other fields of the part: a URL, a quotation, a score.
        extra: Extra,
    },
    /// A summary in place of earlier messages.
    Summary {
        /// The summary.
        text: String,
        /// Other fields of the part.
        extra: Extra,
    },
    /// An error, for the reader.
    Error {
        /// The error message.
        text: String,
        /// Other fields of the part.
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

    /// Returns the text that a reader sees in this part, if it has any.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } | Self::Summary { text, .. } | Self::Error { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A [`Part`] borrowed from a body, with the same fields: only strings with escapes are copied.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum PartRef<'a> {
    Text { text: Cow<'a, str>, extra: Members<'a> },
    Reasoning { text: Cow<'a, str>, extra: Members<'a> },
    ToolCall { id: Cow<'a, str>, name: Cow<'a, str>, input: &'a str, extra: Members<'a> },
    ToolResult { call: Cow<'a, str>, content: &'a str, extra: Members<'a> },
    Media { mime: Cow<'a, str>, blob: Option<Cow<'a, str>>, extra: Members<'a> },
    Source { title: Cow<'a, str>, extra: Members<'a> },
    Summary { text: Cow<'a, str>, extra: Members<'a> },
    Error { text: Cow<'a, str>, extra: Members<'a> },
    Opaque(&'a str),
}

impl<'a> PartRef<'a> {
    /// Reads a part; one that does not fit its type is opaque.
    fn of(part: &'a str) -> Self {
        let members = json_slice::members(part).map(Members);
        members.and_then(Self::from_members).unwrap_or(Self::Opaque(part))
    }

    fn from_members(mut members: Members<'a>) -> Option<Self> {
        let kind = members.string("type")?;
        let part = match &*kind {
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

    /// Returns the text that a reader sees in this part, if it has any.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } | Self::Summary { text, .. } | Self::Error { text, .. } => Some(text),
            _ => None,
        }
    }

    fn into_part(self) -> Part {
        match self {
            Self::Text { text, extra } => Part::Text { text: text.into(), extra: extra.owned() },
            Self::Reasoning { text, extra } => Part::Reasoning { text: text.into(), extra: extra.owned() },
            Self::ToolCall { id, name, input, extra } => {
                Part::ToolCall { id: id.into(), name: name.into(), input: Json::checked(input), extra: extra.owned() }
            }
            Self::ToolResult { call, content, extra } => {
                Part::ToolResult { call: call.into(), content: Json::checked(content), extra: extra.owned() }
            }
            Self::Media { mime, blob, extra } => {
                Part::Media { mime: mime.into(), blob: blob.map(Cow::into_owned), extra: extra.owned() }
            }
            Self::Source { title, extra } => Part::Source { title: title.into(), extra: extra.owned() },
            Self::Summary { text, extra } => Part::Summary { text: text.into(), extra: extra.owned() },
            Self::Error { text, extra } => Part::Error { text: text.into(), extra: extra.owned() },
            Self::Opaque(raw) => Part::Opaque(Json::checked(raw)),
        }
    }
}

/// The members of an object, in their order.
#[derive(Debug)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Returns the first member of one of these names that is a string.
    pub fn first_string(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        let (_, value) = self.0.iter().find(|(key, _)| names.contains(&&**key))?;
        json_slice::string(value)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        let place = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(place).1)
    }

    fn string(&mut self, name: &str) -> Option<Cow<'a, str>> {
        json_slice::string(self.take(name)?)
    }

    /// Returns the fields that the type does not name. A typed part has no field for a repeated key; such a part is
    /// kept verbatim.
    fn rest(self, named: &[&str]) -> Option<Self> {
        let repeated = self.0.iter().enumerate().any(|(place, (key, _))| {
            key == "type" || named.contains(&&**key) || self.0[..place].iter().any(|(other, _)| other == key)
        });
        (!repeated).then_some(self)
    }

    fn owned(self) -> Extra {
        self.0.into_iter().map(|(key, value)| (key.into_owned(), Json::checked(value))).collect()
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
        Ok(PartRef::of(json.text()).into_part())
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

    /// Returns the body with text appended: to its last part if that is text, else as a new part.
    pub fn with_text(self, more: &str) -> Self {
        if more.is_empty() {
            return self;
        }
        let mut parts = self.parts();
        match parts.last_mut() {
            Some(Part::Text { text, .. }) => text.push_str(more),
            _ => parts.push(Part::text(more)),
        }
        Self::of(&parts)
    }

    /// Returns the text that the store keeps.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Reads the parts.
    pub fn parts(&self) -> Vec<Part> {
        self.borrowed().map(PartRef::into_part).collect()
    }

    /// Iterates over the parts without copying.
    pub fn borrowed(&self) -> impl Iterator<Item = PartRef<'_>> {
        json_slice::elements(&self.0).map(PartRef::of)
    }

    /// Returns whether it is empty: no part, or only text parts of white space.
    pub fn is_blank(&self) -> bool {
        self.borrowed()
            .all(|part| matches!(part, PartRef::Text { text, extra } if text.trim().is_empty() && extra.0.is_empty()))
    }

    /// Returns whether it may contain tool calls or results. Most messages have none, and this scan is cheaper than
    /// parsing.
    pub fn may_have_tools(&self) -> bool {
        self.text().contains("\"tool_")
    }

    /// Returns the text that a reader sees, one paragraph per part.
    pub fn words(&self) -> String {
        let mut all = String::new();
        let mut is_first = true;
        for part in self.borrowed() {
            let Some(words) = part.words() else { continue };
            if !std::mem::replace(&mut is_first, false) {
                all.push_str("\n\n");
            }
            all.push_str(words);
        }
        all
    }

    /// Returns the beginning of the text that a reader sees, with collapsed white space: at most this many characters,
    /// with an ellipsis if there are more.
    pub fn first_words(&self, characters: usize) -> String {
        let mut text = String::new();
        let mut left = characters;
        for part in self.borrowed() {
            for word in part.words().unwrap_or_default().split_whitespace() {
                // A long word is counted only up to the limit.
                let length = word.chars().take(left + 1).count() + usize::from(!text.is_empty());
                if !text.is_empty() {
                    text.push(' ');
                }
                if length > left {
                    text.extend(word.chars().take(left));
                    text.push('…');
                    return text;
                }
                text.push_str(word);
                left -= length;
            }
        }
        text
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
                            and perhaps `blob`; source with `title`. A JSON value that is not an object is kept too.",
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
    fn the_first_words_of_all_parts_fit_into_the_room() {
        let parts =
            r#"[{"type":"text","text":" one\n two "},{"type":"media","mime":"a/b"},{"type":"error","text":"三四五"}]"#;
        let body = Body::parse(parts).expect("a body");
        assert_eq!(body.words(), " one\n two \n\n三四五");
        for (room, words) in
            [(20, "one two 三四五"), (11, "one two 三四五"), (10, "one two 三四五…"), (9, "one two 三四…")]
        {
            assert_eq!(body.first_words(room), words, "{room}");
        }
    }

    #[test]
    fn a_body_is_an_array() {
        assert!(Body::parse(r#"{"type":"text"}"#).is_err());
        assert!(Body::parse("[").is_err());
    }
}
