//! JSON objects by member: parsed from source text, and built.

use manent_model::Json;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The members of an object in their order, each as its source text. A repeated key counts as its last, as in
/// `JSON.parse`.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; none if the text is something else.
    pub fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the source text of a member.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    /// Returns a member that is neither absent nor null.
    pub fn given(&self, name: &str) -> Option<&'a str> {
        self.raw(name).filter(|text| *text != "null")
    }

    /// Returns a member that is a text.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(decode(self.given(name)?)?.text)
    }

    /// Returns a member that is a whole number, however it is written.
    pub fn whole(&self, name: &str) -> Option<i64> {
        whole(self.given(name)?)
    }

    /// Returns a member that is an object.
    pub fn object(&self, name: &str) -> Option<Members<'a>> {
        Members::parse(self.given(name)?)
    }

    /// Returns a member that is an array, by its elements.
    pub fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.given(name)?).ok()
    }

    /// Returns a member as JSON that is kept as it was written.
    pub fn json(&self, name: &str) -> Option<Json> {
        Json::parse(self.given(name)?).ok()
    }
}

/// Reads a whole number that may be written as `10`, `10.0` or `1e1`.
pub fn whole(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        // Beyond 2^53 a number of JavaScript is no longer whole.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        /// A key, borrowed if it contains no escape.
        struct Key<'a>(Cow<'a, str>);
        impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = <&RawValue>::deserialize(deserializer)?.get();
                let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(raw);
                match inner.contains('\\') {
                    false => Ok(Self(Cow::Borrowed(inner))),
                    true => Ok(Self(Cow::Owned(decode(raw).map_or_else(String::new, |key| key.text)))),
                }
            }
        }
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A text that was read from JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// It contained half of a surrogate pair, which a string cannot represent; replaced by `\u{fffd}`.
    pub is_lossy: bool,
}

/// Reads a JSON string; none if it is none.
pub fn decode(raw: &str) -> Option<Decoded> {
    if let Ok(text) = serde_json::from_str(raw) {
        return Some(Decoded { text, is_lossy: false });
    }
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut whole = String::with_capacity(raw.len());
    let mut rest = inner;
    while let Some(place) = rest.find("\\u") {
        // An escaped backslash before the `u` is a backslash, not the beginning of a code.
        let is_escaped = rest[..place].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        if is_escaped {
            whole.push_str(&rest[..place + 2]);
            rest = &rest[place + 2..];
            continue;
        }
        whole.push_str(&rest[..place]);
        let code = unit(&rest[place..])?;
        let next = unit(rest.get(place + 6..)?);
        match (code, next) {
            (0xd800..=0xdbff, Some(0xdc00..=0xdfff)) => {
                whole.push_str(&rest[place..place + 12]);
                rest = &rest[place + 12..];
            }
            (0xd800..=0xdfff, _) => {
                whole.push('\u{fffd}');
                rest = &rest[place + 6..];
            }
            _ => {
                whole.push_str(&rest[place..place + 6]);
                rest = &rest[place + 6..];
            }
        }
    }
    whole.push_str(rest);
    let text = serde_json::from_str(&format!("\"{whole}\"")).ok()?;
    Some(Decoded { text, is_lossy: true })
}

/// Reads `\u1234` at the beginning of a text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// An object that is being made; its members are compact JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object(pub Vec<(String, String)>);

impl Object {
    /// Begins one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an object into one that can be compared with another, whatever their layouts; none if it is none.
    pub fn of(text: &str) -> Option<Self> {
        let compact = |value: &RawValue| crate::core::json::Style::COMPACT.format(value.get(), 0);
        let members = Members::parse(text)?;
        Some(Self(members.0.iter().map(|(key, value)| (key.clone().into_owned(), compact(value))).collect()))
    }

    /// Adds a value.
    pub fn with<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        let text = serde_json::to_string(value).expect("values of ours have string keys and finite numbers");
        self.0.push((name.to_owned(), text));
        self
    }

    /// Adds a value if there is one; an absent member is not the same as null.
    pub fn with_some<T: Serialize>(self, name: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(name, &value),
            None => self,
        }
    }

    /// Returns it as compact JSON.
    pub fn text(&self) -> String {
        let mut text = String::from("{");
        for (place, (name, value)) in self.0.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(name).expect("a text is JSON"));
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_their_order_and_the_last_of_a_name_counts() {
        let members = Members::parse(r#"{"b" : 1.50, "a":null,"\u0061":"x","n":1e2}"#).expect("an object");
        assert_eq!(members.0.iter().map(|(key, _)| key.as_ref()).collect::<Vec<_>>(), ["b", "a", "a", "n"]);
        assert_eq!(
            (members.raw("b"), members.text("a").as_deref(), members.whole("n")),
            (Some("1.50"), Some("x"), Some(100))
        );
        assert!(Members::parse("[1]").is_none());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_cost_the_text() {
        let check = |raw: &str, text: &str, is_lossy: bool| {
            assert_eq!(decode(raw), Some(Decoded { text: text.to_owned(), is_lossy }), "{raw}");
        };
        check(r#""a\ud83d\ude00b""#, "a😀b", false);
        check(r#""a\ud83db""#, "a\u{fffd}b", true);
        check(r#""\ude00\ud83d\ude00\ud83d""#, "\u{fffd}😀\u{fffd}", true);
        check(r#""\\ud83d \\\ud83d""#, "\\ud83d \\\u{fffd}", true);
        assert_eq!(decode("7"), None);
        assert_eq!(decode(r#""\ud8"#), None);
    }
}
