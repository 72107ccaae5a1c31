//! The Kode agent SDK: a folder for each agent, a file for each list, a log for each channel.
//!
//! | generation | ids | files |
//! |---|---|---|
//! | 1.5 | paths | `messages.json`, `events.jsonl`, `info.json`, `snapshot-*.json` |
//! | 2.7.0 | `agt:`, `fork:`, `sfp:` | `meta.json`, `runtime/`, `events/`, `history/`, `snapshots/` |
//! | current | `agt-`, `fork-`, `sfp-` | the same |
//! | csharp | as current | the same, states in camel case, `messages.json.wal`, `skills.json` |
//! | sqlite | as current | a database with agents, messages, tool calls and snapshots; the rest in files beside it |
//!
//! Reading an agent, in this order: `meta` (what the agent is), `list` and `window` (messages, compressions expanded),
//! `snapshot` (older paths), `message_trie` (all paths merged into one tree), `folds`, `tool_calls`, `log` (events).
//! Frames (`frame`) record how the files were laid out, so that unchanged records are written back byte for byte.
//!
//! A write-ahead file is applied when it is read and never written back: its own program would apply it without
//! checking its age, and so undo all later messages.

mod find;
mod frame;
mod file_reader;
mod meta;
mod message;
mod call_record;
mod list;
mod log;
mod message_trie;
mod window;
mod snapshot;
mod folds;
mod tool_calls;
mod agent;
mod read;
mod view;
mod losses;
mod synthesize;
mod write;
mod write_calls;
mod write_history;
mod database;

pub use read::{finds, read};
pub use write::write;

/// The name of the format.
pub const NAME: &str = "kode";
/// Its generations, oldest first.
pub const GENERATIONS: [&str; 5] = ["1.5", "2.7.0", "current", "csharp", "sqlite"];

/// Which program wrote a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Flat,
    Colon,
    Current,
    CSharp,
    Sqlite,
}

impl Generation {
    const ALL: [Self; 5] = [Self::Flat, Self::Colon, Self::Current, Self::CSharp, Self::Sqlite];

    fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.name() == name)
    }

    /// Separator between the prefix and the rest of an id. Windows forbids the colon in file names.
    fn separator(self) -> char {
        if self == Self::Colon { ':' } else { '-' }
    }
}

/// The logs in the order in which the program reads them.
const CHANNELS: [&str; 3] = ["progress", "control", "monitor"];

/// State values with files of their own: name and file.
const STATES: [(&str, &str); 3] =
    [("todos", "runtime/todos.json"), ("media_cache", "runtime/media-cache.json"), ("skills", "runtime/skills.json")];

/// The state that is a member of the meta file.
const BREAKPOINT: &str = "breakpoint";

/// The body of a tool call that came from no record, so that none is written for it.
const SEALED_BY_IMPORT: &str = r#"{"sealedBy":"import"}"#;

/// Part numbers from here on are assigned to records that no part of a message requested.
const PART_BEYOND: u32 = 65_536;
