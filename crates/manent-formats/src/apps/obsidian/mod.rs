//! The RAG assistant for Obsidian: sessions in files of their own, an index beside them, and a folder for the deleted.
//!
//! | generation | files |
//! |---|---|
//! | legacy | `chat_history.json`, one array of messages |
//! | 1.0 | `sessions_index.json`, `sessions/{id}.json`, `trash/{id}.json`; the array stays, copied into a session |

mod message;
mod session;
mod entry;
mod history;
mod index;
mod files;
mod read;
mod plan;
mod write;

use crate::core::json::Frame;
pub use read::{finds, read};
use serde::{Deserialize, Serialize};
pub use write::write;

/// The name of the format.
pub const NAME: &str = "obsidian-rag";
/// Its generations, oldest first.
pub const GENERATIONS: [&str; 2] = ["legacy", "1.0"];

/// Which version of the program wrote the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Legacy,
    Sessions,
}

impl Generation {
    fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Legacy, Self::Sessions].into_iter().find(|generation| generation.name() == name)
    }
}

const INDEX: &str = "sessions_index.json";
const TRASH_INDEX: &str = "trash_index.json";
const HISTORY: &str = "chat_history.json";
const BACKUP: &str = "chat_history.json.backup";
const SESSIONS: &str = "sessions/";
const TRASH: &str = "trash/";

/// Layout of the files, without their records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct RootFrame {
    /// Their folder below the root, with `/` at its end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    folder: String,
    /// One file was read and nothing around it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_alone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<Frame>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trash_index: Option<Frame>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    histories: Vec<HistoryFrame>,
}

/// A file of the legacy generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HistoryFrame {
    name: String,
    #[serde(flatten)]
    frame: Frame,
    records: Vec<Kept>,
}

/// A record of a legacy file whose messages are also in sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// Source texts of messages, laid out as this file is.
    Laid(Run),
    /// Source texts of messages as they are.
    Same(Run),
    /// Something that is in no session.
    Text(String),
}

/// Messages of a conversation that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    conversation: u32,
    from: u32,
    count: u32,
}

/// Layout of a session, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct SessionFrame {
    /// Its file below the folder; empty for one that a legacy file made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<Frame>,
    /// Its entry in the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    /// Its entry in the index of the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trash_entry: Option<String>,
    /// How many messages stood in it.
    #[serde(default)]
    messages: u32,
}
