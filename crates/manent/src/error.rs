//! Errors, grouped by what the caller can do about them.

use manent_model::NameProblem;
use manent_store::StoreError;
use manent_text::QueryProblem;

/// The result of a database operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a database operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error of the store; see [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Invalid name entered by a user.
    #[error(transparent)]
    Name(#[from] NameProblem),
    /// Invalid search query.
    #[error(transparent)]
    Query(#[from] QueryProblem),
    /// There is nothing to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// There is nothing to redo.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// The abbreviated id is ambiguous; a longer prefix would resolve it.
    #[error("{text} could be {}", candidates.join(", "))]
    Ambiguous {
        /// The given text.
        text: String,
        /// Up to five of the matching ids.
        candidates: Vec<String>,
    },
    /// A file could not be read or written.
    #[error("{doing} {path} failed")]
    File {
        /// The operation that failed.
        doing: &'static str,
        /// The file.
        path: String,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// A file of another program could not be read.
    #[error("the import failed")]
    Unreadable {
        /// The cause.
        #[source]
        source: manent_formats::ReadError,
    },
    /// An export in another program's format failed; nothing was written.
    #[error("the export failed")]
    Unwritable {
        /// The cause.
        #[source]
        source: manent_formats::WriteError,
    },
}

impl Error {
    /// Returns a stable code that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Name(problem) => problem.code(),
            Self::Query(_) => "query",
            Self::NothingToUndo => "nothing_to_undo",
            Self::NothingToRedo => "nothing_to_redo",
            Self::Ambiguous { .. } => "ambiguous",
            Self::File { .. } => "file",
            Self::Unreadable { source: manent_formats::ReadError::Internal(_) } => "internal",
            Self::Unreadable { .. } => "unreadable",
            Self::Unwritable { source: manent_formats::WriteError::Internal(_) } => "internal",
            Self::Unwritable { .. } => "unwritable",
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        StoreError::NotFound { what, id: id.to_string() }.into()
    }

    pub(crate) fn file(doing: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { doing, path: path.display().to_string(), source }
    }
}
