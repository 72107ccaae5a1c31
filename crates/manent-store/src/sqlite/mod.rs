//! The SQLite engine: the embedded default.
//!
//! One writer thread commits in groups, a few threads read, a keeper copies the WAL. The modules, in reading order:

mod connection;
mod migrate;
mod queue;
mod answers;
mod shared;
mod writer;
mod wal;
mod readers;
mod keeper;
mod backup;
mod verify;
mod doctor;

pub(crate) use connection::failed;
pub use connection::{Durability, SQLITE_OLDEST, SqliteOptions};

use crate::engine;
use crate::engine::fault::Outcome;
use crate::engine::read::Reading;
use crate::error::{Result, StoreError};
use crate::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::query::*;
use crate::store::Store;
use crate::transaction::{Committed, MessageOrigin, Position, Transaction};
use manent_model::{
    Conversation, ConversationId, ConversationStatus, DigestKey, Json, MessageId, Micros, Origin, Project, ProjectId,
    Quarantined, Scratch, Source, SourceId, Stats,
};
use queue::Job;
use shared::Shared;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot, watch};

/// Returns the version of the SQLite library.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// How many bytes of commits may wait; more callers wait outside.
const WAITING_BYTES: usize = 64 << 20;

/// A store in one SQLite file.
pub struct SqliteStore {
    shared: Arc<Shared>,
    options: SqliteOptions,
    waiting: Semaphore,
    position: watch::Receiver<Position>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What is left to do when a store is closed.
struct Ending {
    shared: Arc<Shared>,
    /// The writer is the first of them.
    threads: Vec<JoinHandle<()>>,
}

impl Ending {
    fn end(self) {
        self.shared.queue.close();
        let mut threads = self.threads.into_iter();
        // The writer first: what was accepted is finished before anything else ends.
        if let Some(writer) = threads.next() {
            let _ = writer.join();
        }
        self.shared.keeper.close();
        self.shared.readers.close();
        for thread in threads {
            let _ = thread.join();
        }
        self.shared.position.close();
    }
}

impl SqliteStore {
    /// Opens a file, or makes it.
    pub fn open(options: SqliteOptions) -> Result<Self> {
        Self::open_at(options, migrate::NEWEST)
    }

    /// Opens a file as an older program would have, to test what becomes of it.
    #[doc(hidden)]
    pub fn open_at(options: SqliteOptions, schema: i64) -> Result<Self> {
        let connection = connection::open_first(&options, schema)?;
        let secret: [u8; 32] = connection
            .query_row("select value from meta where name = 'digest_key'", [], |row| row.get(0))
            .map_err(|error| connection::failed("reading the file", error))?;
        let last: Option<Position> = engine::connection::maybe(
            &connection,
            "select pos + count - 1 from journal order by pos desc limit 1",
            (),
            |row| row.get(0),
        )
        .map_err(|error| connection::failed("reading the file", error))?;
        let shared = Arc::new(Shared {
            key: DigestKey::new(secret),
            queue: queue::Queue::default(),
            readers: readers::Readers::default(),
            keeper: keeper::Keeper::default(),
            position: shared::Known::new(last.unwrap_or(0)),
        });
        let position = shared.position.subscribe();
        let mut threads = Vec::new();
        let mut spawn = |name: &str, work: Box<dyn FnOnce() + Send>| -> Result<()> {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            threads.push(thread.map_err(|error| StoreError::engine("starting a thread", error))?);
            Ok(())
        };
        let writer = writer::Writer::new(shared.clone(), options.clone(), connection);
        spawn("manent-writer", Box::new(move || writer.run()))?;
        let (kept, keeping) = (shared.clone(), options.clone());
        spawn("manent-keeper", Box::new(move || kept.keeper.serve(&kept, &keeping)))?;
        for _ in 0..options.readers.max(1) {
            let (shared, options) = (shared.clone(), options.clone());
            spawn("manent-reader", Box::new(move || shared.readers.serve(&options)))?;
        }
        Ok(Self { shared, options, waiting: Semaphore::new(WAITING_BYTES), position, threads: Mutex::new(threads) })
    }

    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&mut Reading<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.readers.read(self.shared.key.clone(), doing, read).await
    }

    /// Times reading pages as bytes on the reading thread, without the way there and back.
    #[doc(hidden)]
    pub async fn time_windows(&self, queries: Vec<WindowQuery>) -> Result<Vec<Duration>> {
        let timed = move |reading: &mut Reading<'_>| {
            let mut durations = Vec::with_capacity(queries.len());
            for query in &queries {
                let started = Instant::now();
                let (rows, _) = engine::read::path::window_rows(reading, query)?;
                durations.push(started.elapsed());
                std::hint::black_box(rows);
            }
            Ok(durations)
        };
        self.read("timing", timed).await
    }

    fn ending(&self) -> Ending {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        Ending { shared: self.shared.clone(), threads }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        let ending = self.ending();
        if ending.threads.is_empty() {
            return;
        }
        match tokio::runtime::Handle::try_current() {
            // Waiting here would hold up everything else that the worker of a runtime has to do.
            Ok(_) => drop(std::thread::Builder::new().name("manent-close".to_owned()).spawn(move || ending.end())),
            Err(_) => ending.end(),
        }
    }
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let prepared = engine::prepare::prepare(&self.shared.key, transaction)?;
        let permits = u32::try_from(prepared.bytes).unwrap_or(u32::MAX).max(1);
        let _permit = self.waiting.acquire_many(permits).await.map_err(|_| StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        if self.shared.queue.push(Job { prepared, answer }).is_some() {
            return Err(StoreError::Closed);
        }
        // The writer answers every job it takes; only a panic in it could drop one, and then nobody knows.
        answered.await.unwrap_or(Err(StoreError::OutcomeUnknown))
    }

    async fn request_at(&self, key: Vec<u8>) -> Result<Option<Micros>> {
        self.read("reading a request", move |reading| engine::read::journal::request_at(reading, &key)).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        self.read("reading a conversation", move |reading| engine::read::conversation::one(reading, &which)).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        self.read("listing conversations", move |reading| engine::read::conversation::list(reading, &query)).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<Count> {
        self.read("counting conversations", move |reading| engine::read::conversation::count(reading, &query)).await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        self.read("listing conversations", move |reading| engine::read::conversation::ids(reading, after, limit)).await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        self.read("looking for an id", move |reading| engine::read::ids::by_prefix(reading, kind, &prefix, limit)).await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        self.read("reading branches", move |reading| engine::read::path::branches(reading, conversation)).await
    }

    async fn window(&self, query: WindowQuery) -> Result<Window> {
        self.read("reading messages", move |reading| engine::read::path::window(reading, &query)).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<Placed>> {
        self.read("reading messages", move |reading| engine::read::message::messages(reading, &query)).await
    }

    async fn attached(&self, conversation: ConversationId) -> Result<Attached> {
        self.read("reading what is attached", move |reading| engine::read::attached::attached(reading, conversation))
            .await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        self.read("reading state", move |reading| engine::read::path::state(reading, conversation, &name, at)).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        self.read("reading tool calls", move |reading| engine::read::attached::open_tool_calls(reading, limit)).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        self.read("reading events", move |reading| engine::read::attached::events(reading, &query)).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        self.read("reading documents", move |reading| engine::read::library::documents(reading, &query)).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        self.read("reading memories", move |reading| engine::read::library::memories(reading, &query)).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        self.read("reading a project", move |reading| engine::read::library::project(reading, id)).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        self.read("reading projects", engine::read::library::projects).await
    }

    async fn scratch(&self, query: ScratchQuery) -> Result<Vec<Scratch>> {
        self.read("reading scratch", move |reading| engine::read::library::scratch(reading, &query)).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        self.read("reading a blob", move |reading| engine::read::library::blob(reading, &sha256)).await
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        self.read("reading blobs", engine::read::library::blobs).await
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        self.read("reading sources", engine::read::library::sources).await
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        self.read("reading origins", move |reading| engine::read::library::origins(reading, &query)).await
    }

    async fn message_origin(&self, message: MessageId) -> Result<Option<MessageOrigin>> {
        self.read("reading an origin", move |reading| engine::read::library::message_origin(reading, message)).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.read("reading quarantine", move |reading| engine::read::library::quarantined(reading, source)).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        self.read("reading the journal", move |reading| engine::read::journal::journal(reading, &query)).await
    }

    async fn undo_target(&self, scope: Scope, step: Step) -> Result<Option<Position>> {
        self.read("reading the journal", move |reading| engine::read::journal::undo_target(reading, &scope, step)).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        let mut list = ListQuery {
            statuses: vec![ConversationStatus::Active, ConversationStatus::Archived],
            limit: PAGE_MAX,
            ..ListQuery::default()
        };
        match query {
            StatsQuery::Conversation(id) => return self.count(vec![id], Stats::default()).await,
            StatsQuery::Everything => {}
            StatsQuery::Project(project) => list.project = Some(project),
        }
        let mut stats = Stats::default();
        loop {
            let page = self.conversations(list.clone()).await?;
            for part in page.conversations.chunks(16) {
                let ids = part.iter().map(|conversation| conversation.id).collect();
                stats = self.count(ids, stats).await?;
            }
            match page.next {
                Some(next) => list.after = Some(next),
                None => return Ok(stats),
            }
        }
    }

    fn position(&self) -> watch::Receiver<Position> {
        self.position.clone()
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        let (options, to) = (self.options.clone(), to.to_owned());
        off_thread("manent-backup", move || backup::backup(&options, &to)).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        let options = self.options.clone();
        off_thread("manent-verify", move || verify::verify(&options)).await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        let options = self.options.clone();
        off_thread("manent-doctor", move || doctor::doctor(&options)).await
    }

    async fn close(&self) -> Result<()> {
        let ending = self.ending();
        off_thread("manent-close", move || {
            ending.end();
            Ok(())
        })
        .await
    }
}

impl SqliteStore {
    async fn count(&self, ids: Vec<ConversationId>, mut stats: Stats) -> Result<Stats> {
        let counting = move |reading: &mut Reading<'_>| {
            for id in ids {
                match engine::read::stats::add_conversation(reading, id, &mut stats) {
                    // It may have gone between the list and the count.
                    Err(engine::fault::Fault::Refused(StoreError::NotFound { .. })) if stats.conversations > 0 => {}
                    outcome => outcome?,
                }
            }
            Ok(stats)
        };
        self.read("counting", counting).await
    }
}

/// Runs long work on a thread of its own; the caller's runtime goes on.
async fn off_thread<T: Send + 'static>(name: &str, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || drop(answer.send(work())))
        .map_err(|error| StoreError::engine("starting a thread", error))?;
    answered.await.map_err(|_| StoreError::Closed)?
}
