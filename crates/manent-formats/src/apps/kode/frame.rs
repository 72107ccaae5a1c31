//! Skeleton of an agent's files: everything besides their records.

use crate::apps::kode::database::{AgentRows, DatabaseFrame};
use crate::core::json::{Frame, Style};
use serde::{Deserialize, Serialize};

/// A file with a single value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Around {
    /// Its name below the folder.
    pub file: String,
    /// The bytes before the value: a byte order mark, white space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The bytes after it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

/// A file with one value that is kept with what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    #[serde(flatten)]
    pub around: Around,
    /// The value.
    pub text: String,
}

impl Kept {
    /// Layout of the value.
    pub fn style(&self) -> Style {
        Style::of(&self.text)
    }
}

/// A file that is a list of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListFrame {
    /// Its name below the folder.
    pub file: String,
    #[serde(flatten)]
    pub frame: Frame,
    /// How many records it had.
    pub count: u32,
    /// The original order of its records relative to the order of the requesting parts, if it differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
    /// The ids of its tool calls in order. They find their records wherever these are attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

impl Default for ListFrame {
    fn default() -> Self {
        let frame = Frame::fresh("[]", Style::PRETTY);
        Self { file: String::new(), frame, count: 0, order: Vec::new(), ids: Vec::new() }
    }
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LogFrame {
    /// Its name below the folder.
    pub file: String,
    /// The channel.
    pub channel: String,
    /// How many events it had.
    pub count: u32,
    /// The SHA-256 of the first of them: a log that was rotated begins behind events that are known from earlier.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first: String,
    /// Lines end as on Windows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crlf: bool,
    /// The last of this many lines has no line ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unended: Option<u32>,
    /// Lines with something else before or behind the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<(u32, String, String)>,
    /// Content of a log without any event.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub blank: String,
    /// Lines that occur a second time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubled: Vec<Doubled>,
}

/// Lines that repeat earlier ones of their log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Doubled {
    /// They follow this many events.
    pub after: u32,
    /// The events that they repeat: the first, and how many.
    pub of: Vec<(u32, u32)>,
}

/// Layout of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct AgentFrame {
    /// Its folder below the root; empty for the root itself.
    pub folder: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Kept>,
    /// There was a meta file that could not be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_meta_lost: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<ListFrame>,
    /// The list of messages was empty, and what is shown came from windows or snapshots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_blank: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<ListFrame>,
    /// Records of tool calls in an agent without messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose_calls: Vec<String>,
    /// Files of values, by the name of the state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<(String, Around)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogFrame>,
    /// Compressions whose window is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compressions: Vec<Kept>,
    /// Its rows, if it was read from a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<AgentRows>,
}

/// Where the text of a message in a file is not its record laid out for that file: its place, and the text; none for
/// the record as it is.
pub(crate) type Odd = Vec<(u32, Option<String>)>;

/// An event in a window: lines of a log, or one that no log holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Shown {
    Lines(String, u32, u32),
    Text(String),
}

/// A window, and the record of the compression that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowFrame {
    /// Its name below the folder.
    pub file: String,
    #[serde(flatten)]
    pub frame: Frame,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Odd,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Shown>,
    /// The file of the compression; its value is what made the fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Around>,
}

/// Layout of a fold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoldFrame {
    /// The id of the window.
    pub window: String,
    #[serde(flatten)]
    pub file: WindowFrame,
    /// The message that is the summary.
    pub summary: String,
    /// The number of the last message that it covers.
    pub last: u32,
    /// How many messages of the window were kept behind it.
    pub kept: u32,
    /// The window whose summary begins this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<String>,
}

/// Layout of a bookmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Mark {
    /// A snapshot.
    Snapshot {
        file: String,
        #[serde(flatten)]
        frame: Frame,
        /// The list of messages; empty where the file is the list.
        list: String,
        /// The window whose summary begins the list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        odd: Odd,
    },
    /// A window that no summary leads to.
    Window {
        #[serde(flatten)]
        file: WindowFrame,
        /// The value of the compression's file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression_text: Option<String>,
    },
    /// The content of a file before its write-ahead file replaced it.
    Replaced,
}

/// Layout of a recovered file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecoveredFrame {
    /// Its name below the root.
    pub file: String,
    /// The lines above its content.
    pub header: String,
}

/// Layout of the root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RootFrame {
    /// The agents that ran when their pool was shut down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Kept>,
    /// The database, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseFrame>,
}
