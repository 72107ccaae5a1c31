//! The PostgreSQL engine: the same store on a server, for deployments that have outgrown one machine.
//!
//! Each store has one writer thread with group commit, a few reader threads, and a poller that detects commits of other
//! processes. The modules, in reading order:

mod sql_rewrite;
mod value;
mod client;
mod tls;
mod options;
mod migrate;
mod writer;
mod reader;
mod change_poller;
mod indexer;
mod import_lock;
mod backup;
mod doctor;
mod destroy;
mod system;

pub(crate) use client::{Client, read};
pub use options::PostgresOptions;
pub(crate) use system::{SystemClient, may_try_again, open_system};

use crate::api::deletion_report::DeletionReport;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::query::MessagePageQuery;
use crate::api::store::ImportLock;
use crate::api::transaction::Position;
use crate::authz::StoreView;
use crate::engine::commit::commit_queue::CommitQueue;
use crate::engine::interface::{Engine, WAITING_BYTES, run_blocking};
use crate::engine::read::Reading;
use crate::engine::search::indexing::IndexingMonitor;
use crate::engine::sql::connection::EngineError;
use crate::engine::sql::tx_error::TxResult;
use crate::engine::verify::IndexLocation;
use crate::runtime::position_watch::PositionWatch;
use crate::runtime::read_queue::{ReadQueue, Reader};
use manent_model::DigestKey;
use parking_lot::{Condvar, Mutex};
use reader::PostgresReader;
use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The error for an unavailable server.
const UNAVAILABLE: StoreError = StoreError::Busy("the database server cannot be reached");

/// How long to wait before the server is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// A store on a PostgreSQL server, for one tenant.
pub type PostgresStore = StoreView<PostgresEngine>;

/// The engine of one tenant on a PostgreSQL server.
pub struct PostgresEngine {
    shared: Arc<Shared>,
    options: PostgresOptions,
    waiting: Semaphore,
    position: watch::Receiver<Position>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// State shared by the threads of one store.
struct Shared {
    key: DigestKey,
    queue: CommitQueue,
    readers: ReadQueue<PostgresReader>,
    position: PositionWatch,
    indexing: IndexingMonitor,
    /// Stops the change poller.
    ended: (Mutex<bool>, Condvar),
}

impl PostgresStore {
    /// Opens or creates the store of a tenant.
    pub fn open(options: PostgresOptions) -> Result<Self> {
        // On a thread of its own: the caller may be inside a runtime, where nothing may wait.
        let opened = std::thread::scope(|scope| {
            let opening = scope.spawn(|| {
                let client = migrate::open(&options)?;
                let (secret, last) = migrate::fill_for_tenant(&client)?;
                Ok((client, secret, last))
            });
            opening.join().unwrap_or(Err(StoreError::Closed))
        });
        let (client, secret, last) = opened?;
        let shared = Arc::new(Shared {
            key: DigestKey::new(secret),
            queue: CommitQueue::default(),
            readers: ReadQueue::default(),
            position: PositionWatch::new(last),
            indexing: IndexingMonitor::default(),
            ended: Default::default(),
        });
        let position = shared.position.subscribe();
        let mut threads = Vec::new();
        let mut spawn = |name: &str, work: Box<dyn FnOnce() + Send>| -> Result<()> {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            threads.push(thread.map_err(|error| StoreError::engine("starting a thread", error))?);
            Ok(())
        };
        let writer = writer::Writer::new(shared.clone(), options.clone(), client);
        spawn("manent-writer", Box::new(move || writer.run()))?;
        let (kept, keeping) = (shared.clone(), options.clone());
        spawn("manent-poller", Box::new(move || change_poller::serve(&kept, &keeping)))?;
        if options.index {
            let (indexed, indexing) = (shared.clone(), options.clone());
            spawn("manent-indexer", Box::new(move || indexer::serve(&indexed, &indexing)))?;
        }
        for _ in 0..options.readers.max(1) {
            let (shared, options) = (shared.clone(), options.clone());
            spawn("manent-reader", Box::new(move || shared.readers.serve(|| PostgresReader::open(&options))))?;
        }
        let (waiting, threads) = (Semaphore::new(WAITING_BYTES), Mutex::new(threads));
        Ok(Self::of(PostgresEngine { shared, options, waiting, position, threads }))
    }

    /// Restores a backup into a tenant that has no store yet, and verifies the result.
    pub async fn restore(options: &PostgresOptions, from: &Path) -> Result<()> {
        let (options, from) = (options.clone(), from.to_owned());
        run_blocking("manent-restore", move || backup::restore(&options, &from)).await
    }

    /// Removes every row of a tenant. Its store must not be in use.
    pub async fn destroy(options: &PostgresOptions) -> Result<DeletionReport> {
        let options = options.clone();
        run_blocking("manent-destroy", move || destroy::destroy(&options)).await
    }

    /// Reads pages as bytes, each in a transaction of its own, and returns the time that each took. For benchmarks
    /// only.
    #[doc(hidden)]
    pub async fn time_windows(&self, queries: Vec<MessagePageQuery>) -> Result<Vec<Duration>> {
        let (options, key) = (self.engine().options.clone(), self.engine().shared.key.clone());
        run_blocking("manent-timing", move || {
            let mut reader = PostgresReader::open(&options)?;
            let mut durations = Vec::with_capacity(queries.len());
            for query in &queries {
                let started = Instant::now();
                let rows =
                    reader.run(&key, "timing", |reading| crate::engine::read::path::window_rows(reading, query))?;
                durations.push(started.elapsed());
                std::hint::black_box(rows);
            }
            Ok(durations)
        })
        .await
    }
}

impl PostgresEngine {
    fn ending(&self) -> impl FnOnce() + Send + 'static {
        let threads = std::mem::take(&mut *self.threads.lock());
        let shared = self.shared.clone();
        move || {
            shared.queue.close();
            let mut threads = threads.into_iter();
            // The writer first: accepted commits are finished before the other threads end.
            if let Some(writer) = threads.next() {
                let _ = writer.join();
            }
            *shared.ended.0.lock() = true;
            shared.ended.1.notify_all();
            shared.indexing.close();
            shared.readers.close();
            for thread in threads {
                let _ = thread.join();
            }
            shared.position.close();
        }
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        let ending = self.ending();
        match tokio::runtime::Handle::try_current() {
            // Waiting here would hold up everything else that the worker of a runtime has to do.
            Ok(_) => drop(std::thread::Builder::new().name("manent-close".to_owned()).spawn(ending)),
            Err(_) => ending(),
        }
    }
}

impl Engine for PostgresEngine {
    fn key(&self) -> &DigestKey {
        &self.shared.key
    }

    fn queue(&self) -> &CommitQueue {
        &self.shared.queue
    }

    fn waiting(&self) -> &Semaphore {
        &self.waiting
    }

    fn position(&self) -> watch::Receiver<Position> {
        self.position.clone()
    }

    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.readers.read(self.shared.key.clone(), doing, read).await
    }

    fn indexing(&self) -> Option<&IndexingMonitor> {
        self.options.index.then_some(&self.shared.indexing)
    }

    async fn acquire_import_lock(&self) -> Result<ImportLock> {
        import_lock::wait(self.options.clone()).await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        let (options, to) = (self.options.clone(), to.to_owned());
        run_blocking("manent-backup", move || backup::backup(&options, &to)).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        let options = self.options.clone();
        run_blocking("manent-verify", move || {
            let client = migrate::connect(&options)?.without_timeout();
            crate::engine::verify::verify((&client).into(), IndexLocation::Server)
        })
        .await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        let options = self.options.clone();
        run_blocking("manent-doctor", move || doctor::doctor(&options)).await
    }

    async fn close(&self) -> Result<()> {
        let ending = self.ending();
        run_blocking("manent-close", move || {
            ending();
            Ok(())
        })
        .await
    }
}

/// Reconnects, and waits for an unavailable server. A server that refuses the connection is not waited for.
fn reconnect(options: &PostgresOptions, until: Instant) -> Result<Client> {
    loop {
        match migrate::connect(options) {
            Ok(client) => return Ok(client),
            Err(StoreError::Busy(_)) if Instant::now() < until => std::thread::sleep(RETRY_DELAY),
            Err(error @ StoreError::Busy(_)) => return Err(error),
            // The address was valid when the store was opened: a failure now is not the caller's fault.
            Err(error) => return Err(StoreError::engine("connecting again", error)),
        }
    }
}

/// Says whether the connection broke, or the server does not answer.
fn is_lost(error: &EngineError) -> bool {
    match error {
        EngineError::Unresponsive => true,
        EngineError::Postgres(error) => is_unavailable(error),
        _ => false,
    }
}

/// Says whether an error means that the server is unavailable, or no longer the primary.
fn is_unavailable(error: &Error) -> bool {
    match error.code().map(SqlState::code) {
        // 08: the connection; 57P: the server stops or starts; 25006: it no longer takes writes.
        Some(code) => code.starts_with("08") || code.starts_with("57P") || code == "25006",
        None => {
            let broken = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
            // A server answers, but its certificate is not trusted.
            let untrusted = broken.and_then(std::io::Error::get_ref).is_some_and(|inner| inner.is::<rustls::Error>());
            error.is_closed() || (broken.is_some() && !untrusted)
        }
    }
}

/// Converts an error of the server into a [`StoreError`].
pub(crate) fn failed(doing: &'static str, error: Error) -> StoreError {
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::DiskFull,
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            StoreError::Busy("others are writing the same rows")
        }
        _ if is_unavailable(&error) => UNAVAILABLE,
        _ => StoreError::engine(doing, error),
    }
}
