//! Conversations: conversion to and from rows of their table.

use crate::apps::tables::Generation;
use crate::apps::tables::message::{Clock, clock, metadata, time, written};
use crate::core::export::ExportedConversation;
use crate::core::json::{Members, Object, Style, merge};
use crate::core::sqlite::{Cell, Record};
use manent_model::{Conversation, ConversationStatus, Json};

/// Columns that a conversation holds beside its id.
pub(crate) const MAPPED: [&str; 5] = ["project", "sequence", "status", "created_at", "metadata"];

/// Members of the metadata that are a title, the first that is there.
const TITLES: [&str; 2] = ["title", "name"];

const STATUSES: [(&str, ConversationStatus); 3] = [
    ("active", ConversationStatus::Active),
    ("archived", ConversationStatus::Archived),
    ("deleted", ConversationStatus::Trashed),
];

/// Parses a status; `None` for an unknown one.
pub(crate) fn status(cell: &Cell) -> Option<ConversationStatus> {
    let word = cell.text()?;
    STATUSES.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
}

/// The title in the metadata, with the name of its member.
fn titled(record: &Record) -> Option<(&'static str, String)> {
    let members = Members::parse(record.get("metadata").text()?)?;
    TITLES.iter().find_map(|name| Some((*name, members.text(name)?)))
}

/// The title of a conversation; empty if it has none.
pub(crate) fn title(record: &Record) -> String {
    titled(record).map(|(_, title)| title).unwrap_or_default()
}

/// The project of a conversation.
pub(crate) fn project(record: &Record) -> Option<&str> {
    record.get("project").text().filter(|project| !project.is_empty())
}

/// The row of a new conversation.
pub(crate) fn fresh(id: &str, generation: Generation, conversation: &Conversation) -> Record {
    let clock = match generation {
        Generation::Draft => Clock::Utc,
        Generation::Shipped => Clock::Local,
    };
    let mut record = Record::default();
    record.set(generation.id(), Cell::Text(id.to_owned()));
    record.set("sequence", Cell::Text("sequential".to_owned()));
    record.set("status", Cell::Text("active".to_owned()));
    record.set("created_at", written(conversation.created_at, clock));
    record
}

/// Updates the row of a conversation with its metadata. Returns what the row cannot represent.
pub(crate) fn change(record: &mut Record, out: &ExportedConversation) -> Vec<&'static str> {
    let conversation = &out.conversation;
    let mut lost = Vec::new();
    let was = status(record.get("status")).unwrap_or(ConversationStatus::Active);
    match STATUSES.iter().find(|(_, known)| *known == conversation.status) {
        Some((word, now)) if *now != was => record.set("status", Cell::Text((*word).to_owned())),
        Some(_) => {}
        None => lost.push("status"),
    }
    if time(record.get("created_at")).is_some_and(|at| at != conversation.created_at) {
        let clock = clock(record.get("created_at")).unwrap_or(Clock::Utc);
        record.set("created_at", written(conversation.created_at, clock));
    }
    let now = out.project.as_ref().map(|(project, known)| {
        known.as_ref().and_then(|known| known.external.clone()).unwrap_or_else(|| project.name.clone())
    });
    if now.as_deref() != project(record) {
        record.set("project", Cell::or_null(now.as_deref()));
    }
    say(record, conversation, &mut lost);
    lost
}

/// Writes the metadata and the title in it.
fn say(record: &mut Record, conversation: &Conversation, lost: &mut Vec<&'static str>) {
    let (was, title_was) = (metadata(record.get("metadata")), titled(record));
    if was != conversation.metadata {
        record.set("metadata", Cell::or_null(conversation.metadata.as_ref().map(Json::text)));
    }
    let known = titled(record).or(title_was.clone());
    if title_was.map(|(_, title)| title).unwrap_or_default() == conversation.title {
        return;
    }
    let source = match record.get("metadata") {
        Cell::Null => "{}".to_owned(),
        cell => match cell.text().filter(|text| Members::parse(text).is_some()) {
            Some(text) => text.to_owned(),
            // The value is not an object, and is not overwritten for a title.
            None => return lost.push("title"),
        },
    };
    let name = known.as_ref().map_or(TITLES[0], |(name, _)| name);
    let before = Members::parse(&source).and_then(|members| members.raw(name).map(str::to_owned));
    let was = Object(before.map(|raw| (name.to_owned(), raw)).into_iter().collect());
    let now = Object::new().with(name, &conversation.title);
    record.set("metadata", Cell::Text(merge(&source, &was, &now, Style::of(&source), 0)));
}
