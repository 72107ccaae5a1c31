//! Undo and redo of every kind of change.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_store::{Change, Committed, Scope, Step};

impl Database {
    /// Takes the last change back. Undoing again goes further back.
    pub async fn undo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Undo, "undo").await
    }

    /// Does again what was undone last.
    pub async fn redo(&self, scope: Scope) -> Result<Committed> {
        self.step(scope, Step::Redo, "redo").await
    }

    async fn step(&self, scope: Scope, step: Step, word: &'static str) -> Result<Committed> {
        let target = self.store.undo_target(scope, step).await?;
        let position = target.ok_or(Error::NothingTo(word))?;
        self.change(Change::Undo { position }).await
    }
}
