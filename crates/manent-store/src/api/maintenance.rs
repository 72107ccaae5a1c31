//! Reports of maintenance operations.

use crate::api::transaction::Position;
use manent_model::{ConversationId, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backup that was restored, checked and compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupReport {
    /// The file.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// It holds every change up to here.
    pub position: Position,
    /// How many messages it holds.
    pub messages: i64,
    /// How many conversations.
    pub conversations: i64,
}

/// The report of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Conversations that were walked.
    pub conversations: i64,
    /// Messages whose content equals its digest.
    pub messages: i64,
    /// Messages whose content was erased.
    pub erased: i64,
    /// Journal rows whose chain holds.
    pub journal: i64,
    /// Blobs whose bytes equal their SHA-256.
    pub blobs: i64,
    /// Rows of the index that match their content.
    pub indexed: i64,
    /// The problems; the first one of a conversation comes first.
    pub problems: Vec<VerifyProblem>,
}

impl VerifyReport {
    /// Says whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// A record that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "problem")]
#[expect(missing_docs, reason = "each variant says what its fields name")]
pub enum VerifyProblem {
    /// The content of a message does not match its digest.
    Altered { conversation: Option<ConversationId>, message: Option<MessageId>, position: Position },
    /// A message that the journal knows is gone.
    Lost { conversation: Option<ConversationId>, position: Position },
    /// A message row that the journal does not contain, or contains twice.
    Doubled { conversation: Option<ConversationId>, message: Option<MessageId> },
    /// The chain of a conversation does not hold at this journal row.
    Chain { conversation: Option<ConversationId>, position: Position },
    /// A row other than a message does not match its MAC or the journal.
    Beside { what: String },
    /// The index does not match the store; `reindex` rebuilds it.
    Index { what: String },
    /// The file itself is damaged.
    File { what: String },
}

/// The state of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// The engine and its version.
    pub engine: String,
    /// The schema version.
    pub schema: i64,
    /// The settings in force.
    pub settings: Vec<(String, String)>,
    /// Tables with their sizes in bytes, largest first.
    pub tables: Vec<(String, i64)>,
    /// Whether every table was measured: SQLite counts pages for half a second at most.
    pub tables_complete: bool,
    /// The size of the files.
    pub files: Vec<(String, u64)>,
    /// The conversations with the most messages: id, title, messages.
    pub largest: Vec<(ConversationId, String, i64)>,
    /// The last position.
    pub position: Position,
    /// Risks for acknowledged data or for the operation of the store, as sentences without a full stop.
    pub warnings: Vec<String>,
}
