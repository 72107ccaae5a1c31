//! Alignment state of a list without ids: matched stored messages, and the path composed of them.

use crate::database::Database;
use crate::error::Result;
use crate::transfer::import::existing::{ExistingConversation, MessagePlace, digest_of};
use manent_formats::{Follows, MessageIndex, MessageItem};
use manent_model::{BranchId, ConversationId, MessageId, MessageRange};
use manent_store::{Direction, MessagePageQuery, PAGE_MAX};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const GROUP: usize = 500;
const GROUP_BYTES: usize = 1 << 20;

type Digest = [u8; 32];

/// The stored messages, and which of them are matched.
pub(crate) struct PathMatcher {
    /// Messages off the current path, by digest.
    is_branch: HashMap<Digest, Vec<usize>>,
    pub used: HashSet<MessageId>,
    /// Cache of branch paths.
    paths: HashMap<BranchId, Vec<MessageId>>,
}

/// The alignment of one message of the list.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Known(MessageId),
    /// To be stored: the index of its item.
    New(MessageIndex),
}

impl PathMatcher {
    pub(crate) fn of(stored: &ExistingConversation) -> Self {
        let mut is_branch: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (place, message) in stored.messages.iter().enumerate().skip(stored.shown).rev() {
            is_branch.entry(message.digest).or_default().push(place);
        }
        Self { is_branch, used: HashSet::new(), paths: HashMap::new() }
    }

    /// Takes an unmatched message with this digest that is off the current path.
    pub(crate) fn take(&mut self, stored: &ExistingConversation, digest: Digest) -> Option<MessageId> {
        let place = self.is_branch.get_mut(&digest)?.pop()?;
        let id = stored.messages[place].id;
        self.used.insert(id);
        Some(id)
    }

    /// Takes an unmatched message with this digest that is off the current path and follows exactly these on its own
    /// branch.
    pub(crate) async fn behind(
        &mut self,
        database: &Database,
        stored: &ExistingConversation,
        digest: Digest,
        before: &[MessageId],
    ) -> Result<Option<MessageId>> {
        let candidates = self.is_branch.get(&digest).cloned().unwrap_or_default();
        for place in candidates.into_iter().rev() {
            let message = &stored.messages[place];
            let branch = message.place.branch;
            let path = match self.paths.entry(branch) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(path_on(database, stored, branch).await?),
            };
            let is_behind = path.get(before.len()) == Some(&message.id) && path[..before.len()] == *before;
            if is_behind {
                self.is_branch.entry(digest).or_default().retain(|other| *other != place);
                self.used.insert(message.id);
                return Ok(Some(message.id));
            }
        }
        Ok(None)
    }
}

pub(crate) fn digest(item: &MessageItem) -> Digest {
    digest_of(item.raw.as_deref(), &item.content)
}

/// The indexes of the messages from the start to the given one.
pub(crate) fn path_of(items: &[MessageItem], last: Option<MessageIndex>) -> Vec<MessageIndex> {
    let (mut path, mut next) = (Vec::new(), last);
    while let Some(index) = next {
        path.push(index);
        next = match items[index as usize].follows {
            Follows::Last => index.checked_sub(1),
            Follows::At(parent) => parent,
        };
    }
    path.reverse();
    path
}

/// Splits new messages into groups that fit into one commit.
pub(crate) fn groups<'a>(steps: &'a [Step], items: &'a [MessageItem]) -> impl Iterator<Item = &'a [Step]> {
    let mut rest = steps;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let size = |step: &Step| match step {
            Step::New(index) => {
                let item = &items[*index as usize];
                item.content.body.text().len() + item.raw.as_ref().map_or(0, String::len) + 256
            }
            Step::Known(_) => 0,
        };
        let fits = |step: &&Step| {
            bytes += size(step);
            bytes <= GROUP_BYTES
        };
        let count = rest.iter().take(GROUP).take_while(fits).count().max(1).min(rest.len());
        let (group, left) = rest.split_at(count);
        rest = left;
        (!group.is_empty()).then_some(group)
    })
}

/// Groups the messages of a path into ranges of one branch.
pub(crate) fn stretches(ids: &[MessageId], places: &HashMap<MessageId, MessagePlace>) -> Vec<MessageRange> {
    let mut stretches: Vec<(MessageRange, MessagePlace)> = Vec::new();
    for id in ids {
        let place = places[id];
        match stretches.last_mut() {
            Some((stretch, last)) if last.branch == place.branch && last.slot + 1 == place.slot => {
                stretch.last = *id;
                *last = place;
            }
            _ => stretches.push((MessageRange { first: *id, last: *id }, place)),
        }
    }
    stretches.into_iter().map(|(stretch, _)| stretch).collect()
}

pub(crate) async fn head_of(database: &Database, id: ConversationId) -> Result<Option<BranchId>> {
    Ok(database.store.branches(id).await?.into_iter().find(|branch| branch.is_head).map(|branch| branch.id))
}

async fn path_on(database: &Database, stored: &ExistingConversation, branch: BranchId) -> Result<Vec<MessageId>> {
    let (mut path, mut from) = (Vec::new(), None);
    loop {
        let (conversation, branch, direction) = (stored.conversation.id, Some(branch), Direction::Forward);
        let query = MessagePageQuery { conversation, branch, from, direction, limit: PAGE_MAX };
        let window = database.store.message_page(query).await?;
        path.extend(window.messages.iter().map(|message| message.id));
        from = path.last().copied();
        if !window.more {
            return Ok(path);
        }
    }
}
