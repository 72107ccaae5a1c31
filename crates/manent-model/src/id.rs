//! ULIDs with type prefixes: 128-bit ids, ordered by creation time.
//!
//! As text they have a prefix and 26 base-32 characters (`conv_01K7H1RY3BNE1D3YX3C01SM0R1`), so that an id in a log
//! shows its type. Generating one needs a clock and randomness, which this crate does not have: the caller supplies
//! both.

use crate::base32::{ALPHABET, digit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdProblem {
    /// The text does not begin with the prefix of the kind that was asked for.
    #[error("an id of this kind begins with {expected:?}")]
    Prefix {
        /// The prefix that was expected, with its underscore.
        expected: &'static str,
    },
    /// The part after the prefix is not 26 base-32 characters that fit 128 bits.
    #[error("an id has 26 base-32 characters after its prefix")]
    Characters,
}

fn encode(bytes: &[u8; 16]) -> [u8; 26] {
    let value = u128::from_be_bytes(*bytes);
    let mut text = [0u8; 26];
    for (place, character) in text.iter_mut().enumerate() {
        *character = ALPHABET[((value >> (125 - 5 * place)) & 31) as usize];
    }
    text
}

fn decode(text: &str) -> Option<[u8; 16]> {
    match text.len() {
        26 => digits(text).map(u128::to_be_bytes),
        _ => None,
    }
}

/// Returns the first and last 16-byte values whose text begins with these characters.
fn span(text: &str) -> Option<([u8; 16], [u8; 16])> {
    let missing = 26usize.checked_sub(text.len()).filter(|missing| *missing < 26)?;
    let first = digits(text)? << (5 * missing);
    let last = first | ((1 << (5 * missing)) - 1);
    Some((first.to_be_bytes(), last.to_be_bytes()))
}

fn digits(text: &str) -> Option<u128> {
    let mut value: u128 = 0;
    for (place, character) in text.bytes().enumerate() {
        let digit = u128::from(digit(character)?);
        // 26 characters hold 130 bits: the first may only use three of its five.
        if place == 0 && digit > 7 {
            return None;
        }
        value = value << 5 | digit;
    }
    Some(value)
}

/// Builds the 16 bytes of an id from its time and ten bytes of chance.
pub fn compose(milliseconds: u64, chance: [u8; 10]) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&chance);
    bytes
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// The prefix that this kind of id wears outside.
            pub const PREFIX: &'static str = $prefix;

            /// Wraps the 16 bytes that the store keeps.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// Makes an id from a time and ten bytes of chance.
            pub fn new(milliseconds: u64, chance: [u8; 10]) -> Self {
                Self(compose(milliseconds, chance))
            }

            /// Returns the range of ids whose text begins with this prefix, with or without the type prefix, in either
            /// case.
            pub fn span(text: &str) -> Result<RangeInclusive<Self>, IdProblem> {
                let (first, last) = span(Self::characters(text)).ok_or(IdProblem::Characters)?;
                Ok(Self(first)..=Self(last))
            }

            /// Returns the text without the type prefix of this kind of id.
            pub fn characters(text: &str) -> &str {
                match text.split_at_checked($prefix.len()) {
                    Some((prefix, rest)) if prefix.eq_ignore_ascii_case($prefix) => rest,
                    _ => text,
                }
            }

            /// Returns the 16 bytes that the store keeps.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str($prefix)?;
                formatter.write_str(std::str::from_utf8(&encode(&self.0)).expect("the alphabet is ASCII"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        }

        impl FromStr for $name {
            type Err = IdProblem;

            fn from_str(text: &str) -> Result<Self, IdProblem> {
                let rest = text.strip_prefix($prefix).ok_or(IdProblem::Prefix { expected: $prefix })?;
                decode(rest).map(Self).ok_or(IdProblem::Characters)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let pattern = concat!("^", $prefix, "[0-7][0-9A-TV-Za-tv-z]{25}$");
                json_schema!({ "type": "string", "pattern": pattern })
            }
        }
    )*};
}

ids! {
    /// Names a conversation.
    ConversationId = "conv_";
    /// Names a branch of a conversation.
    BranchId = "br_";
    /// Names a message.
    MessageId = "msg_";
    /// Names a project.
    ProjectId = "proj_";
    /// Names a fold.
    FoldId = "fold_";
    /// Names a note on a message.
    NoteId = "note_";
    /// Names one request to a model.
    CallId = "call_";
    /// Names a memory.
    MemoryId = "mem_";
    /// Names a waiting input of a run.
    InputId = "in_";
    /// Names an imported file.
    SourceId = "src_";
    /// Names a tenant.
    TenantId = "ten_";
    /// Names a key.
    KeyId = "key_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_written_down() {
        let id = MessageId::new(1_733_423_456_789, [7; 10]);
        let text = id.to_string();
        assert_eq!(text, "msg_01JEC1DRGN0W3GE1R70W3GE1R7");
        assert_eq!(text.parse::<MessageId>(), Ok(id));
        assert_eq!(text.to_lowercase().parse::<MessageId>(), Ok(id));
    }

    #[test]
    fn ids_sort_by_their_time_as_bytes_and_as_text() {
        let early = ConversationId::new(1, [255; 10]);
        let late = ConversationId::new(2, [0; 10]);
        assert!(early < late && early.to_string() < late.to_string());
    }

    #[test]
    fn the_beginning_of_a_text_names_all_ids_that_begin_with_it() {
        let id = MessageId::new(1_733_423_456_789, [7; 10]);
        let text = id.to_string();
        for length in 5..=text.len() {
            let begun = &text[..length];
            for written in [begun, &begun[4..], &begun.to_lowercase(), &begun.to_uppercase()] {
                let span = MessageId::span(written).expect("the beginning of an id");
                assert!(span.contains(&id), "{written}");
                for end in [span.start(), span.end()] {
                    assert!(end.to_string().starts_with(begun), "{written}: {end}");
                }
                let before = u128::from_be_bytes(*span.start().as_bytes()).wrapping_sub(1);
                let behind = u128::from_be_bytes(*span.end().as_bytes()).wrapping_add(1);
                for out in [before, behind] {
                    assert!(!MessageId::from_bytes(out.to_be_bytes()).to_string().starts_with(begun), "{written}");
                }
            }
        }
        assert_eq!(MessageId::span(&text), Ok(id..=id));
    }

    #[test]
    fn the_beginning_of_something_else_names_nothing() {
        for text in ["", "msg_", "conv_01K7", "msg_8", "01K7!", "msg_01JEC1DRGN0W3GE1R70W3GE1R70", "天"] {
            assert_eq!(MessageId::span(text), Err(IdProblem::Characters), "{text}");
        }
        assert_eq!(
            MessageId::span("7").map(|span| span.end().to_string()),
            Ok("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ".into())
        );
    }

    #[test]
    fn another_kind_and_rubbish_are_refused() {
        let text = ConversationId::new(1, [0; 10]).to_string();
        assert_eq!(text.parse::<MessageId>(), Err(IdProblem::Prefix { expected: "msg_" }));
        assert_eq!("conv_".parse::<ConversationId>(), Err(IdProblem::Characters));
        assert_eq!("conv_8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<ConversationId>(), Err(IdProblem::Characters));
        assert_eq!("conv_01K7H1RY3BNE1D3YX3C01SM0U!".parse::<ConversationId>(), Err(IdProblem::Characters));
    }
}
