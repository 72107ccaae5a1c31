//! What an import did, record by record.

use manent_model::ConversationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an import did. Every record that was read is counted: as a noun, as kept aside, or as reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportedReport {
    /// The files and folders that were read.
    pub roots: Vec<ImportedRoot>,
    /// What became of the records, by their program's word for them.
    pub records: BTreeMap<String, Counts>,
    /// Members that no noun holds; they are kept with their records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<SetAside>,
    /// The conversations.
    pub conversations: Vec<ImportedConversation>,
    /// Projects and documents that were added or changed.
    pub library: u64,
    /// What was repaired outside of conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repaired>,
    /// What was skipped outside of conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Files that belong to nothing that was read, and links that were not followed; the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// How many more were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out_more: u64,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why.
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
    /// Where it lay, for people.
    pub path: String,
}

/// What became of the records of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// So many stood there.
    pub read: u64,
    /// So many became nouns, now or before.
    pub mapped: u64,
    /// So many are kept, though no noun holds them.
    pub aside: u64,
    /// So many could not be taken in.
    pub reported: u64,
}

/// A member that no noun holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetAside {
    /// The record.
    pub record: String,
    /// The member.
    pub key: String,
    /// In how many records.
    pub count: u64,
}

/// What happened to a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportedConversation {
    /// Its id there.
    pub external: String,
    /// Its id here; none in a dry run that would make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ConversationId>,
    /// Its name.
    pub title: String,
    /// It was not here before.
    pub is_new: bool,
    /// Messages that were added.
    pub added: u64,
    /// Messages that had changed there; the old ones stay as alternatives.
    pub updated: u64,
    /// Messages that were here already.
    pub unchanged: u64,
    /// Events, folds, values, tool calls and bookmarks that were added or changed.
    pub attached: u64,
    /// What was repaired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repaired>,
    /// What was skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// Something that did not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repaired {
    /// Where.
    pub place: String,
    /// What was wrong.
    pub what: String,
    /// What was done.
    pub why: String,
}

/// A record that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Where.
    pub place: String,
    /// The record.
    pub record: String,
    /// Why.
    pub why: String,
}

impl ImportedReport {
    /// How many records were skipped.
    pub fn skipped(&self) -> usize {
        self.skipped.len() + self.conversations.iter().map(|one| one.skipped.len()).sum::<usize>()
    }

    /// How many repairs were made.
    pub fn repaired(&self) -> usize {
        self.repaired.len() + self.conversations.iter().map(|one| one.repaired.len()).sum::<usize>()
    }
}
