//! Errors of a store, grouped by what the caller can do about them.

use manent_model::{IdProblem, JsonProblem, ToolState};

/// The result of a store operation.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of a store operation.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The object does not exist, or was deleted.
    #[error("no {what} {id}")]
    NotFound {
        /// The kind of the object: `conversation`, `message`.
        what: &'static str,
        /// Its id as it was given.
        id: String,
    },
    /// The key lacks a permission, for any object.
    #[error("insufficient permissions: {needs} is required")]
    Forbidden {
        /// The required permission.
        needs: &'static str,
    },
    /// A concurrent change came first, or the idempotency key was used for another request.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The request is invalid; nothing was changed.
    #[error("{0}")]
    Invalid(String),
    /// The request is larger than a commit may be; nothing was changed.
    #[error("{what} is larger than {limit}")]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// The limit, with its unit.
        limit: &'static str,
    },
    /// Stored data does not match its digest or MAC. None of it is returned.
    #[error("{what} {id} was altered on disk")]
    Altered {
        /// The kind of the altered object.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The disk is full; nothing was changed. Reads still work, and writes as soon as there is space.
    #[error("the disk is full")]
    DiskFull,
    /// The outcome of the commit is unknown. Retry the same transaction: the retry returns the true outcome.
    #[error("it is not known whether the change was stored; retry with the same idempotency key")]
    OutcomeUnknown,
    /// Another process holds the file, or too much is waiting; nothing was changed. Try again.
    #[error("the store is busy: {0}")]
    Busy(&'static str),
    /// The file was created by a newer version; it was not changed.
    #[error("the file has schema version {found}; this program supports versions up to {known}")]
    NewerSchema {
        /// The version of the file.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// The file is not a Manent store; it was not changed.
    #[error("{path} is not a Manent store")]
    NotOurs {
        /// The file.
        path: String,
    },
    /// The linked SQLite library has a bug that can corrupt the file.
    #[error("SQLite {found} can corrupt a store; version 3.51.3 or newer is required")]
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
        /// The operation that failed.
        doing: &'static str,
        /// The error of the engine.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why a change conflicts with the current state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The conversation, project or document has changed since it was read.
    #[error("version conflict: expected version {expected}, current version {actual}")]
    Version {
        /// The version that the caller expected.
        expected: i64,
        /// The current version.
        actual: i64,
    },
    /// The head is not at the expected message.
    #[error("the head of the conversation has moved: it is not at the expected message")]
    Head,
    /// The idempotency key was used for another request before.
    #[error("the idempotency key was already used for another request")]
    Key,
    /// The id belongs to another object already.
    #[error("{what} {id} already exists and is different")]
    Exists {
        /// The kind of the object.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A tool call cannot go from one state to the other.
    #[error("a tool call cannot go from {from:?} to {to:?}")]
    ToolState {
        /// The current state.
        from: ToolState,
        /// The requested state.
        to: ToolState,
    },
    /// Another owner holds the lease.
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
    /// The change does not exist, or a later change touched the same objects.
    #[error("this change cannot be undone: it is not the latest change of everything that it touched")]
    Undo,
    /// The message is final, or was never streaming.
    #[error("the message is not streaming")]
    NotStreaming,
    /// Only conversations in the trash can be purged.
    #[error("only a conversation in the trash can be purged")]
    NotTrashed,
}

impl StoreError {
    /// Says whether the error is about this change alone, so that other changes may still succeed.
    pub fn is_rejection(&self) -> bool {
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
