//! Undo and redo of every kind of change.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_store::{Change, Committed, Scope, Step};

impl Database {
    /// Takes the last change back. Undoing again goes further back.
    pub async fn undo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Undo, Error::NothingToUndo).await
    }

    /// Does again what was undone last.
    pub async fn redo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Redo, Error::NothingToRedo).await
    }

    async fn step(&self, scope: Scope, step: Step, nothing: Error) -> Result<Committed> {
        let target = self.store.undo_target(scope, step).await?;
        let position = target.ok_or(nothing)?;
        self.change(Change::Undo { position }).await
    }
}
