//! JSON lines export: every conversation complete, page by page, so that memory does not grow with the store.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::transfer::jsonl::blob::blobs_of;
use crate::transfer::jsonl::record::*;
use manent_model::{
    BranchId, Conversation, ConversationDraft, ConversationId, ConversationTimes, Document, MessageId, Project,
};
use manent_store::{
    Annotations, AnnotationsQuery, BranchInfo, ConversationRef, DamageLog, DamagedRecord, Direction, DocumentsQuery,
    EventsQuery, MemoriesQuery, MessagePageQuery, MessagesQuery, OriginsQuery, PAGE_MAX, ScratchQuery, StoreError,
};
use serde::Serialize;
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

/// The content to export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportSelection {
    /// The whole store.
    Everything,
    /// These conversations, with what is attached to them, their blobs and their sources. They are written in this
    /// order, except that a conversation follows the one it was forked from.
    Conversations(Vec<ConversationId>),
}

/// Records that are exported with a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExportedWith {
    /// Everything else is exported as well.
    Everything,
    /// It is exported alone, with its blobs.
    Alone,
}

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesReport {
    /// How many lines were written.
    pub lines: u64,
    /// Damaged records, which are not in the file.
    pub damaged: Vec<DamagedRecord>,
}

pub(crate) struct Exporter<W: Write> {
    /// A handle whose reads skip damaged records.
    pub database: Database,
    out: W,
    lines: u64,
    damage: Arc<DamageLog>,
    /// Ids of the branches written so far: a fork may only refer to one of those.
    written: HashSet<manent_model::BranchId>,
}

impl Database {
    /// Exports conversations as JSON lines.
    ///
    /// A conversation that continues one that is not exported gets the messages it needs as its own. Damaged records
    /// are skipped; the report and the file list them.
    pub async fn export_jsonl<W: Write + Send>(&self, selection: &ExportSelection, out: W) -> Result<LinesReport> {
        let (database, damage) = self.skipping_damaged();
        let mut exporter = Exporter { database, out, lines: 0, damage, written: HashSet::new() };
        exporter.line(Kind::Manent, None, &Beginning { format: FORMAT })?;
        match selection {
            ExportSelection::Everything => exporter.everything().await?,
            ExportSelection::Conversations(ids) => {
                for id in exporter.parents_first(ids).await? {
                    let outcome = exporter.conversation(id, ExportedWith::Alone).await;
                    exporter.or_damaged(Some(id), outcome)?;
                }
            }
        }
        // After everything else: a line that belongs to no conversation ends the previous conversation.
        let damaged = exporter.damage.records();
        for record in &damaged {
            exporter.line(Kind::Damaged, None, record)?;
        }
        let end = End { lines: exporter.lines + 1 };
        exporter.line(Kind::End, None, &end)?;
        exporter.out.flush().map_err(written)?;
        Ok(LinesReport { lines: exporter.lines, damaged })
    }
}

/// Records damage that made a read fail, and continues without the requested data.
pub(crate) fn or_damaged<T>(
    damage: &DamageLog,
    conversation: Option<ConversationId>,
    outcome: Result<T>,
) -> Result<Option<T>> {
    match outcome {
        Err(Error::Store(StoreError::Altered { what, id })) => {
            damage.add(DamagedRecord { conversation, what: what.to_owned(), id });
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}

fn written(source: std::io::Error) -> Error {
    Error::File { doing: "writing", path: "the export".to_owned(), source }
}

impl<W: Write + Send> Exporter<W> {
    pub(crate) fn line<T: Serialize>(
        &mut self,
        kind: Kind,
        conversation: Option<ConversationId>,
        value: &T,
    ) -> Result<()> {
        let line = Line::of(kind, conversation, value).map_err(|error| written(error.into()))?;
        serde_json::to_writer(&mut self.out, &line).map_err(|error| written(error.into()))?;
        self.out.write_all(b"\n").map_err(written)?;
        self.lines += 1;
        Ok(())
    }

    /// Continues after damage that a read could not skip: the requested data is left out as a whole.
    fn or_damaged<T: Default>(&self, conversation: Option<ConversationId>, outcome: Result<T>) -> Result<T> {
        Ok(or_damaged(&self.damage, conversation, outcome)?.unwrap_or_default())
    }

    async fn everything(&mut self) -> Result<()> {
        let store = self.database.store.clone();
        let projects = store.projects().await.map_err(Error::from);
        for project in self.or_damaged(None, projects)? {
            self.line(Kind::Project, None, &Project { version: 1, ..project })?;
        }
        let blobs = store.blobs().await.map_err(Error::from);
        for (sha256, _) in self.or_damaged(None, blobs)? {
            let outcome = self.blob(sha256).await;
            self.or_damaged(None, outcome)?;
        }
        let sources = store.sources().await.map_err(Error::from);
        let sources = self.or_damaged(None, sources)?;
        for source in &sources {
            self.line(Kind::Source, None, source)?;
        }
        for source in &sources {
            let pieces = store.quarantined(source.id).await.map_err(Error::from);
            for piece in self.or_damaged(None, pieces)? {
                self.line(Kind::Quarantined, None, &piece)?;
            }
        }
        let mut after = None;
        loop {
            let ids = store.conversation_ids(after, PAGE_MAX).await?;
            let Some(last) = ids.last() else { break };
            after = Some(*last);
            for id in &ids {
                let outcome = self.conversation(*id, ExportedWith::Everything).await;
                self.or_damaged(Some(*id), outcome)?;
            }
        }
        let documents = store.documents(DocumentsQuery::All).await.map_err(Error::from);
        for document in self.or_damaged(None, documents)? {
            self.line(Kind::Document, None, &Document { version: 0, ..document })?;
        }
        let mut query = MemoriesQuery { limit: PAGE_MAX, ..MemoriesQuery::default() };
        loop {
            let page = store.memories(query.clone()).await.map_err(Error::from);
            let page = self.or_damaged(None, page)?;
            let Some(last) = page.last() else { break };
            query.after = Some(last.id);
            for memory in &page {
                self.line(Kind::Memory, None, memory)?;
            }
        }
        for source in &sources {
            let origins = store.origins(OriginsQuery::Source(source.id)).await.map_err(Error::from);
            for origin in self.or_damaged(None, origins)? {
                self.line(Kind::Origin, None, &origin)?;
            }
        }
        let scratch = store.scratch(ScratchQuery::default()).await.map_err(Error::from);
        for scratch in self.or_damaged(None, scratch)? {
            self.line(Kind::Scratch, None, &scratch)?;
        }
        Ok(())
    }

    /// Orders conversations so that a branch is written before the branches that fork from it: a message can be owned
    /// by a single conversation only.
    async fn parents_first(&self, ids: &[ConversationId]) -> Result<Vec<ConversationId>> {
        let mut waiting = Vec::new();
        for id in ids {
            if !waiting.iter().any(|(known, _)| known == id) {
                waiting.push((*id, self.database.store.branches(*id).await?));
            }
        }
        let mut ordered = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let leaves = |child: &[BranchInfo], parent: &[BranchInfo]| {
                child.iter().any(|branch| parent.iter().any(|other| branch.parent == Some(other.id)))
            };
            let is_free = |(id, branches): &(ConversationId, Vec<BranchInfo>)| {
                !waiting.iter().any(|(other, parents)| other != id && leaves(branches, parents))
            };
            // A branch is younger than its parent, so at least one conversation has no pending parent.
            let place = waiting.iter().position(is_free).unwrap_or(0);
            ordered.push(waiting.remove(place).0);
        }
        Ok(ordered)
    }

    /// Writes one conversation.
    async fn conversation(&mut self, id: ConversationId, company: ExportedWith) -> Result<()> {
        let store = self.database.store.clone();
        let Some(shown) = store.conversation(ConversationRef::Id(id)).await? else {
            return Err(Error::not_found("conversation", id));
        };
        let branches = store.branches(id).await?;
        let Some(first) = branches.first() else { return Err(Error::not_found("branch of", id)) };
        if company == ExportedWith::Alone {
            let outcome = self.needed_by(id, &branches).await;
            self.or_damaged(Some(id), outcome)?;
        }
        let mut record = record_of(&shown, first);
        if company == ExportedWith::Alone {
            // Projects are not exported with single conversations.
            record.draft.project = None;
        }
        self.line(Kind::Conversation, Some(id), &record)?;
        for branch in &branches {
            let outcome = self.branch(id, branch, first).await;
            self.or_damaged(Some(id), outcome)?;
        }
        if let Some(head) = branches.iter().find(|branch| branch.is_head) {
            let message = self.sound_until(id, head.id, shown.head).await?;
            self.line(Kind::Head, Some(id), &HeadRecord { branch: head.id, message })?;
        }
        let outcome = self.annotations(id).await;
        self.or_damaged(Some(id), outcome)
    }

    /// Returns a message of a path, or the last undamaged one before it, because references to messages outside the
    /// file are invalid. `None` is the start of the path.
    async fn sound_until(
        &self,
        conversation: ConversationId,
        branch: BranchId,
        message: Option<MessageId>,
    ) -> Result<Option<MessageId>> {
        let Some(message) = message else { return Ok(None) };
        let store = &self.database.store;
        let found = store.messages(MessagesQuery::Ids(vec![message])).await.map_err(Error::from);
        if !self.or_damaged(Some(conversation), found)?.is_empty() {
            return Ok(Some(message));
        }
        let (branch, from, direction) = (Some(branch), Some(message), Direction::Backward);
        let window = store.message_page(MessagePageQuery { conversation, branch, from, direction, limit: 1 }).await;
        let before = self.or_damaged(Some(conversation), window.map(|window| window.messages).map_err(Error::from))?;
        Ok(before.last().map(|message| message.id))
    }

    /// Counts the undamaged own messages inside the ranges of a branch: an import counts the ones that follow.
    async fn sound_in_ranges(&self, branch: &BranchInfo) -> Result<i64> {
        let (mut count, mut after) = (0, None);
        while count < branch.own_in_ranges {
            let query = MessagesQuery::Branch { branch: branch.id, after, limit: PAGE_MAX };
            let page = self.database.store.messages(query).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.message.id);
            let inside = page.iter().filter(|placed| placed.message.address.slot() <= branch.own_in_ranges).count();
            count += inside as i64;
            if inside < page.len() {
                break;
            }
        }
        Ok(count)
    }

    /// Writes what the messages of a conversation refer to: blobs and sources.
    async fn needed_by(&mut self, id: ConversationId, branches: &[BranchInfo]) -> Result<()> {
        let (mut seen, mut sources) = (HashSet::new(), HashSet::new());
        for branch in branches {
            let mut from = None;
            loop {
                let query = MessagePageQuery {
                    conversation: id,
                    branch: Some(branch.id),
                    from,
                    direction: Direction::Forward,
                    limit: PAGE_MAX,
                };
                let window = self.database.store.message_page(query).await?;
                let ids = window.messages.iter().map(|message| message.id).collect();
                let origins = self.database.store.message_origins(ids).await?;
                sources.extend(origins.iter().map(|origin| origin.source));
                for digest in blobs_of(&window.messages, &origins) {
                    if seen.insert(digest) {
                        let outcome = self.blob(digest).await;
                        self.or_damaged(Some(id), outcome)?;
                    }
                }
                match window.messages.last() {
                    Some(last) if window.more => from = Some(last.id),
                    _ => break,
                }
            }
        }
        if !sources.is_empty() {
            let known = self.database.store.sources().await?;
            for source in known.iter().filter(|source| sources.contains(&source.id)) {
                self.line(Kind::Source, None, source)?;
            }
        }
        Ok(())
    }

    async fn branch(&mut self, id: ConversationId, branch: &BranchInfo, first: &BranchInfo) -> Result<()> {
        let base_is_written = branch.parent.is_none_or(|parent| self.written.contains(&parent));
        let mut record = BranchRecord {
            id: branch.id,
            parent: branch.parent,
            fork: self.sound_until(id, branch.id, branch.fork).await?,
            own_in_ranges: self.sound_in_ranges(branch).await?,
            ranges: branch.ranges.clone(),
            reason: branch.reason,
        };
        let inline = match base_is_written {
            true => Vec::new(),
            false => {
                record.parent = None;
                record.fork = None;
                let base = self.base_of(id, branch).await;
                self.or_damaged(Some(id), base)?
            }
        };
        // The first branch is created with its conversation and needs no line.
        if branch.id != first.id {
            self.line(Kind::Branch, Some(id), &record)?;
        }
        for message in inline {
            self.message(id, branch.id, message).await?;
        }
        let mut after: Option<MessageId> = None;
        loop {
            let query = MessagesQuery::Branch { branch: branch.id, after, limit: PAGE_MAX };
            let page = self.database.store.messages(query).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.message.id);
            for placed in page {
                self.message(id, branch.id, placed.message).await?;
            }
        }
        self.written.insert(branch.id);
        Ok(())
    }

    /// Returns the messages that a branch takes from its parent, for a file that does not contain the parent.
    async fn base_of(&self, conversation: ConversationId, branch: &BranchInfo) -> Result<Vec<manent_model::Message>> {
        let mut messages = Vec::new();
        let Some(fork) = branch.fork else { return Ok(messages) };
        let store = &self.database.store;
        let found = store.messages(MessagesQuery::Ids(vec![fork])).await?;
        messages.extend(found.into_iter().map(|placed| placed.message));
        let (branch, direction, limit) = (Some(branch.id), Direction::Backward, PAGE_MAX);
        let mut from = Some(fork);
        loop {
            let mut window =
                store.message_page(MessagePageQuery { conversation, branch, from, direction, limit }).await?;
            from = window.messages.first().map(|message| message.id);
            window.messages.reverse();
            messages.append(&mut window.messages);
            if !window.more || from.is_none() {
                messages.reverse();
                return Ok(messages);
            }
        }
    }

    async fn message(
        &mut self,
        id: ConversationId,
        branch: manent_model::BranchId,
        message: manent_model::Message,
    ) -> Result<()> {
        let origin = self.database.store.message_origins(vec![message.id]).await?.pop();
        let record = MessageRecord { branch, id: message.id, content: message.content, erased: message.erased, origin };
        self.line(Kind::Message, Some(id), &record)
    }

    async fn annotations(&mut self, id: ConversationId) -> Result<()> {
        let mut query = AnnotationsQuery::from(id);
        loop {
            let page = self.database.annotations_page(query.clone()).await?;
            self.annotations_lines(id, &page)?;
            match page.next {
                Some(next) => query.after = Some(next),
                None => return self.events(id).await,
            }
        }
    }

    fn annotations_lines(&mut self, id: ConversationId, annotations: &Annotations) -> Result<()> {
        for note in &annotations.notes {
            self.line(Kind::Note, Some(id), note)?;
        }
        for bookmark in &annotations.bookmarks {
            self.line(Kind::Bookmark, Some(id), bookmark)?;
        }
        for state in &annotations.states {
            self.line(Kind::State, Some(id), state)?;
        }
        for fold in &annotations.folds {
            self.line(Kind::Fold, Some(id), fold)?;
        }
        for call in &annotations.calls {
            self.line(Kind::Call, Some(id), call)?;
        }
        for trail in &annotations.tool_calls {
            self.line(Kind::ToolCall, Some(id), trail)?;
        }
        for input in &annotations.inputs {
            self.line(Kind::Input, Some(id), input)?;
        }
        Ok(())
    }

    async fn events(&mut self, id: ConversationId) -> Result<()> {
        let mut after = 0;
        loop {
            let query = EventsQuery { conversation: id, channels: Vec::new(), after, limit: PAGE_MAX };
            let events = self.database.store.events(query).await?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.cursor;
            for event in &events {
                let event = manent_model::Event { cursor: 0, ..event.clone() };
                self.line(Kind::Event, Some(id), &event)?;
            }
        }
    }
}

fn record_of(shown: &Conversation, first: &BranchInfo) -> ConversationRecord {
    ConversationRecord {
        id: shown.id,
        branch: first.id,
        draft: ConversationDraft {
            external_id: shown.external_id.clone(),
            title: shown.title.clone(),
            kind: shown.kind,
            project: shown.project,
            creator: shown.creator.clone(),
            members: shown.members.clone(),
            tags: shown.tags.clone(),
            metadata: shown.metadata.clone(),
            continued_from: shown.continued_from,
            forked_from: shown.forked_from,
        },
        status: shown.status,
        pinned: shown.pinned,
        times: ConversationTimes {
            created_at: shown.created_at,
            active_at: shown.active_at,
            trashed_at: shown.trashed_at,
        },
    }
}
