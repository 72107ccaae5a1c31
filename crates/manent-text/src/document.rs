//! Subjects: a message or a conversation, as the target of a query.

use super::field_text::{FieldText, conversation_field_texts, part_field_texts};
use super::normalize::fold_name;
use super::tokens::{RESERVED, cut, distinct_tokens};
use manent_model::conversation::Conversation;
use manent_model::message::Content;
use manent_model::part::PartRef;
use manent_model::time::Timestamp;

/// A message in its conversation, or a conversation itself.
#[derive(Debug, Clone, Copy)]
pub struct SearchDocument<'a> {
    /// The texts to look at.
    pub fields: &'a [FieldText<'a>],
    /// The message; nothing if the conversation itself is asked, by its title and tags.
    pub message: Option<&'a Content>,
    /// The conversation.
    pub conversation: &'a Conversation,
    /// The name of the conversation's project, if it has one.
    pub project: Option<&'a str>,
    /// The moment that `before:` and `after:` compare, and that makes it new: that of the message, or when the
    /// conversation was made.
    pub at: Timestamp,
}

/// Something that a message can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// A tool call or its answer.
    Tool,
    /// A picture, sound, film or file.
    Media,
    /// A fenced block of code.
    Code,
}

impl ContentKind {
    /// Returns its name in a query.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Media => "media",
            Self::Code => "code",
        }
    }
}

/// Returns everything that an index holds of a message: the tokens of its texts and of its filters, each once.
pub fn message_tokens(content: &Content) -> Vec<String> {
    let parts: Vec<PartRef<'_>> = content.body.borrowed().collect();
    let facts = MessageAttributes::of(content, &parts);
    let passages = part_field_texts(parts);
    let mut all = distinct_tokens(passages.iter().map(|passage| &*passage.text));
    all.extend(facts.tokens());
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the tokens of a message's filters.
pub fn message_filters(content: &Content) -> Vec<String> {
    MessageAttributes::of(content, &content.body.borrowed().collect::<Vec<_>>()).tokens()
}

/// Returns everything that an index holds of a conversation itself: the tokens of its title and tags, each once.
pub fn conversation_tokens(conversation: &Conversation) -> Vec<String> {
    let passages = conversation_field_texts(conversation);
    distinct_tokens(passages.iter().map(|passage| &*passage.text))
}

/// Immutable properties of a message that filters use; the index contains them.
pub(crate) struct MessageAttributes {
    pub(crate) role: String,
    pub(crate) model: Option<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) contents: Vec<ContentKind>,
}

impl MessageAttributes {
    pub(crate) fn of(content: &Content, parts: &[PartRef<'_>]) -> Self {
        let mut facts = Self {
            role: fold_name(&content.role),
            model: content.model.as_deref().map(fold_name),
            tools: Vec::new(),
            contents: Vec::new(),
        };
        for part in parts {
            let thing = match part {
                PartRef::ToolCall { name, .. } => {
                    facts.tools.push(fold_name(name));
                    ContentKind::Tool
                }
                PartRef::ToolResult { .. } => ContentKind::Tool,
                PartRef::Media { .. } => ContentKind::Media,
                PartRef::Text { text, .. } if has_fence(text) => ContentKind::Code,
                _ => continue,
            };
            if !facts.contents.contains(&thing) {
                facts.contents.push(thing);
            }
        }
        facts
    }

    fn tokens(&self) -> Vec<String> {
        let model = self.model.iter().map(|model| filter_token("model", model));
        let tools = self.tools.iter().map(|tool| filter_token("tool", tool));
        let things = self.contents.iter().map(|thing| filter_token("has", thing.word()));
        std::iter::once(filter_token("role", &self.role)).chain(model).chain(tools).chain(things).collect()
    }
}

/// Returns the token of a filter; the value is folded already.
pub(crate) fn filter_token(key: &str, value: &str) -> String {
    cut(&format!("{RESERVED}{key}:{value}")).to_owned()
}

/// Returns whether a line of a text opens a code block.
fn has_fence(text: &str) -> bool {
    text.contains("```") && text.lines().any(|line| line.trim_start_matches([' ', '>']).starts_with("```"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manent_model::part::Body;
    use manent_model::time::Time;

    fn shown(parts: &str) -> String {
        let mut content = Content::new(" User", Time::exact(0), Body::parse(parts).expect("parts"));
        content.model = Some("ＧＰＴ-4 Turbo".to_owned());
        message_tokens(&content).join(" ").replace(RESERVED, "@")
    }

    #[test]
    fn a_message_is_indexed_with_its_filters() {
        for (parts, expected) in [
            (r#"[]"#, "@model:gpt-4_turbo @role:user"),
            (r#"[{"type":"text","text":"b a b"}]"#, "a b @model:gpt-4_turbo @role:user"),
            (r#"[{"type":"text","text":"x\n  ```rust\n"}]"#, "rust x @has:code @model:gpt-4_turbo @role:user"),
            (r#"[{"type":"text","text":"in ``` line"}]"#, "in line @model:gpt-4_turbo @role:user"),
            (r#"[{"type":"media","mime":"a/b"}]"#, "@has:media @model:gpt-4_turbo @role:user"),
            (
                r#"[{"type":"tool_call","id":"1","name":"Bash","input":{}},{"type":"tool_call","id":"1","name":"Bash","input":{}}]"#,
                "bash @has:tool @model:gpt-4_turbo @role:user @tool:bash",
            ),
        ] {
            assert_eq!(shown(parts), expected, "{parts}");
        }
    }
}
