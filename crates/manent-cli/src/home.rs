//! Paths: the store, the token, the backups.

use anyhow::{Context, Result, bail};
use etcetera::{BaseStrategy, choose_base_strategy};
use manent::{Database, Location, Tenants};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The store of an installation.
const STORE: &str = "manent.db";

/// File that names another folder for backups.
const ELSEWHERE: &str = "elsewhere";

/// The folder of this installation, and its store.
pub struct Home {
    /// The folder of the token, the sessions and the backups.
    pub folder: PathBuf,
    /// The setting that `folder` comes from.
    pub folder_from: &'static str,
    pub store: Location,
    /// The setting that `store` comes from.
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
            (None, None) => (folder.join(STORE), "home"),
        };
        Ok(Self { folder, folder_from, store: Location::of(store), store_from })
    }

    /// Refuses a store that is not there, for commands that read: looking must not create an empty store, which would be
    /// in the way of a restore.
    pub fn must_exist(&self) -> Result<()> {
        if self.store.file().is_some_and(|file| !file.exists()) {
            bail!(
                "no store at {}; `manent new`, `manent import` or `manent serve` creates one, \
                 `manent restore-backup` restores one",
                self.store
            );
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
        // A server may run beside this; what it makes or erases is its own to finish.
        tenants.refresh().await?;
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

    /// Returns the folder of the managed backups of this store: the one that a server was started with, or else one in
    /// this folder. Each store has its own, so that its rotation does not remove the backups of another store.
    pub fn backups(&self) -> PathBuf {
        let usual = self.usual_backups();
        let moved = std::fs::read_to_string(usual.join(ELSEWHERE)).ok();
        moved.map(|text| PathBuf::from(text.trim())).filter(|folder| folder.is_absolute()).unwrap_or(usual)
    }

    /// Keeps the backups elsewhere from now on, so that commands find them there as well.
    pub fn move_backups(&self, folder: &Path) -> Result<PathBuf> {
        let folder = std::path::absolute(folder).with_context(|| format!("finding {}", folder.display()))?;
        let note = self.usual_backups().join(ELSEWHERE);
        let text = folder.to_str().with_context(|| format!("{} is not UTF-8", folder.display()))?;
        manent_server::write_private(&note, text).with_context(|| format!("writing {}", note.display()))?;
        Ok(folder)
    }

    fn usual_backups(&self) -> PathBuf {
        let all = self.folder.join("backups");
        // However it is named, by whatever way: it is the same store, and has one place for its backups.
        let file = self.store.file().map(resolved);
        if self.store_from == "home" || file.as_ref() == Some(&resolved(&self.folder.join(STORE))) {
            return all;
        }
        let of = |named: String| {
            let digest = blake3::hash(named.as_bytes()).to_hex();
            all.join(format!("of-{}", &digest[..16]))
        };
        match (self.store.file(), file) {
            (Some(given), Some(file)) => {
                // Programs before this one did not follow links.
                let before = of(std::path::absolute(given).unwrap_or_else(|_| given.to_owned()).display().to_string());
                if before.is_dir() { before } else { of(file.display().to_string()) }
            }
            _ => of(self.store.to_string()),
        }
    }

    fn make_folder(&self) -> Result<()> {
        let folder = self.store.file().and_then(Path::parent);
        if let Some(parent) = folder.filter(|parent| !parent.as_os_str().is_empty()) {
            manent::private_files::create_folders(parent).with_context(|| format!("making {}", parent.display()))?;
        }
        Ok(())
    }
}

/// Returns the path of a file without symbolic links; the file need not exist.
fn resolved(file: &Path) -> PathBuf {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let in_folder = || Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?));
    absolute.canonicalize().ok().or_else(in_folder).unwrap_or(absolute)
}
