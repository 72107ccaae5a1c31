//! JSON layout of a program (indentation, spaces), so that new text is formatted like the old.

use serde::{Deserialize, Serialize};

/// Indentation and line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Style {
    /// Spaces for each level; none for JSON on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indent: Option<u8>,
    /// Lines end as on Windows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crlf: bool,
}

impl Style {
    /// `JSON.stringify(value, null, 2)`.
    pub const PRETTY: Self = Self { indent: Some(2), crlf: false };
    /// `JSON.stringify(value)`.
    pub const COMPACT: Self = Self { indent: None, crlf: false };

    /// Detects the style from the beginning of a text: the white space before its first member or element.
    pub fn of(text: &str) -> Self {
        let inner = text.trim_start_matches('\u{feff}').trim_start();
        let after = inner.strip_prefix(['{', '[']).unwrap_or_default();
        let space = &after[..after.len() - after.trim_start().len()];
        match space.rsplit_once('\n') {
            Some((before, spaces)) => {
                Self { indent: Some(u8::try_from(spaces.len()).unwrap_or(2)), crlf: before.ends_with('\r') }
            }
            None => Self::COMPACT,
        }
    }

    /// The end of a line and the indentation of a level; nothing on one line.
    pub fn line(self, level: usize) -> String {
        match self.indent {
            Some(indent) => format!("{}{}", if self.crlf { "\r\n" } else { "\n" }, " ".repeat(indent as usize * level)),
            None => String::new(),
        }
    }

    /// The separator between a name and its value.
    pub fn colon(self) -> &'static str {
        match self.indent {
            Some(_) => ": ",
            None => ":",
        }
    }

    /// Lays JSON out anew at a level; what is inside strings and numbers stays as it is.
    pub fn format(self, json: &str, level: usize) -> String {
        let mut out = String::with_capacity(json.len() * 2);
        let mut depth = level;
        let mut bytes = json.char_indices().peekable();
        while let Some((from, letter)) = bytes.next() {
            match letter {
                '"' => {
                    let mut escaped = false;
                    let mut to = json.len();
                    for (place, letter) in bytes.by_ref() {
                        match letter {
                            _ if escaped => escaped = false,
                            '\\' => escaped = true,
                            '"' => {
                                to = place + 1;
                                break;
                            }
                            _ => {}
                        }
                    }
                    out.push_str(&json[from..to]);
                }
                '{' | '[' => {
                    while bytes.next_if(|(_, letter)| letter.is_ascii_whitespace()).is_some() {}
                    out.push(letter);
                    match bytes.next_if(|(_, letter)| matches!(letter, '}' | ']')) {
                        Some((_, closing)) => out.push(closing),
                        None => {
                            depth += 1;
                            out.push_str(&self.line(depth));
                        }
                    }
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    out.push_str(&self.line(depth));
                    out.push(letter);
                }
                ',' => {
                    out.push(',');
                    out.push_str(&self.line(depth));
                }
                ':' => out.push_str(self.colon()),
                letter if letter.is_ascii_whitespace() => {}
                letter => out.push(letter),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_laid_out_as_javascript_does() {
        let json = r#"{"a":[],"b":{ },"c":[1,{"d":"x: , {"}],"e":"\\\""}"#;
        let pretty = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"x: , {\"\n    }\n  ],\n  \"e\": \"\\\\\\\"\"\n}";
        assert_eq!(Style::PRETTY.format(json, 0), pretty);
        assert_eq!(Style::COMPACT.format(pretty, 0), json.replace("{ }", "{}"));
        assert_eq!(Style::of(pretty), Style::PRETTY);
        assert_eq!(Style::of(json), Style::COMPACT);
        assert_eq!(Style::of("\u{feff}[\r\n    1]"), Style { indent: Some(4), crlf: true });
    }
}
