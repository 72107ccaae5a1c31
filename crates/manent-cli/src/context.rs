//! Context of a command: the open store, the output, and the time.

use crate::output::{Output, one_line};
use anyhow::{Context, Result};
use jiff::Zoned;
use manent::store::IdKind;
use manent::{Conversation, ConversationId, Database, Json, MessageId};
use std::io::Read;
use std::path::PathBuf;

/// Tables with more rows than this show whole ids: each abbreviation takes a few reads.
const ABBREVIATED_MAX: usize = 200;

/// The store, the output, and the time.
pub struct CommandContext {
    pub database: Database,
    pub output: Output,
    pub now: Zoned,
    /// The folder of the managed backups of this store.
    pub backups: PathBuf,
}

impl CommandContext {
    /// Finds the conversation that a text names: an id, the unique beginning of one, an external id, or `@last`.
    pub async fn conversation(&self, text: &str) -> Result<ConversationId> {
        Ok(self.database.resolve_conversation(text).await?)
    }

    /// Finds the message that a text names.
    pub async fn message(&self, text: &str) -> Result<MessageId> {
        Ok(self.database.resolve_message(text).await?)
    }

    /// Abbreviates ids for a table on a terminal. Pipes and long tables get whole ids.
    pub async fn short_ids<T: ToString>(&self, kind: IdKind, ids: &[T]) -> Result<Vec<String>> {
        let whole = ids.iter().map(T::to_string);
        if !self.output.is_terminal() || ids.len() > ABBREVIATED_MAX {
            return Ok(whole.collect());
        }
        let mut short = Vec::with_capacity(ids.len());
        for id in whole {
            short.push(self.database.abbreviate(kind, &id).await?);
        }
        Ok(short)
    }

    /// Shows a conversation that was changed: whole as JSON, by its title to a person, not at all in a pipe.
    pub async fn changed(&self, id: ConversationId, done: &str) -> Result<()> {
        let conversation = self.database.conversation(id).await?;
        match self.output.json {
            true => self.output.json(&conversation),
            false => {
                self.output.done(&format!("{done} {}", named(&conversation)));
                Ok(())
            }
        }
    }

    /// Shows the ids of what was made.
    pub fn made<T: serde::Serialize + ToString>(&self, ids: &[T]) -> Result<()> {
        match self.output.json {
            true => self.output.json(&ids),
            false => ids.iter().try_for_each(|id| crate::output::print(&format!("{}\n", id.to_string()))),
        }
    }
}

/// Reads a JSON argument; `-` reads standard input.
pub fn read_json(text: &str) -> Result<Json> {
    let text = read_text(text)?;
    Json::parse(text.trim()).with_context(|| "the JSON argument")
}

/// Reads a text argument; `-` reads standard input.
pub fn read_text(text: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    std::io::stdin().read_to_string(&mut read).context("reading standard input")?;
    Ok(read)
}

/// Names a conversation by its title and its id.
pub fn named(conversation: &Conversation) -> String {
    format!("“{}” ({})", one_line(title_of(conversation)), conversation.id)
}

/// Says what a conversation is called.
pub fn title_of(conversation: &Conversation) -> &str {
    match conversation.title.as_str() {
        "" => "(untitled)",
        title => title,
    }
}
