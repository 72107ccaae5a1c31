//! Many owners on one server: who they are, their stores, who may come in, and what was done.
//!
//! The first tenant is the store itself, so that whoever needs no others notices nothing of this. Of SQLite the others
//! lie in a folder beside it, a file each with `system.db`; on PostgreSQL they are rows of the same tables. The modules,
//! in reading order:

mod files;
mod registry;
mod tenant;
mod user;
mod key;
mod audit;
mod erase;

pub use erase::Erasure;
pub use registry::{Pass, Refusal};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids::now;
use crate::place::Place;
use manent_model::{DEFAULT_TENANT, TenantId, TenantStatus};
use manent_store::postgres::PostgresOptions;
use manent_store::sqlite::{Crew, CrewOptions, SqliteOptions, SqliteStore};
use manent_store::system::{SystemPlace, SystemStore, TenantRef, TenantRow};
use registry::Registry;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tenants of a server. Cloning it is cheap and gives another handle to the same.
#[derive(Clone)]
pub struct Tenants {
    inner: Arc<Inner>,
}

struct Inner {
    system: SystemStore,
    place: Place,
    home: Database,
    /// Where the managed backups lie; each tenant has a folder of its own in it.
    backups: Option<PathBuf>,
    registry: Registry,
    stores: Mutex<HashMap<TenantId, Database>>,
    /// Works for all files but the first, which has threads of its own; begun with the first of them.
    crew: Mutex<Option<Arc<Crew>>>,
}

impl Tenants {
    /// Opens the store at a place with its tenants, or makes it.
    ///
    /// This reads the stores before it returns; in an async program call it where waiting is allowed.
    pub fn open(place: &Place, backups: Option<PathBuf>) -> Result<Self> {
        let home = Database::open_at(place)?;
        let system = SystemStore::open(system_place(place)?, now())?;
        let (place, registry) = (place.clone(), Registry::default());
        let (stores, crew) = (Mutex::default(), Mutex::default());
        let inner = Inner { system, place, home, backups, registry, stores, crew };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Says whether there may be others than the first tenant, or keys: whether [`Self::open`] has ever made anything.
    pub fn are_at(place: &Place) -> bool {
        match place {
            Place::File(path) => files::folder(path).join(files::SYSTEM).exists(),
            Place::Server(_) => true,
        }
    }

    /// Reads who may come in, and finishes what a crash left half done: tenants that were being made are made, those that
    /// were being erased are erased.
    pub async fn begin(&self) -> Result<()> {
        self.finish_tenants().await?;
        self.refresh().await
    }

    /// Returns the database of the first tenant.
    pub fn home(&self) -> &Database {
        &self.inner.home
    }

    /// Returns the database of a tenant that is in use.
    pub async fn database(&self, id: TenantId) -> Result<Database> {
        if id == DEFAULT_TENANT {
            return Ok(self.inner.home.clone());
        }
        if let Some(open) = self.stores().get(&id) {
            return Ok(open.clone());
        }
        let found = self.inner.system.tenant(TenantRef::Id(id)).await?;
        let row = found.filter(|row| matches!(row.tenant.status, TenantStatus::Active | TenantStatus::Suspended));
        let row = row.ok_or_else(|| Error::not_found("tenant", id))?;
        self.open_store(&row).await
    }

    /// Returns the database of whoever has a pass, as far as they reach.
    pub async fn granted(&self, pass: &Pass) -> Result<Database> {
        Ok(self.database(pass.key.tenant).await?.granted(pass.grant()))
    }

    /// Returns the databases that are open.
    pub fn open_stores(&self) -> Vec<(TenantId, Database)> {
        let others = self.stores().iter().map(|(id, database)| (*id, database.clone())).collect::<Vec<_>>();
        std::iter::once((DEFAULT_TENANT, self.inner.home.clone())).chain(others).collect()
    }

    /// Opens the store of a tenant, or makes it.
    async fn open_store(&self, row: &TenantRow) -> Result<Database> {
        let (place, tenants) = (self.place_of(row), self.clone());
        // Opening waits for the disk or the server; somebody else may need this thread.
        let opened = tokio::task::spawn_blocking(move || match place {
            Place::File(path) => {
                let options = SqliteOptions { readers: 2, ..SqliteOptions::new(path) };
                Ok(Database::over(Arc::new(SqliteStore::open_in(&tenants.crew()?, options)?)))
            }
            Place::Server(_) => Database::open_at(&place),
        });
        let opened = opened.await.map_err(|_| manent_store::StoreError::Closed)??;
        // Two may have opened it at once; one of them is enough.
        Ok(self.stores().entry(row.tenant.id).or_insert(opened).clone())
    }

    /// Closes every store.
    pub async fn close(&self) -> Result<()> {
        self.flush_use().await?;
        let open: Vec<Database> = self.stores().drain().map(|(_, database)| database).collect();
        for database in open {
            database.close().await?;
        }
        self.inner.system.close().await?;
        self.inner.home.close().await
    }

    /// Returns the threads that work for the files of tenants.
    fn crew(&self) -> Result<Arc<Crew>> {
        let mut crew = self.inner.crew.lock().unwrap_or_else(PoisonError::into_inner);
        match &*crew {
            Some(crew) => Ok(crew.clone()),
            None => Ok(crew.insert(Crew::start(CrewOptions::default())?).clone()),
        }
    }

    fn stores(&self) -> MutexGuard<'_, HashMap<TenantId, Database>> {
        self.inner.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place_of(&self, row: &TenantRow) -> Place {
        match &self.inner.place {
            Place::File(path) if row.tenant.id == DEFAULT_TENANT => Place::File(path.clone()),
            Place::File(path) => Place::File(files::store_of(path, row.tenant.id)),
            Place::Server(options) if row.tenant.id == DEFAULT_TENANT => Place::Server(options.clone()),
            // A few threads each: a server has room for a hundred connections, not for a thousand.
            Place::Server(options) => Place::Server(PostgresOptions { tenant: row.no, readers: 1, ..options.clone() }),
        }
    }
}

fn system_place(place: &Place) -> Result<SystemPlace> {
    match place {
        Place::File(path) => {
            let folder = files::folder(path);
            files::make_private(&folder)?;
            Ok(SystemPlace::File(folder.join(files::SYSTEM)))
        }
        Place::Server(options) => Ok(SystemPlace::Server(options.clone())),
    }
}
