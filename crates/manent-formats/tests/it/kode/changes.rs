//! Kode after a change: exactly what changed looks different.

use super::sample::*;
use crate::kit::Shelf;
use crate::kode::{difference, read, text};
use expect_test::{Expect, expect};
use manent_formats::Loss;
use manent_formats::apps::kode;
use manent_model::{Body, Bookmark, Content, Event, Json, Part, State, Time, Timestamp, ToolState, ToolStep};
use std::collections::BTreeMap;

fn sample() -> Files {
    let mut files = small("agt-1");
    let asks =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"n","input":{"a":1.50}}],"unknown":[1]}"#;
    let answers = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":{"ok":true},"is_error":false}]}"#;
    let messages =
        [said("user", "hi"), asks.to_owned(), answers.to_owned(), r#"{"role":"assistant","content":"ho"}"#.to_owned()];
    files.insert("agt-1/runtime/messages.json".to_owned(), list(&messages));
    let calls = r#"[{"id":"c0","name":"old","input":null,"state":"COMPLETED","approval":{"required":false},"createdAt":1,"updatedAt":2,"auditTrail":[]},{"id":"c1","name":"n","input":{"a":1.50},"state":"EXECUTING","approval":{"required":false},"createdAt":1,"updatedAt":2,"auditTrail":[{"state":"EXECUTING","timestamp":2,"x":0}]}]"#;
    files.insert("agt-1/runtime/tool-calls.json".to_owned(), pretty(calls));
    files.insert("agt-1/runtime/todos.json".to_owned(), pretty(r#"{"todos":[],"version":1,"updatedAt":5}"#));
    files.insert("agt-1/events/monitor.log".to_owned(), format!("{}\n", event("monitor", 0, 5)));
    files
}

fn check_change(change: fn(&mut Shelf), expected: Expect) {
    let files = sample();
    let mut shelf = Shelf::of(&read(&tree(&files)));
    change(&mut shelf);
    let mut out = BTreeMap::new();
    let losses = kode::write(&mut shelf, &mut out, None).expect("writable");
    let losses: Vec<String> = losses.iter().map(|Loss { what, count, .. }| format!("lost: {what} {count}")).collect();
    let told = [vec![difference(&files, &text(out))], losses].concat();
    expected.assert_eq(told.join("\n").trim());
}

fn words(text: &str) -> Content {
    Content::new("user", Time::exact(1_767_323_045_000_000), Body::of(&[Part::text(text)]))
}

#[test]
fn nothing_that_changed_is_nothing_that_differs() {
    check_change(|_| {}, expect![[""]]);
}

#[test]
fn a_message_that_was_added_is_the_only_difference() {
    check_change(
        |shelf| {
            shelf.append(0, words("more"));
        },
        expect![[r#"
            changed: agt-1/meta.json
            -  "messageCount": 2,
            -  "lastSfpIndex": 1,
            +  "messageCount": 5,
            +  "lastSfpIndex": 4,
            changed: agt-1/runtime/messages.json
            +  },
            +  {
            +    "role": "user",
            +    "content": [
            +      {
            +        "type": "text",
            +        "text": "more"
            +      }
            +    ]
            lost: times of messages 1"#]],
    );
}

#[test]
fn a_message_that_was_removed_is_the_only_difference() {
    check_change(
        |shelf| shelf.conversations[0].1[0].is_removed = true,
        expect![[r#"
        changed: agt-1/meta.json
        -  "messageCount": 2,
        -  "lastSfpIndex": 1,
        +  "messageCount": 3,
        +  "lastSfpIndex": 2,
        changed: agt-1/runtime/messages.json
        -    "role": "user",
        -    "content": [
        -      {
        -        "type": "text",
        -        "text": "hi"
        -      }
        -    ]
        -  },
        -  {"#]],
    );
}

#[test]
fn words_that_were_edited_are_the_only_difference() {
    check_change(
        |shelf| shelf.conversations[0].1[0].content.body = words("hey").body,
        expect![[r#"
        changed: agt-1/runtime/messages.json
        -        "text": "hi"
        +        "text": "hey""#]],
    );
    check_change(
        |shelf| shelf.conversations[0].1[3].content.body = words("hey").body,
        expect![[r#"
        changed: agt-1/runtime/messages.json
        -    "content": "ho"
        +    "content": "hey""#]],
    );
}

#[test]
fn a_new_title_is_told_as_lost() {
    check_change(|shelf| shelf.conversations[0].0.conversation.title = "new".to_owned(), expect!["lost: title 1"]);
}

#[test]
fn a_step_of_a_tool_call_is_the_only_difference() {
    check_change(
        |shelf| {
            let (call, steps) = &mut shelf.conversations[0].0.tool_calls[1];
            call.state = ToolState::Completed;
            let (at, note) = (Timestamp(9_000), "execution complete".to_owned());
            steps.push(ToolStep { state: ToolState::Completed, at, actor: None, note });
        },
        expect![[r#"
            changed: agt-1/runtime/tool-calls.json
            -    "state": "EXECUTING",
            +    "state": "COMPLETED",
            -    "updatedAt": 2,
            +    "updatedAt": 9,
            +      },
            +      {
            +        "state": "COMPLETED",
            +        "timestamp": 9,
            +        "note": "execution complete""#]],
    );
}

#[test]
fn a_state_that_was_set_is_the_only_difference() {
    check_change(
        |shelf| {
            let states = &mut shelf.conversations[0].0.states;
            let value = |text: &str| Some(Json::parse(text).expect("JSON"));
            let breakpoint = value("\"PRE_MODEL\"");
            states.push(State { name: "breakpoint".to_owned(), after: None, value: breakpoint, at: Timestamp(0) });
            states.push(State { name: "plot".to_owned(), after: None, value: value("1"), at: Timestamp(0) });
            states.push(State { name: "todos".to_owned(), after: None, value: None, at: Timestamp(0) });
        },
        expect![[r#"
            changed: agt-1/meta.json
            -    "breakpoint": "READY"
            +    "breakpoint": "PRE_MODEL"
            gone: agt-1/runtime/todos.json
            lost: values of state 1"#]],
    );
}

#[test]
fn an_event_and_a_bookmark_that_were_added_are_the_only_difference() {
    check_change(
        |shelf| {
            let (out, messages, events) = &mut shelf.conversations[0];
            let body = Json::parse(r#"{"type": "agent_resumed", "strategy":"crash"}"#).expect("JSON");
            let at = Timestamp(7_000);
            events.push(Event { cursor: 2, channel: "monitor".to_owned(), at, body: body.clone() });
            events.push(Event { cursor: 3, channel: "other".to_owned(), at, body });
            let head = Some(messages[0].id);
            out.bookmarks.push(Bookmark { name: "mine".to_owned(), head, metadata: None, at });
            out.bookmarks.push(Bookmark { name: "a/b".to_owned(), head, metadata: None, at });
        },
        expect![[r#"
            changed: agt-1/events/monitor.log
            +{"cursor":2,"bookmark":{"seq":2,"timestamp":7},"event":{"channel":"monitor","type":"agent_resumed","strategy":"crash","bookmark":{"seq":2,"timestamp":7}}}
            new: agt-1/snapshots/mine.json
            lost: events of other channels 1
            lost: bookmarks 1"#]],
    );
}
