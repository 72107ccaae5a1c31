//! The rules of the seed and of the programs, kept apart from our reader: what they must find in a file.

use super::Files;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;

const FLAT: [&str; 2] = ["sessions", "entries"];
/// Members that may be absent.
const OPTIONAL: [&str; 6] = ["name", "tools", "token_consumption", "reasoning_content", "metadata", "status"];

/// Checks that a program of a generation would find every record of the files.
pub fn readable(files: &Files, generation: &str) {
    let text = storage(files);
    // JavaScript takes half of a surrogate pair.
    let text = text.trim_start_matches('\u{feff}').replace("\\ud83d", "?");
    let root: Value = serde_json::from_str(&text).expect("JSON");
    let sessions = root["sessions"].as_array().expect("a list of sessions");
    match generation {
        "3" | "4" => {
            for session in sessions {
                for entry in session["entries"].as_array().into_iter().flatten() {
                    assert!(entry["role"].is_string(), "a role: {entry}");
                    assert!(generation == "3" || entry["session_id"].is_string(), "its session: {entry}");
                }
            }
            for list in ["entries", "compacted_entries"] {
                assert!(root[list].as_array().is_none_or(Vec::is_empty), "{list} outside of sessions");
            }
        }
        _ => {
            for entry in root["entries"].as_array().into_iter().flatten() {
                assert!(entry["role"].is_string() && entry["session_id"].is_string(), "{entry}");
            }
            assert!(sessions.iter().all(|session| session.get("entries").is_none()), "entries inside of sessions");
        }
    }
}

fn storage(files: &Files) -> &str {
    let (_, bytes) = files.iter().find(|(name, _)| !name.ends_with("workspaces.json")).expect("a file of sessions");
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// What a new file must look like, to the letter: its name, keys in order, ids and times as its programs make them.
pub fn written_anew(files: &Files, generation: &str) {
    readable(files, generation);
    let name = if generation == "4" { "otherone-storage.json" } else { "veloca-storage.json" };
    assert_eq!(files.keys().collect::<Vec<_>>(), [name]);
    let text = storage(files);
    assert_eq!(manent_formats::core::json::Style::PRETTY.format(text, 0), text, "two spaces for each level");
    let root: Ordered = serde_json::from_str(text).expect("JSON");
    let compactions = if matches!(generation, "0" | "1") { "compacted_dialogues" } else { "compacted_entries" };
    let is_nested = matches!(generation, "3" | "4");
    match is_nested {
        true => root.has_keys(&["sessions"]),
        false => root.has_keys(&[FLAT[0], FLAT[1], compactions]),
    }
    for session in root.list("sessions") {
        session.has_keys(match generation {
            "3" => &["session_id", "name", "status", "create_at", "entries", "compacted_entries"],
            "4" => &["session_id", "name", "status", "create_at", "metadata", "entries", "compacted_entries"],
            _ => &["session_id", "name", "status", "create_at"],
        });
        let inside = |list| if is_nested { session.list(list) } else { of_session(&root, list, session) };
        let entries = inside("entries");
        for entry in &entries {
            self::entry(entry, generation);
        }
        let ids: Vec<&Value> = entries.iter().map(|entry| entry.value("entry_id")).collect();
        for compaction in if is_nested { session.list("compacted_entries") } else { Vec::new() } {
            self::compaction(compaction, generation);
            assert!(ids.contains(&compaction.value("trigger_entry_id")), "the trigger is there");
        }
        id(session.value("session_id"));
        moment(session, generation);
    }
    if !is_nested {
        let ids: Vec<&Value> = root.list("entries").iter().map(|entry| entry.value("entry_id")).collect();
        for compaction in root.list(compactions) {
            self::compaction(compaction, generation);
            assert!(ids.contains(&compaction.value("trigger_entry_id")), "the trigger is there");
        }
        let known: Vec<&Value> = root.list("sessions").iter().map(|session| session.value("session_id")).collect();
        for entry in root.list("entries") {
            assert!(known.contains(&entry.value("session_id")), "its session is listed");
        }
    }
}

fn of_session<'a>(root: &'a Ordered, list: &str, session: &Ordered) -> Vec<&'a Ordered> {
    let of = session.value("session_id");
    root.list(list).into_iter().filter(|record| record.value("session_id") == of).collect()
}

fn entry(entry: &Ordered, generation: &str) {
    entry.has_keys(match generation {
        "0" => &ENTRY_0,
        "1" => &ENTRY_1,
        "2" => &ENTRY_2,
        "3" => {
            &["entry_id", "role", "content", "create_at", "tools", "token_consumption", "reasoning_content", "status"]
        }
        _ => &ENTRY_4,
    });
    id(entry.value("entry_id"));
    moment(entry, generation);
    let text = if generation == "0" { "message" } else { "content" };
    assert!(entry.value(text).is_string() && entry.value("role").is_string(), "{entry:?}");
    assert!(entry.get("is_compaction").is_none_or(|flag| *flag == 1), "the dead flag");
    assert!(entry.get("token_consumption").is_none_or(Value::is_u64), "{entry:?}");
    match entry.get("tools").filter(|tools| !tools.is_null()) {
        Some(tools) if tools.get("tool_call_id").is_some() => {
            assert!(tools["tool_call_id"].is_string(), "{tools}");
            assert!(tools.get("result").is_some() != tools.get("error").is_some(), "{tools}");
        }
        Some(tools) => {
            for call in tools["tool_calls"].as_array().expect("calls") {
                let function = &call["function"];
                assert!(call["id"].is_string() && call["type"] == "function", "{call}");
                assert!(function["name"].is_string() && function["arguments"].is_string(), "{call}");
            }
        }
        None => {}
    }
}

const ENTRY_0: [&str; 9] =
    ["entry_id", "session_id", "message", "role", "token_consumption", "status", "tools", "create_at", "is_compaction"];
const ENTRY_1: [&str; 9] =
    ["entry_id", "session_id", "content", "role", "token_consumption", "status", "tools", "create_at", "is_compaction"];
const ENTRY_2: [&str; 10] = [
    "entry_id",
    "session_id",
    "content",
    "role",
    "token_consumption",
    "status",
    "tools",
    "thinking",
    "create_at",
    "is_compaction",
];
const ENTRY_4: [&str; 10] = [
    "entry_id",
    "session_id",
    "content",
    "role",
    "token_consumption",
    "status",
    "tools",
    "create_at",
    "is_compaction",
    "metadata",
];

fn compaction(compaction: &Ordered, generation: &str) {
    compaction.has_keys(match generation {
        "0" | "1" => &["entry_id", "trigger_entry_id", "summary", "create_at", "status"],
        "3" => &["entry_id", "summary", "trigger_entry_id", "create_at", "status"],
        _ => &["entry_id", "session_id", "trigger_entry_id", "summary", "create_at", "status"],
    });
    id(compaction.value("entry_id"));
    moment(compaction, generation);
    assert!(compaction.value("summary").is_string());
}

/// Ids are UUIDs of 36 characters.
fn id(id: &Value) {
    let id = id.as_str().expect("an id");
    let is_uuid = id.len() == 36
        && id.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    assert!(is_uuid, "{id}");
}

/// JavaScript writes milliseconds and a `Z`; the crate writes an offset.
fn moment(record: &Ordered, generation: &str) {
    let at = record.value("create_at").as_str().expect("a time");
    let end = if generation == "4" { "+00:00" } else { "Z" };
    assert!(at.ends_with(end) && at.as_bytes()[10] == b'T', "{at}");
    assert!(generation == "4" || at.len() == 24, "{at}");
}

/// An object whose keys are in order.
#[derive(Debug)]
struct Ordered(Vec<(String, Member)>);

#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Member {
    List(Vec<Ordered>),
    Value(Value),
}

impl Ordered {
    fn get(&self, name: &str) -> Option<&Value> {
        match self.0.iter().find(|(key, _)| key == name) {
            Some((_, Member::Value(value))) => Some(value),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> &Value {
        self.get(name).unwrap_or_else(|| panic!("{name} is missing: {self:?}"))
    }

    fn list(&self, name: &str) -> Vec<&Ordered> {
        match self.0.iter().find(|(key, _)| key == name) {
            Some((_, Member::List(items))) => items.iter().collect(),
            other => panic!("{name} is no list: {other:?}"),
        }
    }

    fn has_keys(&self, expected: &[&str]) {
        let found: Vec<&str> = self.0.iter().map(|(key, _)| key.as_str()).collect();
        let without: Vec<&str> =
            expected.iter().copied().filter(|key| found.contains(key) || !OPTIONAL.contains(key)).collect();
        assert_eq!(found, without);
    }
}

impl<'de> serde::Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Ordered;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered(members))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}
