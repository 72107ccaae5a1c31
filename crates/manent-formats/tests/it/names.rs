//! Names: which format a tree is of, and that names from outside lead nowhere.

use crate::kit::*;
use crate::{obsidian, personalab};
use manent_formats::core::names;
use manent_formats::core::source_fs::{MemoryTree, SourceTree};
use manent_formats::{FORMATS, Item, ReadError, format, sniff};
use std::collections::BTreeMap;

fn check(tree: &dyn SourceTree, expected: Option<&str>) {
    let found: Vec<&str> = FORMATS.iter().filter(|format| (format.finds)(tree)).map(|format| format.name).collect();
    assert_eq!(found, Vec::from_iter(expected), "{}", tree.entries()[0].name);
    assert_eq!(sniff(tree).map(|format| format.name), expected);
}

#[test]
fn every_tree_is_of_one_format_only() {
    use obsidian::samples::{
        LEGACY, SESSION, {self as vaults},
    };
    use personalab::samples as folders;
    for tree in [vaults::several(), vaults::trash_index(), vaults::odd(), vaults::windows(), vaults::migrated()] {
        check(&tree, Some("obsidian-rag"));
    }
    check(&memory(&[("x.json", SESSION)]), Some("obsidian-rag"));
    check(&memory(&[("x.json", LEGACY)]), Some("obsidian-rag"));
    for tree in
        [folders::instances(), folders::odd(), folders::odd_conversations(), folders::documents(), folders::oldest()]
    {
        check(&tree, Some("personalab"));
    }
    check(&memory(&[("config.json", "{\"features\":{\"director_plot_control\":{}}}")]), Some("personalab"));
    // The names are sorted, and the sessions come late.
    let entry = r#"{"create_at":"","entry_id":"e","message":"","role":"user","session_id":"s"},"#.repeat(1_000);
    let sorted = format!(r#"{{"compacted_dialogues":[],"entries":[{}],"sessions":[]}}"#, entry.trim_end_matches(','));
    check(&memory(&[("x.json", &sorted)]), Some("veloca"));
    let agent = "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]";
    check(&memory(&[("runtime/messages.json", agent)]), Some("kode"));
    for (name, text) in [
        ("config.json", "{}"),
        ("sessions/a.json", "{\"id\":1}"),
        ("x.json", "[{\"role\":\"user\",\"content\":[]}]"),
        ("x.json", "{\"sessionId\":1}"),
        ("x.json", ""),
    ] {
        check(&memory(&[(name, text)]), None);
    }
}

#[test]
fn the_real_files_are_of_their_formats() {
    for (path, expected) in [
        ("obsidian-rag/migrated", "obsidian-rag"),
        ("personalab/v1-instance-layout", "personalab"),
        ("personalab/v2-conversation-layout", "personalab"),
        ("veloca/ts-head-written", "veloca"),
    ] {
        if let Some(path) = fixtures(path) {
            check(&folder(&path), Some(expected));
        }
    }
}

#[test]
fn what_is_of_another_format_is_refused() {
    for name in ["obsidian-rag", "personalab"] {
        let format = format(name).expect("a format");
        let read = (format.read)(&memory(&[("notes.txt", "hello")]), &mut Vec::new());
        assert!(matches!(read, Err(ReadError::Foreign { .. })), "{name}");
    }
}

#[test]
fn names_from_outside_are_never_written_to() {
    let session = obsidian::samples::SESSION;
    let line = "{\"role\":\"user\",\"content\":\"x\",\"turn\":1,\"timestamp\":\"2025-10-16T10:01:00Z\"}\n";
    let vault =
        [("sessions_index.json", "{\"sessions\":[]}"), ("sessions/..\\x.json", session), ("trash/C:x.json", session)];
    let instances = [("instances/../sessions/a.jsonl", line), ("instances/C:/sessions/..\\..\\b.jsonl", line)];
    let others = [("conversations/../conversation.jsonl", line), ("prompt_templates/../../x.txt", "x")];
    for (name, files) in [("obsidian-rag", &vault[..]), ("personalab", &instances), ("personalab", &others)] {
        let format = format(name).expect("a format");
        let mut items = Vec::new();
        (format.read)(&memory(files), &mut items).expect("readable");
        let mut written = BTreeMap::new();
        (format.write)(&mut Shelf::of(&items), &mut written, None).expect("writable");
        for name in written.keys() {
            assert!(names::is_safe(name), "{name}");
        }
        let mut again = Vec::new();
        (format.read)(&MemoryTree::new("written", written), &mut again).expect("readable");
        let nouns = |items: &[Item]| items.iter().filter(|item| item.record().is_some()).count();
        assert_eq!(nouns(&again), nouns(&items), "{name}: nothing is written over another");
    }
}
