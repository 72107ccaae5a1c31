//! Kode's files cut off anywhere: what was whole before the cut is still there, and the rest is told.

use crate::kit::*;
use crate::kode::{read, written};
use manent_formats::Item;
use manent_formats::core::json::{Members, Style};
use manent_formats::core::source_fs::MemoryTree;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};

/// The records that are whole at the beginning of a file: lines, or elements of its first list of records.
fn whole_records(name: &str, text: &str) -> Vec<String> {
    if name.ends_with(".log") {
        let lines = text.split('\n').filter(|line| serde_json::from_str::<&RawValue>(line).is_ok());
        return lines.map(str::to_owned).collect();
    }
    let list = match name.contains("runtime/") {
        true => text.strip_prefix('['),
        false => text.split_once("\"messages\": [").map(|(_, rest)| rest),
    };
    let (mut records, Some(mut rest)) = (Vec::new(), list) else { return Vec::new() };
    loop {
        rest = rest.trim_start_matches([' ', '\n', ',']);
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        match stream.next() {
            Some(Ok(record)) if record.get().starts_with('{') => {
                records.push(Style::COMPACT.format(record.get(), 0));
                rest = &rest[stream.byte_offset()..];
            }
            _ => return records,
        }
    }
}

/// The records that were handed on.
fn handed_on(items: &[Item]) -> HashSet<String> {
    let compact = |text: &str| Style::COMPACT.format(text, 0);
    let mut records = HashSet::new();
    for item in items {
        match item {
            Item::Message(item) => records.extend(item.raw.as_deref().map(compact)),
            Item::ToolCall(item) => records.extend([compact(item.body.text())]),
            Item::Event(item) => records.extend([item.body.text().to_owned()]),
            Item::Fold(item) => {
                let summary = Members::parse(&item.raw).and_then(|raw| raw.text("summary"));
                records.extend(summary.as_deref().map(compact));
            }
            _ => {}
        }
    }
    records
}

fn check_cut(files: &BTreeMap<String, Vec<u8>>, name: &str, at: usize) {
    let mut cut = files.clone();
    let bytes = cut.get_mut(name).expect("a file");
    bytes.truncate(at);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let items = read(&MemoryTree::new("cut", cut));
    let told = report(&items);
    assert!(!told.contains("UNACCOUNTED") && !told.contains("NEVER COUNTED"), "{name} cut at {at}:\n{told}");
    let known = handed_on(&items);
    if ["runtime/messages", "runtime/tool-calls", ".log", "snapshots/", "windows/"]
        .iter()
        .any(|part| name.contains(part))
    {
        for record in whole_records(name, &text) {
            assert!(known.contains(&record), "{name} cut at {at} lost {record}");
        }
    }
    // What was read of a file that is cut off can be written again, whole.
    if at.is_multiple_of(64) {
        let again = written(&items);
        let again =
            read(&MemoryTree::new("cut", again.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()));
        assert_eq!(handed_on(&again), known, "{name} cut at {at}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_gives_what_was_whole() {
    let folders = [
        "store-level",
        "full-2.7.0",
        "interrupt",
        "pool-shutdown",
        "crash-approval/before",
        "crash-executing/before",
        "crash-event-dup/before",
    ];
    let mut cuts = 0;
    for name in folders {
        let Some(path) = fixtures(&format!("kode/{name}")) else { return };
        let files = files(&folder(&path));
        for (name, bytes) in files.iter().filter(|(_, bytes)| bytes.len() <= 16 << 10) {
            // Every byte of a small file; a sample of a large one, so that the test stays short.
            let step = bytes.len() / 250 + 1;
            for at in (0..bytes.len()).step_by(step) {
                // A folder with nothing but an empty file is not an agent folder.
                check_cut(&files, name, at);
                cuts += 1;
            }
        }
    }
    assert!(cuts > 5_000, "{cuts}");
}
