//! The store's side: answers what a writer asks.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::transfer::export::asking::{Answer, Question};
use crate::transfer::export::sequence::{Entry, sequence};
use crate::transfer::import::ImportedState;
use crate::transfer::jsonl::or_damaged;
use manent_formats::{ExportedConversation, ExportedMessage, ExportedRoot, Record};
use manent_model::{
    Body, Content, ConversationId, Document, Json, MessageId, Origin, OriginObject, Part, ProjectId, Source, SourceId,
    blob_placeholder, hex,
};
use manent_store::{
    ConversationRef, DamageLog, DamagedRecord, Direction, DocumentsQuery, EventsQuery, MessageOrigin, MessagePageQuery,
    MessagesQuery, OriginsQuery, PAGE_MAX, StoreError,
};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

const PAGE: usize = 500;

/// Conversations that are to be written.
pub(crate) struct StoreSource<'a> {
    /// Its reads leave damaged records out.
    database: &'a Database,
    /// Its reads fail where a record is damaged.
    strict: &'a Database,
    damage: &'a DamageLog,
    /// The files of this format.
    sources: HashSet<SourceId>,
    pub root: Option<ExportedRoot>,
    /// Those of them that lay where the root lies.
    place: HashSet<SourceId>,
    pub ordinals: Vec<(ConversationId, Option<Origin>)>,
    /// The order of the conversation that was asked for last.
    order: Option<(usize, Vec<Entry>)>,
    /// Blobs that were compared with their digests.
    compared: HashMap<[u8; 32], bool>,
}

impl<'a> StoreSource<'a> {
    pub(crate) async fn of(
        (database, strict, damage): (&'a Database, &'a Database, &'a DamageLog),
        format: &str,
        ids: &[ConversationId],
    ) -> Result<Self> {
        let all: Vec<Source> = database.sources().await?.into_iter().filter(|source| source.format == format).collect();
        let sources = all.iter().map(|source| source.id).collect();
        let mut shelf = Self {
            database,
            strict,
            damage,
            sources,
            root: None,
            place: HashSet::new(),
            ordinals: Vec::new(),
            order: None,
            compared: HashMap::new(),
        };
        for id in ids {
            if !shelf.has_path(*id).await? {
                continue;
            }
            let origin = shelf.origin(OriginObject::Conversation(*id)).await?;
            shelf.ordinals.push((*id, origin));
        }
        // In the order of their file; what came from none, or from another, follows.
        shelf.ordinals.sort_by_key(|(_, origin)| origin.as_ref().map_or(i64::MAX, |origin| origin.ordinal));
        let newest = shelf.ordinals.iter().filter_map(|(_, origin)| {
            let source = origin.as_ref()?.source;
            all.iter().position(|known| known.id == source)
        });
        if let Some(from) = newest.max().map(|place| &all[place]) {
            // A later import of the same file may have brought no conversation, but it says how the file looks now.
            let latest = all.iter().rfind(|source| source.path == from.path).unwrap_or(from);
            shelf.place = all.iter().filter(|source| source.path == from.path).map(|source| source.id).collect();
            shelf.root = Some(ExportedRoot { generation: latest.generation.clone(), style: latest.style.clone() });
        }
        Ok(shelf)
    }

    /// Says whether there is a path from the start of a conversation to its head; where a damaged branch breaks it, the
    /// conversation is left out.
    async fn has_path(&self, conversation: ConversationId) -> Result<bool> {
        let (branch, from, direction) = (None, None, Direction::Forward);
        let query = MessagePageQuery { conversation, branch, from, direction, limit: 1 };
        let window = self.database.store.message_page(query).await.map_err(Error::from);
        Ok(or_damaged(self.damage, Some(conversation), window)?.is_some())
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

    /// Where a document came from: out of the root that is written, if it was ever there.
    async fn record_here(&self, object: OriginObject) -> Result<Option<Record>> {
        let mut found = self.database.origins(OriginsQuery::Object(object)).await?;
        found.retain(|origin| self.sources.contains(&origin.source));
        let here = found.iter().rposition(|origin| self.place.contains(&origin.source));
        let origin = here.map(|place| found.swap_remove(place)).or_else(|| found.pop());
        Ok(origin.map(|origin| Record { external: origin.external, ordinal: origin.ordinal, raw: origin.raw }))
    }

    /// Answers with nothing where damage keeps it from answering, and notes that.
    pub(crate) async fn answer(&mut self, question: Question) -> Result<Answer> {
        let (conversation, nothing) = match &question {
            Question::Conversation(_) => return self.read(question).await,
            Question::Messages(place, _) | Question::PathTo(place, _) => {
                (Some(self.ordinals[*place].0), Answer::Messages(Vec::new()))
            }
            Question::Events(place, _) => (Some(self.ordinals[*place].0), Answer::Events(Vec::new())),
            Question::Documents(_) => (None, Answer::Documents(Vec::new())),
            Question::BlobPiece(..) => (None, Answer::BlobPiece(None)),
        };
        let outcome = self.read(question).await;
        Ok(or_damaged(self.damage, conversation, outcome)?.unwrap_or(nothing))
    }

    async fn read(&mut self, question: Question) -> Result<Answer> {
        match question {
            Question::Conversation(place) => Ok(Answer::Conversation(Box::new(self.conversation(place).await?))),
            Question::Messages(place, from) => {
                let order = self.order(place).await?;
                let page: Vec<Entry> = order.iter().skip(from).take(PAGE).copied().collect();
                Ok(Answer::Messages(self.messages(&page).await?))
            }
            Question::PathTo(place, head) => {
                self.order(place).await?;
                let entries = self.path_to(place, head).await?;
                Ok(Answer::Messages(self.messages(&entries).await?))
            }
            Question::Events(place, after) => {
                let conversation = self.ordinals[place].0;
                let query = EventsQuery { conversation, channels: Vec::new(), after, limit: PAGE_MAX };
                Ok(Answer::Events(self.database.store.events(query).await?))
            }
            Question::Documents(kind) => Ok(Answer::Documents(self.documents(kind).await?)),
            Question::BlobPiece(sha256, from) => {
                let digest = hex::decode(&sha256).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
                let Some(digest) = digest else { return Ok(Answer::BlobPiece(None)) };
                Ok(Answer::BlobPiece(self.blob_piece(digest, from).await?))
            }
        }
    }

    /// Returns a piece of a blob whose bytes are all there: a writer cannot take back what it wrote of another.
    async fn blob_piece(&mut self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        let is_sound = match self.compared.get(&sha256) {
            Some(is_sound) => *is_sound,
            None => {
                let is_sound = self.is_sound(sha256).await?;
                self.compared.insert(sha256, is_sound);
                is_sound
            }
        };
        if !is_sound {
            let (what, id) = ("blob".to_owned(), hex::encode(&sha256));
            self.damage.add(DamagedRecord { conversation: None, what, id });
            return Ok(None);
        }
        Ok(self.database.store.blob_piece(sha256, from).await?)
    }

    /// Says whether the pieces of a blob have its digest, or there are none.
    async fn is_sound(&self, sha256: [u8; 32]) -> Result<bool> {
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

    async fn order(&mut self, place: usize) -> Result<&[Entry]> {
        if self.order.as_ref().is_none_or(|(known, _)| *known != place) {
            let id = self.ordinals[place].0;
            let found = sequence(self.database, self.strict, id, &self.sources).await;
            let (entries, _) = or_damaged(self.damage, Some(id), found)?.unwrap_or_default();
            self.order = Some((place, entries));
        }
        Ok(self.order.as_ref().map_or(&[][..], |(_, entries)| entries))
    }

    async fn messages(&self, entries: &[Entry]) -> Result<Vec<ExportedMessage>> {
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
                is_local(&mut content, origin);
            }
            let origin = origin.filter(|origin| self.sources.contains(&origin.source)).cloned();
            let record =
                origin.map(|origin| Record { external: origin.external, ordinal: origin.ordinal, raw: origin.raw });
            Some(ExportedMessage { id: entry.id, record, content, is_removed: entry.is_removed })
        });
        Ok(out.collect())
    }

    async fn path_to(&self, place: usize, head: MessageId) -> Result<Vec<Entry>> {
        let store = &self.database.store;
        let found = store.messages(MessagesQuery::Ids(vec![head])).await?;
        let Some(placed) = found.first() else { return Ok(Vec::new()) };
        let is_shown = self.order.as_ref().is_some_and(|(known, entries)| {
            *known == place && entries.iter().any(|entry| entry.id == head && !entry.is_removed)
        });
        // A message may lie on several paths; the shown one is meant where it lies there.
        let branch = (!is_shown).then_some(placed.branch);
        let (mut entries, mut from) = (Vec::new(), None);
        loop {
            let query = MessagePageQuery {
                conversation: self.ordinals[place].0,
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

    async fn conversation(&self, place: usize) -> Result<ExportedConversation> {
        let (id, origin) = &self.ordinals[place];
        let store = &self.database.store;
        let found = store.conversation(ConversationRef::Id(*id)).await?;
        let conversation = found.ok_or_else(|| crate::error::Error::not_found("conversation", id))?;
        let annotations = self.database.annotations(*id).await;
        let annotations = or_damaged(self.damage, Some(*id), annotations)?.unwrap_or_default();
        let mut folds = Vec::with_capacity(annotations.folds.len());
        for fold in annotations.folds {
            let record = self.record(OriginObject::Fold(fold.id)).await?;
            folds.push((fold, record));
        }
        folds
            .sort_by_key(|(_, record): &(_, Option<Record>)| record.as_ref().map_or(i64::MAX, |record| record.ordinal));
        let found = sequence(self.database, self.strict, *id, &self.sources).await;
        let (_, other_branches) = or_damaged(self.damage, Some(*id), found)?.unwrap_or_default();
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
        let Some(project) = or_damaged(self.damage, None, found)?.flatten() else { return Ok(None) };
        Ok(Some((project, self.record(OriginObject::Project(id)).await?)))
    }

    async fn documents(&self, kind: String) -> Result<Vec<(Document, Option<Record>)>> {
        let mut documents = Vec::new();
        for document in self.database.store.documents(DocumentsQuery::Kind(kind)).await? {
            let object = OriginObject::Document(format!("{}/{}", document.kind, document.id));
            let record = self.record_here(object).await?;
            documents.push((document, record));
        }
        documents.sort_by_key(|(_, record)| record.as_ref().map_or(i64::MAX, |record| record.ordinal));
        Ok(documents)
    }
}

/// What was said here may look like a mark: one is only what it took over from the message whose place it has, or what its
/// own parts show.
fn is_local(content: &mut Content, from: Option<&MessageOrigin>) {
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

/// A writer sees the frame that its reader made, not what the import kept around it.
fn record_of(origin: &Origin) -> Record {
    let kept: Option<ImportedState> = origin.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    Record {
        external: origin.external.clone(),
        ordinal: origin.ordinal,
        raw: kept.map(|kept| kept.frame.text().to_owned()),
    }
}
