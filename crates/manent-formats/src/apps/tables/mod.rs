//! Conversation tables: two tables of a SQLite file, one for conversations and one for messages.
//!
//! | generation | tables | written by |
//! |---|---|---|
//! | draft | `conversation(conv_id …)`, `message` | the design; foreign keys are not enforced |
//! | shipped | `Conversation(conversation_id …, brand, latest_message_id)`, `Message` | the plugin, versions 0.0.1 to 0.0.4 |
//!
//! Names of tables are the same to SQLite in any case, so the columns say which generation it is.

mod statements;
mod shape;
mod tree;
mod message;
mod conversation;
mod read;
mod rows;
mod branches;
mod write;
mod losses;

pub use read::{finds, read};
pub use statements::{Dialect, Projects, statements};
pub use write::write;

use crate::core::sqlite::{Pragmas, Row, Statement, Table};
use serde::{Deserialize, Serialize};

/// The name of the format.
pub const NAME: &str = "conversation-tables";
/// Its generations, oldest first.
pub const GENERATIONS: [&str; 2] = ["draft", "shipped"];

/// Which tables they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Draft,
    Shipped,
}

impl Generation {
    fn name(self) -> &'static str {
        GENERATIONS[self as usize]
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Draft, Self::Shipped].into_iter().find(|generation| generation.name() == name)
    }

    /// The column with the id of a conversation.
    fn id(self) -> &'static str {
        match self {
            Self::Draft => "conv_id",
            Self::Shipped => "conversation_id",
        }
    }
}

/// Layout of a file, without its conversations and messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RootFrame {
    /// Its name.
    file: String,
    pragmas: Pragmas,
    statements: Vec<Statement>,
    conversation: Table,
    message: Table,
    /// Other tables, small enough to be kept whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<(Table, Vec<Row>)>,
}

/// Layout of a conversation, without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct ConversationFrame {
    /// The number of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    /// Its row, by column; none for one that only its messages name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<manent_model::Json>,
    /// The numbers of its messages' rows: the first message, its row, and how many follow each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<(u32, i64, u32)>,
}

impl ConversationFrame {
    /// The number of the row of a message.
    fn row_of(&self, ordinal: i64) -> Option<i64> {
        let behind = self.rows.partition_point(|(first, ..)| i64::from(*first) <= ordinal);
        let run = self.rows.get(behind.checked_sub(1)?)?;
        let behind = ordinal - i64::from(run.0);
        (behind < i64::from(run.2)).then_some(run.1 + behind)
    }

    /// Remembers the rows of messages in their order.
    fn remember(&mut self, rows: impl Iterator<Item = Option<i64>>) {
        for (place, row) in rows.enumerate().filter_map(|(place, row)| Some((place as u32, row?))) {
            match self.rows.last_mut() {
                Some((first, start, count)) if *first + *count == place && *start + i64::from(*count) == row => {
                    *count += 1
                }
                _ => self.rows.push((place, row, 1)),
            }
        }
    }
}
