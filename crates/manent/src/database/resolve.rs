//! Resolution of user-entered references: an id, an id prefix, an external id, or `@last`.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::{ConversationId, ConversationStatus, MessageId, ProjectId};
use manent_store::{ConversationRef, IdKind, ListQuery};

/// Minimum prefix length; a shorter one is more likely a typing error.
const CHARACTERS_MIN: usize = 4;
/// Minimum length of an abbreviated id: about one second of the time in it.
const ABBREVIATED_MIN: usize = 8;
/// Maximum number of candidates in an error.
const CANDIDATES: usize = 5;
/// Reference to the conversation that was used last.
const LAST: &str = "@last";

impl Database {
    /// Resolves a reference to a conversation.
    ///
    /// It may be an id, an external id, a unique id prefix of at least four characters (`conv_` is optional, case is
    /// ignored), or `@last` for the most recently used conversation: the one that the newest change touched, whatever
    /// its status.
    pub async fn resolve_conversation(&self, text: &str) -> Result<ConversationId> {
        let text = text.trim();
        if text == LAST {
            return self.last_used().await?.ok_or_else(|| Error::not_found("conversation", text));
        }
        // An exact external id takes precedence over a prefix, because a prefix can be made longer.
        let named = ConversationRef::External(text.to_owned());
        if let Some(found) = self.store.conversation(named).await? {
            return Ok(found.id);
        }
        let characters = ConversationId::characters(text);
        let found = self.begins_with(IdKind::Conversation, "conversation", text, characters).await?;
        one_of(found, ConversationId::from_bytes, "conversation", text)
    }

    /// Resolves a reference to a message: its id, a prefix as for conversations, or `@last` for the head of the most
    /// recently used conversation.
    pub async fn resolve_message(&self, text: &str) -> Result<MessageId> {
        let text = text.trim();
        if text == LAST {
            let Some(last) = self.last_used().await? else { return Err(Error::not_found("message", text)) };
            return self.conversation(last).await?.head.ok_or_else(|| Error::not_found("message", text));
        }
        let found = self.begins_with(IdKind::Message, "message", text, MessageId::characters(text)).await?;
        one_of(found, MessageId::from_bytes, "message", text)
    }

    /// Resolves a reference to a project: its id, or a prefix as for conversations.
    pub async fn resolve_project(&self, text: &str) -> Result<ProjectId> {
        let text = text.trim();
        let found = self.begins_with(IdKind::Project, "project", text, ProjectId::characters(text)).await?;
        one_of(found, ProjectId::from_bytes, "project", text)
    }

    /// Returns the shortest prefix of an id that names it in this store, without its kind and at least eight
    /// characters long. An object that is stored later may make it ambiguous.
    pub async fn abbreviate(&self, kind: IdKind, id: &str) -> Result<String> {
        let characters = id.split_once('_').map_or(id, |(_, characters)| characters);
        let (mut short, mut whole) = (ABBREVIATED_MIN, characters.len());
        // Most ids are unique in their first characters, so the minimum is tried before the middle.
        let mut length = short;
        while short < whole {
            match self.store.ids_by_prefix(kind, characters[..length].to_owned(), 2).await?.len() {
                0 | 1 => whole = length,
                _ => short = length + 1,
            }
            length = (short + whole) / 2;
        }
        Ok(characters[..whole].to_owned())
    }

    async fn last_used(&self) -> Result<Option<ConversationId>> {
        if let Some(last) = self.store.last_changed().await? {
            return Ok(Some(last));
        }
        // The newest change is too far back in the journal: falls back to the latest activity of any status.
        use ConversationStatus::{Active, Archived, Trashed};
        let top = |pinned| {
            let statuses = vec![Active, Archived, Trashed];
            self.list(ListQuery { statuses, pinned: Some(pinned), limit: 1, ..ListQuery::default() })
        };
        // Lists begin with pinned conversations, so the latest one is at the top of either half.
        let halves = [top(true).await?, top(false).await?];
        let tops = halves.into_iter().flat_map(|half| half.conversations);
        Ok(tops.max_by_key(|top| (top.active_at, top.id)).map(|top| top.id))
    }

    async fn begins_with(
        &self,
        kind: IdKind,
        what: &'static str,
        text: &str,
        characters: &str,
    ) -> Result<Vec<[u8; 16]>> {
        // A text that cannot be an id prefix matches nothing.
        match characters.len() >= CHARACTERS_MIN && MessageId::span(characters).is_ok() {
            true => Ok(self.store.ids_by_prefix(kind, text.to_owned(), CANDIDATES as u32 + 1).await?),
            false => Err(Error::not_found(what, text)),
        }
    }
}

fn one_of<T: ToString>(
    found: Vec<[u8; 16]>,
    from_bytes: fn([u8; 16]) -> T,
    what: &'static str,
    text: &str,
) -> Result<T> {
    match found.as_slice() {
        [] => Err(Error::not_found(what, text)),
        [only] => Ok(from_bytes(*only)),
        several => {
            let candidates = several.iter().take(CANDIDATES).map(|id| from_bytes(*id).to_string()).collect();
            Err(Error::Ambiguous { text: text.to_owned(), candidates })
        }
    }
}
