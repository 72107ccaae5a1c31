//! Messages: conversion to and from rows of their table.

use crate::core::sqlite::{Cell, Record};
use crate::core::time::{millis, moment};
use manent_model::{Body, Content, Json, Part, Time, TimeSource, Timestamp};

/// Columns that a message holds.
pub(crate) const MAPPED: [&str; 7] =
    ["message_id", "conversation_id", "parent_message_id", "role", "text", "timestamp", "metadata"];

/// Time format of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// `2026-11-15T19:31:48.004807`: the plugin's own format, in local time without a time zone.
    Local,
    /// `2026-11-15 19:31:48`: SQLite's own, UTC.
    Utc,
}

/// Reads a time. What says no zone is taken as UTC; the text itself is kept with the record.
pub(crate) fn time(cell: &Cell) -> Option<Timestamp> {
    match cell {
        Cell::Text(text) => moment(text),
        // Numbers are seconds, or milliseconds if seconds would be thousands of years in the future.
        Cell::Integer(number) if number.unsigned_abs() < 100_000_000_000 => millis(number.checked_mul(1_000)?),
        Cell::Integer(number) => millis(*number),
        _ => None,
    }
}

/// Tells which clock wrote a time; none for another one.
pub(crate) fn clock(cell: &Cell) -> Option<Clock> {
    match cell.text()?.as_bytes().get(10)? {
        b'T' => Some(Clock::Local),
        b' ' => Some(Clock::Utc),
        _ => None,
    }
}

/// Formats a time for a clock, keeping fractions of a second.
pub(crate) fn written(at: Timestamp, clock: Clock) -> Cell {
    let time = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    let micros = at.0.rem_euclid(1_000_000);
    let date = time.strftime(match clock {
        Clock::Local => "%Y-%m-%dT%H:%M:%S",
        Clock::Utc => "%Y-%m-%d %H:%M:%S",
    });
    Cell::Text(match (clock, micros) {
        (Clock::Utc, 0) => date.to_string(),
        _ => format!("{date}.{micros:06}"),
    })
}

/// A role as we call it: the design's `bot` is what everybody else calls an assistant.
pub(crate) fn role(cell: &Cell) -> String {
    match cell.text() {
        Some("bot") => "assistant".to_owned(),
        Some(role) if !role.is_empty() => role.to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// The metadata column, if it is an object as the design requires.
pub(crate) fn metadata(cell: &Cell) -> Option<Json> {
    let text = cell.text().filter(|text| crate::core::json::Members::parse(text).is_some())?;
    Json::parse(text).ok()
}

/// Reads what a message says. A text stays as it is, even if it looks like JSON.
pub(crate) fn read(record: &Record, otherwise: Timestamp) -> Content {
    let time = match time(record.get("timestamp")) {
        Some(at) => Time { at, source: TimeSource::Exact },
        None => Time { at: otherwise, source: TimeSource::Inherited },
    };
    let parts = match record.get("text") {
        Cell::Null => Vec::new(),
        Cell::Text(text) => vec![Part::text(text.clone())],
        other => vec![Part::Opaque(Json::of(other))],
    };
    let mut content = Content::new(role(record.get("role")), time, Body::of(&parts));
    content.metadata = metadata(record.get("metadata"));
    content
}

/// The text of a message for the one column that there is.
pub(crate) fn text(content: &Content) -> Cell {
    let parts = content.body.parts();
    if let [Part::Opaque(json)] = parts.as_slice()
        && let Ok(cell) = json.read::<Cell>()
        && !matches!(cell, Cell::Null | Cell::Text(_))
    {
        return cell;
    }
    let words: Vec<&str> = parts.iter().filter_map(Part::words).collect();
    Cell::Text(words.join("\n\n"))
}

/// Updates a record with the content of a message; unchanged values keep their format. So does the time, because it
/// determines the order of a linear conversation.
pub(crate) fn change(record: &mut Record, content: &Content) {
    let was = read(record, content.time.at);
    if was.role != content.role {
        record.set("role", Cell::Text(content.role.clone()));
    }
    if was.body != content.body {
        record.set("text", text(content));
    }
    if was.metadata != content.metadata {
        record.set("metadata", Cell::or_null(content.metadata.as_ref().map(Json::text)));
    }
}

/// Returns whether a record is equivalent to a message.
pub(crate) fn is_same(record: &Record, content: &Content) -> bool {
    let was = read(record, content.time.at);
    was.role == content.role && was.body == content.body && was.metadata == content.metadata
}
