//! Undo and redo of every kind of change.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_store::{Change, Committed, Conflict, Scope, Step, StoreError};

impl Database {
    /// Takes the last change back. Undoing again goes further back.
    pub async fn undo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Undo).await
    }

    /// Does again what was undone last.
    pub async fn redo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Redo).await
    }

    async fn step(&self, scope: Scope, step: Step) -> Result<Committed> {
        self.change(Change::Step { scope, step }).await.map_err(|error| match error {
            Error::Store(StoreError::Conflict(Conflict::NothingToUndo)) => Error::NothingToUndo,
            Error::Store(StoreError::Conflict(Conflict::NothingToRedo)) => Error::NothingToRedo,
            error => error,
        })
    }
}
