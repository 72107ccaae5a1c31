//! Tool results as entries: each is separate, with the role `tool`, after the entry with the call.

use crate::apps::veloca::write::id_of;
use crate::core::export::{ExportedMessage, Record, uuid};
use manent_model::{Body, Content, Extra, Json, MessageId, Part};
use std::collections::HashMap;

/// State of the tool calls of the conversation that is being written.
#[derive(Default)]
pub(crate) struct Tools {
    /// Calls that are sealed and have no result, by the message that asked: id and name.
    pub sealed: HashMap<MessageId, Vec<(String, String)>>,
    /// The name of the tool of each call that was written.
    names: HashMap<String, String>,
}

impl Tools {
    /// Remembers what a message asks for.
    pub(crate) fn look(&mut self, message: &ExportedMessage) {
        let body = &message.content.body;
        for part in if body.may_have_tools() { body.parts() } else { Vec::new() } {
            if let Part::ToolCall { id, name, .. } = part {
                self.names.insert(id, name);
            }
        }
    }

    /// Takes a message apart that is no entry of the file and brings results: an entry holds one, and nothing beside it.
    /// None for any other message.
    pub(crate) fn pieces(&self, message: &ExportedMessage) -> Option<Vec<ExportedMessage>> {
        let body = &message.content.body;
        let is_entry = message.record.as_ref().is_some_and(|record| record.raw.is_some());
        if is_entry || !body.may_have_tools() {
            return None;
        }
        let (results, rest): (Vec<Part>, Vec<Part>) =
            body.parts().into_iter().partition(|part| matches!(part, Part::ToolResult { .. }));
        if results.is_empty() || (results.len() == 1 && message.content.role == "tool") {
            return None;
        }
        let asks = rest.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        let results = results.into_iter().map(|part| ("tool", vec![self.named(part)]));
        let rest = Some((message.content.role.as_str(), rest)).filter(|(_, parts)| !parts.is_empty());
        // Calls come before the results, other parts after them.
        let pieces: Vec<(&str, Vec<Part>)> = match asks {
            true => rest.into_iter().chain(results).collect(),
            false => results.chain(rest).collect(),
        };
        let piece = |(place, (role, parts)): (usize, (&str, Vec<Part>))| ExportedMessage {
            content: Content { role: role.to_owned(), body: Body::of(&parts), ..message.content.clone() },
            ..numbered(message, place)
        };
        Some(pieces.into_iter().enumerate().map(piece).collect())
    }

    /// The results of calls that were sealed: they say that there is none.
    pub(crate) fn results_missing(&self, message: &ExportedMessage) -> Vec<ExportedMessage> {
        // A file of this format stays as it is.
        let is_entry = message.record.as_ref().is_some_and(|record| record.raw.is_some());
        let calls = self.sealed.get(&message.id).filter(|_| !is_entry).map_or(&[][..], Vec::as_slice);
        let result = |(place, (id, _)): (usize, &(String, String))| {
            let content = Json::of(&"the call was sealed: it has no result");
            let extra = vec![("error".to_owned(), Json::of(&true))];
            let part = self.named(Part::ToolResult { call: id.clone(), content, extra });
            let content = Content::new("tool", message.content.time, Body::of(&[part]));
            ExportedMessage { content, ..numbered(message, place + 1) }
        };
        calls.iter().enumerate().map(result).collect()
    }

    /// A result with the name of its tool, and with the mark of a failure as this format reads it.
    fn named(&self, part: Part) -> Part {
        let Part::ToolResult { call, content, mut extra } = part else { return part };
        let has = |extra: &Extra, name: &str| extra.iter().any(|(key, _)| key == name);
        if let (false, Some(name)) = (has(&extra, "function"), self.names.get(&call)) {
            extra.push(("function".to_owned(), Json::of(name)));
        }
        let is_failure = extra.iter().any(|(key, value)| key == "is_error" && value.text() == "true");
        if is_failure && !has(&extra, "error") {
            extra.push(("error".to_owned(), Json::of(&true)));
        }
        Part::ToolResult { call, content, extra }
    }
}

/// A message in the place of another; the first has its id, the others have ids that follow from it.
fn numbered(message: &ExportedMessage, place: usize) -> ExportedMessage {
    let id = id_of(message);
    let made = || {
        let digest = <sha2::Sha256 as sha2::Digest>::digest(format!("{id} {place}").as_bytes());
        digest.first_chunk::<16>().map(uuid).unwrap_or_default()
    };
    let external = if place == 0 { id.clone() } else { made() };
    let record = Record { external: Some(external), ordinal: 0, raw: None };
    ExportedMessage { record: Some(record), ..message.clone() }
}
