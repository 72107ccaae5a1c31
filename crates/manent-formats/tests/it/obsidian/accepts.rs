//! The program's own rules, kept apart from our reader: what it must find in a vault to work with it.

use super::Files;
use serde_json::Value;

/// Checks every file of a vault. What the program would show as broken fails.
pub fn vault(files: &Files) {
    let parse = |name: &str| -> Value {
        let text = std::str::from_utf8(&files[name]).expect("UTF-8");
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or(Value::Null)
    };
    for name in files.keys() {
        let inside = name.strip_prefix("Assets/History/").unwrap_or(name);
        match inside.split_once('/') {
            Some(("sessions" | "trash", file)) => {
                assert!(!file.contains('/') && file.ends_with(".json"), "{name}");
                session(&parse(name), name);
            }
            Some(_) => panic!("no folder of the program: {name}"),
            None if inside.starts_with("chat_history.json") => messages(&parse(name), name),
            None if inside == "sessions_index.json" => index(&parse(name), files, name),
            None if inside == "trash_index.json" => assert!(parse(name)["items"].is_array(), "{name}"),
            None => {}
        }
    }
}

fn session(session: &Value, name: &str) {
    if session.is_null() {
        return;
    }
    assert!(session["sessionId"].is_string(), "{name}: an id");
    assert!(session["createdAt"].is_number(), "{name}: a time");
    messages(&session["messages"], name);
}

fn messages(messages: &Value, name: &str) {
    for message in messages.as_array().into_iter().flatten() {
        assert!(message["role"].is_string(), "{name}: a role");
        assert!(message.get("content").is_some(), "{name}: a content");
        assert!(message["thinking"].is_null() || !message["role"].is_null(), "{name}: thoughts");
    }
}

fn index(index: &Value, files: &Files, name: &str) {
    let folder = name.strip_suffix("sessions_index.json").expect("the index");
    for entry in index["sessions"].as_array().expect("a list of sessions") {
        let id = entry["sessionId"].as_str().expect("an id");
        assert!(id.contains('/') || files.contains_key(&format!("{folder}sessions/{id}.json")), "{id} has its file");
    }
}

/// What the program writes itself, to the letter: key order, layout, ids and names of files.
pub fn written_by_the_program(files: &Files) {
    vault(files);
    let text = |name: &str| String::from_utf8(files[name].clone()).expect("UTF-8");
    let index_text = text("Assets/History/sessions_index.json");
    let index: Value = serde_json::from_str(&index_text).expect("JSON");
    let mut again = format!(
        "{{\n  \"version\": \"1.0\",\n  \"currentSessionId\": {},\n  \"sessions\": [",
        index["currentSessionId"]
    );
    let entries = index["sessions"].as_array().expect("a list");
    for (place, entry) in entries.iter().enumerate() {
        again.push_str(if place == 0 { "\n" } else { ",\n" });
        let session: Value = serde_json::from_str(&text(&format!(
            "Assets/History/sessions/{}.json",
            entry["sessionId"].as_str().expect("an id")
        )))
        .expect("JSON");
        for key in ["sessionId", "sessionName", "createdAt", "updatedAt"] {
            assert_eq!(session[key], entry[key], "{key}");
        }
        assert_eq!(entry["messageCount"], session["messages"].as_array().expect("a list").len());
        let members = ["sessionId", "sessionName", "createdAt", "updatedAt", "messageCount"];
        let members = members.map(|key| format!("      \"{key}\": {}", entry[key]));
        again.push_str(&format!("    {{\n{}\n    }}", members.join(",\n")));
    }
    again.push_str(if entries.is_empty() { "]\n}" } else { "\n  ]\n}" });
    assert_eq!(index_text, again);
    let ids: Vec<&Value> = entries.iter().map(|entry| &entry["sessionId"]).collect();
    assert!(ids.is_empty() || ids.contains(&&index["currentSessionId"]), "the open session is one of them");
    for name in files.keys().filter(|name| name.contains("/sessions/") || name.contains("/trash/")) {
        let session: Value = serde_json::from_str(&text(name)).expect("JSON");
        let keys: Vec<String> = text(name)
            .lines()
            .filter_map(|line| line.strip_prefix("  \""))
            .map(|rest| rest.split('"').next().unwrap_or("").to_owned())
            .collect();
        assert_eq!(keys, ["sessionId", "sessionName", "createdAt", "updatedAt", "messages"], "{name}");
        for message in session["messages"].as_array().expect("a list") {
            let role = message["role"].as_str().expect("a role");
            assert!(matches!(role, "user" | "assistant") && message["content"].is_string());
            assert!(message.get("thinking").is_some() || role == "user", "an answer says that nothing was thought");
        }
    }
}
