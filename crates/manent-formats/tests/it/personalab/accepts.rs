//! The rules of the documents, kept apart from our reader: what a program that follows them must find.

use super::Files;
use serde_json::Value;

fn parse(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("UTF-8").trim_start_matches('\u{feff}');
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Checks that everything lies where the documents say, and that every line is an object.
pub fn folder(files: &Files) {
    for (name, bytes) in files {
        let name = name.strip_prefix("data/").unwrap_or(name);
        let pieces: Vec<&str> = name.split('/').collect();
        match pieces[..] {
            ["instances", _, "sessions", file] => {
                assert!(file.ends_with(".jsonl"), "{name}");
                lines(bytes, name);
            }
            ["conversations", _, "conversation.jsonl"] => lines(bytes, name),
            ["instances", _, "instance_state.json" | "metadata.json" | "character_state.json"]
            | ["conversations", _, "metadata.json" | "character_snapshot.json" | "plot_state.json"] => {
                assert!(parse(bytes).is_object(), "{name}");
            }
            ["config.json"]
            | ["characters", _, "definition.json"]
            | ["backgrounds", _, "background.json"]
            | ["presets", "characters" | "backgrounds" | "summaries", _]
            | ["prompt_templates", ..]
            | ["event_library", "chroma_db", ..] => {}
            _ => panic!("no file of the documents: {name}"),
        }
    }
}

fn lines(bytes: &[u8], name: &str) {
    let text = std::str::from_utf8(bytes).expect("UTF-8").trim_start_matches('\u{feff}');
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Option<serde::de::IgnoredAny> = serde_json::from_str(line).ok();
        assert!(line.is_some(), "{name}: a line is JSON");
    }
}

/// What a new folder must look like, to the letter: keys in order, every turn of a question and its answer.
pub fn written_anew(files: &Files, generation: &str) {
    folder(files);
    for (name, bytes) in files {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        if name.ends_with(".jsonl") {
            talk(text, generation);
        }
        let keys = |expected: &[&str]| {
            let found =
                text.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next()).collect::<Vec<_>>();
            assert!(expected.starts_with(&found) && found.len() + 1 >= expected.len(), "{name}: {found:?}");
        };
        match name.rsplit('/').next() {
            Some("instance_state.json") => {
                keys(&[
                    "instance_id",
                    "character_id",
                    "background_id",
                    "current_session_id",
                    "created_at",
                    "plot_state",
                ]);
                let open = parse(bytes)["current_session_id"].as_str().expect("an id").to_owned();
                let folder = name.strip_suffix("instance_state.json").expect("the file");
                let mut sessions = files.iter().filter(|(name, _)| name.starts_with(&format!("{folder}sessions/")));
                let id = format!("\"session_id\":\"{open}\"");
                assert!(sessions.any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(&id)), "{open} is there");
            }
            Some("character_state.json") => keys(&["base_persona", "evolved_persona"]),
            Some("metadata.json") => keys(&["conversation_id", "created_at", "presets", "rag_scope"]),
            Some("character_snapshot.json") => {
                keys(&["source_preset", "snapshot_created_at", "base_persona", "evolved_persona"]);
            }
            _ => {}
        }
    }
}

fn talk(text: &str, generation: &str) {
    let mut lines = text.lines();
    if generation == "v0.5" {
        let head = lines.next().expect("a line about the session");
        let keys = ["type", "instance_id", "session_id", "created_at", "continued_from"];
        let places = keys.map(|key| head.find(&format!("\"{key}\":")).expect(key));
        assert!(head.starts_with("{\"type\":\"metadata\"") && places.is_sorted(), "{head}");
    }
    for line in lines {
        let value: Value = serde_json::from_str(line).expect("JSON");
        match value.get("type") {
            Some(kind) => assert!(kind == "summary" && value.as_object().expect("an object").len() == 2, "{line}"),
            None => {
                assert!(
                    line.starts_with("{\"role\":\"user\"") || line.starts_with("{\"role\":\"assistant\""),
                    "{line}"
                );
                assert!(
                    value["content"].is_string() && value["turn"].is_u64() && value["timestamp"].is_string(),
                    "{line}"
                );
            }
        }
    }
}
