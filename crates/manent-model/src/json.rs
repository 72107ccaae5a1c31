//! JSON values stored as their source text.
//!
//! Tool inputs, results and metadata of other programs must be returned as they were written: number format, key
//! order, repeated keys, absent versus null. So the text is validated once and never serialized again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Deeper values are refused: a reader that recurses must not be brought down by a file of brackets.
pub const DEPTH_MAX: usize = 128;

/// Why a text is not JSON that we keep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {at}")]
pub struct JsonProblem {
    /// Where in the text, counted in bytes from 0.
    pub at: usize,
    /// The reason.
    pub why: String,
}

/// One JSON value as the text it was written in.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks a text and keeps it.
    pub fn parse(text: &str) -> Result<Self, JsonProblem> {
        check_depth(text)?;
        let value: &RawValue = serde_json::from_str(text)
            .map_err(|error| JsonProblem { at: byte_of(text, &error), why: reason(&error) })?;
        Ok(Self(value.to_owned()))
    }

    /// Wraps a value that a JSON reader has already delimited.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, JsonProblem> {
        check_depth(raw.get())?;
        Ok(Self(raw))
    }

    /// Keeps a piece of a value that was checked.
    pub(crate) fn checked(text: &str) -> Self {
        Self(RawValue::from_string(text.to_owned()).expect("a piece of a value that was checked"))
    }

    /// Writes a value as JSON; for values of our own making.
    pub fn of<T: Serialize>(value: &T) -> Self {
        Self(serde_json::value::to_raw_value(value).expect("our own values have string keys and finite numbers"))
    }

    /// Returns the source text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads the value into a type.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }
}

fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

fn byte_of(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len())
}

fn check_depth(text: &str) -> Result<(), JsonProblem> {
    // Most values are strings, and these are the long ones.
    if text.starts_with('"') {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(JsonProblem { at, why: format!("nested deeper than {DEPTH_MAX}") });
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(raw).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Json {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON, kept as it was written." })
    }
}

/// Reads a member of a patch: absent leaves things as they are, `null` is the wish for none.
///
/// For `#[serde(default, deserialize_with = …)]`; serde alone reads `null` as absent.
pub(crate) fn wish<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_text_is_kept_to_the_letter() {
        let text = r#"{"b" : 1.50, "a":null,"a":1e400, "s":"\ud800"}"#;
        assert_eq!(Json::parse(text).expect("grammatical JSON").text(), text);
    }

    #[test]
    fn a_problem_says_what_and_where() {
        let problem = Json::parse("{\"a\":\n tru}").expect_err("not JSON");
        assert_eq!((problem.at, problem.why.as_str()), (10, "expected ident"));
    }

    #[test]
    fn a_million_brackets_are_refused_without_recursion() {
        let problem = Json::parse(&"[".repeat(1_000_000)).expect_err("too deep");
        assert_eq!(problem.at, DEPTH_MAX);
        assert!(Json::parse(&format!("[{}]", r#""[[[[""#)).is_ok());
    }
}
