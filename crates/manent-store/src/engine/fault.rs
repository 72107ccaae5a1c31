//! Errors inside a transaction: a rejection that changed nothing, or an engine error that may have.

use super::connection::EngineError;
use crate::error::{Conflict, StoreError};

#[derive(Debug)]
pub(crate) enum Fault {
    /// The request was refused; the caller is told why.
    Refused(StoreError),
    /// The engine failed; the whole batch is affected.
    Engine(EngineError),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<Conflict> for Fault {
    fn from(conflict: Conflict) -> Self {
        Self::Refused(StoreError::Conflict(conflict))
    }
}

impl Fault {
    /// Says it to a reader, for whom nothing is at stake.
    pub(crate) fn said(self, doing: &'static str) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Engine(error) => error.said(doing),
        }
    }
}

pub(crate) type Outcome<T> = Result<T, Fault>;
