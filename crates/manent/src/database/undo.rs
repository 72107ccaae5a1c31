//! Undo and redo of every kind of change.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::Timestamp;
use manent_store::{
    Change, Committed, Conflict, JournalEntry, JournalKind, JournalQuery, Position, StoreError, UndoDirection,
    UndoScope,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of journal rows that are read to describe a commit.
const COMMIT_ROWS_MAX: u32 = 100;

/// The effect of an undo or redo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoStep {
    /// The first position of the affected commit.
    pub position: Position,
    /// When that was committed.
    pub at: Timestamp,
    /// The kinds of its changes, in order, each once.
    pub kinds: Vec<JournalKind>,
}

/// The available undo and redo of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UndoSteps {
    /// The next undo; `None` if there is nothing to undo.
    pub undo: Option<UndoStep>,
    /// The next redo; `None` if there is nothing to redo.
    pub redo: Option<UndoStep>,
}

impl Database {
    /// Returns the next undo and redo, without doing it.
    pub async fn undo_steps(&self, scope: UndoScope) -> Result<UndoSteps> {
        let undo = self.undo_step(&scope, UndoDirection::Undo).await?;
        Ok(UndoSteps { undo, redo: self.undo_step(&scope, UndoDirection::Redo).await? })
    }

    async fn undo_step(&self, scope: &UndoScope, step: UndoDirection) -> Result<Option<UndoStep>> {
        let Some(mut position) = self.store.undo_target(scope.clone(), step).await? else { return Ok(None) };
        let of_commit = async |position: Position| -> Result<Vec<JournalEntry>> {
            let query = JournalQuery { after: position - 1, conversation: None, limit: COMMIT_ROWS_MAX };
            let page = self.store.journal(query).await?;
            Ok(page.entries.into_iter().filter(|entry| entry.first == position).collect())
        };
        let mut entries = of_commit(position).await?;
        // A redo reverts an undo: it restores what that undo reverted.
        while let Some(undone) = entries.iter().find_map(|entry| entry.undoes) {
            position = undone;
            entries = of_commit(position).await?;
        }
        let at = entries.first().map(|entry| entry.at).unwrap_or_default();
        let mut kinds: Vec<JournalKind> = Vec::new();
        for entry in entries {
            if !kinds.contains(&entry.kind) {
                kinds.push(entry.kind);
            }
        }
        Ok(Some(UndoStep { position, at, kinds }))
    }

    /// Undoes the last change. Repeating it goes further back.
    pub async fn undo(&self, scope: UndoScope) -> Result<Committed> {
        self.step(scope, UndoDirection::Undo).await
    }

    /// Redoes what was undone last.
    pub async fn redo(&self, scope: UndoScope) -> Result<Committed> {
        self.step(scope, UndoDirection::Redo).await
    }

    async fn step(&self, scope: UndoScope, step: UndoDirection) -> Result<Committed> {
        self.change(Change::Step { scope, step }).await.map_err(|error| match error {
            Error::Store(StoreError::Conflict(Conflict::NothingToUndo)) => Error::NothingToUndo,
            Error::Store(StoreError::Conflict(Conflict::NothingToRedo)) => Error::NothingToRedo,
            error => error,
        })
    }
}
