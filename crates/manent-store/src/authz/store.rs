//! Authorization of every store operation: what a caller may reach of an engine.

use super::blob_possession::PendingUploads;
use super::commit::own_request_key;
use crate::api::damage::DamageLog;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::permissions::Permissions;
use crate::api::query::*;
use crate::api::search::{IndexStatus, Search, SearchPage};
use crate::api::store::{ImportLock, Store};
use crate::api::transaction::{Committed, MessageOrigin, Position, Transaction};
use crate::engine::access::access_filter::{EVERYTHING, require_known, require_visible};
use crate::engine::interface::{self, Engine};
use crate::engine::read::{self, Reading};
use crate::engine::search::indexing::IndexingMonitor;
use crate::engine::search::{SEARCHING, execute};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::statistics::{self, COUNTING};
use manent_model::{
    AccessScope, Conversation, ConversationId, ConversationStatus, Json, MessageId, Origin, Project, ProjectId,
    Quarantined, Scratch, Source, SourceId, Stats, Timestamp,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Searches of limited callers are answered at multiples of this time, so that their duration reveals nothing.
const SEARCH_TIME_STEP: Duration = Duration::from_millis(20);

/// The permission that an error names for operations on everything.
pub(super) const WHOLE: &str = "a key for everything";

/// A store as one caller reaches it: an engine, the permissions of the caller, and whether damaged records are skipped.
///
/// An engine is opened as a view without a key, which may do everything. Reads answer any caller within its access
/// scope, also without the scope `read`: the layer above knows the operation, and decides which scope it requires.
/// Every change is checked.
pub struct StoreView<E> {
    pub(super) engine: Arc<E>,
    /// None for the owner of the store.
    pub(super) permissions: Option<Permissions>,
    pub(super) uploads: Arc<Mutex<PendingUploads>>,
    /// Reads leave damaged records out and name them here; without it they fail.
    damage: Option<Arc<DamageLog>>,
}

impl<E: Engine> StoreView<E> {
    /// Returns the view of the owner.
    pub(crate) fn of(engine: E) -> Self {
        Self { engine: Arc::new(engine), permissions: None, uploads: Arc::default(), damage: None }
    }

    /// Returns the engine, which checks no permissions.
    pub(crate) fn engine(&self) -> &E {
        &self.engine
    }

    fn access(&self) -> &AccessScope {
        self.permissions.as_ref().map_or(&EVERYTHING, |permissions| &permissions.access)
    }

    fn key_id(&self) -> Option<String> {
        self.permissions.as_ref().map(|permissions| permissions.id.clone())
    }

    fn require_unrestricted(&self) -> Result<()> {
        require_unrestricted(self.access())
    }

    /// Runs a read. Each read is given the access scope: it has no other way to the rows, so it cannot be written
    /// without a decision how the scope limits it.
    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>, &AccessScope) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let (access, skips_damage) = (self.access().clone(), self.damage.is_some());
        // A read may run again, so only the damage that its last run met counts.
        let run = move |reading: &mut Reading<'_>| {
            reading.damaged = skips_damage.then(Vec::new);
            let found = read(reading, &access)?;
            Ok((found, reading.damaged.take().unwrap_or_default()))
        };
        let (found, damaged) = self.engine.read(doing, run).await?;
        if let Some(log) = &self.damage {
            damaged.into_iter().for_each(|record| log.add(record));
        }
        Ok(found)
    }

    /// Runs a read of records that belong to no conversation: for a limited caller there are none.
    async fn read_unrestricted<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<Vec<T>> + Send + 'static,
    ) -> Result<Vec<T>> {
        match self.access().is_limited() {
            true => Ok(Vec::new()),
            false => self.read(doing, move |reading, _| read(reading)).await,
        }
    }
}

/// Requires an unrestricted access scope.
fn require_unrestricted(access: &AccessScope) -> Result<()> {
    match access.is_limited() {
        true => Err(StoreError::Forbidden { needs: WHOLE }),
        false => Ok(()),
    }
}

#[async_trait::async_trait]
impl<E: Engine> Store for StoreView<E> {
    fn authorized(self: Arc<Self>, permissions: Permissions) -> Arc<dyn Store> {
        let permissions = match &self.permissions {
            Some(outer) => permissions.within(outer),
            None => permissions,
        };
        let (engine, damage) = (self.engine.clone(), self.damage.clone());
        Arc::new(Self { engine, permissions: Some(permissions), uploads: Arc::default(), damage })
    }

    fn skipping_damaged(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store> {
        let (engine, permissions, uploads) = (self.engine.clone(), self.permissions.clone(), self.uploads.clone());
        Arc::new(Self { engine, permissions, uploads, damage: Some(log) })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        match &self.permissions {
            Some(permissions) => self.commit_authorized(permissions, transaction).await,
            None => interface::commit(&*self.engine, transaction, None).await,
        }
    }

    async fn idempotent_request_time(&self, key: Vec<u8>) -> Result<Option<Timestamp>> {
        let key = match &self.permissions {
            Some(permissions) => own_request_key(&permissions.id, &key)?,
            None => key,
        };
        self.read("reading a request", move |reading, _| read::journal::idempotent_request_time(reading, &key)).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        let one = move |reading: &mut Reading<'_>, access: &AccessScope| {
            Ok(read::conversation::one(reading, &which)?.filter(|found| access.holds(found)))
        };
        self.read("reading a conversation", one).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        self.read("listing conversations", move |reading, access| read::list::list(reading, access, &query)).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<BoundedCount> {
        self.read("counting conversations", move |reading, access| read::list::count(reading, access, &query)).await
    }

    async fn last_changed(&self) -> Result<Option<ConversationId>> {
        self.read("reading the journal", move |reading, access| read::journal::last_changed(reading, access)).await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        self.read("listing conversations", move |reading, access| {
            read::conversation::ids(reading, access, after, limit)
        })
        .await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        self.read("looking for an id", move |reading, access| {
            read::ids::by_prefix(reading, access, kind, &prefix, limit)
        })
        .await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        let branches = move |reading: &mut Reading<'_>, access: &AccessScope| {
            require_visible(reading.connection, access, conversation)?;
            read::path::branches(reading, conversation)
        };
        self.read("reading branches", branches).await
    }

    async fn message_page(&self, query: MessagePageQuery) -> Result<MessagePage> {
        let window = move |reading: &mut Reading<'_>, access: &AccessScope| {
            require_visible(reading.connection, access, query.conversation)?;
            read::path::window(reading, &query)
        };
        self.read("reading messages", window).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<LocatedMessage>> {
        self.read("reading messages", move |reading, access| read::message::messages(reading, access, &query)).await
    }

    async fn related(&self, query: RelatedQuery) -> Result<LocatedMessagePage> {
        self.read("reading messages", move |reading, access| read::related::related(reading, access, &query)).await
    }

    async fn annotations(&self, query: AnnotationsQuery) -> Result<Annotations> {
        let annotations = move |reading: &mut Reading<'_>, access: &AccessScope| {
            require_visible(reading.connection, access, query.conversation)?;
            read::annotations::annotations(reading, &query)
        };
        self.read("reading what is attached", annotations).await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        let state = move |reading: &mut Reading<'_>, access: &AccessScope| {
            require_visible(reading.connection, access, conversation)?;
            read::path::state(reading, conversation, &name, at, access)
        };
        self.read("reading state", state).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        self.read("reading tool calls", move |reading, access| {
            read::annotations::open_tool_calls(reading, access, limit)
        })
        .await
    }

    async fn idle_streams(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenStream>> {
        self.require_unrestricted()?;
        self.read("reading streams", move |reading, _| read::stream::idle(reading, before, limit)).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        let events = move |reading: &mut Reading<'_>, access: &AccessScope| {
            require_visible(reading.connection, access, query.conversation)?;
            read::annotations::events(reading, &query)
        };
        self.read("reading events", events).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        self.read("reading documents", move |reading, access| read::library::documents(reading, access, &query)).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        self.read("reading memories", move |reading, access| read::library::memories(reading, access, &query)).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        self.read("reading a project", move |reading, access| read::library::project(reading, access, id)).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        self.read("reading projects", read::library::projects).await
    }

    async fn scratch(&self, mut query: ScratchQuery) -> Result<Vec<Scratch>> {
        // Scratch that a limited user stores without an actor is kept as that user's, and found in the same way.
        if let (Some(user), Some(actor)) = (&self.access().user, &mut query.actor)
            && actor.is_empty()
        {
            actor.clone_from(user);
        }
        self.read("reading scratch", move |reading, access| read::library::scratch(reading, access, &query)).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        let key = self.key_id();
        let blob = move |reading: &mut Reading<'_>, access: &AccessScope| match read::blob::is_readable(
            reading.connection,
            access,
            key.as_deref(),
            &sha256,
        )? {
            true => read::blob::whole(reading, &sha256),
            false => Ok(None),
        };
        self.read("reading a blob", blob).await
    }

    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        let key = self.key_id();
        let piece = move |reading: &mut Reading<'_>, access: &AccessScope| match read::blob::is_readable(
            reading.connection,
            access,
            key.as_deref(),
            &sha256,
        )? {
            true => read::blob::piece(reading, &sha256, from),
            false => Ok(None),
        };
        self.read("reading a blob", piece).await
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        self.read_unrestricted("reading blobs", read::blob::all).await
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        self.read_unrestricted("reading sources", read::library::sources).await
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        self.read_unrestricted("reading origins", move |reading| read::library::origins(reading, &query)).await
    }

    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>> {
        let origins = move |reading: &mut Reading<'_>| read::library::message_origins(reading, &messages);
        self.read_unrestricted("reading origins", origins).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.read_unrestricted("reading quarantine", move |reading| read::library::quarantined(reading, source)).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        self.read("reading the journal", move |reading, access| read::journal::journal(reading, access, &query)).await
    }

    async fn undo_target(&self, scope: UndoScope, step: UndoDirection) -> Result<Option<Position>> {
        let target = move |reading: &mut Reading<'_>, access: &AccessScope| {
            match &scope {
                UndoScope::Everything | UndoScope::Workspace => require_unrestricted(access)?,
                UndoScope::Conversation(id) => require_known(reading.connection, access, *id)?,
            }
            read::journal::undo_target(reading, &scope, step)
        };
        self.read("reading the journal", target).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        query.check()?;
        let asked = query.clone();
        let answered = self.read(COUNTING, move |reading, access| statistics::answer(reading, access, &asked)).await?;
        match answered {
            Some(stats) => Ok(stats),
            None => self.count_each(query).await,
        }
    }

    async fn search(&self, search: Search) -> Result<SearchPage> {
        let started = tokio::time::Instant::now();
        let mut found = self.read(SEARCHING, move |reading, access| execute::run(reading, access, &search)).await;
        if self.access().is_limited() {
            // The index covers all users and returns hits of others before they are filtered out: the duration reveals
            // something about their words.
            let steps = started.elapsed().as_nanos() / SEARCH_TIME_STEP.as_nanos() + 1;
            let answered = SEARCH_TIME_STEP * u32::try_from(steps).unwrap_or(u32::MAX);
            tokio::time::sleep_until(started + answered).await;
            if let Ok(found) = &mut found {
                found.micros = u64::try_from(answered.as_micros()).unwrap_or(u64::MAX);
            }
        }
        found
    }

    async fn reindex(&self) -> Result<()> {
        self.require_unrestricted()?;
        match self.engine.indexing() {
            Some(indexing) => indexing.request_rebuild(),
            None => return Err(StoreError::Invalid("this store has no index".to_owned())),
        }
        Ok(())
    }

    fn watch_index(&self) -> watch::Receiver<IndexStatus> {
        self.engine.indexing().map_or_else(|| watch::channel(IndexStatus::default()).1, IndexingMonitor::subscribe)
    }

    fn watch_position(&self) -> watch::Receiver<Position> {
        self.engine.position()
    }

    async fn acquire_import_lock(&self) -> Result<ImportLock> {
        self.require_unrestricted()?;
        self.engine.acquire_import_lock().await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        self.require_unrestricted()?;
        self.engine.backup(to).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        self.require_unrestricted()?;
        self.engine.verify().await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        self.require_unrestricted()?;
        self.engine.doctor().await
    }

    async fn close(&self) -> Result<()> {
        self.require_unrestricted()?;
        self.engine.close().await
    }
}

impl<E: Engine> StoreView<E> {
    /// Counts conversation by conversation, a few in each read so that none takes long.
    async fn count_each(&self, query: StatsQuery) -> Result<Stats> {
        if let Some(id) = query.conversation {
            return self.count(vec![id], query, Stats::default()).await;
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
            let page = self.conversations(list.clone()).await?;
            for part in page.conversations.chunks(64) {
                let ids = part.iter().map(|conversation| conversation.id).collect();
                stats = self.count(ids, query.clone(), stats).await?;
            }
            match page.next {
                Some(next) => list.after = Some(next),
                None => return Ok(stats),
            }
        }
    }

    async fn count(&self, ids: Vec<ConversationId>, query: StatsQuery, counted: Stats) -> Result<Stats> {
        let counting = move |reading: &mut Reading<'_>, access: &AccessScope| {
            let mut stats = counted.clone();
            statistics::add_conversations(reading, access, &ids, &query, &mut stats)?;
            Ok(stats)
        };
        self.read(COUNTING, counting).await
    }
}
