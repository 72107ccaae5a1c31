//! Any agent, written and read: the same agent.

use super::sample::tree;
use crate::kit::Shelf;
use crate::kode::{read, text};
use fastrand::Rng;
use manent_formats::*;
use manent_model::*;
use std::collections::BTreeMap;

const WORDS: [&str; 8] =
    ["", "hi", "你好 🖼", "a \"quoted\" \\ text", "two\nlines\r\n", "\u{1}\u{7f}\u{2028}", "[PROGRESS]", "</x>"];

fn word(rng: &mut Rng) -> String {
    WORDS[rng.usize(..WORDS.len())].to_owned()
}

fn json(rng: &mut Rng, depth: usize) -> Json {
    let text = match rng.usize(..if depth == 0 { 4 } else { 6 }) {
        0 => "1.50".to_owned(),
        1 => "null".to_owned(),
        2 => Json::of(&word(rng)).text().to_owned(),
        3 => "-0e5".to_owned(),
        4 => format!("[{}]", json(rng, depth - 1).text()),
        _ => format!("{{\"k\":{},\"\\u006b\":{}}}", json(rng, depth - 1).text(), json(rng, 0).text()),
    };
    Json::parse(&text).expect("JSON")
}

fn extra(rng: &mut Rng) -> Extra {
    if rng.bool() { vec![("meta".to_owned(), json(rng, 2))] } else { Extra::new() }
}

fn media(rng: &mut Rng) -> Part {
    let (kind, usual, mime) = [
        ("image", "image/*", "image/png"),
        ("audio", "audio/*", "audio/mpeg"),
        ("video", "video/*", "video/mp4"),
        ("file", "application/*", "application/pdf"),
    ][rng.usize(..4)];
    let mut all = vec![("kind".to_owned(), Json::of(&kind)), ("url".to_owned(), Json::of(&word(rng)))];
    all.extend(extra(rng));
    Part::Media { mime: if rng.bool() { usual } else { mime }.to_owned(), blob: None, extra: all }
}

fn part(rng: &mut Rng, calls: &mut Vec<String>) -> Part {
    match rng.usize(..6) {
        0 => Part::Reasoning { text: word(rng), extra: extra(rng) },
        1 => {
            calls.push(format!("call_{}", calls.len()));
            Part::ToolCall {
                id: calls[calls.len() - 1].clone(),
                name: word(rng),
                input: json(rng, 3),
                extra: extra(rng),
            }
        }
        2 if !calls.is_empty() => {
            let error = vec![("is_error".to_owned(), Json::of(&rng.bool()))];
            Part::ToolResult { call: calls[rng.usize(..calls.len())].clone(), content: json(rng, 3), extra: error }
        }
        3 => media(rng),
        4 => Part::Opaque(Json::parse(r#"{"type":"hologram" , "depth":3.00}"#).expect("JSON")),
        _ => Part::Text { text: word(rng), extra: extra(rng) },
    }
}

/// An agent as items, as if it had been read from somewhere.
pub fn agent(rng: &mut Rng) -> Vec<Item> {
    let created = Timestamp(1_767_323_045_006_000);
    let mut items = vec![Item::Conversation(Box::new(ConversationItem {
        title: "tpl".to_owned(),
        kind: ConversationKind::Agent,
        metadata: Some(Json::parse(r#"{"templateId":"tpl","provider":"p","model":"m"}"#).expect("JSON")),
        created_at: Some(created),
        active_at: Some(Timestamp(created.0 + 1_000)),
        ..ConversationItem::new("x".to_owned(), Json::of(&0), "agent")
    }))];
    let (mut calls, mut tool_calls, mut bookmarks) = (Vec::new(), Vec::new(), Vec::new());
    let main = rng.u32(1..8);
    for index in 0..main + rng.u32(..3) {
        let mut parts = Vec::new();
        for place in 0..rng.u32(..4) {
            let part = part(rng, &mut calls);
            if let (Part::ToolCall { id, name, .. }, true) = (&part, index < main) {
                tool_calls.push((index, place, id.clone(), name.clone()));
            }
            parts.push(part);
        }
        // What leaves the path says something of its own, or it would not have left it.
        parts.push(Part::text(format!("{index}")));
        let time = Time { at: created, source: TimeSource::Inherited };
        let mut content = Content::new(["user", "assistant", "system"][rng.usize(..3)], time, Body::of(&parts));
        content.metadata = rng.bool().then(|| json(rng, 2)).filter(|json| json.text() != "null");
        let follows = if index < main { Follows::Last } else { Follows::At(Some(rng.u32(..main))) };
        if index >= main || rng.bool() {
            bookmarks.push((format!("b{index}"), index));
        }
        let message = MessageItem { external: None, follows, content, reply_to: None, raw: None, record: "message" };
        items.push(Item::Message(Box::new(message)));
    }
    for (name, head) in bookmarks {
        items.push(Item::Bookmark(BookmarkItem { name, head: Some(head), metadata: None, record: "" }));
    }
    for name in ["todos", "media_cache", "breakpoint"] {
        let value = if name == "breakpoint" { Json::of(&word(rng)) } else { json(rng, 3) };
        items.push(Item::State(StateItem { name: name.to_owned(), after: Some(main - 1), value, record: "" }));
    }
    for (index, place, call_id, name) in tool_calls {
        let state = ToolState::ALL[rng.usize(..8)];
        let note = word(rng);
        let steps = vec![ToolStep { state, at: Timestamp(rng.i64(0..1_000) * 1_000), actor: None, note }];
        let body = Json::parse("{}").expect("JSON");
        items.push(Item::ToolCall(ToolCallItem {
            part: (index, place),
            call_id,
            name,
            state,
            body,
            steps,
            record: "",
        }));
    }
    for at in 0..rng.i64(0..5) {
        let channel = ["progress", "control", "monitor"][rng.usize(..3)].to_owned();
        let body = Json::parse(&format!(r#"{{"type":"done","value":{}}}"#, json(rng, 2).text())).expect("JSON");
        items.push(Item::Event(EventItem { channel, at: Timestamp(at * 1_000), body, record: "" }));
    }
    items.push(Item::End { head: Some(main - 1) });
    items
}

/// What a message says; JSON in it is laid out by the file that it stands in.
fn said(content: &Content) -> String {
    let compact = |text: &str| manent_formats::core::json::Style::COMPACT.format(text, 0);
    let metadata = content.metadata.as_ref().map(|metadata| compact(metadata.text()));
    let rest = Content { metadata: None, body: Body::of(&[]), ..content.clone() };
    format!("{} {metadata:?} {rest:?}", compact(content.body.text()))
}

/// What an agent says, without where it was read.
pub fn essence(shelf: &mut Shelf) -> Vec<String> {
    let mut lines = Vec::new();
    for place in 0..shelf.count() {
        let out = shelf.conversation(place).expect("a conversation");
        let conversation = &out.conversation;
        lines.push(format!("{:?} {:?}", conversation.title, conversation.metadata));
        lines.push(format!("{} {}", conversation.created_at, conversation.active_at));
        let mut path = Vec::new();
        while let Some(page) =
            Some(shelf.messages(place, path.len()).expect("messages")).filter(|page| !page.is_empty())
        {
            path.extend(page);
        }
        path.retain(|message| !message.is_removed);
        let ids: Vec<MessageId> = path.iter().map(|message| message.id).collect();
        lines.extend(path.iter().map(|message| said(&message.content)));
        let mut bookmarks = out.bookmarks;
        bookmarks.sort_by(|one, other| one.name.cmp(&other.name));
        for bookmark in bookmarks {
            let path = shelf.path_to(place, bookmark.head.expect("a place")).expect("a path");
            let bodies: Vec<String> = path.iter().map(|message| said(&message.content)).collect();
            lines.push(format!("{} {bodies:?}", bookmark.name));
        }
        let mut states: Vec<String> = out
            .states
            .iter()
            .map(|state| {
                let value = state.value.as_ref().expect("a value").text();
                format!("{} {}", state.name, manent_formats::core::json::Style::COMPACT.format(value, 0))
            })
            .collect();
        states.sort();
        lines.extend(states);
        for (call, steps) in &out.tool_calls {
            let message = ids.iter().position(|id| *id == call.message);
            lines
                .push(format!("{message:?} {} {} {:?} {:?} {steps:?}", call.part, call.call_id, call.name, call.state));
        }
        let mut after = 0;
        while let Some(page) = Some(shelf.events(place, after).expect("events")).filter(|page| !page.is_empty()) {
            for event in page {
                after = event.cursor;
                let body = event.body.text();
                let value = body.split("\"value\":").nth(1).expect("a value").split(",\"bookmark\"").next();
                let value = value.expect("a value").trim_end_matches('}');
                lines.push(format!("{} {} {value}", event.channel, event.at));
            }
        }
    }
    lines
}

#[test]
fn any_agent_that_is_written_and_read_is_the_same() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let items: Vec<Item> = (0..rng.usize(1..4)).flat_map(|_| agent(&mut rng)).collect();
        let mut shelf = Shelf::of(&items);
        for (out, messages, _) in &mut shelf.conversations {
            out.record = None;
            messages.iter_mut().for_each(|message| message.record = None);
        }
        let mut files = BTreeMap::new();
        manent_formats::apps::kode::write(&mut shelf, &mut files, None).expect("writable");
        let files = text(files);
        let mut again = Shelf::of(&read(&tree(&files)));
        assert_eq!(essence(&mut again), essence(&mut shelf), "seed {seed}");
        let mut same = BTreeMap::new();
        let losses = manent_formats::apps::kode::write(&mut again, &mut same, None).expect("writable");
        assert_eq!((text(same), losses), (files, Vec::new()), "seed {seed}");
    }
}
