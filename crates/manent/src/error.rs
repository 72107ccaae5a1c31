//! What can go wrong, by what the caller can do about it.

use manent_model::NameProblem;
use manent_model::search::QueryProblem;
use manent_store::StoreError;

/// The result of a database operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused or failed; see [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A person gave a name that cannot be given.
    #[error(transparent)]
    Name(#[from] NameProblem),
    /// A person asked for something that cannot be read.
    #[error(transparent)]
    Query(#[from] QueryProblem),
    /// There is nothing to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// There is nothing to redo.
    #[error("there is nothing to redo")]
    NothingToRedo,
    /// Several things begin like this; a longer beginning would tell them apart.
    #[error("{text} could be {}", candidates.join(", "))]
    Ambiguous {
        /// What was given.
        text: String,
        /// Up to five of the ids that begin like it.
        candidates: Vec<String>,
    },
    /// A file could not be read or written.
    #[error("{doing} {path} failed")]
    File {
        /// What was done.
        doing: &'static str,
        /// The file.
        path: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// What another program wrote could not be read.
    #[error("the import could not go on")]
    Unreadable {
        /// Why.
        #[source]
        source: manent_formats::ReadError,
    },
    /// Nothing was written in another program's format.
    #[error("the export could not go on")]
    Unwritable {
        /// Why.
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
