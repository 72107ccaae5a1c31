//! Vaults of our own making, as the program writes them, and as it does not.

use crate::kit::memory;
use manent_formats::core::source_fs::MemoryTree;

pub const SESSION: &str = r#"{
  "sessionId": "session_1733423456789",
  "sessionName": "  项目技术讨论  ",
  "createdAt": 1733423456789,
  "updatedAt": 1733423567890,
  "messages": [
    {
      "role": "user",
      "content": "你好"
    },
    {
      "role": "assistant",
      "content": "你好！\n\"RAG\"",
      "thinking": null
    },
    {
      "role": "user",
      "content": "为什么？"
    },
    {
      "role": "assistant",
      "content": "因为。",
      "thinking": "想一想"
    }
  ]
}"#;

pub const EMPTY: &str = r#"{
  "sessionId": "session_2",
  "sessionName": "新会话 12-05 23:10",
  "createdAt": 2,
  "updatedAt": 2,
  "messages": []
}"#;

pub const INDEX: &str = r#"{
  "version": "1.0",
  "currentSessionId": "session_2",
  "sessions": [
    {
      "sessionId": "session_2",
      "sessionName": "新会话 12-05 23:10",
      "createdAt": 2,
      "updatedAt": 2,
      "messageCount": 0
    },
    {
      "sessionId": "session_1733423456789",
      "sessionName": "  项目技术讨论  ",
      "createdAt": 1733423456789,
      "updatedAt": 1733423567890,
      "messageCount": 4
    }
  ]
}"#;

pub const LEGACY: &str = r#"[
  {
    "role": "user",
    "content": "从前"
  },
  {
    "role": "assistant",
    "content": "有一座山",
    "thinking": null
  }
]"#;

/// A session of one question and one answer.
pub fn session(id: &str, name: &str) -> String {
    SESSION.replace("session_1733423456789", id).replace("  项目技术讨论  ", name)
}

/// Two sessions, and three in the trash, two of them of one id.
pub fn several() -> MemoryTree {
    memory(&[
        ("Assets/History/sessions_index.json", INDEX),
        ("Assets/History/sessions/session_1733423456789.json", SESSION),
        ("Assets/History/sessions/session_2.json", EMPTY),
        ("Assets/History/trash/session_2.json", EMPTY),
        ("Assets/History/trash/session_3.json", &session("session_3", "删除")),
        ("Assets/History/trash/session_3_1733423999999.json", &session("session_3", "又删除")),
        ("data.json", "{\"inputHistory\": [\"a\"]}"),
    ])
}

/// The version that kept an index of its trash for one commit.
pub fn trash_index() -> MemoryTree {
    let index = r#"{"currentSessionId":"open","sessions":[{"sessionId":"open","sessionName":"o","createdAt":1733423456789,"updatedAt":1733423567890,"messageCount":4}]}"#;
    let trash = r#"{
  "items": [
    {
      "sessionId": "second",
      "sessionName": "b",
      "deletedAt": 5000
    },
    {
      "sessionId": "first",
      "sessionName": "a",
      "deletedAt": 4000
    }
  ]
}"#;
    memory(&[
        ("sessions_index.json", index),
        ("sessions/open.json", &session("open", "o")),
        ("trash/first.json", &session("first", "a")),
        ("trash/second.json", &session("second", "b")),
        ("trash/third_77.json", &session("third", "c")),
        ("trash_index.json", trash),
    ])
}

/// What no version of the program writes, and a person or another program may.
pub fn odd() -> MemoryTree {
    let index = "{\"sessions\" : [ {\"x\":1,\"messageCount\":9.0 ,\"sessionId\":\"s/1\",\"createdAt\":1e3} ,{\"sessionId\":\"t\"}]\n,\t\"more\":[1,2],\"currentSessionId\":null}\n";
    let first = "\n{ \"messages\":[{\"content\":\"half \\ud83d\",\"role\":\"user\",\"n\":1.50},\n\n\n{\"role\":\"assistant\",\"thinking\":\"\",\"content\":\"\\u0041\\/\"}   ,{\"role\":\"system\",\"content\":[{\"type\":\"text\"}]},{\"role\":\"tool\",\"content\":null,\"thinking\":{}}],\n \"sessionId\":\"s/1\",\"a\":{\"b\":[]},\"a\":2,\"createdAt\":1000.0,\"messages2\":[ ] }\n\n";
    let second = "{\"sessionId\":\"t\",\"createdAt\":5,\"messages\":null}";
    memory(&[("sessions_index.json", index), ("sessions/a b.json", first), ("sessions/t.json", second)])
}

pub fn windows() -> MemoryTree {
    let line = |line: &str| "\t".repeat((line.len() - line.trim_start().len()) / 2) + line.trim_start();
    let crlf = |text: &str| format!("\u{feff}{}\r\n", text.lines().map(line).collect::<Vec<_>>().join("\r\n"));
    memory(&[
        ("sessions_index.json", &crlf(INDEX)),
        ("sessions/session_1733423456789.json", &crlf(SESSION)),
        ("sessions/session_2.json", &crlf(EMPTY)),
    ])
}

/// A vault whose legacy file was copied into a session, with one more message behind that.
pub fn migrated() -> MemoryTree {
    let inner = LEGACY.replace('\n', "\n  ");
    let session = format!(
        "{{\n  \"sessionId\": \"migrated_7\",\n  \"sessionName\": \"历史会话 1-1 0:00\",\n  \"createdAt\": 7,\n  \"updatedAt\": 7,\n  \"messages\": {inner}\n}}"
    );
    let index = r#"{"version":"1.0","currentSessionId":"migrated_7","sessions":[{"sessionId":"migrated_7","sessionName":"历史会话 1-1 0:00","createdAt":7,"updatedAt":7,"messageCount":2}]}"#;
    let longer = LEGACY.replace("\n]", ",\n  {\"role\": \"user\", \"content\": \"later\"}\n]");
    memory(&[
        ("chat_history.json", &longer),
        ("chat_history.json.backup", LEGACY),
        ("sessions/migrated_7.json", &session),
        ("sessions_index.json", index),
    ])
}
