//! Passages: the searchable texts of a message or a conversation.

use super::strings::{StringRole, strings};
use manent_model::conversation::Conversation;
use manent_model::message::Content;
use manent_model::part::PartRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// The text of a tool's answer is looked at up to here; logs and listings go on for megabytes.
pub const TOOL_RESULT_BYTES_MAX: usize = 64 * 1024;

/// The field that a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The name of a conversation.
    Title,
    /// A tag of a conversation.
    Tags,
    /// Words for the reader.
    Text,
    /// Reasoning of the model.
    Reasoning,
    /// The name and the arguments of a tool call.
    ToolCall,
    /// Result of a tool call.
    ToolResult,
    /// The name of a file.
    Media,
    /// The title of a source.
    Source,
    /// A summary of earlier messages.
    Summary,
    /// An error message.
    Error,
}

/// One text that a search looks at. A phrase does not reach from one into the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldText<'a> {
    /// The field it belongs to.
    pub field: Field,
    /// The text.
    pub text: Cow<'a, str>,
}

/// Returns the texts of a message, in the order of its parts.
///
/// Signatures, encrypted members, bytes in base64 and parts that only their own program understands are no texts.
pub fn field_texts(content: &Content) -> Vec<FieldText<'_>> {
    part_field_texts(content.body.borrowed())
}

/// Returns the texts of a conversation itself: its title and its tags.
pub fn conversation_field_texts(conversation: &Conversation) -> Vec<FieldText<'_>> {
    let tags = conversation.tags.iter().map(|tag| (Field::Tags, tag));
    std::iter::once((Field::Title, &conversation.title))
        .chain(tags)
        .filter(|(_, text)| !text.is_empty())
        .map(|(field, text)| FieldText { field, text: Cow::Borrowed(text) })
        .collect()
}

pub(crate) fn part_field_texts<'a>(parts: impl IntoIterator<Item = PartRef<'a>>) -> Vec<FieldText<'a>> {
    parts
        .into_iter()
        .filter_map(|part| match part {
            PartRef::Text { text, .. } => Some((Field::Text, text)),
            PartRef::Reasoning { text, .. } => Some((Field::Reasoning, text)),
            PartRef::Summary { text, .. } => Some((Field::Summary, text)),
            PartRef::Error { text, .. } => Some((Field::Error, text)),
            PartRef::Source { title, .. } => Some((Field::Source, title)),
            PartRef::Media { extra, .. } => {
                extra.first_string(&["name", "filename", "file_name"]).map(|name| (Field::Media, name))
            }
            PartRef::ToolCall { name, input, .. } => {
                Some((Field::ToolCall, call_text(name.into_owned(), input).into()))
            }
            PartRef::ToolResult { content, .. } => Some((Field::ToolResult, result_text(content).into())),
            PartRef::Opaque(_) => None,
        })
        .filter(|(_, text)| !text.is_empty())
        .map(|(field, text)| FieldText { field, text })
        .collect()
}

fn call_text(name: String, input: &str) -> String {
    let mut text = name;
    let all = strings(input, &mut |said| {
        let (StringRole::Key(said) | StringRole::Value { text: said, .. }) = said;
        text.push('\n');
        text.push_str(said);
        ControlFlow::Continue(())
    });
    debug_assert!(all.is_continue(), "the callback never breaks");
    text
}

fn result_text(content: &str) -> String {
    let mut text = String::new();
    let whole = strings(content, &mut |said| {
        match said {
            // Providers wrap every text in a block with a type; the type is not user content.
            StringRole::Key(_)
            | StringRole::Value { key: "type", text: "text" | "image" | "document" | "json" | "resource" } => {}
            StringRole::Value { text: said, .. } => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(said);
            }
        }
        match text.len() < TOOL_RESULT_BYTES_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    if whole.is_break() {
        let end = (0..=TOOL_RESULT_BYTES_MAX).rfind(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use manent_model::part::Body;
    use manent_model::time::Time;

    fn shown(parts: &str) -> Vec<String> {
        let body = Body::parse(parts).expect("parts");
        let content = Content::new("user", Time::exact(0), body);
        field_texts(&content).iter().map(|passage| format!("{:?} {}", passage.field, passage.text)).collect()
    }

    #[test]
    fn every_part_that_people_read_is_a_passage() {
        let parts = r#"[
            {"type":"text","text":"words","secret":"extra"},
            {"type":"reasoning","text":"thoughts","signature":"c2ln","encrypted_content":"x"},
            {"type":"tool_call","id":"c1","name":"read_file","input":{"path":"src/main.rs","lines":[1,"two"]}},
            {"type":"tool_result","call":"c1","content":[{"type":"text","text":"fn main"},{"signature":"no"}]},
            {"type":"media","mime":"image/png","name":"cat.png"},
            {"type":"media","mime":"image/png","url":"https://no"},
            {"type":"source","title":"A page","url":"https://no"},
            {"type":"summary","text":"before"},
            {"type":"error","text":"too late"},
            {"type":"hologram","text":"no"},
            {"type":"text","text":""}
        ]"#;
        expect_test::expect![[r#"
            Text words
            Reasoning thoughts
            ToolCall read_file
            path
            src/main.rs
            lines
            two
            ToolResult fn main
            Media cat.png
            Source A page
            Summary before
            Error too late"#]]
        .assert_eq(&shown(parts).join("\n"));
    }

    #[test]
    fn a_long_tool_result_ends_at_a_character() {
        let parts = format!(r#"[{{"type":"tool_result","call":"c","content":"a{}"}}]"#, "中".repeat(30_000));
        let text = &shown(&parts)[0]["ToolResult ".len()..];
        assert_eq!((text.len(), text.chars().last()), (65_536, Some('中')));
    }
}
