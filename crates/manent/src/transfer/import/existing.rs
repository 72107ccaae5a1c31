//! The stored state of a conversation that is imported again.

use crate::database::Database;
use crate::error::Result;
use manent_formats::core::json::Style;
use manent_formats::core::media::extract;
use manent_model::{BranchId, Conversation, Message, MessageId, blob_placeholder};
use manent_store::{BranchReason, Direction, MessageOrigin, MessagePageQuery, MessagesQuery, PAGE_MAX};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A message of an earlier import.
pub(crate) struct StoredMessage {
    pub id: MessageId,
    pub role: String,
    pub external: Option<String>,
    /// Digest of its record.
    pub digest: [u8; 32],
    pub place: MessagePlace,
}

/// The address of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessagePlace {
    pub branch: BranchId,
    /// Its index among the branch's own messages.
    pub slot: usize,
}

/// All messages of earlier imports, and the current path.
pub(crate) struct ExistingConversation {
    pub conversation: Conversation,
    /// Those on the current path first, in order.
    pub messages: Vec<StoredMessage>,
    /// How many of them are on the current path.
    pub shown: usize,
    /// The current path in order.
    pub path: Vec<MessageId>,
    pub imported: HashSet<MessageId>,
    /// The branch of the head.
    pub head: BranchId,
    /// Whether an import created that branch: the path was not edited, forked or cleared in this store.
    pub is_head_imported: bool,
}

/// Digest of a record, for comparing records without keeping them.
///
/// It ignores the usual indentation, which depends on where in its file a record is: in a window it is deeper than in
/// the list of messages.
pub(crate) fn digest_of(raw: Option<&str>, message: &manent_model::Content) -> [u8; 32] {
    let text = raw.unwrap_or_else(|| message.body.text());
    let is_usual = [1, 2].iter().any(|level| Style::PRETTY.format(text, *level) == text);
    match is_usual {
        true => *blake3::hash(format!("laid out {}", Style::COMPACT.format(text, 0)).as_bytes()).as_bytes(),
        false => *blake3::hash(text.as_bytes()).as_bytes(),
    }
}

impl ExistingConversation {
    pub(crate) async fn of(database: &Database, conversation: Conversation) -> Result<Self> {
        let id = conversation.id;
        let mut messages = Vec::new();
        let (mut head, mut is_head_imported) = (None, false);
        for branch in database.store.branches(id).await? {
            if branch.is_head {
                (head, is_head_imported) =
                    (Some(branch.id), matches!(branch.reason, BranchReason::Start | BranchReason::Import));
            }
            let (mut after, mut slot) = (None, 0);
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
                    messages.extend(stored(&placed.message, &origins, MessagePlace { branch: branch.id, slot }));
                    slot += 1;
                }
            }
        }
        let (mut path, mut from) = (Vec::new(), None);
        loop {
            let query = MessagePageQuery {
                conversation: id,
                branch: None,
                from,
                direction: Direction::Forward,
                limit: PAGE_MAX,
            };
            let window = database.store.message_page(query).await?;
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
        let head = head.ok_or_else(|| crate::error::Error::not_found("branch", id))?;
        Ok(Self { conversation, messages, shown, path, imported, head, is_head_imported })
    }
}

fn stored(
    message: &Message,
    origins: &HashMap<MessageId, MessageOrigin>,
    place: MessagePlace,
) -> Option<StoredMessage> {
    let origin = origins.get(&message.id)?;
    Some(StoredMessage {
        id: message.id,
        role: message.content.role.clone(),
        external: origin.external.clone(),
        digest: digest_of(origin.raw.as_deref().map(taken_out).as_deref(), &message.content),
        place,
    })
}

/// Applies today's media extraction to a record that was stored before it existed, so that both compare equal.
fn taken_out(raw: &str) -> Cow<'_, str> {
    match raw.contains(blob_placeholder::PREFIX) {
        true => Cow::Borrowed(raw),
        false => extract(raw, |_| true),
    }
}
