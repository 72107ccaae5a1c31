//! Shared by Markdown and HTML: the shown messages, their headings, and what cannot be represented.

use crate::core::export::*;
use crate::core::losses::Losses;
use crate::core::time;
use manent_model::{Content, Json, MessageStatus, Part, TimeSource};

/// The heading of a message.
pub(super) struct MessageHeading {
    /// The author.
    pub who: String,
    /// When, with what else is known.
    pub about: Vec<String>,
}

impl MessageHeading {
    pub(super) fn of(content: &Content) -> Self {
        let mut letters = content.role.chars();
        let role: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        let name = content.author.as_ref().map(|author| if author.name.is_empty() { &author.id } else { &author.name });
        let mut about = Vec::new();
        about.extend(content.model.clone());
        if content.time.source == TimeSource::Exact {
            about.push(time::iso(content.time.at));
        }
        about.extend(match content.status {
            MessageStatus::Complete => None,
            MessageStatus::Streaming => Some("being written".to_owned()),
            _ => Some("ended early".to_owned()),
        });
        Self { who: name.map_or(role.clone(), |name| format!("{name} ({role})")), about }
    }
}

/// The part's field with its location, if it is a web address.
pub(super) fn address(extra: &[(String, Json)]) -> Option<String> {
    let found = extra.iter().find(|(name, _)| matches!(name.as_str(), "url" | "uri" | "href" | "source_url"))?;
    let text: String = serde_json::from_str(found.1.text()).ok()?;
    Some(text).filter(|text| text.starts_with("https://") || text.starts_with("http://"))
}

/// Pretty-printed JSON; unchanged if it is a string or invalid.
pub(super) fn layout(json: &Json) -> String {
    match serde_json::from_str::<serde_json::Value>(json.text()) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_else(|_| json.text().to_owned()),
        Err(_) => json.text().to_owned(),
    }
}

/// Goes through the messages that are shown, in order.
pub(super) fn each_message(
    library: &mut dyn ExportSource,
    place: usize,
    losses: &mut Losses,
    out: &ExportedConversation,
    mut show: impl FnMut(&ExportedMessage, &mut dyn ExportSource, &mut Losses) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let id = out.conversation.id;
    let mut from = 0;
    loop {
        let page = library.messages(place, from)?;
        if page.is_empty() {
            return Ok(());
        }
        from += page.len();
        for message in page.iter().filter(|message| !message.is_removed) {
            let content = &message.content;
            if !content.seen.by_reader {
                losses.add(id, "messages that no reader sees", 1);
                continue;
            }
            losses.add(id, "metadata of messages", usize::from(content.metadata.is_some()));
            losses.add(id, "usage", usize::from(content.usage.is_some() || content.tokens.is_some()));
            let parts = content.body.parts();
            let opaque = parts.iter().filter(|part| matches!(part, Part::Opaque(_))).count();
            losses.add(id, "parts that only their program understands", opaque);
            show(message, library, losses)?;
        }
    }
}

/// Counts what is not said about a conversation.
pub(super) fn count(
    losses: &mut Losses,
    library: &mut dyn ExportSource,
    place: usize,
    out: &ExportedConversation,
) -> Result<(), WriteError> {
    let id = out.conversation.id;
    losses.add(id, "branches that are not shown", out.other_branches);
    losses.add(id, "values of state", out.states.len());
    losses.add(id, "bookmarks", out.bookmarks.len());
    losses.add(id, "records of tool calls", out.tool_calls.len());
    losses.add(id, "metadata", usize::from(out.conversation.metadata.is_some()));
    losses.add(id, "links to other conversations", out.links());
    losses.events(library, place, id)
}
