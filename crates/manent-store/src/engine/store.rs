//! The store that every engine is: commits go to its queue, reads to its readers, and all read alike.

use super::fault::{Fault, Outcome};
use super::prepare::prepare;
use super::queue::{Job, Queue};
use super::read::{self, Reading};
use super::search::indexing::Indexing;
use super::search::{SEARCHING, look};
use crate::error::{Result, StoreError};
use crate::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::query::*;
use crate::search::{Found, Indexed, Search};
use crate::store::{Store, Turn};
use crate::transaction::{Committed, MessageOrigin, Position, Transaction};
use manent_model::{
    Conversation, ConversationId, ConversationStatus, DigestKey, Json, MessageId, Micros, Origin, Project, ProjectId,
    Quarantined, Scratch, Source, SourceId, Stats,
};
use std::path::Path;
use tokio::sync::{Semaphore, oneshot, watch};

/// How many bytes of commits may wait; more callers wait outside.
pub(crate) const WAITING_BYTES: usize = 64 << 20;

/// What an engine adds to what all of them do.
pub(crate) trait Engine: Send + Sync + 'static {
    /// The key of the digests.
    fn key(&self) -> &DigestKey;
    /// Where transactions wait for the writer.
    fn queue(&self) -> &Queue;
    /// How much may wait.
    fn waiting(&self) -> &Semaphore;
    /// How far the store has come.
    fn position(&self) -> watch::Receiver<Position>;
    /// Reads on one of the reading threads.
    fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> Outcome<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send;
    /// The thread that fills the index; none where there is no index.
    fn indexing(&self) -> Option<&Indexing>;
    /// See [`Store::import_turn`].
    fn import_turn(&self) -> impl Future<Output = Result<Turn>> + Send;
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
    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let prepared = prepare(self.key(), transaction)?;
        let permits = u32::try_from(prepared.bytes).unwrap_or(u32::MAX).max(1);
        let _permit = self.waiting().acquire_many(permits).await.map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        if self.queue().push(Job { prepared, answer }).is_some() {
            return Err(StoreError::Closed);
        }
        // The writer answers every job it takes; only a panic in it could drop one, and then nobody knows.
        answered.await.unwrap_or(Err(StoreError::OutcomeUnknown))
    }

    async fn request_at(&self, key: Vec<u8>) -> Result<Option<Micros>> {
        self.read("reading a request", move |reading| read::journal::request_at(reading, &key)).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        self.read("reading a conversation", move |reading| read::conversation::one(reading, &which)).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        self.read("listing conversations", move |reading| read::conversation::list(reading, &query)).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<Count> {
        self.read("counting conversations", move |reading| read::conversation::count(reading, &query)).await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        self.read("listing conversations", move |reading| read::conversation::ids(reading, after, limit)).await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        self.read("looking for an id", move |reading| read::ids::by_prefix(reading, kind, &prefix, limit)).await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        self.read("reading branches", move |reading| read::path::branches(reading, conversation)).await
    }

    async fn window(&self, query: WindowQuery) -> Result<Window> {
        self.read("reading messages", move |reading| read::path::window(reading, &query)).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<Placed>> {
        self.read("reading messages", move |reading| read::message::messages(reading, &query)).await
    }

    async fn attached(&self, conversation: ConversationId) -> Result<Attached> {
        self.read("reading what is attached", move |reading| read::attached::attached(reading, conversation)).await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        self.read("reading state", move |reading| read::path::state(reading, conversation, &name, at)).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        self.read("reading tool calls", move |reading| read::attached::open_tool_calls(reading, limit)).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        self.read("reading events", move |reading| read::attached::events(reading, &query)).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        self.read("reading documents", move |reading| read::library::documents(reading, &query)).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        self.read("reading memories", move |reading| read::library::memories(reading, &query)).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        self.read("reading a project", move |reading| read::library::project(reading, id)).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        self.read("reading projects", read::library::projects).await
    }

    async fn scratch(&self, query: ScratchQuery) -> Result<Vec<Scratch>> {
        self.read("reading scratch", move |reading| read::library::scratch(reading, &query)).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        self.read("reading a blob", move |reading| read::library::blob(reading, &sha256)).await
    }

    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        self.read("reading a blob", move |reading| read::library::blob_piece(reading, &sha256, from)).await
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        self.read("reading blobs", read::library::blobs).await
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        self.read("reading sources", read::library::sources).await
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        self.read("reading origins", move |reading| read::library::origins(reading, &query)).await
    }

    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>> {
        self.read("reading origins", move |reading| read::library::message_origins(reading, &messages)).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.read("reading quarantine", move |reading| read::library::quarantined(reading, source)).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        self.read("reading the journal", move |reading| read::journal::journal(reading, &query)).await
    }

    async fn undo_target(&self, scope: Scope, step: Step) -> Result<Option<Position>> {
        self.read("reading the journal", move |reading| read::journal::undo_target(reading, &scope, step)).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        let mut list = ListQuery {
            statuses: vec![ConversationStatus::Active, ConversationStatus::Archived],
            limit: PAGE_MAX,
            ..ListQuery::default()
        };
        match query {
            StatsQuery::Conversation(id) => return count(self, vec![id], Stats::default()).await,
            StatsQuery::Everything => {}
            StatsQuery::Project(project) => list.project = Some(project),
        }
        let mut stats = Stats::default();
        loop {
            let page = self.conversations(list.clone()).await?;
            for part in page.conversations.chunks(16) {
                let ids = part.iter().map(|conversation| conversation.id).collect();
                stats = count(self, ids, stats).await?;
            }
            match page.next {
                Some(next) => list.after = Some(next),
                None => return Ok(stats),
            }
        }
    }

    async fn search(&self, search: Search) -> Result<Found> {
        self.read(SEARCHING, move |reading| look::look(reading, &search)).await
    }

    async fn reindex(&self) -> Result<()> {
        match self.indexing() {
            Some(indexing) => indexing.make_anew(),
            None => return Err(StoreError::Invalid("this store has no index".to_owned())),
        }
        Ok(())
    }

    fn indexed(&self) -> watch::Receiver<Indexed> {
        self.indexing().map_or_else(|| watch::channel(Indexed::default()).1, Indexing::subscribe)
    }

    fn position(&self) -> watch::Receiver<Position> {
        Engine::position(self)
    }

    async fn import_turn(&self) -> Result<Turn> {
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

async fn count<E: Engine>(engine: &E, ids: Vec<ConversationId>, counted: Stats) -> Result<Stats> {
    let counting = move |reading: &mut Reading<'_>| {
        let mut stats = counted.clone();
        for id in &ids {
            match read::stats::add_conversation(reading, *id, &mut stats) {
                // It may have gone between the list and the count.
                Err(Fault::Refused(StoreError::NotFound { .. })) if stats.conversations > 0 => {}
                outcome => outcome?,
            }
        }
        Ok(stats)
    };
    engine.read("counting", counting).await
}

/// Runs long work on a thread of its own; the caller's runtime goes on.
pub(crate) async fn off_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || drop(answer.send(work())))
        .map_err(|error| StoreError::engine("starting a thread", error))?;
    answered.await.map_err(|_| StoreError::Closed)?
}
