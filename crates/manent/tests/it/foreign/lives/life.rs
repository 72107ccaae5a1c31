//! The folder of an agent after each step of its life: real messages, tool calls and events, and compressions, snapshots,
//! forks and log rotations as the program makes them.

use super::super::*;
use manent::formats::core::json::Style;
use serde_json::value::RawValue;

/// The folder after a step.
#[derive(Clone)]
pub struct State {
    pub name: String,
    pub files: Files,
}

/// A way in which a folder is broken.
#[derive(Debug, Clone, Copy)]
pub enum Break {
    MessagesCutOff,
    MessageGarbled,
    WindowCutOff,
    WindowMessageGarbled,
    WindowMissing,
}

impl Break {
    pub const ALL: [Self; 5] = [
        Self::MessagesCutOff,
        Self::MessageGarbled,
        Self::WindowCutOff,
        Self::WindowMessageGarbled,
        Self::WindowMissing,
    ];
}

impl State {
    /// The folder, broken; none where it has no such file.
    pub fn broken(&self, how: Break) -> Option<Self> {
        let mut files = self.files.clone();
        let is_messages = |name: &&String| name.ends_with("/runtime/messages.json") && !name.contains("/fork");
        let is_window = |name: &&String| name.contains("/history/windows/");
        let file = match how {
            Break::MessagesCutOff | Break::MessageGarbled => files.keys().find(is_messages),
            _ => files.keys().rfind(is_window),
        };
        let file = file?.clone();
        let text = files.get_mut(&file)?;
        match how {
            Break::MessagesCutOff | Break::WindowCutOff => text.truncate(text.len() * 3 / 5),
            Break::MessageGarbled | Break::WindowMessageGarbled => {
                let whole = String::from_utf8(std::mem::take(text)).expect("text");
                let middle = whole.match_indices("\"role\": \"").nth(whole.matches("\"role\": \"").count() / 2)?.0;
                *text = format!("{}\"role\": u{}", &whole[..middle], &whole[middle + 9..]).into_bytes();
            }
            Break::WindowMissing => {
                files.remove(&file);
            }
        }
        Some(Self { name: format!("{} {how:?}", self.name), files })
    }
}

/// Every state of a life, in order; none where the real files are not here.
pub fn states() -> Option<Vec<State>> {
    let first = real("kode/full-2.7.0")?;
    let before = real("kode/crash-approval/before")?;
    let second = real("kode/crash-approval/after-next-turn")?;
    let third = real("kode/interrupt")?;
    let mut life = Life::of(&first);
    let messages = elements(&first, "/runtime/messages.json");
    let calls = elements(&first, "/runtime/tool-calls.json");
    for (place, message) in messages.iter().enumerate() {
        life.say(message, &calls, &[]);
        if place == 9 {
            life.copy(&first, "/snapshots/");
            life.keep("snapshot");
        }
    }
    life.copy(&first, "/fork:");
    life.keep("fork");
    life.compress(1_794_770_700_000, 8);
    let calls = elements(&second, "/runtime/tool-calls.json");
    let open = elements(&before, "/runtime/tool-calls.json");
    for message in elements(&second, "/runtime/messages.json") {
        life.say(&message, &calls, &open);
    }
    life.compress(1_794_770_800_000, 10);
    life.rotate("progress", 9);
    let calls = elements(&third, "/runtime/tool-calls.json");
    for message in elements(&third, "/runtime/messages.json") {
        life.say(&message, &calls, &[]);
    }
    life.compress(1_794_770_900_000, 5);
    life.say(r#"{"role":"user","content":[{"type":"text","text":"ok"}]}"#, &[], &[]);
    Some(life.states)
}

struct Life {
    agent: String,
    files: Files,
    messages: Vec<String>,
    calls: Vec<String>,
    /// The lines of each log that are still to be written.
    logs: Vec<(String, Vec<String>)>,
    count: usize,
    states: Vec<State>,
}

impl Life {
    /// An agent that has said nothing.
    fn of(real: &Files) -> Self {
        let meta = real.keys().find(|name| name.ends_with("/meta.json") && !name.contains("/fork")).expect("an agent");
        let agent = meta.trim_end_matches("/meta.json").to_owned();
        let files = Files::from([(meta.clone(), real[meta].clone())]);
        let is_log = |name: &&String| name.ends_with(".log") && !name.contains("/fork");
        let lines = |name: &String| -> Vec<String> {
            let text = String::from_utf8_lossy(&real[name]);
            text.lines().rev().map(str::to_owned).collect()
        };
        let logs = real.keys().filter(is_log).map(|name| (name.clone(), lines(name))).collect();
        Self { agent, files, messages: Vec::new(), calls: Vec::new(), logs, count: 0, states: Vec::new() }
    }

    fn keep(&mut self, name: &str) {
        self.states.push(State { name: format!("{}:{name}", self.states.len()), files: self.files.clone() });
    }

    fn copy(&mut self, real: &Files, part: &str) {
        self.files
            .extend(real.iter().filter(|(name, _)| name.contains(part)).map(|(name, it)| (name.clone(), it.clone())));
    }

    /// Adds a message, the records of tool calls as the program saves them, and some events.
    fn say(&mut self, message: &str, calls: &[String], open: &[String]) {
        self.messages.push(Style::COMPACT.format(message, 0));
        let said = self.messages.last().expect("pushed").clone();
        for record in open.iter().filter(|record| said.contains(&format!("\"tool_use\",\"id\":\"{}\"", id_of(record))))
        {
            self.calls.push(record.clone());
        }
        for record in calls.iter().filter(|record| said.contains(&format!("\"tool_use_id\":\"{}\"", id_of(record)))) {
            match self.calls.iter_mut().find(|known| id_of(known) == id_of(record)) {
                Some(known) => known.clone_from(record),
                None => self.calls.push(record.clone()),
            }
        }
        for (name, lines) in &mut self.logs {
            let text = self.files.entry(name.clone()).or_default();
            for line in lines.split_off(lines.len().saturating_sub(3)).into_iter().rev() {
                text.extend(format!("{line}\n").into_bytes());
            }
        }
        self.count += 1;
        self.write();
        self.keep(&format!("said {}", self.count));
    }

    fn write(&mut self) {
        let list = |records: &[String]| Style::PRETTY.format(&format!("[{}]", records.join(",")), 0).into_bytes();
        self.files.insert(format!("{}/runtime/messages.json", self.agent), list(&self.messages));
        if !self.calls.is_empty() {
            self.files.insert(format!("{}/runtime/tool-calls.json", self.agent), list(&self.calls));
        }
    }

    /// Compresses as the program does: a window with everything, a record, and the summary before what is kept.
    fn compress(&mut self, ms: u64, keep: usize) {
        let events: Vec<String> = self.lines("progress").into_iter().chain(self.lines("monitor")).collect();
        let window = format!(
            r#"{{"id":"window-{ms}","messages":[{}],"events":[{}],"stats":{{"messageCount":{},"tokenCount":1,"eventCount":{}}},"timestamp":{ms}}}"#,
            self.messages.join(","),
            events.join(","),
            self.messages.len(),
            events.len()
        );
        let record = format!(
            r#"{{"id":"comp-{ms}","windowId":"window-{ms}","config":{{"model":"claude-3-haiku","prompt":"p","threshold":50000}},"summary":"s","ratio":0.6,"recoveredFiles":[],"timestamp":{ms}}}"#
        );
        let summary = format!(
            r#"{{"role":"system","content":[{{"type":"text","text":"<context-summary timestamp=\"2026-11-15T19:30:00.000Z\" window=\"window-{ms}\">\n1. [user]\n</context-summary>"}}]}}"#
        );
        for (folder, value) in [("windows", window), ("compressions", record)] {
            let name = format!("{}/history/{folder}/{ms}.json", self.agent);
            self.files.insert(name, Style::PRETTY.format(&value, 0).into_bytes());
        }
        let kept = self.messages.split_off(self.messages.len() - keep);
        self.messages = vec![summary];
        self.messages.extend(kept);
        self.write();
        self.keep("compressed");
    }

    fn lines(&self, channel: &str) -> Vec<String> {
        let text = self.files.get(&format!("{}/events/{channel}.log", self.agent)).cloned().unwrap_or_default();
        String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
    }

    /// Takes the first lines of a log away.
    fn rotate(&mut self, channel: &str, count: usize) {
        let rest: String = self.lines(channel).iter().skip(count).map(|line| format!("{line}\n")).collect();
        self.files.insert(format!("{}/events/{channel}.log", self.agent), rest.into_bytes());
        self.keep("rotated");
    }
}

/// The elements of a list in a real file.
fn elements(files: &Files, end: &str) -> Vec<String> {
    let is_it = |name: &&String| name.ends_with(end) && !name.contains("/fork");
    let bytes = &files[files.keys().find(is_it).expect("a list")];
    let list: Vec<Box<RawValue>> = serde_json::from_slice(bytes).expect("JSON");
    list.iter().map(|element| element.get().to_owned()).collect()
}

fn id_of(record: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(record).expect("JSON");
    value["id"].as_str().expect("an id").to_owned()
}
