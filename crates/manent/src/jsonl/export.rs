//! Writing: every conversation whole, page by page, so that memory does not grow with the store.

use super::blob::blobs_of;
use super::record::*;
use crate::database::Database;
use crate::error::{Error, Result};
use manent_model::{Conversation, ConversationDraft, ConversationId, ConversationTimes, Document, MessageId, Project};
use manent_store::{
    BranchInfo, ConversationRef, Direction, DocumentsQuery, EventsQuery, MemoriesQuery, MessagesQuery, OriginsQuery,
    PAGE_MAX, ScratchQuery, StoreError, WindowQuery,
};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::Write;

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportSelection {
    /// Everything that the store holds.
    Everything,
    /// These conversations, with what is attached to them, the blobs they show and the files they came from. They are
    /// written in this order, but a conversation comes after the one it forked from.
    Conversations(Vec<ConversationId>),
}

/// What travels with a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Everything else is written as well.
    Everything,
    /// It travels alone and takes its blobs along.
    Alone,
}

/// What an export came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesReport {
    /// How many lines were written.
    pub lines: u64,
    /// What could not be read and is not in the file.
    pub damaged: Vec<DamagedRecord>,
}

/// Something that is not as it was written, so an export leaves it out. The file has a line for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedRecord {
    /// The conversation it belongs to, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// What kind of thing it is.
    pub what: String,
    /// Its id.
    pub id: String,
}

pub(super) struct Exporter<'a, W: Write> {
    pub database: &'a Database,
    out: W,
    lines: u64,
    damaged: Vec<DamagedRecord>,
    /// Branches that were written, by their ids: a fork may only refer to one of those.
    written: HashSet<manent_model::BranchId>,
}

impl Database {
    /// Writes conversations as JSON lines.
    ///
    /// A conversation that goes on from one that is not written gets the messages it needs as its own. A damaged message is left
    /// out, and so are damaged things beside messages, together with their list; the report names them.
    pub async fn export_jsonl<W: Write + Send>(&self, selection: &ExportSelection, out: W) -> Result<LinesReport> {
        let mut exporter = Exporter { database: self, out, lines: 0, damaged: Vec::new(), written: HashSet::new() };
        exporter.line(Kind::Manent, None, &Beginning { format: FORMAT })?;
        match selection {
            ExportSelection::Everything => exporter.everything().await?,
            ExportSelection::Conversations(ids) => {
                for id in exporter.parents_first(ids).await? {
                    let outcome = exporter.conversation(id, Company::Alone).await;
                    exporter.or_damaged(Some(id), outcome)?;
                }
            }
        }
        // Behind everything else: a line that belongs to no conversation ends the one before it.
        for damaged in exporter.damaged.clone() {
            exporter.line(Kind::Damaged, None, &damaged)?;
        }
        let end = End { lines: exporter.lines + 1 };
        exporter.line(Kind::End, None, &end)?;
        exporter.out.flush().map_err(written)?;
        Ok(LinesReport { lines: exporter.lines, damaged: exporter.damaged })
    }
}

fn written(source: std::io::Error) -> Error {
    Error::File { doing: "writing", path: "the export".to_owned(), source }
}

impl<W: Write + Send> Exporter<'_, W> {
    pub(super) fn line<T: Serialize>(
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

    /// Goes on after damage: what could not be read is left out and reported.
    fn or_damaged<T: Default>(&mut self, conversation: Option<ConversationId>, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(Error::Store(StoreError::Altered { what, id })) => {
                self.damaged.push(DamagedRecord { conversation, what: what.to_owned(), id });
                Ok(T::default())
            }
            outcome => outcome,
        }
    }

    async fn everything(&mut self) -> Result<()> {
        let store = self.database.store.clone();
        let projects = store.projects().await.map_err(Error::from);
        for project in self.or_damaged(None, projects)? {
            self.line(Kind::Project, None, &Project { version: 1, ..project })?;
        }
        for (sha256, _) in store.blobs().await? {
            let outcome = self.blob(sha256).await;
            self.or_damaged(None, outcome)?;
        }
        let sources = store.sources().await?;
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
                let outcome = self.conversation(*id, Company::Everything).await;
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

    /// Orders conversations so that a branch is written before those that leave it: a message can be written as the
    /// own one of a single conversation only.
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
            // A branch is younger than its parent, so somebody is always free.
            let place = waiting.iter().position(is_free).unwrap_or(0);
            ordered.push(waiting.remove(place).0);
        }
        Ok(ordered)
    }

    /// Writes one conversation.
    async fn conversation(&mut self, id: ConversationId, company: Company) -> Result<()> {
        let store = self.database.store.clone();
        let Some(shown) = store.conversation(ConversationRef::Id(id)).await? else {
            return Err(Error::not_found("conversation", id));
        };
        let branches = store.branches(id).await?;
        let Some(first) = branches.first() else { return Err(Error::not_found("branch of", id)) };
        if company == Company::Alone {
            let outcome = self.needed_by(id, &branches).await;
            self.or_damaged(Some(id), outcome)?;
        }
        let mut record = record_of(&shown, first);
        if company == Company::Alone {
            // Projects do not travel with single conversations.
            record.draft.project = None;
        }
        self.line(Kind::Conversation, Some(id), &record)?;
        for branch in &branches {
            self.branch(id, branch, first).await?;
        }
        let head = branches.iter().find(|branch| branch.is_head);
        if let Some(head) = head {
            self.line(Kind::Head, Some(id), &HeadRecord { branch: head.id, message: shown.head })?;
        }
        let outcome = self.attached(id).await;
        self.or_damaged(Some(id), outcome)
    }

    /// Writes what the messages of a conversation refer to: blobs, and the files they came from.
    async fn needed_by(&mut self, id: ConversationId, branches: &[BranchInfo]) -> Result<()> {
        let (mut seen, mut sources) = (HashSet::new(), HashSet::new());
        for branch in branches {
            let mut from = None;
            loop {
                let query = WindowQuery {
                    conversation: id,
                    branch: Some(branch.id),
                    from,
                    direction: Direction::Forward,
                    limit: PAGE_MAX,
                };
                let window = self.database.store.window(query).await?;
                let ids = window.messages.iter().map(|message| message.id).collect();
                let origins = self.database.store.message_origins(ids).await?;
                sources.extend(origins.iter().map(|origin| origin.source));
                for digest in blobs_of(&window.messages, &origins) {
                    if seen.insert(digest) {
                        self.blob(digest).await?;
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
            fork: branch.fork,
            own_in_pieces: branch.own_in_pieces,
            pieces: branch.pieces.clone(),
            why: branch.why,
        };
        let inline = match base_is_written {
            true => Vec::new(),
            false => {
                record.parent = None;
                record.fork = None;
                self.base_of(id, branch).await?
            }
        };
        // The first branch is made together with its conversation and needs no line.
        if branch.id != first.id {
            self.line(Kind::Branch, Some(id), &record)?;
        }
        for message in inline {
            self.message(id, branch.id, message).await?;
        }
        let (mut after, mut limit): (Option<MessageId>, u32) = (None, PAGE_MAX);
        loop {
            let query = MessagesQuery::Branch { branch: branch.id, after, limit };
            let page = match self.database.store.messages(query).await {
                // A damaged message ends its page. Shorter pages find which one it is; the walk goes on behind it.
                Err(StoreError::Altered { what: "message", .. }) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                Err(StoreError::Altered { what: "message", id: damaged }) => {
                    let Ok(behind) = damaged.parse() else {
                        return Err(StoreError::Altered { what: "message", id: damaged }.into());
                    };
                    let error = StoreError::Altered { what: "message", id: damaged };
                    self.or_damaged(Some(id), Err::<(), _>(error.into()))?;
                    (after, limit) = (Some(behind), PAGE_MAX);
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last() else { break };
            after = Some(last.message.id);
            for placed in page {
                self.message(id, branch.id, placed.message).await?;
            }
        }
        self.written.insert(branch.id);
        Ok(())
    }

    /// Returns the messages that a branch takes from a parent that is not written.
    async fn base_of(&mut self, id: ConversationId, branch: &BranchInfo) -> Result<Vec<manent_model::Message>> {
        let mut messages = Vec::new();
        let Some(fork) = branch.fork else { return Ok(messages) };
        let mut from = None;
        loop {
            let query = WindowQuery {
                conversation: id,
                branch: Some(branch.id),
                from,
                direction: Direction::Forward,
                limit: PAGE_MAX,
            };
            let window = self.database.store.window(query).await?;
            for message in window.messages {
                from = Some(message.id);
                let last = message.id == fork;
                messages.push(message);
                if last {
                    return Ok(messages);
                }
            }
            if !window.more {
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

    async fn attached(&mut self, id: ConversationId) -> Result<()> {
        let store = self.database.store.clone();
        let attached = store.attached(id).await?;
        for note in &attached.notes {
            self.line(Kind::Note, Some(id), note)?;
        }
        for bookmark in &attached.bookmarks {
            self.line(Kind::Bookmark, Some(id), bookmark)?;
        }
        for state in &attached.states {
            self.line(Kind::State, Some(id), state)?;
        }
        for fold in &attached.folds {
            self.line(Kind::Fold, Some(id), fold)?;
        }
        for call in &attached.calls {
            self.line(Kind::Call, Some(id), call)?;
        }
        for trail in &attached.tool_calls {
            self.line(Kind::ToolCall, Some(id), trail)?;
        }
        for input in &attached.inputs {
            self.line(Kind::Input, Some(id), input)?;
        }
        let mut after = 0;
        loop {
            let query = EventsQuery { conversation: id, channels: Vec::new(), after, limit: PAGE_MAX };
            let events = store.events(query).await?;
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
