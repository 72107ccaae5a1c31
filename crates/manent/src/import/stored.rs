//! What is here already of a conversation that is imported again.

use crate::database::Database;
use crate::error::Result;
use manent_formats::media::take_out;
use manent_model::{Conversation, Message, MessageId, mark};
use manent_store::{Direction, MessageOrigin, MessagesQuery, PAGE_MAX, WindowQuery};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A message that an earlier import brought.
pub(super) struct StoredMessage {
    pub id: MessageId,
    pub role: String,
    pub external: Option<String>,
    /// What stands for its record.
    pub digest: [u8; 32],
}

/// Everything that earlier imports brought, and the path that is shown.
pub(super) struct Stored {
    pub conversation: Conversation,
    /// First those on the shown path, in its order.
    pub messages: Vec<StoredMessage>,
    /// How many of them are on the shown path.
    pub shown: usize,
    /// The shown path in order.
    pub path: Vec<MessageId>,
    pub imported: HashSet<MessageId>,
}

/// Stands for a record, so that two can be compared without holding them.
pub(super) fn digest_of(raw: Option<&str>, message: &manent_model::Content) -> [u8; 32] {
    let text = raw.unwrap_or_else(|| message.body.text());
    *blake3::hash(text.as_bytes()).as_bytes()
}

impl Stored {
    pub(super) async fn of(database: &Database, conversation: Conversation) -> Result<Self> {
        let id = conversation.id;
        let mut messages = Vec::new();
        for branch in database.store.branches(id).await? {
            let mut after = None;
            loop {
                let query = MessagesQuery::Branch { branch: branch.id, after, limit: PAGE_MAX };
                let page = database.store.messages(query).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.message.id);
                let ids = page.iter().map(|placed| placed.message.id).collect();
                let origins = database.store.message_origins(ids).await?;
                let origins: HashMap<MessageId, MessageOrigin> =
                    origins.into_iter().map(|origin| (origin.message, origin)).collect();
                for placed in &page {
                    messages.extend(stored(&placed.message, &origins));
                }
            }
        }
        let (mut path, mut from) = (Vec::new(), None);
        loop {
            let query =
                WindowQuery { conversation: id, branch: None, from, direction: Direction::Forward, limit: PAGE_MAX };
            let window = database.store.window(query).await?;
            path.extend(window.messages.iter().map(|message| message.id));
            from = path.last().copied();
            if !window.more {
                break;
            }
        }
        let imported = messages.iter().map(|message| message.id).collect();
        let places: HashMap<MessageId, usize> = path.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        messages.sort_by_key(|message: &StoredMessage| places.get(&message.id).copied().unwrap_or(usize::MAX));
        let shown = messages.iter().filter(|message| places.contains_key(&message.id)).count();
        Ok(Self { conversation, messages, shown, path, imported })
    }
}

fn stored(message: &Message, origins: &HashMap<MessageId, MessageOrigin>) -> Option<StoredMessage> {
    let origin = origins.get(&message.id)?;
    Some(StoredMessage {
        id: message.id,
        role: message.content.role.clone(),
        external: origin.external.clone(),
        digest: digest_of(origin.raw.as_deref().map(taken_out).as_deref(), &message.content),
    })
}

/// A source that was stored before pictures were taken out is compared as it would be stored now.
fn taken_out(raw: &str) -> Cow<'_, str> {
    match raw.contains(mark::WORD) {
        true => Cow::Borrowed(raw),
        false => take_out(raw, |_| true),
    }
}
