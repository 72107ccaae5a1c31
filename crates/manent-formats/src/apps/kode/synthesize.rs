//! Names and files of new agents, and of agents that are converted to another generation.

use crate::apps::kode::Generation;
use crate::core::json::{Object, Style};
use crate::core::names::{is_safe, is_safe_piece};
use crate::core::time::to_millis;
use manent_model::{Conversation, ConversationId, Event, Json};

/// Mapping of names from one generation to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdTranslation {
    pub from: Generation,
    pub to: Generation,
}

impl IdTranslation {
    /// An id, or a folder: the words in it with the separator of the target.
    pub fn id(self, id: &str) -> String {
        let (from, to) = (self.from.separator(), self.to.separator());
        if from == to {
            return id.to_owned();
        }
        let part = |part: &str| match part.split_once(from) {
            Some((word @ ("agt" | "fork" | "sfp"), rest)) => format!("{word}{to}{rest}"),
            _ => part.to_owned(),
        };
        id.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// The name of an agent's file; none where the target has no such file.
    pub fn file(self, file: &str) -> Option<String> {
        let file = self.id(file);
        match (self.from == Generation::Flat, self.to == Generation::Flat) {
            (false, true) => Some(match file.as_str() {
                "meta.json" => "info.json".to_owned(),
                "runtime/messages.json" => "messages.json".to_owned(),
                other => format!("snapshot-{}", other.strip_prefix("snapshots/")?),
            }),
            (true, false) => Some(match file.as_str() {
                "info.json" => "meta.json".to_owned(),
                "messages.json" => "runtime/messages.json".to_owned(),
                other => format!("snapshots/{}", other.strip_prefix("snapshot-")?),
            }),
            _ => Some(file),
        }
    }
}

/// The folder of a conversation of another program, or of one whose own folder name would escape the root.
pub(crate) fn folder(conversation: &Conversation, generation: Generation) -> String {
    let id = conversation.id.to_string();
    format!("agt{}{}", generation.separator(), ConversationId::characters(&id))
}

/// Returns a name that came from outside if it is safe, and one that was made up if it is not.
pub(crate) fn safe(name: &str, made_up: impl FnOnce() -> String) -> String {
    if is_safe(name) { name.to_owned() } else { made_up() }
}

/// The file of a snapshot that was made here; none where its name is none for a file.
pub(crate) fn snapshot(name: &str, generation: Generation) -> Option<String> {
    is_safe_piece(name).then(|| match generation {
        Generation::Flat => format!("snapshot-{name}.json"),
        _ => format!("snapshots/{name}.json"),
    })
}

/// The value of such a snapshot, without its messages.
pub(crate) fn snapshot_value(name: &str, at: i64, iso: &str, last_safe: i64) -> String {
    let bookmark = Object::new().with("seq", &-1).with("timestamp", &at);
    let steps = Object::new().with("stepCount", &0);
    let json = |object: Object| Json::parse(&object.text()).ok();
    Object::new()
        .with("id", name)
        .with("messages", &[0; 0])
        .with("lastSfpIndex", &last_safe)
        .with_some("lastBookmark", json(bookmark))
        .with("createdAt", iso)
        .with_some("metadata", json(steps))
        .text()
}

/// An event that the program never saw, as a line of its log.
pub(crate) fn line(event: &Event) -> String {
    let body = Style::COMPACT.format(event.body.text(), 0);
    let members = crate::core::json::Members::parse(&body);
    if members.as_ref().is_some_and(|members| members.raw("event").is_some()) {
        return body;
    }
    let bookmark = Object::new().with("seq", &event.cursor).with("timestamp", &to_millis(event.at));
    let bookmark = Json::parse(&bookmark.text()).ok();
    let mut inner = Object::new().with("channel", &event.channel);
    for (name, value) in members.map_or_else(Vec::new, |members| members.0) {
        if !matches!(name.as_ref(), "channel" | "bookmark") {
            inner.0.push((name.into_owned(), value.get().to_owned()));
        }
    }
    let inner = inner.with_some("bookmark", bookmark.clone());
    let line = Object::new().with("cursor", &event.cursor).with_some("bookmark", bookmark);
    line.with_some("event", Json::parse(&inner.text()).ok()).text()
}
