//! [`ExportSource`] over the store: each call of a writer, which runs on a blocking thread, waits for reads of the store.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::transfer::export::sequence::{Entry, sequence};
use crate::transfer::import::ImportedState;
use crate::transfer::jsonl::or_damaged;
use manent_formats::{ExportSource, ExportedConversation, ExportedMessage, ExportedRoot, Record, WriteError};
use manent_model::{
    Body, Content, ConversationId, Document, Event, Json, MessageId, Origin, OriginObject, Part, ProjectId, Source,
    SourceId, blob_placeholder, hex,
};
use manent_store::{
    ConversationRef, DamageLog, DamagedRecord, Direction, DocumentsQuery, EventsQuery, MessageOrigin, MessagePageQuery,
    MessagesQuery, OriginsQuery, PAGE_MAX, StoreError,
};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

const PAGE: usize = 500;

/// Ends an export when it is dropped: the next call of the writer fails.
#[derive(Default)]
pub(crate) struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Conversations to write, read from the store page by page.
pub(crate) struct StoreSource {
    runtime: Handle,
    is_cancelled: Arc<AtomicBool>,
    /// Its reads skip damaged records.
    database: Database,
    /// Its reads fail on a damaged record.
    strict: Database,
    damage: Arc<DamageLog>,
    /// Imports of this format.
    sources: HashSet<SourceId>,
    root: Option<ExportedRoot>,
    /// Those of `sources` that were imported from the path of `root`.
    root_sources: HashSet<SourceId>,
    conversations: Vec<(ConversationId, Option<Origin>)>,
    /// The message order of the conversation that was read last, by its index.
    order: Option<(usize, Vec<Entry>)>,
    /// Whether the bytes of a blob match its digest, for those that were checked.
    verified_blobs: HashMap<[u8; 32], bool>,
}

impl ExportSource for StoreSource {
    fn root(&self) -> Option<&ExportedRoot> {
        self.root.as_ref()
    }

    fn count(&self) -> usize {
        self.conversations.len()
    }

    fn conversation(&mut self, index: usize) -> Result<ExportedConversation, WriteError> {
        self.block_on(async |source| source.read_conversation(index).await)
    }

    fn messages(&mut self, index: usize, from: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        self.block_on_or_default(Some(index), async |source| {
            let order = source.order(index).await?;
            let page: Vec<Entry> = order.iter().skip(from).take(PAGE).copied().collect();
            source.read_messages(&page).await
        })
    }

    fn path_to(&mut self, index: usize, head: MessageId) -> Result<Vec<ExportedMessage>, WriteError> {
        self.block_on_or_default(Some(index), async |source| {
            source.order(index).await?;
            let entries = source.entries_to(index, head).await?;
            source.read_messages(&entries).await
        })
    }

    fn events(&mut self, index: usize, after: i64) -> Result<Vec<Event>, WriteError> {
        self.block_on_or_default(Some(index), async |source| {
            let conversation = source.conversations[index].0;
            let query = EventsQuery { conversation, channels: Vec::new(), after, limit: PAGE_MAX };
            Ok(source.database.store.events(query).await?)
        })
    }

    fn documents(&mut self, kind: &str) -> Result<Vec<(Document, Option<Record>)>, WriteError> {
        self.block_on_or_default(None, async |source| source.read_documents(kind.to_owned()).await)
    }

    fn blob_piece(&mut self, sha256: &str, from: i64) -> Result<Option<(i64, Vec<u8>)>, WriteError> {
        let digest = hex::decode(sha256).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let Some(digest) = digest else { return Ok(None) };
        self.block_on_or_default(None, async |source| source.read_blob_piece(digest, from).await)
    }
}

impl StoreSource {
    pub(crate) async fn open(
        (database, strict, damage): (Database, Database, Arc<DamageLog>),
        format: &str,
        ids: &[ConversationId],
        cancel: &CancelOnDrop,
    ) -> Result<Self> {
        let all: Vec<Source> = database.sources().await?.into_iter().filter(|source| source.format == format).collect();
        let mut out = Self {
            runtime: Handle::current(),
            is_cancelled: cancel.0.clone(),
            database,
            strict,
            damage,
            sources: all.iter().map(|source| source.id).collect(),
            root: None,
            root_sources: HashSet::new(),
            conversations: Vec::new(),
            order: None,
            verified_blobs: HashMap::new(),
        };
        for id in ids {
            if !out.has_path(*id).await? {
                continue;
            }
            let origin = out.origin(OriginObject::Conversation(*id)).await?;
            out.conversations.push((*id, origin));
        }
        // In the order of their file, then those without an origin in this format.
        out.conversations.sort_by_key(|(_, origin)| origin.as_ref().map_or(i64::MAX, |origin| origin.ordinal));
        let newest = out.conversations.iter().filter_map(|(_, origin)| {
            let source = origin.as_ref()?.source;
            all.iter().position(|known| known.id == source)
        });
        if let Some(from) = newest.max().map(|index| &all[index]) {
            // A later import of the same file may contain no conversation, but it has the file's current style.
            let latest = all.iter().rfind(|source| source.path == from.path).unwrap_or(from);
            out.root_sources = all.iter().filter(|source| source.path == from.path).map(|source| source.id).collect();
            out.root = Some(ExportedRoot { generation: latest.generation.clone(), style: latest.style.clone() });
        }
        Ok(out)
    }

    /// Waits for a read of the store, unless the export was cancelled.
    fn block_on<T>(&mut self, read: impl AsyncFnOnce(&mut Self) -> Result<T>) -> Result<T, WriteError> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(WriteError::Library("the export was cancelled".into()));
        }
        let runtime = self.runtime.clone();
        runtime.block_on(read(self)).map_err(|error| WriteError::Library(error.into()))
    }

    /// Like `block_on`; a read that fails because of damage is logged and answered with the default.
    fn block_on_or_default<T: Default>(
        &mut self,
        index: Option<usize>,
        read: impl AsyncFnOnce(&mut Self) -> Result<T>,
    ) -> Result<T, WriteError> {
        let conversation = index.map(|index| self.conversations[index].0);
        self.block_on(async |source| {
            let outcome = read(source).await;
            Ok(or_damaged(&source.damage, conversation, outcome)?.unwrap_or_default())
        })
    }

    /// Returns whether the path of a conversation can be read; a conversation whose branches are damaged is skipped.
    async fn has_path(&self, conversation: ConversationId) -> Result<bool> {
        let (branch, from, direction) = (None, None, Direction::Forward);
        let query = MessagePageQuery { conversation, branch, from, direction, limit: 1 };
        let window = self.database.store.message_page(query).await.map_err(Error::from);
        Ok(or_damaged(&self.damage, Some(conversation), window)?.is_some())
    }

    /// The newest origin of an object in this format.
    async fn origin(&self, object: OriginObject) -> Result<Option<Origin>> {
        let mut found = self.database.origins(OriginsQuery::Object(object)).await?;
        found.retain(|origin| self.sources.contains(&origin.source));
        Ok(found.pop())
    }

    async fn record(&self, object: OriginObject) -> Result<Option<Record>> {
        let origin = self.origin(object).await?;
        Ok(origin.map(|origin| Record { external: origin.external, ordinal: origin.ordinal, raw: origin.raw }))
    }

    /// Returns the newest record of an object, preferring imports from the path of the root.
    async fn root_record(&self, object: OriginObject) -> Result<Option<Record>> {
        let mut found = self.database.origins(OriginsQuery::Object(object)).await?;
        found.retain(|origin| self.sources.contains(&origin.source));
        let at_root = found.iter().rposition(|origin| self.root_sources.contains(&origin.source));
        let origin = at_root.map(|index| found.swap_remove(index)).or_else(|| found.pop());
        Ok(origin.map(|origin| Record { external: origin.external, ordinal: origin.ordinal, raw: origin.raw }))
    }

    /// Returns a piece of a blob whose digest was verified: a writer cannot undo what it wrote of a damaged one.
    async fn read_blob_piece(&mut self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        let is_intact = match self.verified_blobs.get(&sha256) {
            Some(is_intact) => *is_intact,
            None => {
                let is_intact = self.check_digest(sha256).await?;
                self.verified_blobs.insert(sha256, is_intact);
                is_intact
            }
        };
        if !is_intact {
            let (what, id) = ("blob".to_owned(), hex::encode(&sha256));
            self.damage.add(DamagedRecord { conversation: None, what, id });
            return Ok(None);
        }
        Ok(self.database.store.blob_piece(sha256, from).await?)
    }

    /// Returns whether the pieces of a blob match its digest, or there are none.
    async fn check_digest(&self, sha256: [u8; 32]) -> Result<bool> {
        let (mut hasher, mut from) = (Sha256::new(), 0);
        loop {
            match self.database.store.blob_piece(sha256, from).await {
                Ok(Some((n, piece))) => {
                    hasher.update(&piece);
                    from = n + 1;
                }
                Ok(None) => return Ok(from == 0 || <[u8; 32]>::from(hasher.finalize()) == sha256),
                Err(StoreError::Altered { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn order(&mut self, index: usize) -> Result<&[Entry]> {
        if self.order.as_ref().is_none_or(|(known, _)| *known != index) {
            let id = self.conversations[index].0;
            let found = sequence(&self.database, &self.strict, id, &self.sources).await;
            let (entries, _) = or_damaged(&self.damage, Some(id), found)?.unwrap_or_default();
            self.order = Some((index, entries));
        }
        Ok(self.order.as_ref().map_or(&[][..], |(_, entries)| entries))
    }

    async fn read_messages(&self, entries: &[Entry]) -> Result<Vec<ExportedMessage>> {
        let store = &self.database.store;
        let ids = entries.iter().map(|entry| entry.id).collect();
        let found = store.messages(MessagesQuery::Ids(ids)).await?;
        let mut found: HashMap<MessageId, _> =
            found.into_iter().map(|placed| (placed.message.id, placed.message.content)).collect();
        let mut records: Vec<MessageId> =
            entries.iter().flat_map(|entry| entry.record_of.into_iter().chain([entry.id])).collect();
        records.sort_unstable();
        records.dedup();
        let origins = store.message_origins(records).await?;
        let origins: HashMap<MessageId, MessageOrigin> =
            origins.into_iter().map(|origin| (origin.message, origin)).collect();
        let out = entries.iter().filter_map(|entry| {
            let origin = entry.record_of.and_then(|id| origins.get(&id));
            let mut content = found.remove(&entry.id)?;
            if !origins.contains_key(&entry.id) {
                escape_placeholders(&mut content, origin);
            }
            let origin = origin.filter(|origin| self.sources.contains(&origin.source)).cloned();
            let record =
                origin.map(|origin| Record { external: origin.external, ordinal: origin.ordinal, raw: origin.raw });
            Some(ExportedMessage { id: entry.id, record, content, is_removed: entry.is_removed })
        });
        Ok(out.collect())
    }

    async fn entries_to(&self, index: usize, head: MessageId) -> Result<Vec<Entry>> {
        let store = &self.database.store;
        let found = store.messages(MessagesQuery::Ids(vec![head])).await?;
        let Some(placed) = found.first() else { return Ok(Vec::new()) };
        let is_shown = self.order.as_ref().is_some_and(|(known, entries)| {
            *known == index && entries.iter().any(|entry| entry.id == head && !entry.is_removed)
        });
        // A message may be on several paths; the current one is used if the message is on it.
        let branch = (!is_shown).then_some(placed.branch);
        let (mut entries, mut from) = (Vec::new(), None);
        loop {
            let query = MessagePageQuery {
                conversation: self.conversations[index].0,
                branch,
                from,
                direction: Direction::Forward,
                limit: PAGE_MAX,
            };
            let window = store.message_page(query).await?;
            for message in &window.messages {
                let id = message.id;
                entries.push(Entry { id, record_of: Some(id), is_removed: false });
                if id == head {
                    return Ok(entries);
                }
            }
            from = window.messages.last().map(|message| message.id);
            if !window.more {
                return Ok(entries);
            }
        }
    }

    async fn read_conversation(&self, index: usize) -> Result<ExportedConversation> {
        let (id, origin) = &self.conversations[index];
        let store = &self.database.store;
        let found = store.conversation(ConversationRef::Id(*id)).await?;
        let conversation = found.ok_or_else(|| Error::not_found("conversation", id))?;
        let annotations = self.database.annotations(*id).await;
        let annotations = or_damaged(&self.damage, Some(*id), annotations)?.unwrap_or_default();
        let mut folds = Vec::with_capacity(annotations.folds.len());
        for fold in annotations.folds {
            let record = self.record(OriginObject::Fold(fold.id)).await?;
            folds.push((fold, record));
        }
        folds
            .sort_by_key(|(_, record): &(_, Option<Record>)| record.as_ref().map_or(i64::MAX, |record| record.ordinal));
        let found = sequence(&self.database, &self.strict, *id, &self.sources).await;
        let (_, other_branches) = or_damaged(&self.damage, Some(*id), found)?.unwrap_or_default();
        Ok(ExportedConversation {
            record: origin.as_ref().map(record_of),
            project: self.project(conversation.project).await?,
            continued_from: self.external(conversation.continued_from).await?,
            forked_from: self.external(conversation.forked_from).await?,
            conversation,
            folds,
            states: annotations.states,
            tool_calls: annotations.tool_calls.into_iter().map(|trail| (trail.call, trail.steps)).collect(),
            bookmarks: annotations.bookmarks,
            other_branches,
        })
    }

    async fn external(&self, id: Option<ConversationId>) -> Result<Option<String>> {
        match id {
            Some(id) => Ok(self.origin(OriginObject::Conversation(id)).await?.and_then(|origin| origin.external)),
            None => Ok(None),
        }
    }

    async fn project(&self, id: Option<ProjectId>) -> Result<Option<(manent_model::Project, Option<Record>)>> {
        let Some(id) = id else { return Ok(None) };
        let found = self.database.store.project(id).await.map_err(Error::from);
        let Some(project) = or_damaged(&self.damage, None, found)?.flatten() else { return Ok(None) };
        Ok(Some((project, self.record(OriginObject::Project(id)).await?)))
    }

    async fn read_documents(&self, kind: String) -> Result<Vec<(Document, Option<Record>)>> {
        let mut documents = Vec::new();
        for document in self.database.store.documents(DocumentsQuery::Kind(kind)).await? {
            let object = OriginObject::Document(format!("{}/{}", document.kind, document.id));
            let record = self.root_record(object).await?;
            documents.push((document, record));
        }
        documents.sort_by_key(|(_, record)| record.as_ref().map_or(i64::MAX, |record| record.ordinal));
        Ok(documents)
    }
}

/// Escapes text that only looks like a blob placeholder. Real ones come from the imported message that this one replaces,
/// or refer to a blob of its own parts.
fn escape_placeholders(content: &mut Content, from: Option<&MessageOrigin>) {
    let metadata = content.metadata.as_ref().map_or("", Json::text);
    if ![content.body.text(), metadata].iter().any(|text| text.contains(blob_placeholder::PREFIX)) {
        return;
    }
    let shown = content.body.parts().into_iter().filter_map(|part| match part {
        Part::Media { blob, .. } => <[u8; 32]>::try_from(hex::decode(&blob?)?).ok(),
        _ => None,
    });
    let raw = from.and_then(|origin| origin.raw.as_deref()).unwrap_or_default();
    let known: HashSet<[u8; 32]> = blob_placeholder::blobs_in(raw).chain(shown).collect();
    let is_known = |sha256: [u8; 32]| known.contains(&sha256);
    content.body = Body::trusted(blob_placeholder::literal(content.body.text(), is_known));
    let metadata = content.metadata.take();
    let literal = |json: Json| Json::parse(&blob_placeholder::literal(json.text(), is_known)).unwrap_or(json);
    content.metadata = metadata.map(literal);
}

/// Returns the record with the frame that the format's reader made, without the state that the import stored around it.
fn record_of(origin: &Origin) -> Record {
    let state: Option<ImportedState> = origin.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    Record {
        external: origin.external.clone(),
        ordinal: origin.ordinal,
        raw: state.map(|state| state.frame.text().to_owned()),
    }
}
