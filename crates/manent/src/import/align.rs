//! Which messages of a file are here, which changed, which are new.

use super::stored::{Stored, digest_of};
use manent_formats::MessageItem;
use manent_model::MessageId;
use std::collections::HashMap;

/// What a message of the file is to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is here as it is there.
    Unchanged(MessageId),
    /// It was here in other words.
    Changed(MessageId),
    /// It was not here.
    New,
}

/// Finds for each message of the file what it was here.
///
/// An id that is used once on both sides decides. Messages without one are known by their text, in order; what is left
/// between two that are known has changed if it has the same role, and is new otherwise.
pub(super) fn align(stored: &Stored, items: &[MessageItem]) -> Vec<Fate> {
    let mut fates = vec![Fate::New; items.len()];
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
        // What the file said once and says again is shown as something else now: that one has changed back.
        let is_over = found.is_some_and(|place| place >= stored.shown)
            && item
                .external
                .as_deref()
                .and_then(|external| by_id.get(external))
                .is_some_and(|places| places.iter().any(|place| *place < stored.shown && !used[*place]));
        if let Some(place) = found.filter(|_| !is_over) {
            used[place] = true;
            places[at] = Some(place);
            fates[at] = Fate::Unchanged(stored.messages[place].id);
        }
    }
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item.external.is_some()) {
        let candidates = item.external.as_deref().and_then(|external| by_id.get(external));
        // The one that is shown is the one that the file said last.
        let place = candidates.and_then(|places| places.iter().copied().filter(|place| !used[*place]).min());
        if let (None, Some(place)) = (places[at], place) {
            used[place] = true;
            places[at] = Some(place);
            fates[at] = Fate::Changed(stored.messages[place].id);
        }
    }
    between(stored, items, &mut places, &mut used, &mut fates);
    fates
}

/// Pairs what is left between two known messages, on both sides, in order.
fn between(
    stored: &Stored,
    items: &[MessageItem],
    places: &mut [Option<usize>],
    used: &mut [bool],
    fates: &mut [Fate],
) {
    let mut at = 0;
    while at < items.len() {
        if places[at].is_some() || items[at].external.is_some() {
            at += 1;
            continue;
        }
        // What is no longer shown has no place among the others.
        let shown = |place: &&usize| **place < stored.shown;
        let before = places[..at].iter().rev().flatten().find(shown).copied();
        let after = places[at..].iter().flatten().find(shown).copied().unwrap_or(stored.shown);
        let from = before.map_or(0, |before| before + 1);
        let left = (from..after.max(from)).find(|place| !used[*place] && stored.messages[*place].external.is_none());
        match left {
            Some(place) if stored.messages[place].role == items[at].content.role => {
                used[place] = true;
                places[at] = Some(place);
                fates[at] = Fate::Changed(stored.messages[place].id);
            }
            _ => {}
        }
        at += 1;
    }
}
