//! PersonaLab: role-plays as JSON lines, with the state of the characters in files beside them.
//!
//! | generation | sessions | state |
//! |---|---|---|
//! | v0.5 | `instances/{id}/sessions/*.jsonl`, each with a line about itself | of the instance |
//! | v2 | `conversations/{id}/conversation.jsonl` | of the conversation |
//!
//! There is no program, only its documents; version 0.2 of them differs in names and is read as v0.5.

mod line;
mod state_fields;
mod head;
mod document;
mod vectors;
mod files;
mod session;
mod read;
mod plan;
mod fresh;
mod write;

use crate::core::json::Frame;
use crate::core::jsonl::JsonlFrame;
pub use files::finds;
pub use read::read;
use serde::{Deserialize, Serialize};
use state_fields::StateFieldFrame;
pub use write::write;

/// The name of the format.
pub const NAME: &str = "personalab";
/// Its generations, oldest first.
pub const GENERATIONS: [&str; 2] = ["v0.5", "v2"];

/// Which document the files follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Instances,
    Conversations,
}

impl Generation {
    fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Instances, Self::Conversations].into_iter().find(|generation| generation.name() == name)
    }
}

/// The kind of project that an instance is.
const INSTANCE: &str = "instance";
/// State of a character and of the plot.
const PLOT: &str = "plot_state";
const PERSONAS: [&str; 2] = ["base_persona", "evolved_persona"];

/// Layout of a root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct RootFrame {
    /// Folder of all files, with `/` at its end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    folder: String,
    /// Stands for all files of the vectors: those that the folder holds now have it in their frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<String>,
}

/// Layout of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct InstanceFrame {
    /// Its folder below `instances/`.
    folder: String,
    /// The name of the file that describes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<StateFieldFrame>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    character: Option<StateFieldFrame>,
}

/// Layout of a conversation, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct SessionFrame {
    /// Its file below `sessions/`, or its folder below `conversations/`.
    name: String,
    lines: JsonlFrame,
    /// There was no file of lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_no_lines: bool,
    /// The line about the session, with its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<(String, String)>,
    /// Number of lines before that line that are not records.
    #[serde(default, skip_serializing_if = "is_nothing")]
    before_head: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Frame>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    character: Option<StateFieldFrame>,
    /// The bytes around the value in the file of the plot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plot: Option<(String, String)>,
}

fn is_nothing(count: &u32) -> bool {
    *count == 0
}
