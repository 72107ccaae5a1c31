//! The stores of tenants that are open: made when they are needed, closed when nobody has needed them for a while.

use super::turns::Turns;
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
    /// A store is opened, closed or destroyed by one at a time.
    turns: Turns,
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
        Self { open: Mutex::default(), opening, turns: Turns::default(), crew: Mutex::default() }
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

    /// Opens the store of a tenant at the place where it turns out to be, or makes it.
    pub(super) async fn make(&self, id: TenantId, place: impl Future<Output = Result<Place>>) -> Result<Database> {
        // One opens it for all who want it.
        let _turn = self.turns.of(id).await;
        match self.get(id) {
            Some(database) => Ok(database),
            None => self.open_now(id, place.await?).await,
        }
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

    /// Closes the stores that were not asked for longest, as long as there are so many.
    async fn make_room(&self, most: usize) -> Result<()> {
        loop {
            let mut unused: Vec<(Instant, TenantId)> = {
                let open = self.lock();
                if open.len() < most {
                    return Ok(());
                }
                open.iter().filter(|(_, open)| open.is_unused()).map(|(id, open)| (open.used, *id)).collect()
            };
            unused.sort_unstable();
            // Nobody is waited for: whoever has the turn of another store may wait for the room that this makes.
            let mut free = unused.into_iter().filter_map(|(_, id)| Some((id, self.turns.try_of(id)?)));
            match free.next() {
                Some((id, _turn)) => self.close_now(id, Open::is_unused).await?,
                None => return Err(StoreError::Busy("too many tenants at a time").into()),
            }
        }
    }

    /// Closes stores that nobody used for a while.
    pub(super) async fn close_idle(&self) -> Result<()> {
        self.close_where(|_, open| open.is_unused() && open.used.elapsed() > IDLE_MAX).await
    }

    /// Closes the stores of tenants that are not served: they may have been erased by another process.
    pub(super) async fn close_others(&self, is_served: impl Fn(TenantId) -> bool) -> Result<()> {
        self.close_where(|id, _| !is_served(id)).await
    }

    /// Closes all of them.
    pub(super) async fn close(&self) -> Result<()> {
        self.close_where(|_, _| true).await
    }

    /// Closes some, also where one says that it could not.
    async fn close_where(&self, is_meant: impl Fn(TenantId, &Open) -> bool) -> Result<()> {
        let meant = |(id, open): (&TenantId, &Open)| is_meant(*id, open).then_some(*id);
        let ids: Vec<TenantId> = self.lock().iter().filter_map(meant).collect();
        let mut closed = Ok(());
        for id in ids {
            closed = closed.and(self.close_if(id, |open| is_meant(id, open)).await);
        }
        closed
    }

    async fn close_if(&self, id: TenantId, is_meant: impl Fn(&Open) -> bool) -> Result<()> {
        let _turn = self.turns.of(id).await;
        self.close_now(id, is_meant).await
    }

    /// Closes a store whose turn one has.
    async fn close_now(&self, id: TenantId, is_meant: impl Fn(&Open) -> bool) -> Result<()> {
        // While one waited somebody may have asked for it, or closed it.
        let taken = {
            let mut open = self.lock();
            let is_meant = open.get(&id).is_some_and(is_meant);
            if is_meant { open.remove(&id) } else { None }
        };
        match taken {
            Some(open) => open.database.close().await,
            None => Ok(()),
        }
    }

    /// Closes the store of a tenant and does something that nobody may have it open for; whoever wants it waits.
    pub(super) async fn while_closed<T>(&self, id: TenantId, work: impl Future<Output = Result<T>>) -> Result<T> {
        let _turn = self.turns.of(id).await;
        self.close_now(id, |_| true).await?;
        work.await
    }

    /// Returns all that are open.
    pub(super) fn open(&self) -> Vec<(TenantId, Database)> {
        self.lock().iter().map(|(id, open)| (*id, open.database.clone())).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_wants_a_store_that_is_being_destroyed_waits() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (stores, id) = (Stores::default(), TenantId::new(1, [1; 10]));
        let place = || async { Ok(Place::File(folder.path().join("store.db"))) };
        let open = stores.make(id, place()).await.expect("made");
        let destroy = async {
            let wanted = tokio::time::timeout(Duration::from_millis(300), stores.make(id, place())).await;
            assert!(wanted.is_err(), "it was opened meanwhile");
            let closed = tokio::time::timeout(Duration::from_millis(300), stores.close_if(id, |_| true)).await;
            assert!(closed.is_err(), "it was closed meanwhile");
            Ok(())
        };
        stores.while_closed(id, destroy).await.expect("nobody had it open");
        assert!(open.list(manent_store::ListQuery::default()).await.is_err(), "an old handle still reads");
        let again = stores.make(id, place()).await.expect("it is our turn");
        assert!(again.list(manent_store::ListQuery::default()).await.is_ok());
        stores.close().await.expect("closed");
    }
}
