//! Veloca: five generations of one file.

mod accepts;
mod random;
pub mod samples;
mod truncation;

use crate::kit::*;
use expect_test::{Expect, expect};
use manent_formats::apps::veloca;
use manent_formats::core::json::Style;
use manent_formats::core::source_fs::{MemoryTree, SourceTree};
use manent_formats::{Item, Loss};
use manent_model::{Extra, Json, Part};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

fn read(tree: &dyn SourceTree) -> Vec<Item> {
    let mut items = Vec::new();
    veloca::read(tree, &mut items).expect("readable");
    items
}

fn write(shelf: &mut Shelf, generation: Option<&str>) -> (Files, Vec<Loss>) {
    let mut written = BTreeMap::new();
    let losses = veloca::write(shelf, &mut written, generation).expect("writable");
    (written, losses)
}

/// What conversations say, without where it was read; JSON in it is laid out by the file that it stands in.
fn told(shelf: &Shelf) -> Vec<String> {
    let compact = |text: &str| Style::COMPACT.format(text, 0);
    let mut told = Vec::new();
    for (out, messages, _) in &shelf.conversations {
        let one = &out.conversation;
        let metadata = one.metadata.as_ref().map(|metadata| compact(metadata.text()));
        told.push(format!("{:?}", (&one.title, one.status, one.created_at, metadata)));
        for message in messages {
            let content = &message.content;
            let metadata = content.metadata.as_ref().map(|metadata| compact(metadata.text()));
            let rest = (&content.role, content.time, content.tokens, content.seen, metadata);
            told.push(format!("{rest:?} {}", compact(content.body.text())));
        }
        let place = |id| messages.iter().position(|message| message.id == id);
        for (fold, _) in &out.folds {
            let covers: Vec<_> = fold.covers.iter().map(|one| (place(one.first), place(one.last))).collect();
            told.push(format!("{:?}", (place(fold.after), covers, &fold.summary, fold.active, fold.at)));
        }
    }
    told
}

fn check(tree: &dyn SourceTree, expected: Expect) {
    let items = read(tree);
    expected.assert_eq(&report(&items));
    let mut written = BTreeMap::new();
    veloca::write(&mut Shelf::of(&items), &mut written, None).expect("writable");
    let text = |files: BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).expect("UTF-8"))).collect()
    };
    assert_eq!(text(written), text(files(tree)));
}

#[test]
fn the_authors_own_file_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/real-da1f742-veloca-storage.json") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 1: real-da1f742-veloca-storage.json
        repaired: real-da1f742-veloca-storage.json at byte 2099 trigger dangling: trigger 660e8400-e29b-41d4-a716-446655440010 is not in session 550e8400-e29b-41d4-a716-446655440000; the fold covers nothing
        repaired: real-da1f742-veloca-storage.json tool call unanswered: tool call call_123 has no result and is sealed here; the file stays as it is
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 4 read, 4 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        unmapped: entry.is_compaction 4"#]],
    );
}

#[test]
fn the_file_of_the_schema_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/schema-veloca-storage.json") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 2: schema-veloca-storage.json
        repaired: schema-veloca-storage.json at byte 1168 trigger dangling: trigger uuid-example-10 is not in session uuid-example-1; the fold covers nothing
        repaired: schema-veloca-storage.json tool call unanswered: tool call call_123 has no result and is sealed here; the file stays as it is
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 2 read, 2 mapped, 0 kept or told
        session: 1 read, 1 mapped, 0 kept or told
        unmapped: entry.is_compaction 2"#]],
    );
}

#[test]
fn the_file_of_the_typescript_store_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/ts-head-written") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 3: veloca-storage.json
        repaired: veloca-storage.json question unanswered: session implicit-session ends with a question
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 9 read, 9 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told"#]],
    );
}

#[test]
fn the_file_of_the_rust_crate_comes_back_to_the_byte() {
    let Some(path) = fixtures("veloca/rust-0.5.0-written") else { return };
    check(
        &folder(&path),
        expect![[r#"
        veloca generation 4: otherone-storage.json
        repaired: otherone-storage.json question unanswered: session child-session ends with a question
        compaction: 1 read, 1 mapped, 0 kept or told
        entry: 5 read, 5 mapped, 0 kept or told
        session: 2 read, 2 mapped, 0 kept or told
        unmapped: entry.is_compaction 5"#]],
    );
}

#[test]
fn any_layout_comes_back_to_the_byte() {
    for tree in samples::all().iter().chain([&samples::twice()]) {
        let items = read(tree);
        assert_accounted(&items, &"a sample");
        let (written, losses) = write(&mut Shelf::of(&items), None);
        assert_eq!(difference(&files(tree), &written), "");
        assert_eq!(losses, []);
    }
}

#[test]
fn what_stands_inside_and_outside_of_sessions_is_written_inside() {
    let mut shelf = Shelf::of(&read(&samples::mixed()));
    let (written, losses) = write(&mut shelf, None);
    assert_eq!(losses, []);
    accepts::readable(&written, "3");
    let items = read(&MemoryTree::new("again", written));
    assert_eq!(told(&Shelf::of(&items)), told(&shelf));
    expect![[r#"
        veloca generation 3: veloca-storage.json
        repaired: veloca-storage.json at byte 42 time missing: the entry has no time that can be read
        repaired: veloca-storage.json at byte 183 trigger dangling: trigger that is not named is not in session a; the fold covers nothing
        repaired: veloca-storage.json question unanswered: session a ends with a question
        repaired: veloca-storage.json at byte 230 time missing: the entry has no time that can be read
        repaired: veloca-storage.json question unanswered: session b ends with a question
        repaired: veloca-storage.json at byte 436 time missing: the entry has no time that can be read
        repaired: veloca-storage.json question unanswered: session c ends with a question
        compaction: 3 read, 3 mapped, 0 kept or told
        entry: 3 read, 3 mapped, 0 kept or told
        session: 3 read, 3 mapped, 0 kept or told"#]]
    .assert_eq(&report(&items));
}

#[test]
fn what_a_generation_cannot_hold_is_told() {
    let mut shelf = Shelf::of(&read(&samples::nested()));
    let result = |call: &str| Part::ToolResult { call: call.to_owned(), content: Json::of(&1), extra: Extra::new() };
    shelf.say(0, "tool", &[result("a"), result("b")]).content.seen.by_reader = false;
    let losses = |shelf: &mut Shelf, generation| {
        let losses = write(shelf, Some(generation)).1;
        losses.iter().map(|loss| format!("{} {}", loss.what, loss.count)).collect::<Vec<_>>().join(", ")
    };
    expect!["thoughts 1"].assert_eq(&losses(&mut shelf, "1"));
    expect![""].assert_eq(&losses(&mut shelf, "2"));
    expect!["status that its programs do not read 2"].assert_eq(&losses(&mut shelf, "3"));
    expect!["thoughts 1"].assert_eq(&losses(&mut shelf, "4"));
}

/// What one entry says: its role, the calls that it asks for, and the call that it answers.
fn paired(bytes: &[u8]) -> Vec<(String, Vec<String>, Option<String>, Option<String>)> {
    let file: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
    let entries = file["sessions"][0]["entries"].as_array().expect("entries").clone();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let entry = |entry: &serde_json::Value| {
        let tools = &entry["tools"];
        let calls = tools["tool_calls"].as_array().cloned().unwrap_or_default();
        let calls = calls.iter().filter_map(|call| text(&call["id"])).collect();
        (text(&entry["role"]).expect("a role"), calls, text(&tools["tool_call_id"]), text(&tools["function_name"]))
    };
    entries.iter().map(entry).collect()
}

#[test]
fn results_of_several_tools_from_elsewhere_are_entries_of_their_own() {
    let mut shelf = Shelf::of(&[]);
    shelf.begin("from elsewhere", manent_model::Timestamp(1_700_000_000_000_000));
    let call = |id: &str| Part::ToolCall {
        id: id.to_owned(),
        name: format!("tool {id}"),
        input: Json::parse("{}").expect("JSON"),
        extra: Extra::new(),
    };
    let result = |call: &str| {
        let extra = vec![("is_error".to_owned(), Json::of(&(call == "b")))];
        Part::ToolResult { call: call.to_owned(), content: Json::of(&1), extra }
    };
    shelf.say(0, "user", &[Part::text("go")]);
    shelf.say(0, "assistant", &[call("a"), call("b")]);
    shelf.say(0, "user", &[result("a"), result("b"), Part::text("and on")]);
    let (files, losses) = write(&mut shelf, None);
    assert_eq!(losses, []);
    let file = files.values().next().expect("a file");
    let one = |role: &str, calls: &[&str], call: Option<&str>| {
        let name = call.map(|call| format!("tool {call}"));
        (role.to_owned(), calls.iter().map(|call| (*call).to_owned()).collect(), call.map(str::to_owned), name)
    };
    let expected = [
        one("user", &[], None),
        one("assistant", &["a", "b"], None),
        one("tool", &[], Some("a")),
        one("tool", &[], Some("b")),
        one("user", &[], None),
    ];
    assert_eq!(paired(file), expected);
    assert!(String::from_utf8_lossy(file).contains("\"error\": 1"), "the second one failed");
}

#[test]
fn conversation_made_here_is_written_in_the_newest_generation() {
    let mut shelf = Shelf::of(&[]);
    shelf.begin("made here", manent_model::Timestamp(1_700_000_000_000_000));
    shelf.say(0, "user", &[Part::text("hello")]);
    let (files, _) = write(&mut shelf, None);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["otherone-storage.json"]);
    accepts::written_anew(&files, "4");
    let seed = write(&mut shelf, Some("0")).0;
    assert!(String::from_utf8_lossy(&seed["veloca-storage.json"]).contains("\"message\": \"hello\""));
}
