//! Extraction of the strings inside a JSON text.
//!
//! The text was validated when it was stored, so it is scanned without building a tree. A string that Rust cannot
//! represent (half of a surrogate pair) would make a parser fail; here it costs one character.

use manent_model::json_slice::{skip_space, string_end, value_end};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// A string and its role in the JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StringRole<'a> {
    /// The name of a member.
    Key(&'a str),
    /// A value, with its key, or an empty key inside an array.
    Value { key: &'a str, text: &'a str },
}

/// Keys whose values are for machines only.
const SECRET: [&str; 6] = [
    "signature",
    "thought_signature",
    "thoughtSignature",
    "encrypted_content",
    "encryptedContent",
    "encrypted_reasoning",
];

/// Shorter strings are looked at whatever they hold.
const BLOB_BYTES_MIN: usize = 1024;

/// Calls the visitor with every human-readable string, in order, until it breaks.
pub(crate) fn strings(json: &str, visit: &mut impl FnMut(StringRole<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let bytes = json.as_bytes();
    let mut key = Cow::Borrowed("");
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            // Whatever opens or follows in an array has no name.
            if matches!(bytes[at], b'[' | b',') {
                key = Cow::Borrowed("");
            }
            at += 1;
            continue;
        }
        let end = string_end(bytes, at);
        let text = unescaped(json.get(at + 1..end - 1).unwrap_or_default());
        at = end;
        let next = skip_space(bytes, end);
        if bytes.get(next) != Some(&b':') {
            if !is_blob(&text) {
                visit(StringRole::Value { key: &key, text: &text })?;
            }
            continue;
        }
        at = next + 1;
        if SECRET.contains(&&*text) {
            at = value_end(bytes, at);
        } else {
            visit(StringRole::Key(&text))?;
            key = text;
        }
    }
    ControlFlow::Continue(())
}

/// Returns whether a string is base64 data, alone or in a `data:` URL.
fn is_blob(text: &str) -> bool {
    if text.len() <= BLOB_BYTES_MIN {
        return false;
    }
    let body = match text.strip_prefix("data:") {
        Some(address) => address.split_once(',').map_or(address, |(_, body)| body),
        None => text,
    };
    body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-\r\n".contains(&byte))
}

fn unescaped(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else { return Cow::Borrowed(raw) };
    let mut text = String::with_capacity(raw.len());
    text.push_str(&raw[..first]);
    let mut rest = raw[first..].chars();
    let mut high: Option<u32> = None;
    while let Some(character) = rest.next() {
        let escaped = match character {
            '\\' => rest.next().unwrap_or(char::REPLACEMENT_CHARACTER),
            _ => {
                high = None;
                text.push(character);
                continue;
            }
        };
        let plain = match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{C}',
            'u' => {
                let code = rest.by_ref().take(4).fold(0u32, |code, digit| code << 4 | digit.to_digit(16).unwrap_or(0));
                match (high.take(), code) {
                    (Some(high), 0xDC00..=0xDFFF) => {
                        text.pop();
                        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)).unwrap_or(LOST)
                    }
                    (_, 0xD800..=0xDBFF) => {
                        high = Some(code);
                        text.push(LOST);
                        continue;
                    }
                    _ => char::from_u32(code).unwrap_or(LOST),
                }
            }
            other => other,
        };
        high = None;
        text.push(plain);
    }
    Cow::Owned(text)
}

/// Stands for half of a surrogate pair.
const LOST: char = char::REPLACEMENT_CHARACTER;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        let mut shown = Vec::new();
        let _ = strings(json, &mut |said| {
            shown.push(match said {
                StringRole::Key(key) => format!("{key}:"),
                StringRole::Value { key, text } => format!("{key}={text}"),
            });
            ControlFlow::Continue(())
        });
        shown.join(" ")
    }

    #[test]
    fn strings_are_read_as_they_lie() {
        for (json, expected) in [
            (r#""plain""#, "=plain"),
            (r#"{"a" : "b", "c":{"d":["e",1,"f"]}}"#, "a: a=b c: d: =e =f"),
            (r#""a\"b\\c\/d\u00e9\ud83d\ude00\ud800x""#, "=a\"b\\c/dé😀\u{FFFD}x"),
            (r#"{"signature":{"x":"y"},"a":"b","encrypted_content" : "zz"}"#, "a: a=b"),
            (r#"[{"signature":1},"x"]"#, "=x"),
            (r#"{"a":[1,2],"b":null}"#, "a: b:"),
            ("12", ""),
        ] {
            assert_eq!(shown(json), expected, "{json}");
        }
    }

    #[test]
    fn bytes_in_base64_are_no_words() {
        let bytes = "QUJD".repeat(300);
        for (json, seen) in [
            (format!(r#"{{"data":"{bytes}"}}"#), false),
            (format!(r#"{{"url":"data:image/png;base64,{bytes}"}}"#), false),
            (format!(r#"{{"text":"{bytes} and words"}}"#), true),
            (format!(r#"{{"text":"{}"}}"#, &bytes[..1024]), true),
        ] {
            assert_eq!(shown(&json).contains("QUJD"), seen, "{}", &json[..40]);
        }
    }
}
