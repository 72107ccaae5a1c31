//! Re-import of a list of messages without ids: it is aligned with the current path by content, and the path becomes
//! what a first import of the list would show.
//!
//! Used while the path was not changed in this store. The new path is one branch that takes stored messages by
//! reference, so a message moved by a compaction, a rotation or a repaired file is neither stored again nor turned
//! into an alternative.

use crate::error::Result;
use crate::transfer::import::conversation_import::{ConversationImport, MessageLocation};
use crate::transfer::import::existing::{ExistingConversation, MessagePlace};
use crate::transfer::import::importer::Importer;
use crate::transfer::import::match_path::{PathMatcher, Step, digest, groups, head_of, path_of, stretches};
use crate::transfer::import::merge::branch_of;
use crate::transfer::import::subsequence::common_subsequence;
use manent_formats::{Extent, MessageIndex, MessageItem};
use manent_model::{BranchId, ConversationStatus, MessageId, NewMessage};
use manent_store::{BranchBase, BranchReason, Change, HeadMove, HeadTarget, MessageAt, MessageOrigin};
use std::collections::{HashMap, HashSet};

impl ConversationImport {
    /// Returns whether the list determines the current path: its messages have no ids, and the path was not changed in
    /// this store.
    pub(crate) fn follows_list(&self, stored: &ExistingConversation) -> bool {
        let is_theirs = stored.path.iter().all(|id| stored.imported.contains(id));
        self.item.extent != Extent::Open && is_theirs && stored.is_head_imported
    }

    /// Stores what is missing and shows the path of the list.
    pub(crate) async fn follow(&mut self, importer: &mut Importer<'_>, head: Option<MessageIndex>) -> Result<()> {
        let Some(stored) = self.stored.take() else { return Ok(()) };
        let items = std::mem::take(&mut self.items);
        let list = path_of(&items, head.or((items.len() as MessageIndex).checked_sub(1)));
        let mut found = PathMatcher::of(&stored);
        let (steps, kept) = self.align(&stored, &items, &list, &mut found);
        // If the file has not changed, a path that was rewound in this store stays rewound.
        let is_unchanged = self.has_same_frame() && !self.has_new_folds(importer).await?;
        let is_unfinished = stored.conversation.status == ConversationStatus::Importing;
        let needs_update = !is_unchanged || is_unfinished || steps.iter().any(|step| matches!(step, Step::New(_)));
        self.locations = vec![None; items.len()];
        for (index, step) in list.iter().zip(&kept) {
            if let Step::Known(id) = step {
                self.locations[*index as usize] = Some(MessageLocation { id: *id, branch: self.branch });
            }
        }
        let mut path = stored.path.clone();
        if needs_update {
            path = self.show(importer, &stored, &items, steps).await?;
        }
        for index in &list {
            if self.locations[*index as usize].is_some() {
                importer.mapped(items[*index as usize].record);
            }
        }
        let on_list: HashSet<MessageIndex> = list.iter().copied().collect();
        let shown: HashSet<MessageId> = path.iter().copied().collect();
        let mut ends = HashMap::new();
        for index in (0..items.len() as MessageIndex).filter(|index| !on_list.contains(index)) {
            self.import_off_path(importer, &items, index, &mut found, &stored, &shown, &mut ends).await?;
        }
        self.shown = shown;
        self.stored = Some(stored);
        Ok(())
    }

    /// Aligns the list with the stored messages. Returns the new path, and the outcome for each message of the list.
    fn align(
        &mut self,
        stored: &ExistingConversation,
        items: &[MessageItem],
        list: &[MessageIndex],
        found: &mut PathMatcher,
    ) -> (Vec<Step>, Vec<Step>) {
        let digests: Vec<_> = list.iter().map(|index| digest(&items[*index as usize])).collect();
        let here: Vec<_> = stored.messages[..stored.shown].iter().map(|message| message.digest).collect();
        let pairs = common_subsequence(&here, &digests);
        found.used.extend(pairs.iter().map(|(place, _)| stored.messages[*place].id));
        let (mut path, mut known) = (Vec::new(), Vec::new());
        let (mut from, mut at) = (0, 0);
        let ends = [(stored.shown, list.len())];
        for (place, next) in pairs.iter().chain(&ends).copied() {
            // Between two matched messages, the same role at the same offset is the same message.
            let mut left = stored.messages[from..place].iter().peekable();
            for (index, digest) in list[at..next].iter().zip(&digests[at..next]) {
                let role = &items[*index as usize].content.role;
                let step = match found.take(stored, *digest) {
                    Some(id) => Step::Known(id),
                    None => match left.next_if(|old| old.role == *role) {
                        // A partial list contains less than what is stored.
                        Some(old) if self.item.extent == Extent::Partial => Step::Known(old.id),
                        _ => Step::New(*index),
                    },
                };
                self.report.unchanged += u64::from(matches!(step, Step::Known(_)));
                known.push(step);
                path.push(step);
            }
            if self.item.extent == Extent::Partial {
                path.extend(left.map(|message| Step::Known(message.id)));
            }
            if let Some(message) = stored.messages.get(place).filter(|_| next < list.len()) {
                self.report.unchanged += 1;
                known.push(Step::Known(message.id));
                path.push(Step::Known(message.id));
            }
            (from, at) = (place + 1, next + 1);
        }
        (path, known)
    }

    /// Stores the new messages of a path and shows it; returns the path.
    async fn show(
        &mut self,
        importer: &mut Importer<'_>,
        stored: &ExistingConversation,
        items: &[MessageItem],
        steps: Vec<Step>,
    ) -> Result<Vec<MessageId>> {
        let is_same = |(step, id): (&Step, &MessageId)| matches!(step, Step::Known(known) if known == id);
        let same = steps.iter().zip(&stored.path).take_while(|pair| is_same(*pair)).count();
        let rest = &steps[same..];
        let is_longer = same == stored.path.len();
        if rest.is_empty() {
            if !is_longer {
                let to = HeadTarget::On {
                    branch: stored.head,
                    message: same.checked_sub(1).map(|place| stored.path[place]),
                };
                importer.commit(manent_store::now(), vec![Change::MoveHead { conversation: self.id, to }]).await?;
            }
            return Ok(stored.path[..same].to_vec());
        }
        let mut path = stored.path[..same].to_vec();
        if is_longer && rest.iter().all(|step| matches!(step, Step::New(_))) {
            for group in groups(rest, items) {
                let (messages, origins) = self.new_messages(importer, items, group);
                let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
                let (at, head) =
                    (MessageAt::Head { branch: importer.database.new_id(BranchId::new) }, HeadMove::Follow);
                let change = Change::AppendMessages {
                    conversation: self.id,
                    at,
                    head,
                    why: BranchReason::Import,
                    messages,
                    origins,
                };
                self.store_group(importer, items, group, vec![change]).await?;
                path.extend(ids.iter().filter(|id| self.has(**id)));
            }
            return Ok(path);
        }
        self.reassemble(importer, stored, items, rest, path).await
    }

    /// Opens and shows a branch that takes stored messages by reference and holds the new ones.
    async fn reassemble(
        &mut self,
        importer: &mut Importer<'_>,
        stored: &ExistingConversation,
        items: &[MessageItem],
        rest: &[Step],
        mut path: Vec<MessageId>,
    ) -> Result<Vec<MessageId>> {
        let conversation = self.id;
        let mut places: HashMap<MessageId, MessagePlace> =
            stored.messages.iter().map(|message| (message.id, message.place)).collect();
        let new: Vec<Step> = rest.iter().copied().filter(|step| matches!(step, Step::New(_))).collect();
        let branch = importer.database.new_id(BranchId::new);
        let groups: Vec<&[Step]> = groups(&new, items).collect();
        // Messages that do not fit into one commit are stored beforehand, on branches of their own.
        let (early, last) = groups.split_at(groups.len().saturating_sub(1));
        for group in early {
            let branch = importer.database.new_id(BranchId::new);
            let (own, origins) = self.new_messages(importer, items, group);
            places.extend(own.iter().enumerate().map(|(slot, message)| (message.id, MessagePlace { branch, slot })));
            let (base, pieces, why) = (None, Vec::new(), BranchReason::Import);
            let change = Change::OpenBranch { conversation, branch, base, own, pieces, why, origins };
            self.store_group(importer, items, group, vec![change]).await?;
        }
        let last = last.first().copied().unwrap_or_default();
        let (own, origins) = self.new_messages(importer, items, last);
        places.extend(own.iter().enumerate().map(|(slot, message)| (message.id, MessagePlace { branch, slot })));
        let ids: Vec<MessageId> = rest.iter().filter_map(|step| self.id_of(*step)).collect();
        let fork = path.last().copied();
        let base = fork.map(|fork| BranchBase { parent: stored.head, fork: Some(fork) });
        let pieces = match new.len() == rest.len() && early.is_empty() {
            true => Vec::new(),
            false => stretches(&ids, &places),
        };
        path.extend(&ids);
        let why = BranchReason::Import;
        let open = Change::OpenBranch { conversation, branch, base, own, pieces, why, origins };
        let show = Change::MoveHead { conversation, to: HeadTarget::End(branch) };
        match self.store_group(importer, items, last, vec![open, show]).await? {
            true => Ok(path),
            false => Ok(stored.path.clone()),
        }
    }

    /// Assigns ids to new messages.
    fn new_messages(
        &mut self,
        importer: &Importer<'_>,
        items: &[MessageItem],
        steps: &[Step],
    ) -> (Vec<NewMessage>, Vec<MessageOrigin>) {
        let (mut messages, mut origins) = (Vec::new(), Vec::new());
        for step in steps {
            let Step::New(index) = *step else { continue };
            let (id, item) = (importer.database.new_id(MessageId::new), &items[index as usize]);
            self.locations[index as usize] = Some(MessageLocation { id, branch: self.branch });
            messages.push(NewMessage { id, content: self.content_of(item) });
            origins.extend(self.message_origin(importer, id, index, item));
        }
        (messages, origins)
    }

    /// Commits changes that store new messages; if the store refuses them, the messages are reported and skipped.
    async fn store_group(
        &mut self,
        importer: &mut Importer<'_>,
        items: &[MessageItem],
        steps: &[Step],
        changes: Vec<Change>,
    ) -> Result<bool> {
        let refused = importer.commit(manent_store::now(), changes).await?;
        for step in steps {
            let Step::New(index) = *step else { continue };
            match &refused {
                None => self.report.added += 1,
                Some(error) => {
                    self.locations[index as usize] = None;
                    self.skip(importer, items[index as usize].record, error.to_string());
                }
            }
        }
        if let (Some(error), true) = (&refused, steps.is_empty()) {
            self.skip(importer, "", error.to_string());
        }
        Ok(refused.is_none())
    }

    fn id_of(&self, step: Step) -> Option<MessageId> {
        match step {
            Step::Known(id) => Some(id),
            Step::New(index) => self.message_id_at(index),
        }
    }

    fn has(&self, id: MessageId) -> bool {
        self.locations.iter().flatten().any(|message_id_at| message_id_at.id == id)
    }

    /// Finds or stores a message that is not on the path of the list.
    #[expect(clippy::too_many_arguments, reason = "what is known of a conversation at this point")]
    async fn import_off_path(
        &mut self,
        importer: &mut Importer<'_>,
        items: &[MessageItem],
        index: MessageIndex,
        found: &mut PathMatcher,
        stored: &ExistingConversation,
        shown: &HashSet<MessageId>,
        ends: &mut HashMap<MessageId, BranchId>,
    ) -> Result<()> {
        let item = &items[index as usize];
        let before = path_of(items, Some(index));
        let before: Option<Vec<MessageId>> =
            before[..before.len() - 1].iter().map(|index| self.message_id_at(*index)).collect();
        let Some(before) = before else {
            self.skip(importer, item.record, "the message before it was skipped".to_owned());
            return Ok(());
        };
        let known = found.behind(importer.database, stored, digest(item), &before).await?;
        if let Some(id) = known {
            self.report.unchanged += 1;
            importer.mapped(item.record);
            self.locations[index as usize] = Some(MessageLocation { id, branch: self.branch });
            return Ok(());
        }
        let (messages, origins) = self.new_messages(importer, items, &[Step::New(index)]);
        let (conversation, why, last) = (self.id, BranchReason::Import, before.last().copied());
        let along = last.and_then(|last| ends.remove(&last));
        let branch = along.unwrap_or_else(|| importer.database.new_id(BranchId::new));
        let change = match (along, last) {
            (Some(branch), _) => {
                let (at, head) = (MessageAt::Branch { branch }, HeadMove::Stay);
                Change::AppendMessages { conversation, at, head, why, messages, origins }
            }
            (None, last) => {
                let parent = match last {
                    Some(last) if shown.contains(&last) => head_of(importer.database, self.id).await?,
                    Some(last) => branch_of(importer, last).await?,
                    None => None,
                };
                let base = parent.map(|parent| BranchBase { parent, fork: last });
                Change::OpenBranch { conversation, branch, base, own: messages, pieces: Vec::new(), why, origins }
            }
        };
        if self.store_group(importer, items, &[Step::New(index)], vec![change]).await? {
            importer.mapped(item.record);
            ends.extend(self.message_id_at(index).map(|id| (id, branch)));
        }
        Ok(())
    }
}
