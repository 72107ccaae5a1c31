//! Files that are made to do harm: they are refused or told, in little memory and little time.
//!
//! What is long is made while it is read, so the memory that is measured is the reader's. With `make fuzz` the long ones
//! are as long as they can be; otherwise a bit longer than the memory that is allowed.

use manent_formats::core::json::Bytes;
use manent_formats::core::source_fs::{Entry, SourceTree};
use manent_formats::{Format, Item, ReadError, Sink, readable};
use std::io;
use std::time::{Duration, Instant};

const MEMORY_MAX: u64 = 256 << 20;
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 5 });
const DEPTH: u64 = 1_000_000;
/// How many of the values are long; they come first.
const LONG: usize = 2;

/// Pieces that are repeated, one behind the other.
#[derive(Clone)]
struct Long(Vec<(&'static [u8], u64)>);

impl Bytes for Long {
    fn len(&self) -> u64 {
        self.0.iter().map(|(piece, times)| piece.len() as u64 * times).sum()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut from = offset;
        for (piece, times) in &self.0 {
            let length = piece.len() as u64 * times;
            if from >= length {
                from -= length;
                continue;
            }
            let read = buffer.len().min((length - from) as usize);
            match piece {
                [byte] => buffer[..read].fill(*byte),
                _ => {
                    for (place, byte) in buffer[..read].iter_mut().enumerate() {
                        *byte = piece[((from + place as u64) % piece.len() as u64) as usize];
                    }
                }
            }
            return Ok(read);
        }
        Ok(0)
    }
}

/// Files that are made while they are read.
struct Made {
    entries: Vec<Entry>,
    long: Vec<(&'static str, Long)>,
    /// What stands in all the others.
    other: &'static [u8],
}

impl SourceTree for Made {
    fn label(&self) -> &str {
        "made"
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let long = self.long.iter().find(|(known, _)| *known == name).map(|(_, long)| long.clone());
        Ok(Box::new(long.unwrap_or_else(|| Long(vec![(self.other, 1)]))))
    }
}

fn made(mut long: Vec<(&'static str, Long)>) -> Made {
    long.sort_by_key(|(name, _)| *name);
    let entry =
        |(name, long): &(&'static str, Long)| Entry { name: (*name).to_owned(), size: long.len(), modified: None };
    Made { entries: long.iter().map(entry).collect(), long, other: b"" }
}

/// Counts what is handed on and holds none of it.
#[derive(Default)]
struct Drop(u64);

impl Sink for Drop {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        drop(item);
        self.0 += 1;
        Ok(())
    }
}

/// Where in a file of a format a value of any size may stand: the file, what is before it and what is behind.
fn places(format: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    match format {
        "veloca" => {
            let file = "veloca-storage.json";
            vec![
                (file, "", ""),
                (file, r#"{"x":"#, r#","sessions":[{"session_id":"s"}],"entries":[]}"#),
                (file, r#"{"sessions":"#, r#","entries":[]}"#),
                (file, r#"{"sessions":[{"session_id":"s","x":"#, r#","entries":[{"role":"user","content":"hm"}]}]}"#),
                (file, r#"{"sessions":[],"entries":[{"role":"user","session_id":"s","content":"#, "}]}"),
                (file, r#"{"sessions":[],"entries":["#, "]}"),
                (file, r#"{"sessions":[{"session_id":"s"}],"compacted_entries":[{"summary":"#, "}]}"),
            ]
        }
        "obsidian-rag" => vec![
            ("sessions/session_1.json", "", ""),
            ("sessions/session_1.json", r#"{"sessionId":"session_1","x":"#, r#","messages":[]}"#),
            ("sessions/session_1.json", r#"{"sessionId":"session_1","messages":[{"role":"user","content":"#, "}]}"),
            ("sessions_index.json", r#"{"version":"1.0","sessions":[{"sessionId":"#, "}]}"),
            ("sessions_index.json", r#"{"version":"1.0","x":"#, r#","sessions":[]}"#),
            ("chat_history.json", r#"[{"role":"user","content":"#, "}]"),
        ],
        "personalab" => vec![
            ("instances/i/sessions/s.jsonl", r#"{"role":"user","content":"#, "}\n"),
            ("instances/i/sessions/s.jsonl", "", ""),
            ("instances/i/instance_state.json", r#"{"instance_id":"i","plot_state":"#, "}"),
            ("conversations/c/metadata.json", r#"{"x":"#, "}"),
            ("characters/c/definition.json", "", ""),
        ],
        "kode" => vec![
            ("agt-1/runtime/messages.json", "", ""),
            ("agt-1/runtime/messages.json", r#"[{"role":"user","content":"#, "}]"),
            ("agt-1/runtime/tool-calls.json", r#"[{"id":"#, "}]"),
            ("agt-1/meta.json", r#"{"agentId":"agt-1","metadata":"#, "}"),
            ("agt-1/events/progress.log", r#"{"cursor":1,"event":"#, "}\n"),
            ("agt-1/history/windows/1.json", r#"{"id":"#, "}"),
        ],
        _ => Vec::new(),
    }
}

fn is_thorough() -> bool {
    std::env::var_os("MANENT_FUZZ_SECONDS").is_some()
}

fn values() -> Vec<(&'static str, Vec<(&'static [u8], u64)>)> {
    let long = if is_thorough() { 2 << 30 } else { 272 << 20 };
    vec![
        ("a long text", vec![(b"\"", 1), (b"a", long), (b"\"", 1)]),
        ("much space", vec![(b" ", long), (b"0", 1)]),
        ("deep lists", vec![(b"[", DEPTH), (b"]", DEPTH)]),
        ("deep objects", vec![(b"{\"a\":", DEPTH), (b"0", 1), (b"}", DEPTH)]),
        ("deep, and open", vec![(b"[", DEPTH)]),
        ("many elements", vec![(b"[", 1), (b"1,", DEPTH), (b"1]", 1)]),
        ("many members", vec![(b"{", 1), (b"\"a\":[],", DEPTH), (b"\"a\":0}", 1)]),
    ]
}

/// The names and contents of this many files of a program.
fn many(format: &str) -> Option<(&'static str, &'static str, &'static [u8])> {
    match format {
        "veloca" => Some((".veloca/storage/", ".json", b"{}")),
        "obsidian-rag" => Some(("sessions/session_", ".json", br#"{"sessionId":"s"}"#)),
        "personalab" => Some(("instances/i/sessions/session_", ".jsonl", b"{}\n")),
        "kode" => Some(("agt-1/snapshots/sfp-", ".json", b"{}")),
        _ => None,
    }
}

/// Every tree with its format and what it is.
fn bombs() -> Vec<(&'static Format, String, Box<dyn Fn() -> Made>)> {
    let mut bombs: Vec<(&'static Format, String, Box<dyn Fn() -> Made>)> = Vec::new();
    for format in readable() {
        for (place, (file, before, behind)) in places(format.name).into_iter().enumerate() {
            // The long ones take their time; a few of them do for every day.
            let skipped = if is_thorough() || place < 2 { 0 } else { LONG };
            for (name, value) in values().into_iter().skip(skipped) {
                let pieces = [(before.as_bytes(), 1)].into_iter().chain(value).chain([(behind.as_bytes(), 1)]);
                let long = Long(pieces.filter(|(piece, _)| !piece.is_empty()).collect());
                let make = move || made(vec![(file, long.clone())]);
                bombs.push((format, format!("{file} {before}… {name}"), Box::new(make)));
            }
        }
        if let Some((start, end, other)) = many(format.name) {
            let entry = move |number| {
                let name = format!("{start}{number:07}{end}");
                Entry { name, size: other.len() as u64, modified: None }
            };
            let make = move || Made { entries: (0..DEPTH).map(entry).collect(), long: Vec::new(), other };
            bombs.push((format, "a million files".to_owned(), Box::new(make)));
        }
    }
    bombs
}

/// Reads one, and says what it took.
fn light(number: usize) {
    let (format, what, make) = &bombs()[number];
    let tree = make();
    let begun = Instant::now();
    let mut sink = Drop::default();
    let refused = (format.read)(&tree, &mut sink).err();
    let (taken, peak) = (begun.elapsed(), super::fuzz::peak().unwrap_or(0));
    let told = refused.map_or_else(|| format!("{} items", sink.0), |error| error.to_string());
    println!("{} {what}: {} MiB, {taken:.1?}, {told}", format.name, peak >> 20);
    assert!(peak <= MEMORY_MAX && taken <= TIME_MAX, "too much");
}

#[test]
fn what_is_made_to_do_harm_takes_little_memory_and_time() {
    // What is measured runs in a process of its own, each for itself: memory that was held once is seldom given back.
    if let Ok(number) = std::env::var("MANENT_BOMB") {
        return light(number.parse().expect("a number"));
    }
    let mut bad = Vec::new();
    for (number, (format, what, _)) in bombs().iter().enumerate() {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
        child.args(["--exact", "--nocapture", "bombs::what_is_made_to_do_harm_takes_little_memory_and_time"]);
        let done = child.env("MANENT_BOMB", number.to_string()).output().expect("a process");
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stdout);
            let line = said.lines().find(|line| line.contains(" MiB, ")).unwrap_or("it broke");
            bad.push(format!("{} {what}: {} {line}", format.name, done.status));
        }
    }
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}
