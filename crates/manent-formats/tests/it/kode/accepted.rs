//! What is written, read by the rules of the SDK itself; nothing of our reader is used here.

use super::sample::{Files, list, pretty, said, small, tree};
use crate::kit::*;
use crate::kode::{read, text};
use expect_test::expect;
use manent_formats::apps::{kode, veloca};
use manent_formats::core::json::Style;
use manent_formats::{ExportSource, Loss};
use manent_model::{
    Author, Body, Bookmark, Content, Event, Json, Part, State, Time, Timestamp, ToolCall, ToolState, ToolStep,
};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The keys of an object in their order.
fn keys(json: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = json.trim().strip_prefix('{').expect("an object");
    loop {
        rest = rest.trim_start_matches([' ', '\n', '\r', '\t', ',']);
        if rest.starts_with('}') {
            return keys;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        keys.push(stream.next().expect("a key").expect("a text"));
        rest = rest[stream.byte_offset()..].trim_start().strip_prefix(':').expect("a colon");
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        stream.next().expect("a value").expect("JSON");
        rest = &rest[stream.byte_offset()..];
    }
}

fn is_text(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value[*name].is_string(), "{name} of {value}");
    }
}

/// `store.exists(id)`, `loadInfo`, and what `Agent.resume` asks of it.
fn accept_meta(folder: &str, json: &str, messages: usize) {
    let meta: Value = serde_json::from_str(json).expect("meta.json");
    assert!(meta["metadata"].is_object(), "exists() wants metadata");
    assert_eq!(meta["agentId"], folder);
    is_text(&meta, &["templateId", "createdAt", "configVersion"]);
    is_text(&meta["metadata"], &["agentId", "templateId", "createdAt", "updatedAt", "breakpoint"]);
    assert!(meta["metadata"]["tools"].is_array() && meta["lineage"].is_array());
    assert_eq!(meta["messageCount"], messages);
    assert!(meta["lastSfpIndex"].as_i64().expect("an index") < messages as i64);
    let order = ["agentId", "templateId", "createdAt", "lineage", "configVersion", "messageCount", "lastSfpIndex"];
    assert_eq!(keys(json)[..7], order);
    assert_eq!(keys(json).last().map(String::as_str), Some("metadata"));
}

fn accept_message(message: &Value) {
    assert!(["user", "assistant", "system"].contains(&message["role"].as_str().expect("a role")), "{message}");
    for block in message["content"].as_array().expect("a list of blocks") {
        match block["type"].as_str().expect("a type") {
            "text" => is_text(block, &["text"]),
            "reasoning" => is_text(block, &["reasoning"]),
            "tool_use" => is_text(block, &["id", "name"]),
            "tool_result" => is_text(block, &["tool_use_id"]),
            "image" | "audio" | "video" | "file" | "image_url" => {}
            other => panic!("the program knows no block {other}"),
        }
    }
}

fn accept_call(call: &Value) {
    is_text(call, &["id", "name", "state"]);
    let states = ["PENDING", "APPROVAL_REQUIRED", "APPROVED", "EXECUTING", "COMPLETED", "FAILED", "DENIED", "SEALED"];
    assert!(states.contains(&call["state"].as_str().expect("a state")));
    assert!(call["approval"]["required"].is_boolean() && call["createdAt"].is_i64() && call["updatedAt"].is_i64());
    for step in call["auditTrail"].as_array().expect("a trail") {
        assert!(states.contains(&step["state"].as_str().expect("a state")) && step["timestamp"].is_i64());
    }
}

fn accept_line(channel: &str, line: &str) {
    let event: Value = serde_json::from_str(line).expect("a line is JSON");
    assert!(event["cursor"].is_i64() && event["bookmark"]["seq"].is_i64() && event["bookmark"]["timestamp"].is_i64());
    assert_eq!(event["event"]["channel"], channel);
    is_text(&event["event"], &["type"]);
    assert_eq!(keys(line), ["cursor", "bookmark", "event"]);
}

/// Reads a folder as the SDK does; panics where it would not.
fn accept(files: &Files) -> usize {
    let mut agents = 0;
    for (name, text) in files {
        if name.ends_with(".json") {
            assert_eq!(*text, Style::PRETTY.format(text, 0), "{name} is JSON.stringify(value, null, 2)");
        }
        let Some(folder) = name.strip_suffix("/meta.json") else { continue };
        if folder.ends_with("__pool_meta__") {
            continue;
        }
        agents += 1;
        let list = |file: &str| -> Vec<Value> {
            files
                .get(&format!("{folder}/{file}"))
                .map_or_else(Vec::new, |text| serde_json::from_str(text).expect("a list"))
        };
        let messages = list("runtime/messages.json");
        messages.iter().for_each(accept_message);
        accept_meta(folder, text, messages.len());
        list("runtime/tool-calls.json").iter().for_each(accept_call);
        for channel in ["progress", "control", "monitor"] {
            let Some(log) = files.get(&format!("{folder}/events/{channel}.log")) else { continue };
            assert!(log.is_empty() || log.ends_with('\n'));
            log.lines().for_each(|line| accept_line(channel, line));
        }
        for (name, text) in files {
            let Some(id) = name.strip_prefix(&format!("{folder}/snapshots/")) else { continue };
            let snapshot: Value = serde_json::from_str(text).expect("a snapshot");
            assert_eq!(format!("{}.json", snapshot["id"].as_str().expect("an id")), id);
            snapshot["messages"].as_array().expect("messages").iter().for_each(accept_message);
            assert!(snapshot["lastSfpIndex"].is_i64() && snapshot["lastBookmark"]["seq"].is_i64());
            is_text(&snapshot, &["createdAt"]);
            assert!(snapshot["metadata"]["stepCount"].is_i64());
        }
    }
    agents
}

#[test]
fn what_the_sdk_wrote_is_accepted_by_its_rules_and_so_is_what_we_write() {
    let folders = ["full-2.7.0", "interrupt", "pool-shutdown", "crash-approval/after-resume", "crash-executing/before"];
    for name in folders {
        let Some(path) = fixtures(&format!("kode/{name}")) else { return };
        let tree = folder(&path);
        assert!(accept(&crate::kode::written(&read(&tree))) > 0, "{name}");
    }
}

fn answer(role: &str, parts: &[Part]) -> Content {
    Content::new(role, Time::exact(1_704_067_206_000_000), Body::of(parts))
}

/// A conversation of another program, with everything that can hang on one.
fn elsewhere() -> Shelf {
    let json = r#"{"sessions":[{"session_id":"s","name":"A title","status":0,"create_at":"2024-01-01T00:00:00.000Z"}],
        "entries":[
        {"entry_id":"1","session_id":"s","content":"hi","role":"user","status":0,"create_at":"2024-01-01T00:00:01.000Z"},
        {"entry_id":"2","session_id":"s","content":"","role":"assistant","status":0,"create_at":"2024-01-01T00:00:02.000Z",
         "tools":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}},
        {"entry_id":"3","session_id":"s","content":"lost","role":"user","status":0,"create_at":"2024-01-01T00:00:03.000Z"}],
        "compacted_dialogues":[{"entry_id":"x","trigger_entry_id":"3","summary":"so far","create_at":"2024-01-01T00:00:04.000Z","status":0}]}"#;
    let mut items = Vec::new();
    let files: Files = [("veloca-storage.json".to_owned(), json.to_owned())].into();
    veloca::read(&tree(&files), &mut items).expect("readable");
    let mut shelf = Shelf::of(&items);
    shelf.root = None;
    let (out, messages, _) = &mut shelf.conversations[0];
    out.record = None;
    out.folds.iter_mut().for_each(|(_, record)| *record = None);
    messages.iter_mut().for_each(|message| message.record = None);
    messages[2].is_removed = true;
    let author = Some(Author { id: "u".to_owned(), name: String::new() });
    shelf.append(0, Content { author, ..answer("tool", &[Part::text("done")]) });
    shelf.append(
        0,
        answer(
            "narrator",
            &[Part::Media { mime: "image/png".to_owned(), blob: Some("ab".to_owned()), extra: Vec::new() }],
        ),
    );
    let (out, messages, events) = &mut shelf.conversations[0];
    let at = Timestamp(1_704_067_205_000_000);
    let json = |text: &str| Json::parse(text).expect("JSON");
    let call = ToolCall {
        message: messages[1].id,
        part: 0,
        call_id: "c1".to_owned(),
        name: "f".to_owned(),
        state: ToolState::Failed,
        record: json("{}"),
    };
    let step = ToolStep { state: ToolState::Failed, at, actor: None, note: "no such tool".to_owned() };
    out.tool_calls = vec![(call, vec![step])];
    let todos = json(r#"{"todos":[],"version":1,"updatedAt":5}"#);
    out.states.push(State { name: "todos".to_owned(), after: None, value: Some(todos), at });
    out.bookmarks.push(Bookmark { name: "mine".to_owned(), head: Some(messages[1].id), metadata: None, at });
    let body = json(r#"{"type":"state_changed","state":"READY"}"#);
    events.push(Event { cursor: 1, channel: "monitor".to_owned(), at, body });
    let summary = Part::Summary { text: "in short".to_owned(), extra: Vec::new() };
    messages[0].content.body = Body::of(&[Part::text("hi"), summary]);
    shelf
}

#[test]
fn every_generation_holds_a_conversation_from_elsewhere() {
    let words = |shelf: &mut Shelf| -> Vec<String> {
        let path = (0..4).flat_map(|from| shelf.messages(0, from).expect("messages").into_iter().take(1));
        path.filter(|message| !message.is_removed).map(|message| message.content.body.words()).collect()
    };
    for generation in kode::GENERATIONS {
        let mut out = BTreeMap::new();
        kode::write(&mut elsewhere(), &mut out, Some(generation)).expect("writable");
        let items = read(&manent_formats::core::source_fs::MemoryTree::new("sample", out));
        let mut shelf = Shelf::of(&items);
        let read = shelf.root.as_ref().map(|root| root.generation.clone());
        // Nothing in these files but the state of a tool call tells the port from the original.
        assert_eq!(read.as_deref(), Some(generation), "{}", report(&items));
        assert_eq!(words(&mut shelf)[..2], words(&mut elsewhere())[..2], "{generation}");
    }
}

#[test]
fn an_agent_whose_meta_file_was_cut_off_gets_one_that_the_sdk_accepts() {
    let mut files = small("agt-1");
    files.get_mut("agt-1/meta.json").expect("a file").truncate(40);
    let mut out = BTreeMap::new();
    let losses = kode::write(&mut Shelf::of(&read(&tree(&files))), &mut out, None).expect("writable");
    assert_eq!((accept(&text(out)), losses), (1, Vec::new()));
    // One that never had such a file gets none: then the folder would not come back as it was.
    files.remove("agt-1/meta.json");
    assert_eq!(crate::kode::written(&read(&tree(&files))), files);
}

#[test]
fn an_agent_of_the_first_generation_becomes_one_that_the_sdk_accepts() {
    let mut files = Files::new();
    let messages = [said("user", "hi"), said("assistant", "ho")];
    files.insert("org-a/session-x/messages.json".to_owned(), list(&messages));
    files.insert(
        "org-a/session-x/info.json".to_owned(),
        pretty(r#"{"sessionId":"org-a/session-x","createdAt":"2025-10-04T00:00:00.000Z"}"#),
    );
    let mut out = BTreeMap::new();
    kode::write(&mut Shelf::of(&read(&tree(&files))), &mut out, Some("current")).expect("writable");
    assert_eq!(accept(&text(out)), 1);
}

#[test]
fn a_conversation_from_elsewhere_is_accepted_by_the_sdk() {
    let mut out = BTreeMap::new();
    let losses = kode::write(&mut elsewhere(), &mut out, None).expect("writable");
    let files = text(out);
    assert_eq!(accept(&files), 1);
    let losses: Vec<String> = losses.iter().map(|Loss { what, count, .. }| format!("{what} {count}")).collect();
    expect![[r#"
        times of messages 4
        parts written as text 1
        authors 1
        roles 1
        media without their bytes 1
        title 1
        folds that no window stands for 1"#]]
    .assert_eq(&losses.join("\n"));
    let (agent, names) = (files.keys().next().expect("a file"), files.keys());
    let agent = agent.split('/').next().expect("a folder").to_owned();
    let names: Vec<&str> = names.filter_map(|name| name.strip_prefix(&agent)?.strip_prefix('/')).collect();
    expect![[r#"
        events/monitor.log
        meta.json
        runtime/messages.json
        runtime/todos.json
        runtime/tool-calls.json
        snapshots/mine.json"#]]
    .assert_eq(&names.join("\n"));
    expect![[r#"
        {
          "agentId": "agt-01HF7YAT000000000000000000",
          "templateId": "manent",
          "createdAt": "2024-01-01T00:00:00.000Z",
          "lineage": [],
          "configVersion": "v2.7.0",
          "messageCount": 4,
          "lastSfpIndex": 3,
          "metadata": {
            "agentId": "agt-01HF7YAT000000000000000000",
            "templateId": "manent",
            "tools": [],
            "exposeThinking": false,
            "permission": {
              "mode": "auto"
            },
            "createdAt": "2024-01-01T00:00:00.000Z",
            "updatedAt": "2024-01-01T00:00:00.000Z",
            "configVersion": "v2.7.0",
            "lineage": [],
            "breakpoint": "READY"
          }
        }"#]]
    .assert_eq(&files[&format!("{agent}/meta.json")]);
}
