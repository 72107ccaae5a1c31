//! The messages of a conversation in the order in which a file has them.
//!
//! The current path is written. An imported message that was removed here is reported as removed, and an edit takes the
//! record of the message that it replaced. Messages that were added here have no record.

use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::{ConversationId, MessageId, SourceId};
use manent_store::{
    BranchInfo, BranchReason, Direction, MessageOrigin, MessagePageQuery, MessagesQuery, PAGE_MAX, StoreError,
};
use std::collections::{HashMap, HashSet, VecDeque};

/// A message that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub id: MessageId,
    /// The message whose record it is written over.
    pub record_of: Option<MessageId>,
    pub is_removed: bool,
}

/// An imported message.
struct ImportedMessage {
    id: MessageId,
    ordinal: i64,
    external: Option<String>,
}

/// Which messages were written in the place of others.
#[derive(Default)]
struct LocalEdits {
    /// Messages that were put into the middle of a path, in the place of others or between them.
    spliced: HashSet<MessageId>,
    /// Messages that replaced another and dropped what came behind it.
    cut: HashMap<MessageId, MessageId>,
}

impl LocalEdits {
    /// Looks at a message by its number among the messages of its branch. The database fails where a message is damaged: the one
    /// behind it is not what was replaced.
    async fn look(
        &mut self,
        strict: &Database,
        conversation: ConversationId,
        branch: &BranchInfo,
        slot: i64,
        id: MessageId,
    ) -> Result<()> {
        if slot < branch.own_in_ranges {
            self.spliced.insert(id);
        } else if let (0, BranchReason::Edit, Some(parent)) = (slot, branch.reason, branch.parent) {
            // The messages after the fork on the other path are those that it replaced.
            let (branch, from, direction) = (Some(parent), branch.fork, Direction::Forward);
            match strict.store.message_page(MessagePageQuery { conversation, branch, from, direction, limit: 1 }).await
            {
                Ok(window) => self.cut.extend(window.messages.first().map(|old| (id, old.id))),
                Err(StoreError::Altered { .. }) => {}
                Err(error) => return Err(Error::from(error)),
            }
        }
        Ok(())
    }

    /// The first message that had the place of this one: an edit may be of an edit.
    fn replaced(&self, id: MessageId) -> Option<MessageId> {
        let mut first = *self.cut.get(&id)?;
        while let Some(earlier) = self.cut.get(&first) {
            first = *earlier;
        }
        Some(first)
    }
}

/// Returns the messages of a conversation, and how many of its branches are not among them. The first database leaves damaged
/// messages out, the second fails where there is one.
pub(crate) async fn sequence(
    database: &Database,
    strict: &Database,
    id: ConversationId,
    sources: &HashSet<SourceId>,
) -> Result<(Vec<Entry>, usize)> {
    let path = path(database, id).await?;
    let shown: HashSet<MessageId> = path.iter().map(|(id, _)| *id).collect();
    let (mut imported, mut roles, mut branches) = (HashMap::new(), HashMap::new(), Vec::new());
    let mut edits = LocalEdits::default();
    for branch in database.store.branches(id).await? {
        let (mut after, mut hidden) = (None, Vec::new());
        loop {
            let query = MessagesQuery::Branch { branch: branch.id, after, limit: PAGE_MAX };
            let page = database.store.messages(query).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.message.id);
            let ids = page.iter().map(|placed| placed.message.id).collect();
            for MessageOrigin { message, source, ordinal, external, .. } in database.store.message_origins(ids).await? {
                if sources.contains(&source) {
                    imported.insert(message, ImportedMessage { id: message, ordinal, external });
                }
            }
            for placed in page {
                let message = placed.message;
                let slot = message.address.slot() - 1;
                edits.look(strict, id, &branch, slot, message.id).await?;
                hidden.extend(Some(message.id).filter(|id| !shown.contains(id)));
                roles.insert(message.id, message.content.role);
            }
        }
        branches.push(hidden);
    }
    let (entries, diverged) = merged(&path, &imported, &roles, &edits);
    let is_left_out = |id: &MessageId| !imported.contains_key(id) || diverged.contains(id);
    let others = branches.iter().filter(|hidden| hidden.iter().any(is_left_out)).count();
    Ok((entries, others))
}

async fn path(database: &Database, id: ConversationId) -> Result<Vec<(MessageId, String)>> {
    let (mut path, mut from) = (Vec::new(), None);
    loop {
        let query =
            MessagePageQuery { conversation: id, branch: None, from, direction: Direction::Forward, limit: PAGE_MAX };
        let window = database.store.message_page(query).await?;
        path.extend(window.messages.into_iter().map(|message| (message.id, message.content.role)));
        from = path.last().map(|(id, _)| *id);
        if !window.more {
            return Ok(path);
        }
    }
}

/// Puts removed messages back at their original place. Returns also the imported messages that are parallel to messages
/// added here: they were never shown, and belong to a branch that is not written.
fn merged(
    path: &[(MessageId, String)],
    imported: &HashMap<MessageId, ImportedMessage>,
    roles: &HashMap<MessageId, String>,
    edits: &LocalEdits,
) -> (Vec<Entry>, HashSet<MessageId>) {
    let mut diverged = HashSet::new();
    let shown: HashSet<MessageId> = path.iter().map(|(id, _)| *id).collect();
    let anchors = path.iter().filter_map(|(id, _)| imported.get(id));
    // A record that was imported again with other content is written once: the newer one is shown.
    let again: HashSet<&str> = anchors.clone().filter_map(|one| one.external.as_deref()).collect();
    let at: HashSet<i64> = anchors.map(|one| one.ordinal).collect();
    let mut hidden: Vec<&ImportedMessage> = imported
        .values()
        .filter(|one| !shown.contains(&one.id) && !at.contains(&one.ordinal))
        .filter(|one| one.external.as_deref().is_none_or(|external| !again.contains(external)))
        .collect();
    hidden.sort_by_key(|one| one.ordinal);
    let mut hidden = hidden.into_iter().peekable();
    let (mut entries, mut new) = (Vec::new(), Vec::new());
    for (id, role) in path {
        match imported.get(id) {
            None => new.push((*id, role.as_str())),
            Some(one) => {
                let mut gone = Vec::new();
                while let Some(earlier) = hidden.next_if(|earlier| earlier.ordinal < one.ordinal) {
                    gone.push(earlier.id);
                }
                fill(&mut entries, gone, std::mem::take(&mut new), roles, edits, &mut diverged);
                entries.push(Entry { id: *id, record_of: Some(*id), is_removed: false });
            }
        }
    }
    let gone: Vec<MessageId> = hidden.map(|one| one.id).collect();
    fill(&mut entries, gone, new, roles, edits, &mut diverged);
    (entries, diverged)
}

/// Between two messages of the file: those that were taken out, and those that were written here.
fn fill(
    entries: &mut Vec<Entry>,
    mut gone: Vec<MessageId>,
    new: Vec<(MessageId, &str)>,
    roles: &HashMap<MessageId, String>,
    edits: &LocalEdits,
    diverged: &mut HashSet<MessageId>,
) {
    // Ids are ordered by time. What came after the first words of our own was never shown in this place.
    if let Some(first) = new.iter().map(|(id, _)| *id).min() {
        let (earlier, later) = gone.into_iter().partition(|id| *id < first);
        diverged.extend::<Vec<MessageId>>(later);
        gone = earlier;
    }
    let mut gone: VecDeque<MessageId> = gone.into();
    for (id, role) in new {
        let place = match edits.replaced(id) {
            Some(old) => gone.iter().position(|gone| *gone == old),
            None => {
                let is_first = gone.front().and_then(|gone| roles.get(gone)).is_some_and(|other| other == role);
                (is_first && edits.spliced.contains(&id)).then_some(0)
            }
        };
        let over = place.and_then(|place| gone.remove(place));
        entries.push(Entry { id, record_of: over, is_removed: false });
    }
    entries.extend(gone.into_iter().map(|id| Entry { id, record_of: Some(id), is_removed: true }));
}
