//! Alignment of a file with stored messages: which ones are unchanged, changed or new.

use crate::transfer::import::existing::{ExistingConversation, digest_of};
use manent_formats::MessageItem;
use manent_model::MessageId;
use std::collections::HashMap;

/// The alignment of one message of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageDiff {
    /// Stored with the same content.
    Unchanged(MessageId),
    /// Stored with other content.
    Changed(MessageId),
    /// Not stored yet.
    New,
}

/// Aligns each message of the file with the stored ones.
///
/// An id that is used once on both sides decides. Messages without one are matched by their text, in order; what
/// remains between two matched messages is changed if it has the same role, and new otherwise.
pub(crate) fn align(stored: &ExistingConversation, items: &[MessageItem]) -> Vec<MessageDiff> {
    let mut fates = vec![MessageDiff::New; items.len()];
    let mut by_text: HashMap<(Option<&str>, [u8; 32]), Vec<usize>> = HashMap::new();
    let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, message) in stored.messages.iter().enumerate().rev() {
        by_text.entry((message.external.as_deref(), message.digest)).or_default().push(place);
        if let Some(external) = &message.external {
            by_id.entry(external).or_default().push(place);
        }
    }
    let mut used = vec![false; stored.messages.len()];
    let mut places: Vec<Option<usize>> = vec![None; items.len()];
    for (at, item) in items.iter().enumerate() {
        let digest = digest_of(item.raw.as_deref(), &item.content);
        let found = by_text.get_mut(&(item.external.as_deref(), digest)).and_then(Vec::pop);
        // A match that is no longer on the current path is an earlier version: the file has changed back to it.
        let is_over = found.is_some_and(|place| place >= stored.shown)
            && item
                .external
                .as_deref()
                .and_then(|external| by_id.get(external))
                .is_some_and(|places| places.iter().any(|place| *place < stored.shown && !used[*place]));
        if let Some(place) = found.filter(|_| !is_over) {
            used[place] = true;
            places[at] = Some(place);
            fates[at] = MessageDiff::Unchanged(stored.messages[place].id);
        }
    }
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item.external.is_some()) {
        let candidates = item.external.as_deref().and_then(|external| by_id.get(external));
        // Prefers the match that is on the current path, which is the file's latest version.
        let place = candidates.and_then(|places| places.iter().copied().filter(|place| !used[*place]).min());
        if let (None, Some(place)) = (places[at], place) {
            used[place] = true;
            places[at] = Some(place);
            fates[at] = MessageDiff::Changed(stored.messages[place].id);
        }
    }
    between(stored, items, &mut places, &mut used, &mut fates);
    fates
}

/// Pairs the remaining messages between two matched ones, on both sides, in order.
fn between(
    stored: &ExistingConversation,
    items: &[MessageItem],
    places: &mut [Option<usize>],
    used: &mut [bool],
    diffs: &mut [MessageDiff],
) {
    let mut at = 0;
    while at < items.len() {
        if places[at].is_some() || items[at].external.is_some() {
            at += 1;
            continue;
        }
        // Messages off the current path have no order among the others.
        let shown = |place: &&usize| **place < stored.shown;
        let before = places[..at].iter().rev().flatten().find(shown).copied();
        let after = places[at..].iter().flatten().find(shown).copied().unwrap_or(stored.shown);
        let from = before.map_or(0, |before| before + 1);
        let left = (from..after.max(from)).find(|place| !used[*place] && stored.messages[*place].external.is_none());
        match left {
            Some(place) if stored.messages[place].role == items[at].content.role => {
                used[place] = true;
                places[at] = Some(place);
                diffs[at] = MessageDiff::Changed(stored.messages[place].id);
            }
            _ => {}
        }
        at += 1;
    }
}
