//! Erasure of content, including its copies in managed backups.

use crate::database::Database;
use crate::error::Result;
use crate::transfer::backup::{backups, renew_backups};
use manent_store::{EraseTarget, Receipt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How an erasure treats existing managed backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OldBackups {
    /// Keep them; they still contain the erased content.
    #[default]
    Keep,
    /// Replace them with a backup of the remaining content.
    Replace,
}

/// The result of an erasure, and where erased content remains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErasedContent {
    /// Content removed from the store.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// Managed backups that were removed.
    pub backups_removed: i64,
    /// Remaining content.
    pub kept: RemainingContent,
}

/// Places where erased content remains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemainingContent {
    /// Managed backups that still contain the erased content.
    pub backups: i64,
    /// Name tables of the store that keep names used by erased messages: each name is stored once for all
    /// conversations.
    pub names: Vec<String>,
}

impl Database {
    /// Erases content, and replaces or counts the managed backups in a folder.
    ///
    /// Backups that were made manually elsewhere are not covered.
    pub async fn erase_content(
        &self,
        target: EraseTarget,
        folder: Option<&Path>,
        old_backups: OldBackups,
    ) -> Result<ErasedContent> {
        let names: &[&str] = match target {
            EraseTarget::Person(_) => &["models"],
            EraseTarget::Message(_) | EraseTarget::Conversation(_) => &["authors", "models"],
        };
        let receipt = self.erase(target).await?;
        let (backups_removed, backups) = match (folder, old_backups) {
            (None, _) => (0, 0),
            (Some(folder), OldBackups::Replace) => (renew_backups(self, folder).await?, 0),
            (Some(folder), OldBackups::Keep) => (0, backups(folder)?.len() as i64),
        };
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(ErasedContent { receipt, backups_removed, kept: RemainingContent { backups, names } })
    }
}
