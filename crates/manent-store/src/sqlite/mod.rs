//! The SQLite engine: the embedded default.
//!
//! One writer thread commits in groups, a few threads read, a keeper copies the WAL. The modules, in reading order:

mod connection;
mod migrate;
mod shared;
mod writer;
mod wal;
mod reader;
mod keeper;
mod index;
mod indexer;
mod turn;
mod backup;
mod doctor;
mod destroy;
mod system;

pub(crate) use backup::{backup_of_copy, open_copy};
pub(crate) use connection::said;
pub use connection::{Durability, SQLITE_OLDEST, SqliteOptions};
pub(crate) use system::{open_system, wipe_system};

use crate::destroyed::Destroyed;
use crate::engine;
use crate::engine::fault::Outcome;
use crate::engine::known::Known;
use crate::engine::queue::Queue;
use crate::engine::read::Reading;
use crate::engine::readers::Readers;
use crate::engine::search::indexing::Indexing;
use crate::engine::store::{Engine, WAITING_BYTES, off_thread};
use crate::engine::verify::Indexes;
use crate::error::{Result, StoreError};
use crate::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::query::WindowQuery;
use crate::store::Turn;
use crate::transaction::Position;
use manent_model::DigestKey;
use shared::Shared;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Returns the version of the SQLite library.
pub fn version() -> &'static str {
    rusqlite::version()
}

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
        self.shared.indexing.close();
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
            queue: Queue::default(),
            readers: Readers::default(),
            keeper: keeper::Keeper::default(),
            position: Known::new(last.unwrap_or(0)),
            indexing: Indexing::default(),
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
        if options.has_index() {
            let (shared, options) = (shared.clone(), options.clone());
            spawn("manent-indexer", Box::new(move || indexer::serve(&shared, &options)))?;
        }
        for _ in 0..options.readers.max(1) {
            let (shared, options) = (shared.clone(), options.clone());
            let open = move |shared: &Arc<Shared>| reader::SqliteReader::open(shared, &options);
            spawn("manent-reader", Box::new(move || shared.readers.serve(|| open(&shared))))?;
        }
        Ok(Self { shared, options, waiting: Semaphore::new(WAITING_BYTES), position, threads: Mutex::new(threads) })
    }

    /// Removes a file and whatever lies beside it under its name. Nobody may use its store meanwhile.
    pub async fn destroy(path: &Path) -> Result<Destroyed> {
        let path = path.to_owned();
        off_thread("manent-destroy", move || destroy::destroy(&path)).await
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

impl Engine for SqliteStore {
    fn key(&self) -> &DigestKey {
        &self.shared.key
    }

    fn queue(&self) -> &Queue {
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
        read: impl Fn(&mut Reading<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.readers.read(self.shared.key.clone(), doing, read).await
    }

    fn indexing(&self) -> Option<&Indexing> {
        self.options.has_index().then_some(&self.shared.indexing)
    }

    async fn import_turn(&self) -> Result<Turn> {
        let path = self.options.beside("-import");
        off_thread("manent-turn", move || turn::wait(&path)).await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        let (options, to) = (self.options.clone(), to.to_owned());
        off_thread("manent-backup", move || backup::backup(&options, &to)).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        let (options, has_caught_up) = (self.options.clone(), self.shared.indexing.has_caught_up());
        off_thread("manent-verify", move || {
            // One that is being made has nothing to be compared with yet.
            let index = if has_caught_up { index::open_to_check(&options) } else { Ok(None) };
            let index = match &index {
                Ok(Some(index)) => Indexes::Beside(index),
                Ok(None) => Indexes::No,
                Err(_) => Indexes::Unreadable,
            };
            engine::verify::verify((&connection::open_reader(&options)?).into(), index)
        })
        .await
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
