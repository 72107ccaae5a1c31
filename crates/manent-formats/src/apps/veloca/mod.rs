//! Veloca and its Rust twin: all sessions in one JSON file, in five generations.
//!
//! | generation | root | entries |
//! |---|---|---|
//! | 0 | flat | `message`; compactions have no session |
//! | 1 | flat | `content` |
//! | 2 | flat | `thinking`; `compacted_entries` with their session |
//! | 3 | nested in sessions | without session, status and flag |
//! | 4 | nested in sessions | with them, and metadata |

mod calls;
mod compaction;
mod entry;
mod group;
mod read;
mod session;
mod tools;
mod workspace;
mod write;

use crate::core::json::{Frame, Skeleton};
pub use read::{finds, read};
use serde::{Deserialize, Serialize};
pub use write::write;

/// The name of the format.
pub const NAME: &str = "veloca";
/// Its generations, oldest first.
pub const GENERATIONS: [&str; 5] = ["0", "1", "2", "3", "4"];

/// Which program wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    Message,
    Content,
    Thinking,
    Nested,
    Rust,
}

impl Generation {
    const ALL: [Self; 5] = [Self::Message, Self::Content, Self::Thinking, Self::Nested, Self::Rust];

    fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.name() == name)
    }

    fn is_nested(self) -> bool {
        self >= Self::Nested
    }

    /// The list of compactions.
    fn compactions(self) -> &'static str {
        match self {
            Self::Message | Self::Content => "compacted_dialogues",
            _ => "compacted_entries",
        }
    }
}

/// The lists of a file or session.
const LISTS: [&str; 4] = ["sessions", "entries", "compacted_dialogues", "compacted_entries"];

/// Layout of a file, without its records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileFrame {
    /// Its path below the root.
    name: String,
    #[serde(flatten)]
    frame: Frame,
    /// Runs of entries in a flat file: the number of the conversation, and the length of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    order: Vec<(u32, u32)>,
    /// The same for compactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    compactions: Vec<(u32, u32)>,
    /// The file that says which workspace a session belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspaces: Option<Box<FileFrame>>,
}

/// Layout of a session, without its records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct SessionFrame {
    /// The session's own text; `None` for one that entries refer to but no list contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skeleton: Option<Skeleton>,
    /// The record of its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// Its place among the records of workspaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace_place: Option<u32>,
}
