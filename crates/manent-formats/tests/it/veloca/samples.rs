//! Files of our own making: each generation as its programs write it, and as they do not.

use crate::kit::memory;
use manent_formats::core::source_fs::MemoryTree;

const SEED: &str = r#"{
  "sessions": [
    {
      "session_id": "550e8400-e29b-41d4-a716-446655440000",
      "name": "我的第一个会话",
      "status": 0,
      "create_at": "2024-01-01T00:00:00.000Z"
    },
    {
      "session_id": "two",
      "name": "",
      "status": 1,
      "create_at": "2024-01-02T00:00:00.000Z"
    }
  ],
  "entries": [
    {
      "entry_id": "e1",
      "session_id": "550e8400-e29b-41d4-a716-446655440000",
      "message": "北京今天天气怎么样？",
      "role": "user",
      "token_consumption": 12,
      "status": 0,
      "tools": null,
      "create_at": "2024-01-01T00:00:00.000Z",
      "is_compaction": 1
    },
    {
      "entry_id": "e2",
      "session_id": "two",
      "message": "\ud83d and {\"role\": [}",
      "role": "system",
      "token_consumption": 0,
      "status": 1,
      "tools": null,
      "create_at": "2024-01-02T00:00:00.000Z",
      "is_compaction": 0
    },
    {
      "entry_id": "e3",
      "session_id": "550e8400-e29b-41d4-a716-446655440000",
      "message": "",
      "role": "assistant",
      "token_consumption": 20,
      "status": 0,
      "tools": {
        "tool_calls": [
          {
            "id": "call_123",
            "type": "function",
            "function": {
              "name": "get_weather",
              "arguments": "{\"city\":\"北京\"}"
            }
          }
        ]
      },
      "create_at": "2024-01-01T00:00:01.000Z",
      "is_compaction": 1
    }
  ],
  "compacted_dialogues": [
    {
      "entry_id": "c1",
      "trigger_entry_id": "e3",
      "summary": "用户询问了天气情况",
      "create_at": "2024-01-01T00:10:00.000Z",
      "status": 0
    },
    {
      "entry_id": "c2",
      "trigger_entry_id": "gone",
      "summary": "nobody knows whose",
      "create_at": "2024-01-03T00:00:00.000Z",
      "status": 1
    }
  ]
}"#;

const NESTED: &str = r#"{
  "sessions": [
    {
      "session_id": "one",
      "status": 0,
      "create_at": "2026-01-01T00:00:00.000Z",
      "entries": [
        {
          "entry_id": "e1",
          "role": "user",
          "content": "hm?",
          "create_at": "2026-01-01T00:00:00.000Z"
        },
        {
          "entry_id": "e2",
          "role": "assistant",
          "content": "well",
          "create_at": "2026-01-01T00:00:01.000Z",
          "tools": {
            "tool_calls": [
              {
                "id": "t",
                "type": "function",
                "function": {
                  "name": "look",
                  "arguments": "not JSON"
                }
              }
            ]
          },
          "token_consumption": 62,
          "reasoning_content": "let me see"
        },
        {
          "entry_id": "e3",
          "role": "tool",
          "content": "null",
          "create_at": "2026-01-01T00:00:02.000Z",
          "tools": {
            "tool_call_id": "t",
            "function_name": "look",
            "result": null
          }
        }
      ],
      "compacted_entries": [
        {
          "entry_id": "c1",
          "summary": "so far",
          "trigger_entry_id": "e2",
          "create_at": "2026-01-01T00:00:03.000Z"
        }
      ]
    },
    {
      "session_id": "only",
      "create_at": "2026-01-01T00:00:04.000Z",
      "entries": [],
      "compacted_entries": []
    }
  ]
}"#;

const WORKSPACES: &str = r#"{
  "sessions": [
    {
      "created_at": "2026-01-01T00:00:00.000Z",
      "session_id": "only",
      "updated_at": "2026-01-01T00:00:00.000Z",
      "workspace_key": "brainstorm",
      "workspace_type": "none"
    },
    {
      "created_at": "2026-01-01T00:00:00.000Z",
      "session_id": "one",
      "updated_at": "2026-01-01T00:00:00.000Z",
      "workspace_key": "filesystem:/a/b",
      "workspace_root_path": "/a/b",
      "workspace_type": "filesystem"
    }
  ]
}"#;

/// As the seed says.
pub fn message() -> MemoryTree {
    memory(&[("veloca-storage.json", SEED)])
}

/// The same under the later name of the text.
pub fn content() -> MemoryTree {
    memory(&[("veloca-storage.json", &SEED.replace("\"message\"", "\"content\""))])
}

/// With thoughts, and compactions that name their sessions.
pub fn thinking() -> MemoryTree {
    let text = SEED.replace("\"message\"", "\"content\"").replace("compacted_dialogues", "compacted_entries");
    let text = text.replace("\"trigger_entry_id\"", "\"session_id\": \"two\",\n      \"trigger_entry_id\"");
    let text = text.replace("\"tools\": null,", "\"tools\": null,\n      \"thinking\": \"hm\",");
    memory(&[("veloca-storage.json", &text)])
}

/// Records inside their sessions, and the workspaces of these.
pub fn nested() -> MemoryTree {
    memory(&[
        (".veloca/storage/veloca-storage.json", NESTED),
        (".veloca/storage/veloca-session-workspaces.json", WORKSPACES),
    ])
}

/// What the Rust crate writes.
pub fn rust() -> MemoryTree {
    let text = NESTED.replace("\"role\"", "\"session_id\": \"one\",\n          \"role\"");
    let text = text.replace("000Z\"", "123456789+00:00\"").replace("\"reasoning_content\"", "\"attributes\"");
    memory(&[(".otherone/storage/otherone-storage.json", &text)])
}

/// On one line, on Windows, with marks, spaces, more members, repeated ids and members, and records without an owner.
pub fn odd() -> Vec<MemoryTree> {
    let compact = |text: &str| manent_formats::core::json::Style::COMPACT.format(text, 0);
    let flat = r#"{"x" : 1.50, "sessions":[ {"session_id":"a","more":[1, 2]} , {"session_id":"a"},{"session_id":"a+2"}, {}],
        "entries": [{"role":"user","content":"1","session_id":"a"},{"role":"user","content":"2","session_id":"b","u":{}},
        {"role":"user","message":"3","session_id":"a","create_at":"yesterday"} ], "compacted_entries":[] , "y":null }"#;
    [compact(SEED), SEED.replace('\n', "\r\n"), format!("\u{feff} {NESTED}\n\n"), compact(NESTED), flat.to_owned()]
        .iter()
        .map(|text| memory(&[("veloca-storage.json", text)]))
        .collect()
}

/// Flat and nested at once, which is written nested.
pub fn mixed() -> MemoryTree {
    let mixed = r#"{"sessions":[{"session_id":"a","entries":[{"entry_id":"1","role":"user","content":"in"}],
        "compacted_dialogues":[{"summary":"s","trigger_entry_id":"1"}]},{"session_id":"b"}],
        "entries":[{"entry_id":"2","role":"user","content":"out","session_id":"b"},
        {"entry_id":"3","role":"user","content":"alone","session_id":"c"}],
        "compacted_entries":[{"summary":"t","trigger_entry_id":"2"},{"summary":"u"}]}"#;
    memory(&[("veloca-storage.json", mixed)])
}

/// Two lists of one name, of which the last counts.
pub fn twice() -> MemoryTree {
    let twice = r#"{"sessions":[],"entries":[{"role":"user","content":"first list","session_id":"a"}],
        "entries":[{"role":"user","content":"second list","session_id":"a"}]}"#;
    memory(&[("veloca-storage.json", twice)])
}

/// All of them that come back to the byte.
pub fn all() -> Vec<MemoryTree> {
    [message(), content(), thinking(), nested(), rust()].into_iter().chain(odd()).collect()
}
