//! Pool of open tenant stores: opened on demand, closed when idle.

use super::keyed_mutex::KeyedMutex;
use crate::database::Database;
use crate::error::Result;
use crate::location::Location;
use manent_model::TenantId;
use manent_store::StoreError;
use manent_store::sqlite::{RuntimeOptions, SqliteOptions, SqliteStore, StoreRuntime};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Idle time after which a store is closed.
const IDLE_MAX: Duration = Duration::from_secs(5 * 60);

/// Maximum number of open stores on a PostgreSQL server: each has four connections, the server allows about a hundred,
/// and several processes may share it.
const ON_SERVER_MAX: usize = 8;

/// Maximum number of stores being opened concurrently: each takes a thread meanwhile.
const OPENING_MAX: u32 = 4;

/// Open stores, and the threads shared by those in files.
pub(super) struct DatabasePool {
    open: Mutex<HashMap<TenantId, OpenDatabase>>,
    opening: Semaphore,
    /// Keyed mutex: opening, closing and destroying a store are serialized.
    locks: KeyedMutex,
    /// Worker threads of all files except the first, which has its own; started with the first of them.
    runtime: Mutex<Option<Arc<StoreRuntime>>>,
}

/// An open store with its last use.
struct OpenDatabase {
    database: Database,
    used: Instant,
}

impl OpenDatabase {
    /// There are no other handles, so closing it affects no caller.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.database.store) == 1
    }
}

impl Default for DatabasePool {
    fn default() -> Self {
        let opening = Semaphore::new(OPENING_MAX as usize);
        Self { open: Mutex::default(), opening, locks: KeyedMutex::default(), runtime: Mutex::default() }
    }
}

impl DatabasePool {
    /// Returns the store of a tenant, if it is open.
    pub(super) fn get(&self, id: TenantId) -> Option<Database> {
        let mut open = self.open.lock();
        let found = open.get_mut(&id)?;
        found.used = Instant::now();
        Some(found.database.clone())
    }

    /// Opens or creates the store of a tenant at the place that the future resolves to.
    pub(super) async fn make(&self, id: TenantId, place: impl Future<Output = Result<Location>>) -> Result<Database> {
        // Concurrent callers wait for the first one to open it.
        let _turn = self.locks.lock(id).await;
        match self.get(id) {
            Some(database) => Ok(database),
            None => self.open_now(id, place.await?).await,
        }
    }

    async fn open_now(&self, id: TenantId, place: Location) -> Result<Database> {
        // Stores on a server are opened one after the other, because each may evict another.
        let many = match place {
            Location::File(_) => 1,
            Location::Server(_) => OPENING_MAX,
        };
        let _turn = self.opening.acquire_many(many).await.map_err(|_| StoreError::Closed)?;
        let opening = match place {
            Location::File(path) => {
                let (runtime, options) = (self.runtime()?, SqliteOptions { readers: 2, ..SqliteOptions::new(path) });
                // Opening waits for the disk or the server and must not block a runtime thread.
                tokio::task::spawn_blocking(move || {
                    Ok(Database::from_store(Arc::new(SqliteStore::open_in(&runtime, options)?)))
                })
            }
            Location::Server(_) => {
                self.make_room(ON_SERVER_MAX).await?;
                tokio::task::spawn_blocking(move || Database::open_at(&place))
            }
        };
        let database = opening.await.map_err(|_| StoreError::Closed)??;
        self.open.lock().insert(id, OpenDatabase { database: database.clone(), used: Instant::now() });
        Ok(database)
    }

    /// Closes the least recently used stores while the maximum is reached.
    async fn make_room(&self, most: usize) -> Result<()> {
        loop {
            let mut unused: Vec<(Instant, TenantId)> = {
                let open = self.open.lock();
                if open.len() < most {
                    return Ok(());
                }
                open.iter().filter(|(_, open)| open.is_unused()).map(|(id, open)| (open.used, *id)).collect()
            };
            unused.sort_unstable();
            // Does not wait for locks: the holder of another store's lock may itself wait for this eviction.
            let mut free = unused.into_iter().filter_map(|(_, id)| Some((id, self.locks.try_lock(id)?)));
            match free.next() {
                Some((id, _turn)) => self.close_now(id, OpenDatabase::is_unused).await?,
                None => return Err(StoreError::Busy("too many tenants at a time").into()),
            }
        }
    }

    /// Closes idle stores.
    pub(super) async fn close_idle(&self) -> Result<()> {
        self.close_where(|_, open| open.is_unused() && open.used.elapsed() > IDLE_MAX).await
    }

    /// Closes the stores of tenants that are no longer served: another process may have erased them.
    pub(super) async fn close_others(&self, is_served: impl Fn(TenantId) -> bool) -> Result<()> {
        self.close_where(|id, _| !is_served(id)).await
    }

    /// Closes all stores.
    pub(super) async fn close(&self) -> Result<()> {
        self.close_where(|_, _| true).await
    }

    /// Closes some stores, continuing after a failure.
    async fn close_where(&self, is_meant: impl Fn(TenantId, &OpenDatabase) -> bool) -> Result<()> {
        let meant = |(id, open): (&TenantId, &OpenDatabase)| is_meant(*id, open).then_some(*id);
        let ids: Vec<TenantId> = self.open.lock().iter().filter_map(meant).collect();
        let mut closed = Ok(());
        for id in ids {
            closed = closed.and(self.close_if(id, |open| is_meant(id, open)).await);
        }
        closed
    }

    async fn close_if(&self, id: TenantId, is_meant: impl Fn(&OpenDatabase) -> bool) -> Result<()> {
        let _turn = self.locks.lock(id).await;
        self.close_now(id, is_meant).await
    }

    /// Closes a store whose lock the caller holds.
    async fn close_now(&self, id: TenantId, is_meant: impl Fn(&OpenDatabase) -> bool) -> Result<()> {
        // It may have been used or closed while this waited.
        let taken = {
            let mut open = self.open.lock();
            let is_meant = open.get(&id).is_some_and(is_meant);
            if is_meant { open.remove(&id) } else { None }
        };
        match taken {
            Some(open) => open.database.close().await,
            None => Ok(()),
        }
    }

    /// Closes the store of a tenant and runs a future while it is closed; other callers wait.
    pub(super) async fn while_closed<T>(&self, id: TenantId, work: impl Future<Output = Result<T>>) -> Result<T> {
        let _turn = self.locks.lock(id).await;
        self.close_now(id, |_| true).await?;
        work.await
    }

    /// Returns all open stores.
    pub(super) fn open(&self) -> Vec<(TenantId, Database)> {
        self.open.lock().iter().map(|(id, open)| (*id, open.database.clone())).collect()
    }

    /// Returns the worker threads of file stores.
    fn runtime(&self) -> Result<Arc<StoreRuntime>> {
        let mut runtime = self.runtime.lock();
        match &*runtime {
            Some(runtime) => Ok(runtime.clone()),
            None => Ok(runtime.insert(StoreRuntime::start(RuntimeOptions::default())?).clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn opening_a_store_waits_for_its_deletion() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (stores, id) = (DatabasePool::default(), TenantId::new(1, [1; 10]));
        let place = || async { Ok(Location::File(folder.path().join("store.db"))) };
        let open = stores.make(id, place()).await.expect("made");
        let destroy = async {
            let wanted = tokio::time::timeout(Duration::from_millis(300), stores.make(id, place())).await;
            assert!(wanted.is_err(), "it was opened meanwhile");
            let closed = tokio::time::timeout(Duration::from_millis(300), stores.close_if(id, |_| true)).await;
            assert!(closed.is_err(), "it was closed meanwhile");
            Ok(())
        };
        stores.while_closed(id, destroy).await.expect("the store is closed");
        assert!(open.list(manent_store::ListQuery::default()).await.is_err(), "an old handle still reads");
        let again = stores.make(id, place()).await.expect("it is our turn");
        assert!(again.list(manent_store::ListQuery::default()).await.is_ok());
        stores.close().await.expect("closed");
    }
}
