//! Content of a conversation that the tables cannot represent.

use crate::core::export::{ExportedConversation, ExportedMessage};
use crate::core::losses::Losses;
use manent_model::{ConversationId, ConversationKind, MessageStatus, Part};

/// Counts what is said about a conversation and has no column.
pub(crate) fn of_conversation(losses: &mut Losses, out: &ExportedConversation) {
    let (conversation, id) = (&out.conversation, out.conversation.id);
    let mut lost = |what, count| losses.add(id, what, count);
    lost("branches that are not shown", out.other_branches);
    lost("values of state", out.states.len());
    lost("bookmarks", out.bookmarks.len());
    lost("folds", out.folds.len());
    lost("records of tool calls", out.tool_calls.len());
    lost("tags", conversation.tags.len());
    lost("pins", usize::from(conversation.pinned));
    lost("people", conversation.members.len() + usize::from(conversation.creator.is_some()));
    lost("links to other conversations", out.links());
    lost("kinds of conversations", usize::from(conversation.kind != ConversationKind::Chat));
}

/// Counts what a message says that is no text.
pub(crate) fn of_message(losses: &mut Losses, id: ConversationId, message: &ExportedMessage) {
    let content = &message.content;
    let parts = content.body.parts();
    let is_text = |part: &&Part| matches!(part, Part::Text { extra, .. } if extra.is_empty());
    let mut lost = |what, count| losses.add(id, what, count);
    lost("parts that are no text", parts.iter().filter(|part| !is_text(part)).count());
    lost("parts that become one text", parts.iter().filter(is_text).count().saturating_sub(1));
    lost("authors", usize::from(content.author.is_some()));
    lost("models", usize::from(content.model.is_some()));
    lost("usage", usize::from(content.usage.is_some() || content.tokens.is_some()));
    lost("turns", usize::from(content.turn.is_some()));
    lost("status of messages", usize::from(content.status != MessageStatus::Complete));
    lost("hidden messages shown", usize::from(!content.seen.by_reader || !content.seen.by_model));
}
