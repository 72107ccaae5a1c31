//! Kode: the folders that the real programs wrote.

mod accepted;
mod changes;
mod cut;
mod database;
mod folder;
mod generations;
mod history;
mod random;
mod sample;
mod wal;

use crate::kit::*;
use expect_test::{Expect, expect};
pub use folder::folders;
use manent_formats::Item;
use manent_formats::apps::kode;
use manent_formats::core::source_fs::SourceTree;
pub use manent_testing::foreign::difference;
use sample::outline;
use std::collections::BTreeMap;

pub fn read(tree: &dyn SourceTree) -> Vec<Item> {
    let mut items = Vec::new();
    kode::read(tree, &mut items).expect("readable");
    items
}

/// Writes what was read, without the results of calls that the import sealed.
pub fn written(items: &[Item]) -> BTreeMap<String, String> {
    written_sealed(&unsealed(items))
}

/// Leaves out the calls that the import sealed: a result is written for each.
pub fn unsealed(items: &[Item]) -> Vec<Item> {
    let is_sealed = |item: &&Item| matches!(item, Item::ToolCall(call) if call.body.text().contains("sealedBy"));
    items.iter().filter(|item| !is_sealed(item)).cloned().collect()
}

pub fn written_sealed(items: &[Item]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    kode::write(&mut Shelf::of(items), &mut files, None).expect("writable");
    text(files)
}

pub fn text(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).expect("UTF-8"))).collect()
}

/// Reads a folder, looks at the report, and writes the folder again to the byte.
fn check(tree: &dyn SourceTree, expected: Expect) {
    let items = read(tree);
    expected.assert_eq(&report(&items));
    assert_eq!(written(&items), text(files(tree)));
}

#[test]
fn every_kind_of_record_comes_back_to_the_byte() {
    let Some(path) = fixtures("kode/store-level") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation current: store-level
        repaired: agt-store-level/runtime/messages.json tool call unanswered: tool call c_pend has no result; it is sealed, and gets a failed result in what is written
        agent: 1 read, 1 mapped, 0 kept or told
        compression: 1 read, 0 mapped, 1 kept or told
        event: 28 read, 28 mapped, 0 kept or told
        media_cache: 1 read, 1 mapped, 0 kept or told
        message: 6 read, 5 mapped, 1 kept or told
        recovered: 1 read, 1 mapped, 0 kept or told
        snapshot: 1 read, 1 mapped, 0 kept or told
        todos: 1 read, 1 mapped, 0 kept or told
        tool call: 9 read, 9 mapped, 0 kept or told
        window: 1 read, 1 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastBookmark 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}

#[test]
fn the_folder_of_the_first_release_comes_back_to_the_byte() {
    let Some(path) = fixtures("kode/full-2.7.0") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation 2.7.0: full-2.7.0
        repaired: agt:01M7GAP08VKSZ4AFGA65QHAM0Y/events/progress.log id repeated: 3 cursors are used again; the line says which event it is
        repaired: agt:01M7GAP08VKSZ4AFGA65QHAM0Y/events/monitor.log id repeated: 6 cursors are used again; the line says which event it is
        agent: 2 read, 2 mapped, 0 kept or told
        event: 74 read, 74 mapped, 0 kept or told
        message: 32 read, 22 mapped, 10 kept or told
        snapshot: 1 read, 1 mapped, 0 kept or told
        tool call: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 2
        unmapped: agent.lastSfpIndex 2
        unmapped: agent.lineage 2
        unmapped: agent.metadata 2"#]],
    );
}

#[test]
fn a_run_that_was_interrupted_comes_back_to_the_byte() {
    let Some(path) = fixtures("kode/interrupt") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation current: interrupt
        agent: 1 read, 1 mapped, 0 kept or told
        event: 13 read, 13 mapped, 0 kept or told
        message: 3 read, 3 mapped, 0 kept or told
        tool call: 1 read, 1 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}

#[test]
fn the_list_of_a_pool_that_was_shut_down_is_no_conversation() {
    let Some(path) = fixtures("kode/pool-shutdown") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation current: pool-shutdown
        agent: 1 read, 1 mapped, 0 kept or told
        event: 11 read, 11 mapped, 0 kept or told
        message: 2 read, 2 mapped, 0 kept or told
        pool: 1 read, 0 mapped, 1 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastBookmark 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}

#[test]
fn a_call_that_waited_for_its_approval_comes_back_to_the_byte() {
    for stage in ["before", "after-resume", "after-next-turn"] {
        let Some(path) = fixtures(&format!("kode/crash-approval/{stage}")) else { return };
        let tree = folder(&path);
        assert_eq!(written(&read(&tree)), text(files(&tree)), "{stage}");
    }
    let Some(path) = fixtures("kode/crash-approval/before") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation current: before
        repaired: agt-approval/runtime/messages.json tool call unanswered: tool call call_a1 has no result and keeps its record
        repaired: agt-approval/runtime/messages.json tool call unanswered: tool call call_a2 has no result and keeps its record
        agent: 1 read, 1 mapped, 0 kept or told
        event: 29 read, 29 mapped, 0 kept or told
        message: 4 read, 4 mapped, 0 kept or told
        tool call: 2 read, 2 mapped, 0 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastBookmark 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]],
    );
}

/// Every call has its result in the message behind it, and the agent is read again without a repair.
fn assert_answered(files: &BTreeMap<String, String>, stage: &str) {
    let messages: serde_json::Value =
        serde_json::from_str(&files["agt-executing/runtime/messages.json"]).expect("JSON");
    let messages = messages.as_array().expect("a list");
    let ids = |message: Option<&serde_json::Value>, kind: &str, id: &str| -> Vec<String> {
        let blocks = message.and_then(|message| message["content"].as_array()).cloned().unwrap_or_default();
        let blocks = blocks.iter().filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[id].as_str()).map(str::to_owned).collect()
    };
    for (place, message) in messages.iter().enumerate() {
        let calls = ids(Some(message), "tool_use", "id");
        if !calls.is_empty() {
            assert_eq!(ids(messages.get(place + 1), "tool_result", "tool_use_id"), calls, "{stage}");
        }
    }
    let meta: serde_json::Value = serde_json::from_str(&files["agt-executing/meta.json"]).expect("JSON");
    assert_eq!(meta["messageCount"], messages.len(), "{stage}");
    let again = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect();
    let again = read(&manent_formats::core::source_fs::MemoryTree::new("again", again));
    assert!(!report(&again).contains("unanswered"), "{stage}: {}", report(&again));
}

#[test]
fn a_call_that_was_killed_while_it_ran_is_sealed() {
    for stage in ["after-resume", "after-next-turn"] {
        let Some(path) = fixtures(&format!("kode/crash-executing/{stage}")) else { return };
        let tree = folder(&path);
        let items = read(&tree);
        assert_eq!(written(&items), text(files(&tree)), "{stage}");
        assert_answered(&written_sealed(&items), stage);
    }
    let Some(path) = fixtures("kode/crash-executing/before") else { return };
    let tree = folder(&path);
    let items = read(&tree);
    assert_answered(&written_sealed(&items), "before");
    let calls = outline(&items);
    let calls: Vec<&str> = calls.lines().filter(|line| line.contains("call ")).collect();
    expect!["  call call_x1 (3, 1) Sealed steps 1"].assert_eq(&calls.join("\n"));
    expect![[r#"
        kode generation current: before
        repaired: agt-executing/runtime/messages.json tool call unanswered: tool call call_x1 has no result; it is sealed, and gets a failed result in what is written
        repaired: agt-executing/events/progress.wal wal applied: 3 events of the write-ahead file are added to the log
        repaired: agt-executing/events/monitor.wal wal applied: 4 events of the write-ahead file are added to the log
        agent: 1 read, 1 mapped, 0 kept or told
        event: 19 read, 19 mapped, 0 kept or told
        message: 4 read, 4 mapped, 0 kept or told
        wal: 2 read, 0 mapped, 2 kept or told
        unmapped: agent.configVersion 1
        unmapped: agent.lastBookmark 1
        unmapped: agent.lastSfpIndex 1
        unmapped: agent.lineage 1
        unmapped: agent.metadata 1"#]].assert_eq(&report(&items));
    expect![[r#"
        changed: agt-executing/events/monitor.log
        +{"cursor":12,"bookmark":{"seq":12,"timestamp":1794770561936},"event":{"channel":"monitor","type":"state_changed","state":"WORKING","bookmark":{"seq":12,"timestamp":1794770561936}}}
        +{"cursor":13,"bookmark":{"seq":13,"timestamp":1794770561936},"event":{"channel":"monitor","type":"breakpoint_changed","previous":"READY","current":"PRE_MODEL","timestamp":1794770561936,"bookmark":{"seq":13,"timestamp":1794770561936}}}
        +{"cursor":14,"bookmark":{"seq":14,"timestamp":1794770561942},"event":{"channel":"monitor","type":"breakpoint_changed","previous":"PRE_MODEL","current":"STREAMING_MODEL","timestamp":1794770561942,"bookmark":{"seq":14,"timestamp":1794770561942}}}
        +{"cursor":18,"bookmark":{"seq":18,"timestamp":1794770561943},"event":{"channel":"monitor","type":"token_usage","inputTokens":120,"outputTokens":34,"totalTokens":154,"bookmark":{"seq":18,"timestamp":1794770561943}}}
        gone: agt-executing/events/monitor.wal
        changed: agt-executing/events/progress.log
        +{"cursor":15,"bookmark":{"seq":15,"timestamp":1794770561942},"event":{"channel":"progress","type":"text_chunk_start","step":3,"bookmark":{"seq":15,"timestamp":1794770561942}}}
        +{"cursor":16,"bookmark":{"seq":16,"timestamp":1794770561943},"event":{"channel":"progress","type":"text_chunk","step":3,"delta":"working","bookmark":{"seq":16,"timestamp":1794770561943}}}
        +{"cursor":17,"bookmark":{"seq":17,"timestamp":1794770561943},"event":{"channel":"progress","type":"text_chunk_end","step":3,"text":"working","bookmark":{"seq":17,"timestamp":1794770561943}}}
        gone: agt-executing/events/progress.wal"#]].assert_eq(&difference(&text(files(&tree)), &written(&items)));
}

#[test]
fn events_that_a_crash_doubled_are_told_once() {
    let Some(path) = fixtures("kode/crash-event-dup/after-recovery") else { return };
    check(
        &folder(&path),
        expect![[r#"
        kode generation current: after-recovery
        repaired: a/events/progress.log events doubled: 3 lines repeat those before them; they are told once
        event: 6 read, 3 mapped, 3 kept or told"#]],
    );
    let Some(path) = fixtures("kode/crash-event-dup/before") else { return };
    let tree = folder(&path);
    let items = read(&tree);
    expect![[r#"
        kode generation current: before
        repaired: a/events/progress.wal events doubled: the log ends with 3 of its 3 events; they are not added again
        event: 6 read, 3 mapped, 3 kept or told
        wal: 1 read, 0 mapped, 1 kept or told"#]]
    .assert_eq(&report(&items));
    expect!["gone: a/events/progress.wal"].assert_eq(&difference(&text(files(&tree)), &written(&items)));
}
