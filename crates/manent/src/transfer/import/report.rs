//! Import report: the outcome of every record.

use manent_model::ConversationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of an import. Every record that was read is counted: as mapped, unmapped, or reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileImportReport {
    /// The files and folders that were read.
    pub roots: Vec<ImportedRoot>,
    /// Outcome counts by record type of the other program.
    pub records: BTreeMap<String, Counts>,
    /// Unmapped fields; they are stored verbatim with their records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmapped: Vec<UnmappedField>,
    /// The conversations.
    pub conversations: Vec<ImportedConversation>,
    /// Projects and documents that were added or changed.
    pub library: u64,
    /// Repairs outside of conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repaired>,
    /// Skipped records outside of conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Unrecognised files and symlinks that were not followed; the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Number of further ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_more: u64,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A file or folder that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRoot {
    /// The format.
    pub format: String,
    /// Its generation.
    pub generation: String,
    /// Its path, for people.
    pub path: String,
}

/// Outcome counts of one record type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Records read.
    pub read: u64,
    /// Records mapped to nouns, by this or an earlier import.
    pub mapped: u64,
    /// Unmapped records, stored verbatim.
    pub unmapped: u64,
    /// Records that were not imported.
    pub reported: u64,
}

/// An unmapped field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmappedField {
    /// The record type.
    pub record: String,
    /// The name of the field.
    pub key: String,
    /// Number of records with the field.
    pub count: u64,
}

/// The outcome for one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportedConversation {
    /// Its external id.
    pub external: String,
    /// Its id in this store; none in a dry run that would create it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ConversationId>,
    /// Its name.
    pub title: String,
    /// Whether the import created it.
    pub is_new: bool,
    /// Messages that were added.
    pub added: u64,
    /// Messages that changed in the file; the old versions stay as alternatives.
    pub updated: u64,
    /// Messages that were stored already.
    pub unchanged: u64,
    /// Events, folds, states, tool calls and bookmarks that were added or changed.
    pub annotations: u64,
    /// Repairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repaired>,
    /// Skipped records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// A repaired inconsistency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repaired {
    /// Its place in the file.
    pub place: String,
    /// The inconsistency.
    pub what: String,
    /// The repair.
    pub why: String,
}

/// A record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its place in the file.
    pub place: String,
    /// The record type.
    pub record: String,
    /// The reason.
    pub why: String,
}

impl FileImportReport {
    /// How many records were skipped.
    pub fn skipped(&self) -> usize {
        self.skipped.len() + self.conversations.iter().map(|one| one.skipped.len()).sum::<usize>()
    }

    /// How many repairs were made.
    pub fn repaired(&self) -> usize {
        self.repaired.len() + self.conversations.iter().map(|one| one.repaired.len()).sum::<usize>()
    }
}
