//! What can go wrong in a store, by what the caller can do about it.

use manent_model::{IdProblem, JsonProblem, ToolState};

/// The result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it is gone.
    #[error("no {what} {id}")]
    NotFound {
        /// What was looked for: `conversation`, `message`.
        what: &'static str,
        /// Its id as it was given.
        id: String,
    },
    /// The key may not do this, whatever it is done to.
    #[error("this key may not do that: it takes {needs}")]
    Forbidden {
        /// What it takes.
        needs: &'static str,
    },
    /// Something else happened first, or the same key asked for something else.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The request makes no sense; nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// The request is larger than a commit may be; nothing was changed.
    #[error("{what} is larger than {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit, with its unit.
        limit: &'static str,
    },
    /// What is on disk is not what was written. Nothing of it is handed out.
    #[error("{what} {id} was altered on disk")]
    Altered {
        /// What was altered.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// The disk is full; nothing was changed. Reads go on, and writes too once there is room.
    #[error("the disk is full")]
    DiskFull,
    /// It is not known whether the change is on disk. Send the same transaction again: the answer will be the truth.
    #[error("it is not known whether the change was stored; send it again with the same key")]
    OutcomeUnknown,
    /// Another process holds the file, or too much is waiting; nothing was changed. Try again.
    #[error("the store is busy: {0}")]
    Busy(&'static str),
    /// The file was made by a newer version; it was not touched.
    #[error("the file has schema version {found}, this program knows up to {known}")]
    NewerSchema {
        /// The version of the file.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The file is not one of ours; it was not touched.
    #[error("{path} is not a Manent store")]
    NotOurs {
        /// The file.
        path: String,
    },
    /// The SQLite library is one that can corrupt the file.
    #[error("SQLite {found} can corrupt a store; 3.51.3 is the first that cannot")]
    UnsafeSqlite {
        /// The version that was found.
        found: String,
    },
    /// A defect of this program, such as a panic in a read; nothing was changed.
    #[error("internal error: {0}")]
    Internal(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The engine failed; nothing was changed.
    #[error("{doing} failed")]
    Engine {
        /// What the store was doing.
        doing: &'static str,
        /// What the engine says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What stands in the way of a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The conversation, project or document has changed since it was read.
    #[error("it has version {actual}, not {expected}")]
    Version {
        /// What the caller expected.
        expected: i64,
        /// What is true.
        actual: i64,
    },
    /// The head is elsewhere.
    #[error("the head of the conversation is not where it was expected")]
    Head,
    /// The same key asked for something else before.
    #[error("the same key was used for another request")]
    Key,
    /// The id is taken by something else.
    #[error("{what} {id} exists already and is different")]
    Exists {
        /// What exists.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A tool call cannot go from one state to the other.
    #[error("a tool call cannot go from {from:?} to {to:?}")]
    ToolState {
        /// Where it is.
        from: ToolState,
        /// Where it was to go.
        to: ToolState,
    },
    /// Somebody else holds the lease.
    #[error("the lease is held by another owner")]
    Lease,
    /// The input was taken already.
    #[error("the input was taken already")]
    Taken,
    /// There is nothing to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// There is nothing to redo.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// It is not there to be undone or redone, or something was changed after it.
    #[error("this change cannot be undone now: it is not the last one of everything it touched")]
    Undo,
    /// The message is final, or was never streaming.
    #[error("the message is not streaming")]
    NotStreaming,
    /// Only what lies in the trash can be purged.
    #[error("only a conversation in the trash can be purged")]
    NotTrashed,
}

impl StoreError {
    /// Says whether the change was refused for what it says; any other change may still be made.
    pub fn is_about_the_change(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::Forbidden { .. }
                | Self::Conflict(_)
                | Self::Invalid(_)
                | Self::TooLarge { .. }
        )
    }

    /// Returns a stable code that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Forbidden { .. } => "forbidden",
            Self::Conflict(conflict) => match conflict {
                Conflict::Version { .. } => "version_conflict",
                Conflict::Head => "head_conflict",
                Conflict::Key => "key_conflict",
                Conflict::Exists { .. } => "exists",
                Conflict::ToolState { .. } => "tool_state",
                Conflict::Lease => "lease_held",
                Conflict::Taken => "input_taken",
                Conflict::NothingToUndo => "nothing_to_undo",
                Conflict::NothingToRedo => "nothing_to_redo",
                Conflict::Undo => "cannot_undo",
                Conflict::NotStreaming => "not_streaming",
                Conflict::NotTrashed => "not_trashed",
            },
            Self::Invalid(_) => "invalid",
            Self::TooLarge { .. } => "too_large",
            Self::Altered { .. } => "altered",
            Self::DiskFull => "disk_full",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Busy(_) => "busy",
            Self::NewerSchema { .. } => "newer_schema",
            Self::NotOurs { .. } => "not_ours",
            Self::UnsafeSqlite { .. } => "unsafe_sqlite",
            Self::Internal(_) => "internal",
            Self::Closed => "closed",
            Self::Engine { .. } => "engine",
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    pub(crate) fn altered(what: &'static str, id: impl ToString) -> Self {
        Self::Altered { what, id: id.to_string() }
    }

    pub(crate) fn engine(doing: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Engine { doing, source: source.into() }
    }
}

impl From<IdProblem> for StoreError {
    fn from(problem: IdProblem) -> Self {
        Self::Invalid(problem.to_string())
    }
}

impl From<JsonProblem> for StoreError {
    fn from(problem: JsonProblem) -> Self {
        Self::Invalid(problem.to_string())
    }
}
