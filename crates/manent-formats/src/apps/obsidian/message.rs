//! Messages: conversion of records with text and reasoning.

use crate::core::json::{Members, Object, decode};
use manent_model::{Body, Content, Extra, Part, Time};

/// A message as it was read.
pub(crate) struct Message {
    pub content: Content,
    /// Half a character stood in it.
    pub is_halved: bool,
}

/// Members that a message of ours holds.
pub(crate) const MAPPED: [&str; 3] = ["role", "content", "thinking"];

/// Reads a message; the reason if it is none.
pub(crate) fn read(text: &str, time: Time) -> Result<Message, String> {
    let members = Members::parse(text).ok_or("a message is an object")?;
    let role = members.text("role").ok_or("a message has a role")?;
    let mut parts = Vec::new();
    if let Some(text) = members.text("thinking") {
        parts.push(Part::Reasoning { text, extra: Extra::new() });
    }
    match (members.text("content"), members.json("content")) {
        (Some(text), _) => parts.push(Part::text(text)),
        // No version writes anything but a text here; whatever it is, only its own program understands it.
        (None, Some(other)) => parts.push(Part::Opaque(other)),
        (None, None) => {}
    }
    let halved = |name| members.given(name).and_then(decode).is_some_and(|decoded| decoded.is_lossy);
    let is_halved = halved("content") || halved("thinking");
    Ok(Message { content: Content::new(role, time, Body::of(&parts)), is_halved })
}

/// Writes a message. The program gives answers an explicit `null` where nothing was thought, and questions nothing.
pub(crate) fn write(content: &Content) -> Object {
    let parts = content.body.parts();
    let words: Vec<&str> = parts.iter().filter_map(Part::words).collect();
    let opaque = parts.iter().find_map(|part| match part {
        Part::Opaque(json) if words.is_empty() => Some(json),
        _ => None,
    });
    let object = Object::new().with("role", &content.role);
    let object = match opaque {
        Some(json) => object.with("content", json),
        None => object.with("content", &words.join("\n\n")),
    };
    let thoughts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let thinking = (!thoughts.is_empty()).then(|| thoughts.join("\n\n"));
    match content.role == "assistant" {
        true => object.with("thinking", &thinking),
        false => object.with_some("thinking", thinking),
    }
}
