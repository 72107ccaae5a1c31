//! The store of both engines: commits go to its queue, reads to its read executor.

use super::read::{self, Reading};
use super::search::indexing::IndexingMonitor;
use super::search::{SEARCHING, execute};
use super::statistics::{self, COUNTING};
use crate::api::damage::DamageLog;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::query::*;
use crate::api::search::{IndexStatus, Search, SearchPage};
use crate::api::store::{ImportLock, Store};
use crate::api::transaction::{Committed, MessageOrigin, Position, Transaction};
use crate::authz::access_filter::{require_known, require_visible};
use crate::authz::filtered_store::{FilteredStore, require_unrestricted};
use crate::engine::commit::commit_queue::{CommitQueue, Job};
use crate::engine::commit::prepare::prepare;
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    AccessScope, Conversation, ConversationId, ConversationStatus, DigestKey, Json, MessageId, Origin, Project,
    ProjectId, Quarantined, Scratch, Source, SourceId, Stats, Timestamp,
};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot, watch};

/// How many bytes of commits may wait; more callers wait outside.
pub(crate) const WAITING_BYTES: usize = 64 << 20;

/// The access scope of unrestricted callers.
pub(crate) static EVERYTHING: AccessScope = AccessScope { user: None, projects: None };

/// The engine-specific part of a store.
pub(crate) trait Engine: Send + Sync + 'static {
    /// The key of the digests.
    fn key(&self) -> &DigestKey;
    /// Where transactions wait for the writer.
    fn queue(&self) -> &CommitQueue;
    /// How much may wait.
    fn waiting(&self) -> &Semaphore;
    /// How far the store has come.
    fn position(&self) -> watch::Receiver<Position>;
    /// Reads on one of the reading threads.
    fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send;
    /// The access scope of its reads; everything by default.
    fn realm(&self) -> &AccessScope {
        &EVERYTHING
    }
    /// See [`Store::within`].
    fn limited(self: Arc<Self>, realm: AccessScope) -> Arc<dyn Store>
    where
        Self: Sized,
    {
        Arc::new(FilteredStore::new(self, realm, None))
    }
    /// See [`Store::skipping_damaged`].
    fn skips_damage(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store>
    where
        Self: Sized,
    {
        Arc::new(FilteredStore::new(self, EVERYTHING.clone(), Some(log)))
    }
    /// The thread that fills the index; none where there is no index.
    fn indexing(&self) -> Option<&IndexingMonitor>;
    /// See [`Store::import_turn`].
    fn import_turn(&self) -> impl Future<Output = Result<ImportLock>> + Send;
    /// See [`Store::backup`].
    fn backup(&self, to: &Path) -> impl Future<Output = Result<BackupReport>> + Send;
    /// See [`Store::verify`].
    fn verify(&self) -> impl Future<Output = Result<VerifyReport>> + Send;
    /// See [`Store::doctor`].
    fn doctor(&self) -> impl Future<Output = Result<DoctorReport>> + Send;
    /// See [`Store::close`].
    fn close(&self) -> impl Future<Output = Result<()>> + Send;
}

#[async_trait::async_trait]
impl<E: Engine> Store for E {
    fn restricted_to(self: Arc<Self>, realm: AccessScope) -> Arc<dyn Store> {
        self.limited(realm)
    }

    fn skipping_damaged(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store> {
        self.skips_damage(log)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        require_unrestricted(self.realm())?;
        let prepared = prepare(self.key(), transaction)?;
        let permits = u32::try_from(prepared.bytes).unwrap_or(u32::MAX).max(1);
        let _permit = self.waiting().acquire_many(permits).await.map_err(|_| StoreError::Closed)?;
        let (reply, replied) = oneshot::channel();
        if self.queue().push(Job { prepared, reply }).is_some() {
            return Err(StoreError::Closed);
        }
        // The writer answers every job it takes; only a panic in it could drop one, and then the outcome is unknown.
        replied.await.unwrap_or(Err(StoreError::OutcomeUnknown))
    }

    async fn idempotent_request_time(&self, key: Vec<u8>) -> Result<Option<Timestamp>> {
        self.read("reading a request", move |reading| read::journal::idempotent_request_time(reading, &key)).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        let realm = self.realm().clone();
        let one = move |reading: &mut Reading<'_>| {
            Ok(read::conversation::one(reading, &which)?.filter(|found| realm.holds(found)))
        };
        self.read("reading a conversation", one).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        let realm = self.realm().clone();
        self.read("listing conversations", move |reading| read::list::list(reading, &realm, &query)).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<BoundedCount> {
        let realm = self.realm().clone();
        self.read("counting conversations", move |reading| read::list::count(reading, &realm, &query)).await
    }

    async fn last_changed(&self) -> Result<Option<ConversationId>> {
        let realm = self.realm().clone();
        self.read("reading the journal", move |reading| read::journal::last_changed(reading, &realm)).await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        let realm = self.realm().clone();
        self.read("listing conversations", move |reading| read::conversation::ids(reading, &realm, after, limit)).await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        let realm = self.realm().clone();
        self.read("looking for an id", move |reading| read::ids::by_prefix(reading, &realm, kind, &prefix, limit)).await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        let realm = self.realm().clone();
        let branches = move |reading: &mut Reading<'_>| {
            require_visible(reading.connection, &realm, conversation)?;
            read::path::branches(reading, conversation)
        };
        self.read("reading branches", branches).await
    }

    async fn message_page(&self, query: MessagePageQuery) -> Result<MessagePage> {
        let realm = self.realm().clone();
        let window = move |reading: &mut Reading<'_>| {
            require_visible(reading.connection, &realm, query.conversation)?;
            read::path::window(reading, &query)
        };
        self.read("reading messages", window).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<LocatedMessage>> {
        let realm = self.realm().clone();
        self.read("reading messages", move |reading| read::message::messages(reading, &realm, &query)).await
    }

    async fn related(&self, query: RelatedQuery) -> Result<LocatedMessagePage> {
        let realm = self.realm().clone();
        self.read("reading messages", move |reading| read::related::related(reading, &realm, &query)).await
    }

    async fn annotations(&self, query: AnnotationsQuery) -> Result<Annotations> {
        let realm = self.realm().clone();
        let annotations = move |reading: &mut Reading<'_>| {
            require_visible(reading.connection, &realm, query.conversation)?;
            read::annotations::annotations(reading, &query)
        };
        self.read("reading what is attached", annotations).await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        let realm = self.realm().clone();
        let state = move |reading: &mut Reading<'_>| {
            require_visible(reading.connection, &realm, conversation)?;
            read::path::state(reading, conversation, &name, at, &realm)
        };
        self.read("reading state", state).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        let realm = self.realm().clone();
        self.read("reading tool calls", move |reading| read::annotations::open_tool_calls(reading, &realm, limit)).await
    }

    async fn idle_streams(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenStream>> {
        require_unrestricted(self.realm())?;
        self.read("reading streams", move |reading| read::stream::idle(reading, before, limit)).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        let realm = self.realm().clone();
        let events = move |reading: &mut Reading<'_>| {
            require_visible(reading.connection, &realm, query.conversation)?;
            read::annotations::events(reading, &query)
        };
        self.read("reading events", events).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        let realm = self.realm().clone();
        self.read("reading documents", move |reading| read::library::documents(reading, &realm, &query)).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        let realm = self.realm().clone();
        self.read("reading memories", move |reading| read::library::memories(reading, &realm, &query)).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        let realm = self.realm().clone();
        self.read("reading a project", move |reading| read::library::project(reading, &realm, id)).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        let realm = self.realm().clone();
        self.read("reading projects", move |reading| read::library::projects(reading, &realm)).await
    }

    async fn scratch(&self, query: ScratchQuery) -> Result<Vec<Scratch>> {
        let realm = self.realm().clone();
        self.read("reading scratch", move |reading| read::library::scratch(reading, &realm, &query)).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        let realm = self.realm().clone();
        let blob = move |reading: &mut Reading<'_>| match read::blob::is_shown(reading.connection, &realm, &sha256)? {
            true => read::blob::whole(reading, &sha256),
            false => Ok(None),
        };
        self.read("reading a blob", blob).await
    }

    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        let realm = self.realm().clone();
        let piece = move |reading: &mut Reading<'_>| match read::blob::is_shown(reading.connection, &realm, &sha256)? {
            true => read::blob::piece(reading, &sha256, from),
            false => Ok(None),
        };
        self.read("reading a blob", piece).await
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        match self.realm().is_limited() {
            true => Ok(Vec::new()),
            false => self.read("reading blobs", read::blob::all).await,
        }
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        match self.realm().is_limited() {
            true => Ok(Vec::new()),
            false => self.read("reading sources", read::library::sources).await,
        }
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        match self.realm().is_limited() {
            true => Ok(Vec::new()),
            false => self.read("reading origins", move |reading| read::library::origins(reading, &query)).await,
        }
    }

    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>> {
        if self.realm().is_limited() {
            return Ok(Vec::new());
        }
        self.read("reading origins", move |reading| read::library::message_origins(reading, &messages)).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        if self.realm().is_limited() {
            return Ok(Vec::new());
        }
        self.read("reading quarantine", move |reading| read::library::quarantined(reading, source)).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        let realm = self.realm().clone();
        self.read("reading the journal", move |reading| read::journal::journal(reading, &realm, &query)).await
    }

    async fn undo_target(&self, scope: UndoScope, step: UndoDirection) -> Result<Option<Position>> {
        let realm = self.realm().clone();
        let target = move |reading: &mut Reading<'_>| {
            match &scope {
                UndoScope::Everything | UndoScope::Workspace => require_unrestricted(&realm)?,
                UndoScope::Conversation(id) => require_known(reading.connection, &realm, *id)?,
            }
            read::journal::undo_target(reading, &scope, step)
        };
        self.read("reading the journal", target).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        query.check()?;
        let (realm, asked) = (self.realm().clone(), query.clone());
        let answered = self.read(COUNTING, move |reading| statistics::answer(reading, &realm, &asked)).await?;
        match answered {
            Some(stats) => Ok(stats),
            None => count_each(self, query).await,
        }
    }

    async fn search(&self, search: Search) -> Result<SearchPage> {
        let realm = self.realm().clone();
        self.read(SEARCHING, move |reading| execute::run(reading, &realm, &search)).await
    }

    async fn reindex(&self) -> Result<()> {
        require_unrestricted(self.realm())?;
        match self.indexing() {
            Some(indexing) => indexing.request_rebuild(),
            None => return Err(StoreError::Invalid("this store has no index".to_owned())),
        }
        Ok(())
    }

    fn watch_index(&self) -> watch::Receiver<IndexStatus> {
        self.indexing().map_or_else(|| watch::channel(IndexStatus::default()).1, IndexingMonitor::subscribe)
    }

    fn watch_position(&self) -> watch::Receiver<Position> {
        Engine::position(self)
    }

    async fn acquire_import_lock(&self) -> Result<ImportLock> {
        Engine::import_turn(self).await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        Engine::backup(self, to).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        Engine::verify(self).await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        Engine::doctor(self).await
    }

    async fn close(&self) -> Result<()> {
        Engine::close(self).await
    }
}

/// Counts conversation by conversation, a few in each read so that none takes long.
async fn count_each<E: Engine>(engine: &E, query: StatsQuery) -> Result<Stats> {
    if let Some(id) = query.conversation {
        return count(engine, vec![id], query, Stats::default()).await;
    }
    let mut list = ListQuery {
        statuses: vec![ConversationStatus::Active, ConversationStatus::Archived],
        project: query.project,
        tag: query.tag.clone(),
        order: ListOrder::Created,
        limit: PAGE_MAX,
        ..ListQuery::default()
    };
    let mut stats = Stats::default();
    loop {
        let page = engine.conversations(list.clone()).await?;
        for part in page.conversations.chunks(64) {
            let ids = part.iter().map(|conversation| conversation.id).collect();
            stats = count(engine, ids, query.clone(), stats).await?;
        }
        match page.next {
            Some(next) => list.after = Some(next),
            None => return Ok(stats),
        }
    }
}

async fn count<E: Engine>(engine: &E, ids: Vec<ConversationId>, query: StatsQuery, counted: Stats) -> Result<Stats> {
    let realm = engine.realm().clone();
    let counting = move |reading: &mut Reading<'_>| {
        let mut stats = counted.clone();
        statistics::add_conversations(reading, &realm, &ids, &query, &mut stats)?;
        Ok(stats)
    };
    engine.read(COUNTING, counting).await
}

/// Runs blocking work on a thread of its own, so that the caller's async runtime is not blocked.
pub(crate) async fn run_blocking<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (reply, replied) = oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || drop(reply.send(work())))
        .map_err(|error| StoreError::engine("starting a thread", error))?;
    replied.await.map_err(|_| StoreError::Closed)?
}
