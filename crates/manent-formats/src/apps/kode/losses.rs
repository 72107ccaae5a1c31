//! Content of a conversation that an agent's folder cannot represent.

use crate::apps::kode::frame::{AgentFrame, FoldFrame};
use crate::apps::kode::{BREAKPOINT, STATES, message};
use crate::core::export::{ExportedConversation, ExportedMessage};
use crate::core::json::Members;
use crate::core::losses::{LeftTail, Losses};
use manent_model::{ConversationStatus, Extra, MessageStatus, Part, TimeSource};

/// Counts what is said about a conversation and has no place in its folder.
pub(crate) fn of_conversation(
    losses: &mut Losses,
    out: &ExportedConversation,
    template: &str,
    frame: Option<&AgentFrame>,
) {
    let conversation = &out.conversation;
    let id = conversation.id;
    losses.add(id, "title", usize::from(conversation.title != template));
    losses.add(id, "tags", conversation.tags.len());
    losses.add(id, "members", conversation.members.len());
    losses.add(id, "pin", usize::from(conversation.pinned));
    losses.add(id, "status", usize::from(conversation.status != ConversationStatus::Active));
    losses.add(id, "project", usize::from(out.project.is_some()));
    losses.add(id, "links to other conversations", out.links() - usize::from(out.forked_from.is_some()));
    if frame.is_none() {
        let members = conversation.metadata.as_ref().and_then(|metadata| Members::parse(metadata.text()));
        let known = |name: &str| matches!(name, "templateId" | "provider" | "model");
        let others = members.map_or(0, |members| members.0.iter().filter(|(name, _)| !known(name)).count());
        losses.add(id, "metadata", others);
        losses.add(id, "creator", usize::from(conversation.creator.is_some()));
    }
    losses.add(id, "branches that no snapshot holds", out.other_branches.saturating_sub(out.bookmarks.len()));
    let is_ours = |raw: Option<&str>| raw.is_some_and(|raw| serde_json::from_str::<FoldFrame>(raw).is_ok());
    let folds =
        out.folds.iter().filter(|(_, record)| !is_ours(record.as_ref().and_then(|record| record.raw.as_deref())));
    losses.add(id, "folds that no window stands for", folds.count());
    let known = |name: &str| name == BREAKPOINT || STATES.iter().any(|(known, _)| *known == name);
    losses.add(id, "values of state", out.states.iter().filter(|state| !known(&state.name)).count());
}

/// Counts what messages say that their records cannot.
pub(crate) fn of_messages(losses: &mut Losses, out: &ExportedConversation, messages: &[ExportedMessage]) {
    let id = out.conversation.id;
    // A snapshot may hold what is not shown.
    if out.bookmarks.is_empty() {
        let mut tail = LeftTail::default();
        messages.iter().for_each(|message| tail.look(message));
        tail.tell(losses, id);
    }
    for message in messages.iter().filter(|message| !message.is_removed) {
        let content = &message.content;
        let is_renamed = content.role != "tool" && message::role(&content.role) != content.role;
        losses.add(id, "roles", usize::from(message.record.is_none() && is_renamed));
        losses.add(id, "authors", usize::from(content.author.is_some()));
        losses.add(id, "models", usize::from(content.model.is_some()));
        losses.add(id, "usage", usize::from(content.usage.is_some() || content.tokens.is_some()));
        losses.add(id, "hidden messages shown", usize::from(!content.seen.by_reader || !content.seen.by_model));
        losses.add(id, "status of messages", usize::from(content.status != MessageStatus::Complete));
        losses.add(id, "times of messages", usize::from(content.time.source == TimeSource::Exact));
        let parts = content.body.parts();
        let as_text = |part: &&Part| matches!(part, Part::Summary { .. } | Part::Error { .. } | Part::Source { .. });
        losses.add(id, "parts written as text", parts.iter().filter(as_text).count());
        let has_bytes =
            |extra: &Extra| extra.iter().any(|(name, _)| ["base64", "url", "image_url"].contains(&name.as_str()));
        let held = |part: &&Part| matches!(part, Part::Media { blob: Some(_), extra, .. } if !has_bytes(extra));
        losses.add(id, "media without their bytes", parts.iter().filter(held).count());
    }
}
