//! Import of one conversation: newly created, or merged into the stored one.

use crate::error::Result;
use crate::transfer::import::existing::ExistingConversation;
use crate::transfer::import::importer::Importer;
use crate::transfer::import::origin_index::ImportedState;
use crate::transfer::import::report::{ImportedConversation, Skipped};
use manent_formats::{ConversationItem, EventItem, Follows, Item, MessageIndex, MessageItem};
use manent_model::{
    BranchId, Content, Conversation, ConversationDraft, ConversationId, ConversationPatch, ConversationStatus,
    ConversationTimes, Json, MessageId, NewMessage, OriginObject, Timestamp,
};
use manent_store::{
    BranchBase, BranchReason, Change, Conflict, ConversationRef, HeadMove, HeadTarget, MessageAt, MessageOrigin,
    StoreError,
};
use std::collections::HashSet;

/// Batch limits of stored messages: this many messages, or this many bytes.
const GROUP: usize = 500;
const GROUP_BYTES: usize = 1 << 20;

/// Stored location of a message of the file.
#[derive(Clone, Copy)]
pub(crate) struct MessageLocation {
    pub id: MessageId,
    pub branch: BranchId,
}

pub(crate) struct ConversationImport {
    pub item: ConversationItem,
    pub id: ConversationId,
    pub report: ImportedConversation,
    ordinal: i64,
    /// The stored conversation; `None` for a new one.
    pub stored: Option<ExistingConversation>,
    imported: Option<ImportedState>,
    /// The messages of the file by index; `None` for skipped ones.
    pub locations: Vec<Option<MessageLocation>>,
    /// Pending messages of one branch, to be stored together.
    buffered: Vec<(MessageIndex, MessageItem)>,
    buffered_bytes: usize,
    pub branch: BranchId,
    /// The branch is not opened yet; it starts after this message of its parent.
    base: Option<Option<MessageLocation>>,
    /// Messages that are compared when the conversation ends.
    pub items: Vec<MessageItem>,
    pub annotations: Vec<Item>,
    /// The current path once all messages are stored; empty for a new conversation.
    pub shown: HashSet<MessageId>,
    pub events: Vec<EventItem>,
    last_at: Option<Timestamp>,
    /// Whether it is in the store; a new one is stored with its first messages.
    is_made: bool,
}

impl ConversationImport {
    pub(crate) async fn begin(importer: &mut Importer<'_>, item: ConversationItem, ordinal: i64) -> Result<Self> {
        let (stored, kept) = match find(importer, &item).await? {
            Some((stored, kept)) => (Some(stored), kept),
            None => (None, None),
        };
        let id = match &stored {
            Some(stored) => stored.conversation.id,
            None => {
                importer.links.take(&item.external).unwrap_or_else(|| importer.database.new_id(ConversationId::new))
            }
        };
        if let Some(ExistingConversation { conversation, .. }) = &stored {
            importer.links.keep(item.continued_from.as_deref(), conversation.continued_from);
            importer.links.keep(item.forked_from.as_deref(), conversation.forked_from);
        }
        let is_dry = importer.mode == crate::transfer::import::ImportMode::DryRun;
        let report = ImportedConversation {
            external: item.external.clone(),
            id: (stored.is_some() || !is_dry).then_some(id),
            title: item.title.clone(),
            is_new: stored.is_none(),
            ..ImportedConversation::default()
        };
        importer.links.resolve(&item.external, id);
        let is_made = stored.is_some();
        Ok(Self {
            item,
            id,
            report,
            ordinal,
            stored,
            imported: kept,
            locations: Vec::new(),
            buffered: Vec::new(),
            buffered_bytes: 0,
            branch: importer.database.new_id(BranchId::new),
            base: None,
            items: Vec::new(),
            annotations: Vec::new(),
            shown: HashSet::new(),
            events: Vec::new(),
            last_at: None,
            is_made,
        })
    }

    fn imported_state(&self) -> ImportedState {
        ImportedState {
            title: self.item.title.clone(),
            status: self.item.status,
            created_at: self.item.created_at,
            active_at: self.item.active_at,
            frame: self.item.frame.clone(),
        }
    }

    /// Returns whether the file's metadata of the conversation is unchanged since its last import.
    pub(crate) fn has_same_frame(&self) -> bool {
        self.imported.as_ref().is_some_and(|kept| kept.frame == self.item.frame)
    }

    async fn origin(&self, importer: &Importer<'_>) -> Result<Option<Change>> {
        let raw = Some(Json::of(&self.imported_state()).text().to_owned());
        let object = OriginObject::Conversation(self.id);
        importer.origin(object, self.ordinal, Some(self.item.external.clone()), raw).await
    }

    async fn draft(&self, importer: &mut Importer<'_>) -> Result<ConversationDraft> {
        let item = &self.item;
        Ok(ConversationDraft {
            title: item.title.clone(),
            kind: item.kind,
            project: importer.project_of(item.project.as_ref()),
            creator: item.creator.clone(),
            metadata: item.metadata.clone(),
            continued_from: importer.linked(item.continued_from.as_deref()).await?,
            forked_from: importer.linked(item.forked_from.as_deref()).await?,
            ..ConversationDraft::default()
        })
    }

    /// Creates a new conversation in the store, if that has not happened yet.
    async fn make(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        if std::mem::replace(&mut self.is_made, true) {
            return Ok(());
        }
        let draft = self.draft(importer).await?;
        let mut refused = self.created(importer, draft.clone()).await?;
        if let Some(StoreError::Conflict(Conflict::Exists { .. })) = refused {
            // The id that was reserved for it belongs to a purged conversation; links to that one stay dangling, as
            // before.
            self.id = importer.database.new_id(ConversationId::new);
            self.report.id = Some(self.id);
            importer.links.resolve(&self.item.external, self.id);
            refused = self.created(importer, draft).await?;
        }
        if let Some(error) = refused {
            self.skip(importer, self.item.record, error.to_string());
        }
        Ok(())
    }

    async fn creation(&self, importer: &Importer<'_>, draft: ConversationDraft) -> Result<Vec<Change>> {
        let mut changes = vec![Change::CreateConversation { id: self.id, branch: self.branch, draft, importing: true }];
        changes.extend(self.origin(importer).await?);
        Ok(changes)
    }

    async fn created(&self, importer: &mut Importer<'_>, draft: ConversationDraft) -> Result<Option<StoreError>> {
        let changes = self.creation(importer, draft).await?;
        importer.commit(manent_store::now(), changes).await
    }

    /// Returns the changes of a single commit that stores all of it; `None` if it needs several commits.
    pub(crate) async fn single_commit(
        &self,
        importer: &mut Importer<'_>,
        head: Option<MessageIndex>,
    ) -> Result<Option<Vec<Change>>> {
        if self.is_made || self.base.is_some() || !self.annotations.is_empty() || !self.events.is_empty() {
            return Ok(None);
        }
        let draft = self.draft(importer).await?;
        let mut changes = self.creation(importer, draft).await?;
        if !self.buffered.is_empty() {
            changes.push(self.storing(importer, &self.buffered));
        }
        let last = self.locations.last().copied().flatten().map(|message_id_at| message_id_at.id);
        if let Some(message) = self.target_head(head).filter(|message| Some(*message) != last) {
            changes.push(Change::MoveHead { conversation: self.id, to: HeadTarget::Message(message) });
        }
        changes.push(Change::EditConversation { id: self.id, patch: self.first_patch() });
        Ok(Some(changes))
    }

    /// Records that it was stored with one commit.
    pub(crate) fn stored_whole(&mut self, importer: &mut Importer<'_>) {
        let waiting = std::mem::take(&mut self.buffered);
        self.stored_now(importer, &waiting);
        importer.mapped(self.item.record);
    }

    pub(crate) fn skip(&mut self, importer: &mut Importer<'_>, record: &str, why: String) {
        let place = self.item.external.clone();
        self.report.skipped.push(Skipped { place, record: record.to_owned(), why });
        if !record.is_empty() {
            importer.counts(record).reported += 1;
        }
    }

    pub(crate) async fn item(&mut self, importer: &mut Importer<'_>, item: Item) -> Result<()> {
        match item {
            Item::Message(message) => {
                self.last_at = self.last_at.max(Some(message.content.time.at));
                match self.stored.is_some() {
                    true => self.items.push(*message),
                    false => self.message(importer, *message).await?,
                }
                Ok(())
            }
            Item::Event(event) => {
                self.events.push(event);
                if self.stored.is_none() && self.events.len() >= GROUP {
                    self.make(importer).await?;
                    self.store_events(importer).await?;
                }
                Ok(())
            }
            item => {
                self.annotations.push(item);
                Ok(())
            }
        }
    }

    /// Adds a message of a new conversation to the pending ones of its branch.
    async fn message(&mut self, importer: &mut Importer<'_>, item: MessageItem) -> Result<()> {
        let index = self.locations.len() as MessageIndex;
        if let Follows::At(parent) = item.follows
            && parent != index.checked_sub(1)
        {
            self.flush(importer).await?;
            self.leave(importer, parent);
        }
        let size = item.content.body.text().len() + item.raw.as_ref().map_or(0, String::len) + 256;
        if self.buffered.len() >= GROUP || self.buffered_bytes + size > GROUP_BYTES {
            self.flush(importer).await?;
        }
        self.buffered_bytes += size;
        let id = importer.database.new_id(MessageId::new);
        self.locations.push(Some(MessageLocation { id, branch: self.branch }));
        self.buffered.push((index, item));
        Ok(())
    }

    /// Continues after an earlier message: on its branch if it is the last one there, else on a new branch.
    fn leave(&mut self, importer: &Importer<'_>, parent: Option<MessageIndex>) {
        let message_id_at = parent.and_then(|parent| self.locations.get(parent as usize).copied().flatten());
        let is_last = |message_id_at: &MessageLocation| {
            self.locations
                .iter()
                .flatten()
                .rfind(|one| one.branch == message_id_at.branch)
                .is_some_and(|last| last.id == message_id_at.id)
        };
        match message_id_at {
            Some(message_id_at) if is_last(&message_id_at) => self.branch = message_id_at.branch,
            message_id_at => {
                self.branch = importer.database.new_id(BranchId::new);
                self.base = Some(message_id_at);
            }
        }
    }

    fn new_message(&self, index: MessageIndex, item: &MessageItem) -> Option<NewMessage> {
        let message_id_at = self.locations[index as usize]?;
        Some(NewMessage { id: message_id_at.id, content: self.content_of(item) })
    }

    pub(crate) fn content_of(&self, item: &MessageItem) -> Content {
        let reply_to = item.reply_to.and_then(|at| self.message_id_at(at));
        Content { reply_to, ..item.content.clone() }
    }

    pub(crate) fn message_origin(
        &self,
        importer: &Importer<'_>,
        id: MessageId,
        index: MessageIndex,
        item: &MessageItem,
    ) -> Option<MessageOrigin> {
        let source = importer.source.as_ref()?.source.id;
        let (external, raw) = (item.external.clone(), item.raw.clone());
        Some(MessageOrigin { message: id, source, ordinal: i64::from(index), external, raw })
    }

    /// Stores the pending messages; a refused one does not affect the others.
    async fn flush(&mut self, importer: &mut Importer<'_>) -> Result<()> {
        self.make(importer).await?;
        let waiting = std::mem::take(&mut self.buffered);
        self.buffered_bytes = 0;
        if waiting.is_empty() {
            return Ok(());
        }
        let change = self.storing(importer, &waiting);
        if importer.commit(manent_store::now(), vec![change]).await?.is_none() {
            self.base = None;
            self.stored_now(importer, &waiting);
            return Ok(());
        }
        for alone in waiting.chunks(1) {
            let change = self.storing(importer, alone);
            match importer.commit(manent_store::now(), vec![change]).await? {
                None => {
                    self.base = None;
                    self.stored_now(importer, alone);
                }
                Some(error) => {
                    self.locations[alone[0].0 as usize] = None;
                    self.skip(importer, alone[0].1.record, error.to_string());
                }
            }
        }
        Ok(())
    }

    fn stored_now(&mut self, importer: &mut Importer<'_>, messages: &[(MessageIndex, MessageItem)]) {
        self.report.added += messages.len() as u64;
        for (_, item) in messages {
            importer.mapped(item.record);
        }
    }

    fn storing(&self, importer: &Importer<'_>, waiting: &[(MessageIndex, MessageItem)]) -> Change {
        let messages: Vec<NewMessage> =
            waiting.iter().filter_map(|(index, item)| self.new_message(*index, item)).collect();
        let origins = waiting.iter().zip(&messages);
        let origins =
            origins.filter_map(|((index, item), new)| self.message_origin(importer, new.id, *index, item)).collect();
        let (conversation, why) = (self.id, BranchReason::Import);
        match self.base {
            Some(base) => Change::OpenBranch {
                conversation,
                branch: self.branch,
                base: base
                    .map(|message_id_at| BranchBase { parent: message_id_at.branch, fork: Some(message_id_at.id) }),
                own: messages,
                pieces: Vec::new(),
                why,
                origins,
            },
            None => {
                let (at, head) = (MessageAt::Branch { branch: self.branch }, HeadMove::Follow);
                Change::AppendMessages { conversation, at, head, why, messages, origins }
            }
        }
    }

    pub(crate) async fn end(&mut self, importer: &mut Importer<'_>, head: Option<MessageIndex>) -> Result<()> {
        let is_new = self.stored.is_none();
        let show = match is_new {
            true => {
                self.flush(importer).await?;
                self.target_head(head)
            }
            false if self.stored.as_ref().is_some_and(|stored| self.follows_list(stored)) => {
                self.follow(importer, head).await?;
                None
            }
            false => self.merge(importer, head).await?,
        };
        self.attach(importer).await?;
        if let Some(message) = show {
            let change = Change::MoveHead { conversation: self.id, to: HeadTarget::Message(message) };
            importer.commit(manent_store::now(), vec![change]).await?;
        }
        importer.mapped(self.item.record);
        self.finish(importer, is_new).await
    }

    /// The message to show last, if it differs from the current one.
    fn target_head(&self, head: Option<MessageIndex>) -> Option<MessageId> {
        if let Some(head) = head {
            return self.message_id_at(head);
        }
        let mut spots = self.locations.iter().flatten();
        let (first, last) = (spots.next()?, spots.next_back()?);
        (last.branch != first.branch).then_some(last.id)
    }

    /// The metadata to set when a conversation was imported completely for the first time.
    fn first_patch(&self) -> ConversationPatch {
        let item = &self.item;
        let created_at = item.created_at.or(self.last_at).unwrap_or_else(manent_store::now);
        let active_at = item.active_at.or(self.last_at).unwrap_or(created_at);
        ConversationPatch {
            status: Some(item.status),
            pinned: Some(item.pinned),
            times: Some(ConversationTimes { created_at, active_at, trashed_at: item.trashed_at }),
            ..ConversationPatch::default()
        }
    }

    /// The new times of a conversation, if its file has changed them since the last import.
    fn new_times(&self, kept: &ImportedState) -> Option<ConversationTimes> {
        let stored = self.stored.as_ref()?;
        let active_at = self.item.active_at.filter(|at| kept.active_at != Some(*at))?;
        let Conversation { created_at, active_at: before, trashed_at, .. } = stored.conversation;
        // Activity in this store counts too.
        let is_theirs = stored.path.iter().all(|id| stored.imported.contains(id));
        let active_at = if is_theirs { active_at } else { active_at.max(before) };
        Some(ConversationTimes { created_at, active_at, trashed_at: self.item.trashed_at.or(trashed_at) })
    }

    /// Applies the file's metadata to the conversation, where it has changed since the last import.
    async fn finish(&mut self, importer: &mut Importer<'_>, is_new: bool) -> Result<()> {
        let item = &self.item;
        let mut patch = ConversationPatch::default();
        let unfinished = self.stored.as_ref().is_some_and(|it| it.conversation.status == ConversationStatus::Importing);
        if is_new || unfinished {
            patch = self.first_patch();
        } else if let Some(kept) = &self.imported {
            patch.title = (kept.title != item.title).then(|| item.title.clone());
            patch.status = (kept.status != item.status).then_some(item.status);
            patch.times = self.new_times(kept);
        }
        let mut changes = Vec::new();
        if patch != ConversationPatch::default() {
            changes.push(Change::EditConversation { id: self.id, patch });
        }
        if !is_new && self.imported.as_ref() != Some(&self.imported_state()) {
            changes.extend(self.origin(importer).await?);
        }
        if let Some(error) = importer.commit(manent_store::now(), changes).await? {
            self.skip(importer, "", error.to_string());
        }
        Ok(())
    }

    pub(crate) fn message_id_at(&self, index: MessageIndex) -> Option<MessageId> {
        self.locations.get(index as usize).copied().flatten().map(|message_id_at| message_id_at.id)
    }
}

/// Finds the conversation that an earlier import created from this one: the same id, and the same creation time or, if
/// that is unknown, a file at the same place. Ids such as `sess_001` are not unique across programs, and neither are
/// file names.
async fn find(
    importer: &Importer<'_>,
    item: &ConversationItem,
) -> Result<Option<(ExistingConversation, Option<ImportedState>)>> {
    let (Some(known), Some(source)) = (&importer.known, &importer.source) else { return Ok(None) };
    for origin in known.named(importer.database, importer.format.name, &item.external).await? {
        let OriginObject::Conversation(id) = origin.object else { continue };
        let kept: Option<ImportedState> = origin.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        let is_same = match (kept.as_ref().and_then(|kept| kept.created_at), item.created_at) {
            (Some(then), Some(now)) => then == now,
            _ => origin.source == source.source.id || known.same_place(&origin, &source.source),
        };
        if !is_same {
            continue;
        }
        let found = importer.database.store.conversation(ConversationRef::Id(id)).await?;
        if let Some(conversation) = found {
            return Ok(Some((ExistingConversation::of(importer.database, conversation).await?, kept)));
        }
    }
    Ok(None)
}
