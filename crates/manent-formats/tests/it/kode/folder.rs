//! Any folder: back to the byte if it is whole, and accounted for if it is damaged.

use super::history::{compress, snapshot};
use super::sample::*;
use crate::kit::report;
use crate::kode::{read, written};
use fastrand::Rng;
use manent_formats::core::json::Style;
use manent_formats::core::source_fs::MemoryTree;
use std::collections::BTreeMap;

const TEXTS: [&str; 6] = ["continue", "ok", "你好 🖼", r"a\nb", r"\ud83d half", r#"<context-summary window=\"x\">"#];

fn message(rng: &mut Rng, calls: &mut usize) -> String {
    let text = TEXTS[rng.usize(..TEXTS.len())];
    match rng.usize(..6) {
        0 => {
            *calls += 1;
            // Ids repeat now and then.
            let id = *calls / 2;
            format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c{id}","name":"n","input":{{"x":1.0}}}}]}}"#)
        }
        1 => format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{}","content":null}}]}}"#, *calls / 2),
        2 => format!(r#"{{"content":"{text}","role":"user","extra":[]}}"#),
        3 => said("system", text),
        4 => r#"{"role":"user","content":[{"type":"hologram","n":1e2},{"type":"image","kind":1},{"type":"file","mime_type":"a/*"}],"metadata":null}"#.to_owned(),
        _ => said(["user", "assistant"][rng.usize(..2)], text),
    }
}

fn call(rng: &mut Rng, number: usize) -> String {
    let state = ["PENDING", "EXECUTING", "COMPLETED", "SEALED"][rng.usize(..4)];
    format!(
        r#"{{"id":"c{}","name":"n","input":null,"state":"{state}","auditTrail":[{{"state":"{state}","timestamp":1.5}},{{"state":"?"}}]}}"#,
        number / 2
    )
}

fn log(rng: &mut Rng, channel: &str) -> String {
    let mut text = String::new();
    let mut lines: Vec<String> = Vec::new();
    for cursor in 0..rng.u32(..6) {
        lines.push(event(channel, cursor % 4, rng.u64(..50)));
        if rng.u8(..4) == 0 {
            let from = rng.usize(..lines.len());
            lines.extend_from_within(from..);
        }
    }
    for line in &lines {
        text.push_str(line);
        text.push_str(["\n", "\n", "\n", "\r\n", "\n\n"][rng.usize(..5)]);
    }
    if rng.bool() { text.trim_end().to_owned() } else { text }
}

/// One agent with everything that its program may have written.
fn agent(rng: &mut Rng) -> Files {
    let mut files = small("agt-1");
    let (mut messages, mut calls): (Vec<String>, usize) = (Vec::new(), 0);
    for channel in ["progress", "control", "monitor"] {
        if rng.bool() {
            files.insert(format!("agt-1/events/{channel}.log"), log(rng, channel));
        }
    }
    for step in 0..rng.u64(1..5) {
        for _ in 0..rng.usize(..6) {
            messages.push(message(rng, &mut calls));
        }
        if rng.bool() {
            let count = rng.usize(..=messages.len());
            snapshot(&mut files, &format!("sfp-{step}"), &messages[..count]);
        }
        if rng.bool() && !messages.is_empty() {
            let events: Vec<String> = (0..rng.u32(..3)).map(|cursor| event("progress", cursor, 7)).collect();
            let keep = rng.usize(..=messages.len());
            compress(&mut files, &mut messages, &events, 1_000 + step, keep);
        }
    }
    files.insert("agt-1/runtime/messages.json".to_owned(), list(&messages));
    let records: Vec<String> = (0..rng.usize(..5)).map(|number| call(rng, number)).collect();
    files.insert("agt-1/runtime/tool-calls.json".to_owned(), list(&records));
    files
}

/// Some folders, each with one agent.
pub fn folders() -> Vec<MemoryTree> {
    (0..8).map(|seed| tree(&agent(&mut Rng::with_seed(seed)))).collect()
}

/// Lays files out otherwise, or leaves some out.
fn disguise(rng: &mut Rng, files: Files) -> Files {
    let mut disguised = Files::new();
    for (name, text) in files {
        let text = match rng.u8(..10) {
            0 => continue,
            _ if !name.ends_with(".json") => text,
            1 => Style::COMPACT.format(&text, 0),
            2 => Style { indent: Some(3), crlf: true }.format(&text, 0) + "\r\n",
            3 => format!("\u{feff} {text}\n"),
            4 => text.replace("\"role\": ", "\"role\"  :"),
            5 => text.replace(",\n", " ,\n\n"),
            _ => text,
        };
        disguised.insert(name, text);
    }
    disguised
}

#[test]
fn any_folder_comes_back_to_the_byte() {
    for seed in 0..400 {
        let mut rng = Rng::with_seed(seed);
        let files = agent(&mut rng);
        let files = disguise(&mut rng, files);
        if !manent_formats::apps::kode::finds(&tree(&files)) {
            continue;
        }
        let items = read(&tree(&files));
        let told = report(&items);
        assert!(!told.contains("UNACCOUNTED") && !told.contains("NEVER COUNTED"), "seed {seed}:\n{told}");
        let after = written(&items);
        for (name, text) in &files {
            assert_eq!(after.get(name), Some(text), "seed {seed}: {name}\n{told}");
        }
        assert_eq!(after.len(), files.len(), "seed {seed}");
    }
}

#[test]
fn any_damage_is_accounted_for() {
    for seed in 0..1_000 {
        let mut rng = Rng::with_seed(seed);
        let mut files: BTreeMap<String, Vec<u8>> =
            agent(&mut rng).into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
        let names: Vec<String> = files.keys().cloned().collect();
        for _ in 0..rng.usize(1..4) {
            let name = &names[rng.usize(..names.len())];
            let mut bytes = files[name].clone();
            let at = rng.usize(..=bytes.len());
            match rng.u8(..5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, b"{}[]\",:\\\n\xff\0"[rng.usize(..11)]),
                2 => drop(bytes.drain(at..(at + rng.usize(..40)).min(bytes.len()))),
                3 => bytes.extend_from_within(at..),
                _ => {
                    let beside = name.replace(".json", ".wal").replace(".log", ".wal");
                    let ahead = [&b"{\"data\":"[..], &bytes, b",\"timestamp\":1}"].concat();
                    files.insert(beside, if rng.bool() { ahead } else { bytes.clone() });
                }
            }
            files.insert(name.clone(), bytes);
        }
        let items = read(&MemoryTree::new("damaged", files));
        let told = report(&items);
        assert!(!told.contains("UNACCOUNTED") && !told.contains("NEVER COUNTED"), "seed {seed}:\n{told}");
        let again = written(&items);
        // What is written of it is whole: nothing of it is told a second time.
        let again = read(&tree(&again));
        let skipped = report(&again).lines().filter(|line| line.starts_with("skipped")).count();
        assert_eq!(skipped, 0, "seed {seed}:\n{}", report(&again));
    }
}
