//! Errors inside a transaction: a rejection that changed nothing, or an engine error that may have.

use crate::api::error::{Conflict, StoreError};
use crate::engine::sql::connection::EngineError;

#[derive(Debug)]
pub(crate) enum TxError {
    /// The request was refused, with the reason for the caller.
    Rejected(StoreError),
    /// The engine failed; the whole batch is affected.
    Database(EngineError),
}

impl From<tokio_postgres::Error> for TxError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<rusqlite::Error> for TxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<EngineError> for TxError {
    fn from(error: EngineError) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for TxError {
    fn from(error: StoreError) -> Self {
        Self::Rejected(error)
    }
}

impl From<Conflict> for TxError {
    fn from(conflict: Conflict) -> Self {
        Self::Rejected(StoreError::Conflict(conflict))
    }
}

impl TxError {
    /// Converts the error of a read, whose outcome is never unknown.
    pub(crate) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::Rejected(error) => error,
            Self::Database(error) => error.into_store_error(doing),
        }
    }
}

pub(crate) type TxResult<T> = Result<T, TxError>;
