//! Folders of our own making, as the documents say, and as they do not.

use crate::kit::memory;
use manent_formats::core::source_fs::MemoryTree;

const FIRST: &str = r#"{"type":"metadata","instance_id":"inst_001","session_id":"sess_001","created_at":"2025-10-16T10:00:00Z","continued_from":null}
{"role":"user","content":"你好","turn":1,"timestamp":"2025-10-16T10:01:00Z"}
{"role":"assistant","content":"有什么事吗？","turn":1,"timestamp":"2025-10-16T10:01:05Z"}
"#;
const SECOND: &str = r#"{"type":"metadata","instance_id":"inst_001","session_id":"sess_002","created_at":"2025-10-16T11:00:00Z","continued_from":"sess_001"}
{"type":"summary","content":"情报交换"}
{"role":"user","content":"出发？","turn":1,"timestamp":"2025-10-16T11:01:00Z"}
{"role":"assistant","content":"走。","turn":1,"timestamp":"2025-10-16T11:01:07.5Z"}
"#;
const STATE: &str = r#"{
  "instance_id": "inst_001",
  "character_id": "char_alserqi",
  "background_id": null,
  "current_session_id": "sess_002",
  "created_at": "2025-10-10T10:00:00Z",
  "plot_state": {
    "current_plot_index": 3,
    "current_status": "in_progress",
    "no_update_count": 2
  }
}
"#;

/// One instance with two sessions, and a second one whose names are all different.
pub fn instances() -> MemoryTree {
    memory(&[
        ("instances/inst_001/instance_state.json", STATE),
        (
            "instances/inst_001/character_state.json",
            "{\"base_persona\": \"b\\u00e9\", \"evolved_persona\": \"\", \"mood\": 1}",
        ),
        ("instances/inst_001/sessions/session_001.jsonl", FIRST),
        ("instances/inst_001/sessions/session_002.jsonl", SECOND),
        (
            "instances/folder/instance_state.json",
            "{\"plot_state\":{},\"instance_id\":\"other\",\"current_session_id\":\"sess_001\"}",
        ),
        ("instances/folder/sessions/a.jsonl", FIRST),
        ("instances/folder/sessions/b.jsonl", "{\"role\":\"user\",\"content\":\"?\"}"),
        ("event_library/chroma_db/chroma.sqlite3", "not looked into"),
        ("event_library/chroma_db/0/data.bin", "nor this"),
    ])
}

/// Windows line ends, a byte order mark, blank and unknown lines, spaces, half characters, no line end at the end.
pub fn odd() -> MemoryTree {
    let lines = "\u{feff}\r\n# no\u{2028}te\n".replace("# no\u{2028}te\n", "{\"type\":\"note\",\"x\":[1, 2]}\n")
        + "{ \"session_id\":\"s\", \"type\":\"metadata\" , \"mood\":\"dark\",\"continued_from\":\"gone\",\"created_at\":\"2025-10-16 10:00:00\"}\r\n"
        + "  {\"timestamp\":\"2025-10-16T10:01:00.123456+08:00\",\"turn\":1.0,\"content\":\"half \\ud83d\",\"role\":\"user\",\"n\":1.50}  \r\n"
        + "\r\n"
        + "{\"role\":\"assistant\",\"content\":{\"a\":[]},\"turn\":1}\n"
        + "{\"type\":\"metadata\",\"session_id\":\"again\"}\r\n"
        + "{\"type\":\"summary\",\"content\":\"so far\",\"turn\":9}\r\n"
        + "{\"content\":\"nobody says this\"}\r\n"
        + "{\"role\":\"narrator\",\"content\":null,\"timestamp\":\"yesterday\",\"turn\":\"two\"}\r\n\t\r\n"
        + "{\"role\":\"user\",\"content\":\"end\",\"turn\":1,\"timestamp\":\"2025-10-16T10:02:00Z\"}";
    memory(&[
        ("data/instances/i/sessions/s.jsonl", &lines),
        ("data/instances/i/sessions/empty.jsonl", ""),
        ("data/instances/i/character_state.json", "\n{\n\t\"evolved_persona\" : null,\n\t\"base_persona\":7 }\n\n"),
        ("data/instances/quiet/instance_state.json", "{ \"instance_id\":\"quiet\" }"),
        ("data/instances/quiet/character_state.json", "{\"base_persona\":\"\"}\n"),
        ("data/instances/quiet/metadata.json", "{}"),
    ])
}

pub fn odd_conversations() -> MemoryTree {
    memory(&[
        ("conversations/a b/conversation.jsonl", &SECOND.replace('\n', "\r\n")),
        (
            "conversations/a b/metadata.json",
            "{\"x\":1,\"conversation_id\":\"ab\",\"created_at\":\"2025-10-16T10:00:00Z\"}",
        ),
        ("conversations/a b/plot_state.json", " {\"enabled\":true ,\"n\":1e1} \n"),
        ("conversations/only/character_snapshot.json", "{\"base_persona\":\"b\",\"more\":[]}"),
        ("conversations/only/metadata.json", "{}\n"),
        ("presets/characters/c.json", "{\"character_id\":\"c\"}"),
    ])
}

pub fn documents() -> MemoryTree {
    memory(&[
        ("config.json", "{\n  \"summary\": {\"last_n_turns\": 5}\n}\n"),
        ("characters/c/definition.json", "\u{feff}{\"name\":\"C\"}\r\n"),
        ("presets/characters/c.json", "[1 , 2]"),
        ("backgrounds/b/background.json", "{\"story_outline\": [ {\"index\": 1, \"content\": \"x\"} ]}\n"),
        ("prompt_templates/system.txt", "You are {{name}}.\r\n\"Be\" kind.\n"),
        ("prompt_templates/deep/chat.json", "{\"template\":\"\\ud83d\"}"),
    ])
}

/// Version 0.2 of the documents: other names for two things.
pub fn oldest() -> MemoryTree {
    memory(&[
        ("instances/i/metadata.json", "{\"instance_id\":\"i\",\"character_id\":\"c\"}"),
        (
            "instances/i/sessions/sess_001.jsonl",
            "{\"type\":\"metadata\",\"session_id\":\"sess_001\",\"instance_id\":\"i\",\"started_at\":\"2025-10-16T10:00:00Z\"}\n{\"role\":\"assistant\",\"content\":\"hm\",\"turn\":1,\"timestamp\":\"2025-10-16T10:00:01Z\"}\n",
        ),
    ])
}

pub fn broken() -> MemoryTree {
    memory(&[
        ("config.json", "{\"a\":"),
        ("characters/c/definition.json", "not JSON"),
        ("instances/i/instance_state.json", &STATE[..120]),
        ("instances/i/character_state.json", "[]"),
        (
            "instances/i/sessions/one.jsonl",
            &format!("{}rubbish\n[1]\n{}", &FIRST[..FIRST.len()], &SECOND[..SECOND.len() - 30]),
        ),
        ("instances/j/instance_state.json", &STATE.replace("sess_002", "sess_999")),
        ("instances/j/sessions/one.jsonl", FIRST),
        ("instances/j/sessions/two.jsonl", FIRST),
    ])
}
