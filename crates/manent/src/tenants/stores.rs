//! The stores of tenants that are open: made when they are needed, closed when nobody has needed them for a while.

use crate::database::Database;
use crate::error::Result;
use crate::place::Place;
use manent_model::TenantId;
use manent_store::StoreError;
use manent_store::sqlite::{Crew, CrewOptions, SqliteOptions, SqliteStore};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A store that nobody used for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(5 * 60);

/// So many stores are open at a time on a server: each has four connections, a server has room for a hundred, and there may be
/// several of us.
const ON_SERVER_MAX: usize = 8;

/// So many are being opened at a time: each takes a thread meanwhile.
const OPENING_MAX: u32 = 4;

/// Stores that are open, and the threads that work for those that are files.
pub(super) struct Stores {
    open: Mutex<HashMap<TenantId, Open>>,
    opening: Semaphore,
    /// One for each that is being opened.
    turns: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>>,
    /// Works for all files but the first, which has threads of its own; begun with the first of them.
    crew: Mutex<Option<Arc<Crew>>>,
}

/// An open store, and when it was last asked for.
struct Open {
    database: Database,
    used: Instant,
}

impl Open {
    /// Nobody else has a handle, so nobody notices when it is closed.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.database.store) == 1
    }
}

impl Default for Stores {
    fn default() -> Self {
        let opening = Semaphore::new(OPENING_MAX as usize);
        Self { open: Mutex::default(), opening, turns: Mutex::default(), crew: Mutex::default() }
    }
}

impl Stores {
    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store of a tenant, if it is open.
    pub(super) fn get(&self, id: TenantId) -> Option<Database> {
        let mut open = self.lock();
        let found = open.get_mut(&id)?;
        found.used = Instant::now();
        Some(found.database.clone())
    }

    /// Opens the store of a tenant, or makes it.
    pub(super) async fn make(&self, id: TenantId, place: Place) -> Result<Database> {
        // One opens it for all who want it.
        let own = self.turns().entry(id).or_default().clone();
        let opened = async {
            let _own = own.lock().await;
            match self.get(id) {
                Some(database) => Ok(database),
                None => self.open_now(id, place).await,
            }
        };
        let opened = opened.await;
        drop(own);
        self.turns().retain(|_, turn| Arc::strong_count(turn) > 1);
        opened
    }

    async fn open_now(&self, id: TenantId, place: Place) -> Result<Database> {
        // Those on a server one after the other: room is made for each.
        let many = match place {
            Place::File(_) => 1,
            Place::Server(_) => OPENING_MAX,
        };
        let _turn = self.opening.acquire_many(many).await.map_err(|_| StoreError::Closed)?;
        let opening = match place {
            Place::File(path) => {
                let (crew, options) = (self.crew()?, SqliteOptions { readers: 2, ..SqliteOptions::new(path) });
                // Opening waits for the disk or the server; somebody else may need this thread.
                tokio::task::spawn_blocking(move || Ok(Database::over(Arc::new(SqliteStore::open_in(&crew, options)?))))
            }
            Place::Server(_) => {
                self.make_room(ON_SERVER_MAX).await?;
                tokio::task::spawn_blocking(move || Database::open_at(&place))
            }
        };
        let database = opening.await.map_err(|_| StoreError::Closed)??;
        self.lock().insert(id, Open { database: database.clone(), used: Instant::now() });
        Ok(database)
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<TenantId, Arc<tokio::sync::Mutex<()>>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the store that was not asked for longest, if there are so many.
    async fn make_room(&self, most: usize) -> Result<()> {
        let closing = {
            let mut open = self.lock();
            if open.len() < most {
                return Ok(());
            }
            let unused = open.iter().filter(|(_, open)| open.is_unused());
            let oldest = unused.min_by_key(|(_, open)| open.used).map(|(id, _)| *id);
            oldest.and_then(|id| open.remove(&id))
        };
        match closing {
            Some(open) => open.database.close().await,
            None => Err(StoreError::Busy("too many tenants at a time").into()),
        }
    }

    /// Closes stores that nobody used for a while.
    pub(super) async fn close_idle(&self) -> Result<()> {
        let idle: Vec<Open> = {
            let mut open = self.lock();
            let is_idle = |open: &Open| open.is_unused() && open.used.elapsed() > IDLE_MAX;
            let ids: Vec<TenantId> = open.iter().filter(|(_, open)| is_idle(open)).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| open.remove(id)).collect()
        };
        close_all(idle).await
    }

    /// Closes the stores of tenants that are not served: they may have been erased by another process.
    pub(super) async fn close_others(&self, is_served: impl Fn(TenantId) -> bool) -> Result<()> {
        let others: Vec<Open> = {
            let mut open = self.lock();
            let ids: Vec<TenantId> = open.keys().copied().filter(|id| !is_served(*id)).collect();
            ids.iter().filter_map(|id| open.remove(id)).collect()
        };
        close_all(others).await
    }

    /// Takes a store out, so that nobody new gets it.
    pub(super) fn take(&self, id: TenantId) -> Option<Database> {
        self.lock().remove(&id).map(|open| open.database)
    }

    /// Returns all that are open.
    pub(super) fn open(&self) -> Vec<(TenantId, Database)> {
        self.lock().iter().map(|(id, open)| (*id, open.database.clone())).collect()
    }

    /// Closes all of them.
    pub(super) async fn close(&self) -> Result<()> {
        let open: Vec<Open> = self.lock().drain().map(|(_, open)| open).collect();
        close_all(open).await
    }

    /// Returns the threads that work for files.
    fn crew(&self) -> Result<Arc<Crew>> {
        let mut crew = self.crew.lock().unwrap_or_else(PoisonError::into_inner);
        match &*crew {
            Some(crew) => Ok(crew.clone()),
            None => Ok(crew.insert(Crew::start(CrewOptions::default())?).clone()),
        }
    }
}

/// Closes all, also where one says that it could not.
async fn close_all(open: Vec<Open>) -> Result<()> {
    let mut closed = Ok(());
    for open in open {
        closed = closed.and(open.database.close().await);
    }
    closed
}
