//! Multi-tenancy: tenants with their stores, users, API keys, and the audit log.
//!
//! The first tenant is the store itself, so a single-tenant installation has no overhead. With SQLite, other tenants
//! have one file each in a folder beside it, along with `system.db`; with PostgreSQL they are rows of the same tables.
//! The modules, in reading order:

mod files;
mod keyed_mutex;
mod pool;
mod credentials;
mod tenant;
mod user;
mod key;
mod audit;
mod erase;
mod backup;

pub use credentials::{AuthenticatedKey, Refusal};
pub use erase::Erasure;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::location::Location;
use crate::private_files;
use credentials::CredentialCache;
use keyed_mutex::KeyedMutex;
use manent_model::{DEFAULT_TENANT, TenantId, TenantStatus};
use manent_store::StoreError;
use manent_store::postgres::PostgresOptions;
use manent_store::system::{SystemLocation, SystemStore, TenantRow};
use pool::DatabasePool;
use std::path::PathBuf;
use std::sync::Arc;

/// The tenants of a server. Cloning is cheap and returns another handle to the same tenants.
#[derive(Clone)]
pub struct Tenants {
    inner: Arc<Inner>,
}

struct Inner {
    system: SystemStore,
    location: Location,
    home: Database,
    /// Folder of the managed backups, with a subfolder per tenant.
    backups: Option<PathBuf>,
    credentials: CredentialCache,
    databases: DatabasePool,
    /// Serializes erasures per tenant: two concurrent ones would each get half a receipt.
    erasures: KeyedMutex,
    /// Serializes writing and removing managed backups of the system store.
    system_backups: tokio::sync::Mutex<()>,
}

impl Tenants {
    /// Opens or creates the store at a place, with its tenants.
    ///
    /// This reads the stores before it returns; in an async program call it on a blocking thread.
    pub fn open(place: &Location, backups: Option<PathBuf>) -> Result<Self> {
        let home = Database::open_at(place)?;
        let system = SystemStore::open(system_place(place)?, manent_store::now())?;
        let (place, registry) = (place.clone(), CredentialCache::default());
        let (stores, erasures, system_backups) = <_>::default();
        let inner = Inner {
            system,
            location: place,
            home,
            backups,
            credentials: registry,
            databases: stores,
            erasures,
            system_backups,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns whether there may be further tenants or keys: whether a system store exists.
    pub fn are_at(place: &Location) -> bool {
        match place {
            Location::File(path) => files::folder(path).join(files::SYSTEM).exists(),
            Location::Server(_) => true,
        }
    }

    /// Loads tenants and keys, and finishes what a crash interrupted: tenants in creation are created, tenants in
    /// erasure are erased. Returns those that failed; the others are served nevertheless.
    ///
    /// For servers. Programs that run beside a server only load tenants and keys, with [`Self::refresh`].
    pub async fn begin(&self) -> Result<Vec<(TenantId, Error)>> {
        let left = self.finish_tenants().await?;
        self.refresh().await?;
        Ok(left)
    }

    /// Returns the database of the first tenant.
    pub fn home(&self) -> &Database {
        &self.inner.home
    }

    /// Returns the databases that are open now, for maintenance that must not open others.
    pub fn open_databases(&self) -> Vec<(TenantId, Database)> {
        let mut open = self.inner.databases.open();
        open.push((DEFAULT_TENANT, self.inner.home.clone()));
        open
    }

    /// Returns the database of an active tenant.
    pub async fn database(&self, id: TenantId) -> Result<Database> {
        if id == DEFAULT_TENANT {
            return Ok(self.inner.home.clone());
        }
        if let Some(open) = self.inner.databases.get(id) {
            return Ok(open);
        }
        self.open_store(id, TenantState::Made).await
    }

    /// Returns the database of an authenticated key, limited to its access scope.
    pub async fn granted(&self, pass: &AuthenticatedKey) -> Result<Database> {
        Ok(self.database(pass.key.tenant).await?.granted(pass.grant()))
    }

    /// Opens or creates the store of a tenant.
    async fn open_store(&self, id: TenantId, opening: TenantState) -> Result<Database> {
        let tenants = self.clone();
        spawn_detached(async move {
            let mut is_tried = false;
            // Looked up after taking the lock: a later erasure waits for it, and closes the store opened here.
            let place = async {
                let row = tenants.tenant_row(&id.to_string()).await?;
                tenants.may_open(&row, opening)?;
                is_tried = true;
                Ok(tenants.place_of(&row))
            };
            let opened = tenants.inner.databases.make(id, place).await;
            if is_tried {
                tenants.must_have_stayed(id).await?;
            }
            opened
        })
        .await
    }

    fn may_open(&self, row: &TenantRow, opening: TenantState) -> Result<()> {
        use TenantStatus::{Active, Erased, Erasing, Making, Suspended};
        match (opening, row.tenant.status) {
            (TenantState::Made, Active | Suspended) => self.must_be_there(row),
            (TenantState::Anew, Making | Active | Suspended) => Ok(()),
            (TenantState::Made, Making) | (_, Erasing | Erased) => Err(Error::not_found("tenant", row.tenant.id)),
        }
    }

    /// Another process may have erased a tenant while its store was opened or restored, which recreated the file: then
    /// it is deleted again. Not used by the erasure itself.
    async fn must_have_stayed(&self, id: TenantId) -> Result<()> {
        let row = self.tenant_row(&id.to_string()).await?;
        if !matches!(row.tenant.status, TenantStatus::Erasing | TenantStatus::Erased) {
            return Ok(());
        }
        let _turn = self.inner.erasures.lock(id).await;
        self.destroy(&row).await?;
        Err(Error::not_found("tenant", id))
    }

    /// Closes every store.
    pub async fn close(&self) -> Result<()> {
        // All of them are closed, even if one fails.
        let ends = [
            self.flush_use().await,
            self.inner.databases.close().await,
            self.inner.system.close().await.map_err(Error::from),
            self.inner.home.close().await,
        ];
        ends.into_iter().collect()
    }

    /// A lost file is not recreated empty: writes to the new file would prevent restoring the old one.
    fn must_be_there(&self, row: &TenantRow) -> Result<()> {
        match self.place_of(row) {
            Location::File(path) if !path.exists() => {
                let why = "it is lost; `manent restore-backup FILE --tenant TENANT` brings it back";
                Err(Error::file("opening", &path, std::io::Error::new(std::io::ErrorKind::NotFound, why)))
            }
            _ => Ok(()),
        }
    }

    fn place_of(&self, row: &TenantRow) -> Location {
        match &self.inner.location {
            Location::File(path) if row.tenant.id == DEFAULT_TENANT => Location::File(path.clone()),
            Location::File(path) => Location::File(files::store_of(path, row.tenant.id)),
            Location::Server(options) if row.tenant.id == DEFAULT_TENANT => Location::Server(options.clone()),
            // Few connections each: a server allows about a hundred connections, not a thousand.
            Location::Server(options) => {
                Location::Server(PostgresOptions { tenant: row.no, readers: 1, ..options.clone() })
            }
        }
    }
}

/// Whether the store of a tenant is expected to exist.
#[derive(Debug, Clone, Copy)]
enum TenantState {
    /// It must exist.
    Made,
    /// It is created unless it exists.
    Anew,
}

/// Runs a future to completion in a task, even if the caller is dropped.
async fn spawn_detached<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(StoreError::Closed.into()),
        },
    }
}

fn system_place(place: &Location) -> Result<SystemLocation> {
    match place {
        Location::File(path) => {
            let folder = files::folder(path);
            private_files::create_folders(&folder).map_err(|error| Error::file("making", &folder, error))?;
            Ok(SystemLocation::File(folder.join(files::SYSTEM)))
        }
        Location::Server(options) => Ok(SystemLocation::Server(options.clone())),
    }
}
