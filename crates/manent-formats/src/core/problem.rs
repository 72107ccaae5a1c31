//! Problems of a file, with their positions.

use std::fmt;

/// A place in what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The original name of the file, for people; never used as a path.
    pub file: String,
    /// Its position.
    pub at: At,
}

/// Position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The whole of it.
    Whole,
    /// A byte, counted from 0.
    Byte(u64),
    /// A line, counted from 1.
    Line(u64),
    /// A row of a table.
    Row {
        /// The table.
        table: String,
        /// The row, as SQLite counts.
        row: i64,
    },
}

impl Place {
    /// The whole of a file.
    pub fn file(file: &str) -> Self {
        Self { file: file.to_owned(), at: At::Whole }
    }

    /// A byte of a file.
    pub fn byte(file: &str, byte: u64) -> Self {
        Self { file: file.to_owned(), at: At::Byte(byte) }
    }

    /// A line of a file.
    pub fn line(file: &str, line: u64) -> Self {
        Self { file: file.to_owned(), at: At::Line(line) }
    }

    /// A row of a table.
    pub fn row(file: &str, table: &str, row: i64) -> Self {
        Self { file: file.to_owned(), at: At::Row { table: table.to_owned(), row } }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Control characters in a foreign name must not affect the terminal of the reader.
        for letter in self.file.chars() {
            match letter.is_control() {
                true => write!(formatter, "{}", letter.escape_default())?,
                false => write!(formatter, "{letter}")?,
            }
        }
        match &self.at {
            At::Whole => Ok(()),
            At::Byte(byte) => write!(formatter, " at byte {byte}"),
            At::Line(line) => write!(formatter, " line {line}"),
            At::Row { table, row } => write!(formatter, " {table} row {row}"),
        }
    }
}

/// A record that could not be taken in; its bytes are kept where there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The word of its program for what it is: `entry`, `event`.
    pub record: &'static str,
    /// Why.
    pub why: String,
    /// The unparsable bytes; empty if the rest of the report is sufficient.
    pub bytes: Vec<u8>,
}

/// Something that did not fit together and was taken in so that it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where.
    pub place: Place,
    /// The problem.
    pub what: RepairKind,
    /// The repair, with the names that are needed to understand it.
    pub why: String,
}

/// Kind of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RepairKind {
    /// A tool call without a result.
    ToolCallUnanswered,
    /// A question at the end without an answer.
    TailUnanswered,
    /// A compaction whose trigger is missing.
    TriggerDangling,
    /// A pointer to a newest or current thing that is not there.
    PointerDangling,
    /// A file that no index names.
    FileOrphaned,
    /// An index that names a file that is not there.
    FileLost,
    /// An index that cannot be read.
    IndexRebuilt,
    /// A log beside a file that is older than the file.
    WalStale,
    /// A log beside a file that was cut off.
    WalTorn,
    /// A log beside a file with nothing in it.
    WalEmpty,
    /// A log beside a file that was taken in.
    WalApplied,
    /// Events that occur twice in a log.
    EventsDoubled,
    /// An id or cursor that is used twice.
    IdRepeated,
    /// A record without a time.
    TimeMissing,
    /// A text with half a character in it.
    TextHalved,
    /// A record without an id.
    IdMissing,
    /// Records that refer to each other in a cycle.
    PointersLooped,
    /// A record of something that is not there.
    RecordOrphaned,
}

impl RepairKind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToolCallUnanswered => "tool call unanswered",
            Self::TailUnanswered => "question unanswered",
            Self::TriggerDangling => "trigger dangling",
            Self::PointerDangling => "pointer dangling",
            Self::FileOrphaned => "file orphaned",
            Self::FileLost => "file lost",
            Self::IndexRebuilt => "index rebuilt",
            Self::WalStale => "wal stale",
            Self::WalTorn => "wal torn",
            Self::WalEmpty => "wal empty",
            Self::WalApplied => "wal applied",
            Self::EventsDoubled => "events doubled",
            Self::IdRepeated => "id repeated",
            Self::TimeMissing => "time missing",
            Self::TextHalved => "half a character",
            Self::IdMissing => "id missing",
            Self::PointersLooped => "pointers looped",
            Self::RecordOrphaned => "record orphaned",
        }
    }
}

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("reading {file}")]
    File {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Nothing in it is of any format.
    #[error("{file}: unknown format; known formats: manent, {}; --as sets one", crate::known_formats())]
    Unrecognised {
        /// Which.
        file: String,
    },
    /// Nothing in it is of this format.
    #[error("{file} holds nothing of {format}: {why}")]
    Foreign {
        /// Which.
        file: String,
        /// The format that was asked for.
        format: &'static str,
        /// Why.
        why: String,
    },
    /// It is larger than anybody's, or made to do harm.
    #[error("{what} of {file} is above the limit of {limit}")]
    TooLarge {
        /// Which.
        file: String,
        /// The part of it.
        what: &'static str,
        /// The limit.
        limit: String,
    },
    /// It is cut off or spoilt, and nothing of it can be trusted.
    #[error("{file} is damaged: {why}")]
    Damaged {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// A defect of the reader, such as a panic; the file was not changed.
    #[error("internal error: {0}")]
    Internal(String),
    /// The receiver of the items has stopped.
    #[error("stopped")]
    Stopped,
}
