//! The SQLite engine, the embedded default: one file per store, served by a shared thread pool.
//!
//! A store is a file. Its work is done by a [`StoreRuntime`]: a few writer threads, a few reader threads, a maintenance thread that
//! checkpoints WALs and closes idle connections, a watcher that detects commits of other processes, and an indexer.
//! Stores share a runtime, or have one each; they take turns, a batch or a read at a time, and together have no more
//! connections open than the runtime allows. An unused store has none. The modules, in reading order:

mod connection;
mod migrate;
mod store_runtime;
mod connection_budget;
mod open_store;
mod writer;
mod wal;
mod reserve;
mod reader_pool;
mod reader;
mod maintenance;
mod file_fingerprint;
mod change_detector;
mod index;
mod indexer;
mod import_lock;
mod backup;
mod doctor;
mod destroy;
mod system;

pub(crate) use backup::{backup_of_copy, open_copy};
pub(crate) use connection::into_store_error;
pub use connection::{Durability, SQLITE_OLDEST, SqliteOptions};
pub(crate) use reserve::Reserve;
pub use store_runtime::{RuntimeOptions, StoreRuntime};
pub use system::is_system;
pub(crate) use system::{grown_system_bytes, open_system, shrink_system, wipe_system, write_system};

use crate::api::deletion_report::DeletionReport;
use crate::api::error::Result;
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::query::MessagePageQuery;
use crate::api::store::ImportLock;
use crate::api::transaction::Position;
use crate::authz::StoreView;
use crate::engine;
use crate::engine::commit::commit_queue::CommitQueue;
use crate::engine::interface::{Engine, WAITING_BYTES, run_blocking};
use crate::engine::read::Reading;
use crate::engine::search::indexing::IndexingMonitor;
use crate::engine::sql::tx_error::TxResult;
use crate::engine::verify::IndexLocation;
use crate::runtime::read_queue;
use manent_model::DigestKey;
use open_store::OpenStore;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Returns the version of the SQLite library.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// A store in one SQLite file.
pub type SqliteStore = StoreView<SqliteEngine>;

/// The engine of one SQLite file.
pub struct SqliteEngine {
    store: Arc<OpenStore>,
    waiting: Semaphore,
    position: watch::Receiver<Position>,
    /// None once it is closed.
    runtime: Mutex<Option<Arc<StoreRuntime>>>,
}

impl SqliteStore {
    /// Opens or creates a file, with a runtime of its own that ends with the store.
    pub fn open(options: SqliteOptions) -> Result<Self> {
        Self::open_at(options, migrate::NEWEST)
    }

    /// Opens or creates a file, served by a shared runtime.
    pub fn open_in(runtime: &Arc<StoreRuntime>, options: SqliteOptions) -> Result<Self> {
        Self::open_in_at(runtime, options, migrate::NEWEST)
    }

    /// Opens a file with an older schema, to test its migration.
    #[doc(hidden)]
    pub fn open_at(options: SqliteOptions, schema: i64) -> Result<Self> {
        Self::open_in_at(&StoreRuntime::start(RuntimeOptions::for_one(&options))?, options, schema)
    }

    fn open_in_at(runtime: &Arc<StoreRuntime>, options: SqliteOptions, schema: i64) -> Result<Self> {
        let store = OpenStore::open(runtime.shared(), options, schema)?;
        let position = store.position.subscribe();
        let waiting = Semaphore::new(WAITING_BYTES);
        Ok(Self::of(SqliteEngine { store, waiting, position, runtime: Mutex::new(Some(runtime.clone())) }))
    }

    /// Removes a file and all files beside it under its name. Its store must not be in use.
    pub async fn destroy(path: &Path) -> Result<DeletionReport> {
        let path = path.to_owned();
        run_blocking("manent-destroy", move || destroy::destroy(&path)).await
    }

    /// Measures reading pages as bytes on the reading thread, without the time in queues.
    #[doc(hidden)]
    pub async fn time_windows(&self, queries: Vec<MessagePageQuery>) -> Result<Vec<Duration>> {
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
        self.engine().read("timing", timed).await
    }
}

impl SqliteEngine {
    fn detach_runtime(&self) -> Option<Arc<StoreRuntime>> {
        self.runtime.lock().take()
    }
}

impl Drop for SqliteEngine {
    fn drop(&mut self) {
        let Some(runtime) = self.detach_runtime() else { return };
        let ended = self.store.close();
        // Waiting here would block the worker thread of the async runtime; the store runtime continues by itself.
        if tokio::runtime::Handle::try_current().is_err() {
            let _ = ended.blocking_recv();
        }
        drop(runtime);
    }
}

impl Engine for SqliteEngine {
    fn key(&self) -> &DigestKey {
        &self.store.key
    }

    fn queue(&self) -> &CommitQueue {
        &self.store.queue
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
        read_queue::read(self.store.key.clone(), doing, read, |job| self.store.readers.push(job)).await
    }

    fn indexing(&self) -> Option<&IndexingMonitor> {
        self.store.options.has_index().then_some(&self.store.indexing)
    }

    async fn acquire_import_lock(&self) -> Result<ImportLock> {
        let path = self.store.options.sibling_path("-import");
        run_blocking("manent-turn", move || import_lock::wait(&path)).await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        let (options, to) = (self.store.options.clone(), to.to_owned());
        run_blocking("manent-backup", move || backup::backup(&options, &to)).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        let (options, has_caught_up) = (self.store.options.clone(), self.store.indexing.has_caught_up());
        run_blocking("manent-verify", move || {
            // An index that is still being built cannot be compared yet.
            let index = if has_caught_up { index::open_to_check(&options) } else { Ok(None) };
            let index = match &index {
                Ok(Some(index)) => IndexLocation::File(index),
                Ok(None) => IndexLocation::None,
                Err(_) => IndexLocation::Unreadable,
            };
            engine::verify::verify((&connection::open_reader(&options)?).into(), index)
        })
        .await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        let options = self.store.options.clone();
        run_blocking("manent-doctor", move || doctor::doctor(&options)).await
    }

    async fn close(&self) -> Result<()> {
        if let Some(runtime) = self.detach_runtime() {
            // The runtime answers when nothing is open any more; it continues even if the caller has gone.
            let _ = self.store.close().await;
            drop(runtime);
        }
        Ok(())
    }
}
