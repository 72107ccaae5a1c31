//! Lines: role-play messages, as records and as messages.

use crate::core::json::{Members, Object, decode};
use crate::core::time::moment;
use manent_model::{Body, Content, Extra, Part, Time, TimeSource};

/// The role of a summary at the beginning of a session.
pub(crate) const SUMMARY: &str = "summary";
/// Members that a message holds.
pub(crate) const MAPPED: [&str; 5] = ["type", "role", "content", "turn", "timestamp"];

/// A line as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub content: Content,
    /// The source text of its time; `None` if it has none.
    pub time: Option<String>,
    /// Half a character stood in it.
    pub is_halved: bool,
}

/// The kind of a line.
pub(crate) enum Kind {
    /// About the session itself.
    Head,
    /// Something that was said.
    Message,
    /// Something that is kept and not understood.
    Other,
}

/// Tells what a line is; none if it is no object at all.
pub(crate) fn kind(text: &str) -> Option<Kind> {
    let members = Members::parse(text)?;
    let said = |is_said: bool| if is_said { Kind::Message } else { Kind::Other };
    Some(match (members.raw("type"), members.text("type").as_deref()) {
        (None, _) => said(members.text("role").is_some()),
        (_, Some("metadata")) => Kind::Head,
        (_, Some(SUMMARY)) => said(members.text("content").is_some()),
        _ => Kind::Other,
    })
}

/// Reads a line; what has no time of its own has that of the line before.
pub(crate) fn read(text: &str, before: Time) -> Option<Line> {
    let members = Members::parse(text)?;
    let is_summary = members.text("type").as_deref() == Some(SUMMARY);
    let words = members.text("content");
    let parts = match (words, members.json("content")) {
        (Some(text), _) if is_summary => vec![Part::Summary { text, extra: Extra::new() }],
        (Some(text), _) => vec![Part::text(text)],
        // Only text is expected here; any other value is kept as an opaque part.
        (None, Some(other)) => vec![Part::Opaque(other)],
        (None, None) => Vec::new(),
    };
    let time = members.text("timestamp");
    let known = if before.source == TimeSource::Unknown { TimeSource::Unknown } else { TimeSource::Inherited };
    let inherited = Time { at: before.at, source: known };
    let at = time.as_deref().and_then(moment).map_or(inherited, |at| Time { at, source: TimeSource::Exact });
    let role = if is_summary { SUMMARY.to_owned() } else { members.text("role")? };
    let mut content = Content::new(role, at, Body::of(&parts));
    content.turn = members.whole("turn").and_then(|turn| u32::try_from(turn).ok());
    let is_halved = members.given("content").and_then(decode).is_some_and(|decoded| decoded.is_lossy);
    Some(Line { content, time, is_halved })
}

/// Writes a message as a line.
pub(crate) fn write(line: &Line) -> Object {
    let content = &line.content;
    let parts = content.body.parts();
    let words: Vec<&str> = parts.iter().filter_map(Part::words).collect();
    let opaque = parts.iter().find_map(|part| match part {
        Part::Opaque(json) if words.is_empty() => Some(json),
        _ => None,
    });
    let object = match content.role == SUMMARY {
        true => Object::new().with("type", SUMMARY),
        false => Object::new().with("role", &content.role),
    };
    let object = match opaque {
        Some(json) => object.with("content", json),
        None => object.with("content", &words.join("\n\n")),
    };
    object.with_some("turn", content.turn).with_some("timestamp", line.time.as_ref())
}
