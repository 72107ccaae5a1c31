//! Where things are: the store, the token, the backups.

use anyhow::{Context, Result, bail};
use etcetera::{BaseStrategy, choose_base_strategy};
use manent::{Database, Place, Tenants};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of this installation, and its store.
pub struct Home {
    /// The folder of the token, the sessions and the backups.
    pub folder: PathBuf,
    /// Who said so.
    pub folder_from: &'static str,
    /// Where the store is.
    pub store: Place,
    /// Who said so.
    pub store_from: &'static str,
}

impl Home {
    /// `--db`, else `MANENT_DB`, else a file in `MANENT_HOME`, else in the data folder of the user.
    pub fn find(db: Option<PathBuf>) -> Result<Self> {
        let given = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
        let (folder, folder_from) = match given("MANENT_HOME") {
            Some(home) => (home, "MANENT_HOME"),
            None => {
                let strategy = choose_base_strategy().context("finding your home folder")?;
                (strategy.data_dir().join("manent"), "XDG_DATA_HOME")
            }
        };
        let (store, store_from) = match (db, given("MANENT_DB")) {
            (Some(db), _) => (db, "--db"),
            (None, Some(db)) => (db, "MANENT_DB"),
            (None, None) => (folder.join("manent.db"), "home"),
        };
        Ok(Self { folder, folder_from, store: Place::of(store), store_from })
    }

    /// Refuses a store that somebody named and that is not there: it is misspelt more often than new.
    pub fn must_exist(&self) -> Result<()> {
        let is_named = self.store_from != "home";
        if is_named && self.store.file().is_some_and(|file| !file.exists()) {
            bail!("there is no store at {}; `manent new` or `manent import` makes one", self.store);
        }
        Ok(())
    }

    /// Opens the store; makes it and its folder at the first time.
    pub fn open(&self) -> Result<Database> {
        self.make_folder()?;
        Database::open_at(&self.store).with_context(|| format!("opening {}", self.store))
    }

    /// Opens the store with its tenants, or makes them, and does something with them.
    pub async fn with_tenants<T>(&self, work: impl AsyncFnOnce(&Tenants) -> Result<T>) -> Result<T> {
        let tenants = self.open_tenants(self.backups())?;
        tenants.begin().await?;
        let done = work(&tenants).await;
        let closed = tenants.close().await;
        let done = done?;
        closed?;
        Ok(done)
    }

    /// Opens the store with its tenants; makes them at the first time.
    pub fn open_tenants(&self, backups: PathBuf) -> Result<Tenants> {
        self.make_folder()?;
        Tenants::open(&self.store, Some(backups)).with_context(|| format!("opening {}", self.store))
    }

    /// Where the managed backups lie.
    pub fn backups(&self) -> PathBuf {
        self.folder.join("backups")
    }

    fn make_folder(&self) -> Result<()> {
        let folder = self.store.file().and_then(Path::parent);
        if let Some(parent) = folder.filter(|parent| !parent.as_os_str().is_empty()) {
            manent_server::make_private_folder(parent).with_context(|| format!("making {}", parent.display()))?;
        }
        Ok(())
    }
}
