//! Messages: conversion between records (a role and blocks) and parts.

use crate::core::json::{Members, Object, decode};
use manent_model::{Body, Content, Extra, Json, Part, Time};

/// Members that a message holds.
pub(crate) const MAPPED: [&str; 3] = ["role", "content", "metadata"];

const MEDIA: [(&str, &str); 5] = [
    ("image", "image/*"),
    ("audio", "audio/*"),
    ("video", "video/*"),
    ("file", "application/*"),
    ("image_url", "image/*"),
];

/// Names that parts use themselves; a block with one of them cannot be taken apart.
const TAKEN: [&str; 10] = ["type", "text", "id", "name", "input", "call", "content", "mime", "blob", "kind"];

/// Reads a message; the reason if it is none.
pub(crate) fn read(text: &str, time: Time) -> Result<Content, String> {
    let members = Members::parse(text).ok_or("a message is an object")?;
    let role = members.text("role").ok_or("a message has a role")?;
    let content = members.raw("content").ok_or("a message has a content")?;
    let parts = match decode(content) {
        Some(words) => vec![Part::text(words.text)],
        None => {
            let blocks = members.list("content").ok_or("a content is a list of blocks, or a text")?;
            blocks.iter().map(|block| part(block.get())).collect::<Result<Vec<Part>, String>>()?
        }
    };
    let mut content = Content::new(role, time, Body::of(&parts));
    content.metadata = match members.given("metadata") {
        Some(metadata) => Some(Json::parse(metadata).map_err(|problem| format!("metadata: {problem}"))?),
        None => None,
    };
    Ok(content)
}

fn part(text: &str) -> Result<Part, String> {
    match known(text) {
        Some(part) => Ok(part),
        None => Json::parse(text).map(Part::Opaque).map_err(|problem| format!("a block: {problem}")),
    }
}

/// Reads a block that a part can hold whole; none for any other.
fn known(text: &str) -> Option<Part> {
    let block = Members::parse(text)?;
    let kind = block.text("type")?;
    let extra = |mapped: &[&str]| -> Option<Extra> {
        let mut extra = Extra::new();
        for (key, value) in block.0.iter().filter(|(key, _)| !mapped.contains(&key.as_ref())) {
            if TAKEN.contains(&key.as_ref()) || extra.iter().any(|(other, _)| other == key) {
                return None;
            }
            extra.push((key.clone().into_owned(), Json::parse(value.get()).ok()?));
        }
        let repeats = mapped.iter().any(|name| block.0.iter().filter(|(key, _)| key == name).count() > 1);
        (!repeats).then_some(extra)
    };
    Some(match kind.as_str() {
        "text" => Part::Text { text: block.text("text")?, extra: extra(&["type", "text"])? },
        "reasoning" => Part::Reasoning { text: block.text("reasoning")?, extra: extra(&["type", "reasoning"])? },
        "tool_use" => Part::ToolCall {
            id: block.text("id")?,
            name: block.text("name")?,
            input: Json::parse(block.raw("input")?).ok()?,
            extra: extra(&["type", "id", "name", "input"])?,
        },
        "tool_result" => Part::ToolResult {
            call: block.text("tool_use_id")?,
            content: Json::parse(block.raw("content")?).ok()?,
            extra: extra(&["type", "tool_use_id", "content"])?,
        },
        kind => {
            let (_, usual) = MEDIA.iter().find(|(name, _)| *name == kind)?;
            let mut all = vec![("kind".to_owned(), Json::of(&kind))];
            let mime = match block.raw("mime_type") {
                Some(_) => block.text("mime_type").filter(|mime| !mime.ends_with("/*"))?,
                None => (*usual).to_owned(),
            };
            all.extend(extra(&["type", "mime_type"])?);
            Part::Media { mime, blob: None, extra: all }
        }
    })
}

/// Form of the content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Blocks,
    /// One text, without a list around it.
    Text,
}

/// Returns the form of a record that was read.
pub(crate) fn form(text: &str) -> Form {
    let is_text =
        Members::parse(text).and_then(|members| members.raw("content")).is_some_and(|raw| raw.starts_with('"'));
    if is_text { Form::Text } else { Form::Blocks }
}

/// The role that the program gives a message from elsewhere. It knows three, and brings what a tool answered as a user.
pub(crate) fn role(role: &str) -> &str {
    match role {
        "user" | "assistant" | "system" => role,
        "developer" => "system",
        "bot" | "ai" | "model" => "assistant",
        _ => "user",
    }
}

/// Writes a message as a record.
pub(crate) fn write(content: &Content, form: Form) -> Object {
    let parts = content.body.parts();
    let object = Object::new().with("role", &content.role);
    let object = match (form, parts.as_slice()) {
        (Form::Text, [Part::Text { text, extra }]) if extra.is_empty() => object.with("content", text),
        _ => {
            let blocks: Vec<String> = parts.iter().map(block).collect();
            Object([object.0, vec![("content".to_owned(), format!("[{}]", blocks.join(",")))]].concat())
        }
    };
    object.with_some("metadata", content.metadata.as_ref())
}

fn block(part: &Part) -> String {
    let with = |mut object: Object, extra: &Extra| {
        object.0.extend(extra.iter().map(|(name, value)| (name.clone(), value.text().to_owned())));
        object.text()
    };
    let kind = |kind: &str| Object::new().with("type", kind);
    match part {
        Part::Text { text, extra } => with(kind("text").with("text", text), extra),
        Part::Reasoning { text, extra } => with(kind("reasoning").with("reasoning", text), extra),
        Part::ToolCall { id, name, input, extra } => {
            with(kind("tool_use").with("id", id).with("name", name).with("input", input), extra)
        }
        Part::ToolResult { call, content, extra } => {
            with(kind("tool_result").with("tool_use_id", call).with("content", content), extra)
        }
        Part::Media { mime, extra, .. } => media(mime, extra),
        // The program knows no such blocks and would send them to a provider; a text it does send.
        Part::Summary { text, .. } | Part::Error { text, .. } => kind("text").with("text", text).text(),
        Part::Source { title, .. } => kind("text").with("text", title).text(),
        Part::Opaque(json) => json.text().to_owned(),
    }
}

fn media(mime: &str, extra: &Extra) -> String {
    let known = extra.iter().find(|(name, _)| name == "kind").and_then(|(_, kind)| kind.read::<String>().ok());
    let guessed = || match mime.split('/').next() {
        Some(kind @ ("image" | "audio" | "video")) => kind.to_owned(),
        _ => "file".to_owned(),
    };
    let mut object = Object::new().with("type", &known.unwrap_or_else(guessed));
    let mut mime = Some(mime).filter(|mime| !mime.ends_with("/*"));
    for (name, value) in extra.iter().filter(|(name, _)| name != "kind") {
        if name == "meta"
            && let Some(mime) = mime.take()
        {
            object = object.with("mime_type", mime);
        }
        object.0.push((name.clone(), value.text().to_owned()));
    }
    object.with_some("mime_type", mime).text()
}

/// The result that the program itself gives to a call that was cut off.
pub(crate) fn result_missing(call: &str) -> Part {
    const NOTE: &str = "Tool result missing; session sealed automatically.";
    let data = Object::new().with("status", "TOOL_RESULT_MISSING").with("toolId", call).with("note", NOTE);
    let content =
        Object::new().with("ok", &false).with_some("data", Json::parse(&data.text()).ok()).with("error", NOTE);
    let content = Json::parse(&content.text()).expect("an object of ours is JSON");
    Part::ToolResult { call: call.to_owned(), content, extra: vec![("is_error".to_owned(), Json::of(&true))] }
}

/// The place of the last message after which a run can be taken up: a question, or an answer that asks for no tool.
pub(crate) fn last_safe<'a>(messages: impl Iterator<Item = &'a Content>) -> i64 {
    let mut last = -1;
    for (place, content) in messages.enumerate() {
        let body = &content.body;
        let asks = || body.may_have_tools() && body.parts().iter().any(|part| matches!(part, Part::ToolCall { .. }));
        let role = role(&content.role);
        if role == "user" || (role == "assistant" && !asks()) {
            last = place as i64;
        }
    }
    last
}
