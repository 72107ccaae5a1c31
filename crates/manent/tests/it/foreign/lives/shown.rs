//! What is shown of the agents of a store, without ids and times of its own.

use super::super::*;
use super::life::Break;
use manent::formats::core::json::Style;
use manent::model::{ConversationId, MessageId};
use manent::store::{EventsQuery, MessagesQuery, PAGE_MAX};
use std::fmt::Write;

/// What a store shows.
pub struct Shown {
    /// Messages, folds, tool calls, values and named places.
    text: String,
    /// Messages on all branches.
    messages: usize,
    /// Tool calls of all messages.
    calls: usize,
    events: BTreeMap<String, Vec<String>>,
    files: Files,
}

/// What a first import of files shows.
pub async fn shown(files: &Files) -> Shown {
    let database = open();
    import(&database, files).await;
    of(&database).await
}

/// Asserts that a store shows the same as a first import.
pub async fn assert_shows_the_same(name: &str, alone: &Shown, database: &Database, report: &FileImportReport) {
    let grown = of(database).await;
    let lines = |shown: &Shown| Files::from([("shown".to_owned(), shown.text.clone().into_bytes())]);
    assert_eq!(difference(&lines(alone), &lines(&grown)), "", "{name}: {:#?}", report.conversations);
    for (channel, events) in &alone.events {
        let here = &grown.events[channel];
        assert!(here.ends_with(events), "{name}: events of {channel}");
        let mut once = here.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), here.len(), "{name}: events of {channel} are there once");
    }
    assert_eq!(difference(&alone.files, &grown.files), "", "{name}: what is written");
    // Where nothing was broken, no message and no tool call was stored twice.
    let was_broken = Break::ALL.iter().any(|how| name.contains(&format!("{how:?}")));
    let counts = |shown: &Shown| (shown.messages, shown.calls);
    assert!(was_broken || counts(alone) == counts(&grown), "{name}: {:?}", counts(&grown));
}

async fn of(database: &Database) -> Shown {
    let (mut text, mut messages, mut calls, mut events) = (String::new(), 0, 0, BTreeMap::new());
    for id in database.store().conversation_ids(None, 99).await.expect("readable") {
        text += &conversation(database, id).await;
        calls += database.store().annotations(id.into()).await.expect("readable").tool_calls.len();
        for branch in database.store().branches(id).await.expect("readable") {
            let query = MessagesQuery::Branch { branch: branch.id, after: None, limit: PAGE_MAX };
            messages += database.store().messages(query).await.expect("readable").len();
        }
        let query = EventsQuery { conversation: id, channels: Vec::new(), after: 0, limit: PAGE_MAX };
        for event in database.store().events(query).await.expect("readable") {
            let lines: &mut Vec<String> =
                events.entry(format!("{} of {}", event.channel, text.lines().count())).or_default();
            lines.push(event.body.text().to_owned());
        }
    }
    Shown { text, messages, calls, events, files: written(database, "kode").await }
}

async fn conversation(database: &Database, id: ConversationId) -> String {
    let store = database.store();
    let one = database.conversation(id).await.expect("there");
    let page = database.page(id, None, Direction::Forward, PAGE_MAX).await.expect("readable");
    let path: Vec<MessageId> = page.messages.iter().map(|message| message.id).collect();
    let place = |id: MessageId| path.iter().position(|known| *known == id);
    let mut out = format!("{} {:?} messages {}\n", one.title, one.status, one.messages);
    for message in &page.messages {
        let body = Style::COMPACT.format(message.content.body.text(), 0);
        writeln!(out, "  {} {body}", message.content.role).expect("text");
    }
    let annotations = store.annotations(id.into()).await.expect("readable");
    let mut lines = Vec::new();
    for fold in annotations.folds.iter().filter(|fold| fold.active) {
        let covers: Vec<_> = fold.covers.iter().map(|stretch| (place(stretch.first), place(stretch.last))).collect();
        lines.push(format!("  fold after {:?} covers {covers:?}: {:?}", place(fold.after), fold.summary));
    }
    for trail in &annotations.tool_calls {
        let call = &trail.call;
        let asked_by = Some((place(call.message), call.part)).filter(|_| call.part < 65_536);
        if asked_by.is_some_and(|(place, _)| place.is_none()) {
            continue;
        }
        let steps: Vec<_> = trail.steps.iter().map(|step| (step.state, step.at, step.note.clone())).collect();
        let record = Style::COMPACT.format(call.record.text(), 0);
        lines.push(format!("  call {} of {asked_by:?} {:?} {steps:?} {record}", call.call_id, call.state));
    }
    for bookmark in &annotations.bookmarks {
        lines.push(format!("  bookmark {} at {:?}", bookmark.name, bookmark.head.and_then(place)));
    }
    for name in ["breakpoint", "todos"] {
        let value = store.state(id, name.to_owned(), None).await.expect("readable");
        lines.push(format!("  {name} {:?}", value.map(|value| value.text().to_owned())));
    }
    lines.sort();
    lines.iter().for_each(|line| writeln!(out, "{line}").expect("text"));
    out
}
