//! Re-import of a stored conversation: the file is compared with it, and only new content is stored.

use crate::error::Result;
use crate::transfer::import::conversation_import::{ConversationImport, MessageLocation};
use crate::transfer::import::diff::{MessageDiff, align};
use crate::transfer::import::importer::Importer;
use manent_formats::{Follows, MessageIndex, MessageItem};
use manent_model::{BranchId, ConversationStatus, MessageId, MessageRange, NewMessage};
use manent_store::{
    BranchBase, BranchReason, Change, HeadMove, MessageAt, MessageOrigin, MessagesQuery, SplicePosition,
};
use std::collections::{HashMap, HashSet};

/// The paths of a conversation while messages are added.
struct MergePaths {
    /// The current path.
    path: Vec<MessageId>,
    /// Messages of this and earlier imports.
    imported: HashSet<MessageId>,
    /// Branches opened by this import, by the last message of each.
    ends: HashMap<MessageId, BranchId>,
}

/// Position of a new message.
enum MergePlace {
    /// At the end of the current path.
    On,
    /// Inserted into the current path, where the file continues.
    Between(Option<MessageId>),
    /// At the end of a branch off the current path, after this message.
    Along(MessageId, BranchId),
    /// On a new branch, after this message.
    Aside(Option<MessageId>),
}

impl ConversationImport {
    /// Compares the messages of the file with the stored ones and stores what is missing. Returns the message to show
    /// last, if the file's path differs from the current one and the conversation was not continued in this store.
    pub(crate) async fn merge(
        &mut self,
        importer: &mut Importer<'_>,
        head: Option<MessageIndex>,
    ) -> Result<Option<MessageId>> {
        let Some(stored) = self.stored.take() else { return Ok(None) };
        let items = std::mem::take(&mut self.items);
        let fates = align(&stored, &items);
        let (path, imported) = (stored.path.clone(), stored.imported.clone());
        let mut ways = MergePaths { path, imported, ends: HashMap::new() };
        for (at, (item, fate)) in items.iter().zip(&fates).enumerate() {
            let index = at as MessageIndex;
            let id = match *fate {
                MessageDiff::Unchanged(id) => {
                    self.report.unchanged += 1;
                    importer.mapped(item.record);
                    Some(id)
                }
                MessageDiff::Changed(id) => Some(self.replace(importer, index, item, id, &mut ways).await?),
                MessageDiff::New => self.add(importer, index, item, &mut ways).await?,
            };
            // The branch matters for new conversations only.
            self.locations.push(id.map(|id| MessageLocation { id, branch: self.branch }));
        }
        let is_theirs = stored.path.iter().all(|id| stored.imported.contains(id));
        // An interrupted import may have stored everything except the current path.
        let needs_update = self.report.added > 0 || stored.conversation.status == ConversationStatus::Importing;
        self.shown = ways.path.iter().copied().collect();
        self.stored = Some(stored);
        let last = self.locations.iter().flatten().next_back().map(|message_id_at| message_id_at.id);
        let show = head.map_or(last, |head| self.message_id_at(head)).filter(|id| ways.path.last() != Some(id));
        Ok(show.filter(|_| is_theirs && needs_update))
    }

    /// Replaces a message with its new version; the old one stays as an alternative. Messages removed in this store
    /// stay removed.
    async fn replace(
        &mut self,
        importer: &mut Importer<'_>,
        index: MessageIndex,
        item: &MessageItem,
        old: MessageId,
        ways: &mut MergePaths,
    ) -> Result<MessageId> {
        let Some(place) = ways.path.iter().position(|id| *id == old) else {
            self.report.unchanged += 1;
            importer.mapped(item.record);
            return Ok(old);
        };
        let id = importer.database.new_id(MessageId::new);
        let change = Change::Splice {
            conversation: self.id,
            branch: importer.database.new_id(BranchId::new),
            at: SplicePosition::Replace(MessageRange { first: old, last: old }),
            messages: vec![NewMessage { id, content: item.content.clone() }],
            origins: self.message_origin(importer, id, index, item).into_iter().collect(),
        };
        match importer.commit(manent_store::now(), vec![change]).await? {
            None => {
                self.report.updated += 1;
                importer.mapped(item.record);
                ways.path[place] = id;
                ways.imported.insert(id);
                Ok(id)
            }
            Some(error) => {
                self.skip(importer, item.record, error.to_string());
                Ok(old)
            }
        }
    }

    /// Determines where a new message goes: after the preceding one or, in a tree, after its parent.
    fn place_of(&self, item: &MessageItem, ways: &MergePaths) -> MergePlace {
        let last = self.locations.iter().flatten().next_back().map(|message_id_at| message_id_at.id);
        let (before, is_line) = match item.follows {
            Follows::Last => (last, true),
            Follows::At(parent) => {
                let before = parent.and_then(|parent| self.message_id_at(parent));
                (before, before == last)
            }
        };
        let place = before.and_then(|before| ways.path.iter().position(|id| *id == before));
        match (before, place) {
            (Some(before), None) => match ways.ends.get(&before) {
                Some(branch) => MergePlace::Along(before, *branch),
                None => MergePlace::Aside(Some(before)),
            },
            (before, place) => {
                let behind = &ways.path[place.map_or(0, |place| place + 1)..];
                match behind.is_empty() {
                    true => MergePlace::On,
                    // If the file has none of the following messages, the conversation was continued in this store:
                    // both paths stay.
                    false if is_line && behind.iter().any(|id| ways.imported.contains(id)) => {
                        MergePlace::Between(before)
                    }
                    false => MergePlace::Aside(before),
                }
            }
        }
    }

    async fn add(
        &mut self,
        importer: &mut Importer<'_>,
        index: MessageIndex,
        item: &MessageItem,
        ways: &mut MergePaths,
    ) -> Result<Option<MessageId>> {
        let (id, branch) = (importer.database.new_id(MessageId::new), importer.database.new_id(BranchId::new));
        let way = self.place_of(item, ways);
        let messages = vec![NewMessage { id, content: self.content_of(item) }];
        let origins: Vec<MessageOrigin> = self.message_origin(importer, id, index, item).into_iter().collect();
        let (conversation, why) = (self.id, BranchReason::Import);
        let change = match way {
            MergePlace::On => {
                let (at, head) = (MessageAt::Head { branch }, HeadMove::Follow);
                Change::AppendMessages { conversation, at, head, why, messages, origins }
            }
            MergePlace::Between(before) => {
                Change::Splice { conversation, branch, at: SplicePosition::After(before), messages, origins }
            }
            MergePlace::Along(_, branch) => {
                let (at, head) = (MessageAt::Branch { branch }, HeadMove::Stay);
                Change::AppendMessages { conversation, at, head, why, messages, origins }
            }
            MergePlace::Aside(before) => {
                let base = match before {
                    Some(before) => branch_of(importer, before).await?,
                    None => None,
                };
                let base = base.map(|parent| BranchBase { parent, fork: before });
                Change::OpenBranch { conversation, branch, base, own: messages, pieces: Vec::new(), why, origins }
            }
        };
        if let Some(error) = importer.commit(manent_store::now(), vec![change]).await? {
            self.skip(importer, item.record, error.to_string());
            return Ok(None);
        }
        self.report.added += 1;
        importer.mapped(item.record);
        ways.imported.insert(id);
        match way {
            MergePlace::On => ways.path.push(id),
            MergePlace::Between(before) => {
                let place = before.and_then(|before| ways.path.iter().position(|id| *id == before));
                ways.path.insert(place.map_or(0, |place| place + 1), id);
            }
            MergePlace::Along(before, branch) => {
                ways.ends.remove(&before);
                ways.ends.insert(id, branch);
            }
            MergePlace::Aside(_) => {
                ways.ends.insert(id, branch);
            }
        }
        Ok(Some(id))
    }
}

pub(crate) async fn branch_of(importer: &Importer<'_>, id: MessageId) -> Result<Option<BranchId>> {
    let found = importer.database.store.messages(MessagesQuery::Ids(vec![id])).await?;
    Ok(found.first().map(|placed| placed.branch))
}
