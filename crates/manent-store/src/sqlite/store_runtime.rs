//! Store runtime: a fixed thread pool and a bounded number of connections, shared by any number of stores.
//!
//! Each kind of thread has a fair scheduler over the stores with work. A store is queued at most once, has one batch,
//! one read or one round done, and goes to the end of the queue: so no store blocks another for longer than one turn of
//! each store before it.

use super::connection::{CACHE_KIB, SqliteOptions};
use super::connection_budget::{ConnectionBudget, ConnectionPermit};
use super::open_store::OpenStore;
use super::{change_detector, indexer, maintenance, writer};
use crate::api::error::{Result, StoreError};
use crate::engine::commit::reply_dispatcher::ReplyDispatcher;
use crate::runtime::scheduler::{FairScheduler, Reschedule};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of a store that has not joined yet.
pub(super) const NO_STORE: u64 = 0;

/// Size limits of a runtime.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// Number of writer threads: the maximum number of files that are synced at a time.
    pub writers: usize,
    /// How many threads read. A store is read by at most [`SqliteOptions::readers`] of them at a time.
    pub readers: usize,
    /// How many connections the stores may have open together; never fewer than the threads use at a time.
    pub connections_max: usize,
    /// How long an unused connection stays open.
    pub idle_max: Duration,
    /// How much of a file each connection may remember.
    pub cache_kib: u32,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self { writers: 4, readers: 8, connections_max: 256, idle_max: Duration::from_secs(60), cache_kib: 4_096 }
    }
}

impl RuntimeOptions {
    /// Returns the options of a store with a runtime of its own: connections that it opens stay open.
    pub(super) fn for_one(options: &SqliteOptions) -> Self {
        Self {
            writers: 1,
            readers: options.readers,
            connections_max: usize::MAX,
            idle_max: Duration::MAX,
            cache_kib: CACHE_KIB,
        }
    }

    /// A writer and a reader may need the file and its index, and so does the indexer; one more connection polls files
    /// without open connections, and one checkpoints WALs.
    fn least(&self) -> usize {
        2 * (self.writers.max(1) + self.readers.max(1)) + 4
    }
}

/// The threads that work for stores. It ends with its last handle; every store keeps one.
pub struct StoreRuntime {
    shared: Arc<RuntimeInner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// State shared by the threads.
pub(super) struct RuntimeInner {
    pub writers: FairScheduler<OpenStore>,
    pub readers: FairScheduler<OpenStore>,
    pub maintenance: FairScheduler<OpenStore>,
    pub change_detector: FairScheduler<OpenStore>,
    pub indexer: FairScheduler<OpenStore>,
    pub connections: Arc<ConnectionBudget>,
    pub idle_max: Duration,
    cache_kib: u32,
    replies: ReplyDispatcher,
    stores: Mutex<HashMap<u64, Arc<OpenStore>>>,
    numbers: AtomicU64,
}

impl StoreRuntime {
    /// Starts the threads.
    pub fn start(options: RuntimeOptions) -> Result<Arc<Self>> {
        // Two have room of their own.
        let connections_max = options.connections_max.max(options.least()) - 2;
        let shared = Arc::new(RuntimeInner {
            writers: FairScheduler::default(),
            readers: FairScheduler::default(),
            maintenance: FairScheduler::default(),
            change_detector: FairScheduler::default(),
            indexer: FairScheduler::default(),
            connections: Arc::new(ConnectionBudget::new(connections_max)),
            idle_max: options.idle_max,
            cache_kib: options.cache_kib,
            replies: ReplyDispatcher::start(),
            stores: Mutex::default(),
            numbers: AtomicU64::new(NO_STORE + 1),
        });
        // Threads that were started before a failure end when this is dropped.
        let runtime = Self { shared, threads: Mutex::default() };
        for _ in 0..options.writers.max(1) {
            runtime.spawn("manent-writer", |runtime| {
                serve(&runtime.writers, |store| writer::turn(store, &runtime.replies));
            })?;
        }
        for _ in 0..options.readers.max(1) {
            runtime.spawn("manent-reader", read)?;
        }
        runtime.spawn("manent-maintain", |runtime| serve(&runtime.maintenance, maintenance::run))?;
        runtime.spawn("manent-watcher", |runtime| serve(&runtime.change_detector, change_detector::run))?;
        runtime.spawn("manent-indexer", |runtime| {
            indexer::lower_priority();
            serve(&runtime.indexer, indexer::turn);
        })?;
        Ok(Arc::new(runtime))
    }

    fn spawn(&self, name: &str, work: impl FnOnce(&RuntimeInner) + Send + 'static) -> Result<()> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared));
        let thread = thread.map_err(|error| StoreError::engine("starting a thread", error))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(super) fn shared(&self) -> &Arc<RuntimeInner> {
        &self.shared
    }

    /// Returns the number of open connections, without those of short polls.
    pub fn connections(&self) -> usize {
        self.shared.connections.open()
    }
}

impl Drop for StoreRuntime {
    /// Stores that are being closed are finished first.
    fn drop(&mut self) {
        let runtime = &self.shared;
        for scheduler in
            [&runtime.writers, &runtime.readers, &runtime.maintenance, &runtime.change_detector, &runtime.indexer]
        {
            scheduler.close();
        }
        // Waiting here would hold up everything else that the worker of a runtime has to do.
        if tokio::runtime::Handle::try_current().is_ok() {
            return;
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// The main loop of a thread that runs one turn of a store at a time.
fn serve<T>(scheduler: &FairScheduler<T>, turn: impl Fn(&Arc<T>) -> Reschedule) {
    let mut last = None;
    while let Some((number, store)) = scheduler.next(last) {
        // A panic in the work for one store must not end the thread that the others need.
        let again = catch_unwind(AssertUnwindSafe(|| turn(&store)));
        last = Some((number, again.unwrap_or(Reschedule::After(AFTER_PANIC))));
    }
}

/// Backoff for work that fails repeatedly.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// The main loop of a reader thread. Its turn only picks a read: other threads may read the same store meanwhile.
fn read(runtime: &RuntimeInner) {
    while let Some((number, store)) = runtime.readers.next(None) {
        let next = store.readers.next();
        let has_more = next.as_ref().is_some_and(|next| next.has_more);
        runtime.readers.reschedule(number, if has_more { Reschedule::Now } else { Reschedule::WhenWoken });
        if let Some(next) = next {
            next.run(|| store.open_reader());
        }
    }
}

impl RuntimeInner {
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a store to all schedulers.
    pub(super) fn join(&self, store: &Arc<OpenStore>) {
        let number = store.number;
        self.stores.lock().insert(number, store.clone());
        for scheduler in [&self.writers, &self.readers, &self.maintenance, &self.change_detector] {
            scheduler.join(number, store.clone());
        }
        self.writers.wake(number);
        self.change_detector.wake(number);
        self.maintenance.wake(number);
        if store.options.has_index() {
            self.indexer.join(number, store.clone());
            self.indexer.wake(number);
        }
    }

    pub(super) fn leave(&self, number: u64) {
        self.stores.lock().remove(&number);
    }

    /// Acquires a connection permit for a store. If none is free, idle connections of other stores are closed.
    pub(super) fn connection_permit(&self, number: u64, connections: &Arc<AtomicUsize>) -> ConnectionPermit {
        loop {
            if let Some(slot) = self.connections.try_acquire(connections) {
                return slot;
            }
            if !self.close_longest_idle(number) {
                self.connections.wait_for_release();
            }
        }
    }

    /// Applies the settings of the runtime to a connection.
    pub(super) fn configure(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.pragma_update(None, "cache_size", -i64::from(self.cache_kib))
    }

    /// Closes the connections that have been idle longest, a whole store at a time: SQLite keeps the file itself open
    /// for as long as any connection of that store is. Those of the store that needs the connection come last. Says
    /// whether there were any.
    fn close_longest_idle(&self, needed_by: u64) -> bool {
        let stores = self.stores.lock();
        let idle = stores.values().filter_map(|store| Some((store.idle_since()?, store)));
        let longest = idle.min_by_key(|(since, store)| (store.number == needed_by, *since));
        let Some((_, store)) = longest else { return false };
        let store = store.clone();
        drop(stores);
        store.close_idle(Instant::now());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqliteStore;
    use super::*;
    use crate::engine::interface::Engine;
    use crate::engine::sql::tx_error::TxResult;

    #[test]
    fn a_panic_in_the_work_for_one_store_leaves_the_thread_to_the_others() {
        let scheduler: FairScheduler<u64> = FairScheduler::default();
        for number in 0..3 {
            scheduler.join(number, Arc::new(number));
            scheduler.wake(number);
        }
        scheduler.close();
        // The loop ends when all stores have left, and so all of them had a turn; the one that panicked had a second.
        let tries = AtomicUsize::new(0);
        serve(&scheduler, |number| {
            if **number == 1 && tries.fetch_add(1, Ordering::Relaxed) == 0 {
                panic!("it is damaged");
            }
            Reschedule::Never
        });
        assert_eq!(tries.into_inner(), 2);
    }

    #[test]
    fn a_panic_in_the_read_of_one_store_leaves_the_thread_to_the_others() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = StoreRuntime::start(RuntimeOptions { readers: 1, ..RuntimeOptions::default() }).expect("starts");
        let open =
            |name: &str| SqliteStore::open_in(&runtime, SqliteOptions::new(folder.path().join(name))).expect("opens");
        let (damaged, sound) = (open("damaged.db"), open("sound.db"));
        let executor = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        executor.block_on(async {
            for _ in 0..3 {
                let read = damaged.engine().read("reading", |_| -> TxResult<()> { panic!("it is damaged") });
                assert!(matches!(read.await, Err(StoreError::Internal(_))));
                for store in [&sound, &damaged] {
                    assert_eq!(store.engine().read("reading", |_| Ok(7)).await.expect("read"), 7);
                }
            }
        });
    }
}
