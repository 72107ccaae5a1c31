//! Search queries and results.

use crate::api::cursor_serde::serde_as_text;
use crate::api::query::BoundedCount;
use crate::api::transaction::Position;
use manent_model::{
    Author, BranchId, ConversationId, ConversationKind, ConversationStatus, FoldId, MessageId, TimeSource, Timestamp,
    hex,
};
use manent_text::{Field, Query, Snippet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Maximum number of hits in one page.
pub const HITS_MAX: u32 = 100;

/// Number of candidates that are ranked by relevance: the newest ones.
pub const RANKED_MAX: usize = 500;

/// Maximum number of messages before a hit, and after it.
pub const CONTEXT_MAX: u32 = 5;

/// A search request.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words and filters.
    pub query: Query,
    /// In which order.
    pub order: SearchOrder,
    /// Single hits, or one per conversation.
    pub grouping: Grouping,
    /// Only in this conversation.
    pub conversations: Option<ConversationId>,
    /// What is searched besides the shown paths of conversations that are not in the trash.
    pub include: Include,
    /// How many messages before and after a hit are shown with it; at most [`CONTEXT_MAX`].
    pub neighbours: u32,
    /// The cursor of the previous page.
    pub after: Option<SearchCursor>,
    /// How many; at most [`HITS_MAX`].
    pub limit: u32,
    /// Whether hits behind the page are counted too.
    pub count: CountMode,
    /// The reference time for the recency of hits; further pages use the time of the first one.
    pub now: Timestamp,
    /// Timeout of the search; hits found by then are returned.
    pub timeout: Duration,
}

impl Search {
    /// Returns the first page for a query, newest first.
    pub fn new(query: Query, now: Timestamp) -> Self {
        Self {
            query,
            order: SearchOrder::Newest,
            grouping: Grouping::Flat,
            conversations: None,
            include: Include::default(),
            neighbours: 1,
            after: None,
            limit: 20,
            count: CountMode::Bounded,
            now,
            timeout: Duration::from_secs(2),
        }
    }
}

/// The order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchOrder {
    /// The newest first, by the time of the message itself.
    #[default]
    Newest,
    /// The best first, among the newest [`RANKED_MAX`].
    Relevance,
}

/// Grouping of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// No grouping.
    #[default]
    Flat,
    /// One hit per conversation, the first one.
    Conversations,
}

/// Whether all hits are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountMode {
    /// Those that are shown, and whether there are more.
    #[default]
    Bounded,
    /// All of them, up to a thousand.
    Exact,
}

/// Content that is searched only on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Include {
    /// Conversations in the trash.
    pub trashed: bool,
    /// Messages that are not on the shown path, and those that no reader sees.
    pub branches: bool,
    /// The reasoning of models.
    pub reasoning: bool,
}

/// A page of hits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SearchPage {
    /// The hits, in the order that was asked for.
    pub hits: Vec<Hit>,
    /// The number of hits found before the search stopped.
    pub total: BoundedCount,
    /// Where the next page begins; `None` at the end.
    pub next: Option<SearchCursor>,
    /// Coverage of the index.
    pub coverage: Coverage,
    /// The search timed out before everything was searched.
    pub timed_out: bool,
    /// How long it took.
    pub micros: u64,
}

/// Coverage of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Every change up to here is in the index, or waits to be.
    pub position: Position,
    /// The last change of the store.
    pub last: Position,
    /// How many messages wait to be indexed.
    pub waiting: i64,
    /// The unindexed tail was searched completely.
    pub complete: bool,
}

/// Index progress, for callers that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IndexStatus {
    /// Every change up to here is in the index.
    pub position: Position,
    /// How many messages are known and wait.
    pub waiting: i64,
    /// The index is up to date.
    pub idle: bool,
    /// The index cannot be written now; the write is retried.
    pub is_failing: bool,
}

/// A search hit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its name.
    pub title: String,
    /// The kind of the conversation.
    pub kind: ConversationKind,
    /// The status of the conversation.
    pub status: ConversationStatus,
    /// The part that matched.
    pub field: Field,
    /// The message; none where it is the conversation itself.
    pub message: Option<MessageId>,
    /// The fold whose summary matched; it follows the message.
    pub fold: Option<FoldId>,
    /// The branch of the message.
    pub branch: Option<BranchId>,
    /// Its place on the shown path, or on that of its branch, counted from 1.
    pub position: Option<i64>,
    /// It is on the shown path.
    pub on_path: bool,
    /// The role of the message.
    pub role: Option<String>,
    /// The author of the message.
    pub author: Option<Author>,
    /// When; a conversation: when it was made.
    pub time: Timestamp,
    /// How the time is known, unless exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_source: Option<TimeSource>,
    /// The text around the match.
    pub snippet: Snippet,
    /// The messages before it, in reading order.
    pub before: Vec<ContextMessage>,
    /// The messages after it, in reading order.
    pub after: Vec<ContextMessage>,
    /// Number of hits in its conversation, as far as was searched; with grouping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_conversation: Option<BoundedCount>,
    /// The relevance score; with ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

/// A message beside a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextMessage {
    /// The message.
    pub message: MessageId,
    /// The role of the message.
    pub role: String,
    /// Its first words.
    pub text: String,
}

/// The last hit of a page, with its sort key.
///
/// Outside it is an opaque text that needs no escaping in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchCursor {
    /// The relevance score; 0 when sorted by time.
    pub score: i64,
    /// When.
    pub at: Timestamp,
    /// The position of its arrival in the store.
    pub arrival: i64,
    /// The number of the index entry in the store.
    pub key: i64,
    /// The newest candidate of the first page; later ones do not move the others.
    pub newest: Timestamp,
    /// The reference time for recency on the first page; with another time the scores would differ.
    pub now: Timestamp,
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid search cursor")]
pub struct SearchCursorProblem;

impl fmt::Display for SearchCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.score, self.at.0, self.arrival, self.key, self.newest.0, self.now.0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        formatter.write_str(&hex::encode(&bytes))
    }
}

impl FromStr for SearchCursor {
    type Err = SearchCursorProblem;

    fn from_str(text: &str) -> Result<Self, SearchCursorProblem> {
        let bytes: [u8; 48] = hex::decode(text).and_then(|bytes| bytes.try_into().ok()).ok_or(SearchCursorProblem)?;
        let number = |place: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[place * 8..place * 8 + 8]);
            i64::from_be_bytes(eight)
        };
        let (at, newest, now) = (Timestamp(number(1)), Timestamp(number(4)), Timestamp(number(5)));
        Ok(Self { score: number(0), at, arrival: number(2), key: number(3), newest, now })
    }
}

serde_as_text!(SearchCursor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_down() {
        let (at, newest, now) = (Timestamp(i64::MIN), Timestamp(3), Timestamp(4));
        let cursor = SearchCursor { score: -1, at, arrival: 7, key: i64::MAX, newest, now };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for rubbish in ["", "00", "zz", &"00".repeat(40), &"00".repeat(47), &"00".repeat(49)] {
            assert_eq!(rubbish.parse::<SearchCursor>(), Err(SearchCursorProblem));
        }
    }
}
