//! Backups: each one is restored and checked before it counts; old ones go when newer ones stand.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids::fresh_key;
use crate::place::Place;
use manent_store::BackupReport;
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{Store, StoreError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const PREFIX: &str = "manent-";
const SUFFIX: &str = ".backup";
/// What stands in the name of a backup that is not done, and of what belongs to it.
const UNFINISHED: &str = ".backup.";

/// When backups are made and how many stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPlan {
    /// Where they lie.
    pub folder: PathBuf,
    /// How long after the newest the next one is due.
    pub every: Duration,
    /// How many stay.
    pub keep: usize,
}

impl BackupPlan {
    /// Daily, and seven stay.
    pub fn daily(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), every: Duration::from_secs(86_400), keep: 7 }
    }

    /// Says whether the next one is due.
    pub fn is_due(&self) -> Result<bool> {
        let newest = backups(&self.folder)?.pop();
        Ok(newest.is_none_or(|(_, made)| made.elapsed().unwrap_or_default() >= self.every))
    }
}

impl Database {
    /// Writes a copy that was restored, checked and compared before this returns.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        Ok(self.store.backup(to.as_ref()).await?)
    }

    /// Makes a backup if one is due, then removes those beyond the number that stays. Call it as often as you like.
    pub async fn backup_if_due(&self, plan: &BackupPlan) -> Result<Option<BackupReport>> {
        keep(plan, async |path| self.backup(path).await).await
    }

    /// Puts a backup in the place of a store that is not there, after checking it. Never overwrites.
    ///
    /// The place may be a server, whichever engine the backup was made on: so a store moves from one to the other.
    pub async fn restore_backup(from: impl AsRef<Path>, to: &Place) -> Result<()> {
        let from = from.as_ref();
        refuse_half(from)?;
        match to {
            Place::File(file) => {
                refuse_to_overwrite(file)?;
                if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    make_private_folder(folder)?;
                }
                let partial = beside(file, ".partial");
                // What an earlier try left is removed, and a link that somebody put there is not written through.
                remove_file(&partial)?;
                let restored = copied(from, &partial, async |copy| restore_checked(copy, to).await).await;
                // Also where the disk was full before all of it was there.
                remove_file(&partial)?;
                restored
            }
            Place::Server(_) => with_copy(from, async |copy| restore_checked(copy, to).await).await,
        }
    }
}

/// Refuses a file of which a part lies beside it: somebody has it open, or died with it.
pub(crate) fn refuse_half(from: &Path) -> Result<()> {
    let wal = beside(from, "-wal");
    match std::fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        true => {
            let why = format!("{} is not a backup: {} holds a part of it", from.display(), wal.display());
            Err(StoreError::Invalid(why).into())
        }
        false => Ok(()),
    }
}

/// Writes a backup if one is due, then removes those beyond the number that stays.
pub(crate) async fn keep<T>(plan: &BackupPlan, write: impl AsyncFnOnce(&Path) -> Result<T>) -> Result<Option<T>> {
    std::fs::create_dir_all(&plan.folder).map_err(|error| Error::file("making", &plan.folder, error))?;
    if !plan.is_due()? {
        return Ok(None);
    }
    let made_ms = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let written = write(&plan.folder.join(format!("{PREFIX}{made_ms:015}{SUFFIX}"))).await?;
    let all = backups(&plan.folder)?;
    remove(&all[..all.len().saturating_sub(plan.keep.max(1))])?;
    Ok(Some(written))
}

/// Removes backups; returns how many went. Whoever keeps a number of them may remove one at the same time.
pub(crate) fn remove(backups: &[(PathBuf, SystemTime)]) -> Result<i64> {
    let mut removed = 0;
    for (path, _) in backups {
        match std::fs::remove_file(path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("removing", path, error)),
        }
    }
    Ok(removed)
}

/// Returns the backups from before now, to be removed once newer ones stand. Those that another process is still writing end here:
/// what is missing beside them when they are done tells that they are too old.
pub(crate) fn of_before(folder: &Path) -> Result<Vec<(PathBuf, SystemTime)>> {
    // What one of them is made from goes first. If it was done by then, the second look finds what it was made into.
    for _ in 0..2 {
        let unfinished = listed(folder, |name| name.contains(UNFINISHED).then_some(SystemTime::UNIX_EPOCH))?;
        remove(&unfinished)?;
    }
    backups(folder)
}

/// Does something with a copy of a backup that nobody else sees.
pub(crate) async fn with_copy<T>(from: &Path, work: impl AsyncFnOnce(&Path) -> Result<T>) -> Result<T> {
    let folder = private_folder()?;
    let done = copied(from, &folder.join("copy"), work).await;
    std::fs::remove_dir_all(&folder).map_err(|error| Error::file("removing", &folder, error))?;
    done
}

async fn copied<T>(from: &Path, copy: &Path, work: impl AsyncFnOnce(&Path) -> Result<T>) -> Result<T> {
    std::fs::copy(from, copy).map_err(|error| Error::file("copying", from, error))?;
    work(copy).await
}

/// Checks the copy of a backup, and puts it where it belongs.
async fn restore_checked(copy: &Path, to: &Place) -> Result<()> {
    check(copy).await?;
    match to {
        Place::File(file) => place_file(copy, file),
        Place::Server(options) => Ok(PostgresStore::restore(options, copy).await?),
    }
}

/// Creates a folder that only its owner can enter, with those above it; one that exists stays as it is.
fn make_private_folder(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Error::file("creating", folder, error))
}

/// Makes a folder for a copy that nobody else can look into, or have put something into.
fn private_folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("manent-{}", manent_model::hex::encode(&fresh_key())));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).map_err(|error| Error::file("making", &folder, error))?;
    Ok(folder)
}

fn refuse_to_overwrite(to: &Path) -> Result<()> {
    // A WAL without its file is played over whatever file comes to lie beside it; and it may be all that is left of
    // what was acknowledged. So it is neither ignored nor removed.
    for there in [to.to_owned(), beside(to, "-wal"), beside(to, "-journal")] {
        if std::fs::symlink_metadata(&there).is_ok() {
            return Err(StoreError::Invalid(format!("{} exists already", there.display())).into());
        }
    }
    Ok(())
}

/// Removes a file and what SQLite puts beside it.
fn remove_file(partial: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let left = beside(partial, suffix);
        if std::fs::symlink_metadata(&left).is_ok() {
            std::fs::remove_file(&left).map_err(|error| Error::file("removing", &left, error))?;
        }
    }
    Ok(())
}

async fn check(copy: &Path) -> Result<()> {
    // Nobody searches it here, and an index would hold its words when it has gone.
    let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(copy) })?;
    let report = store.verify().await?;
    store.close().await?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(StoreError::Altered { what: "backup", id: format!("{problem:?}") }.into()),
    }
}

fn place_file(partial: &Path, to: &Path) -> Result<()> {
    let placed = std::fs::File::open(partial)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(partial, to))
        .and_then(|()| match to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => std::fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        });
    placed.map_err(|error| Error::file("placing", to, error))
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the backups in a folder with the times they were made, oldest first.
pub(crate) fn backups(folder: &Path) -> Result<Vec<(PathBuf, SystemTime)>> {
    let mut found = listed(folder, made_at)?;
    found.sort_by_key(|(_, made)| *made);
    Ok(found)
}

/// Returns the files of backups whose names tell when they were made.
fn listed(folder: &Path, made: impl Fn(&str) -> Option<SystemTime>) -> Result<Vec<(PathBuf, SystemTime)>> {
    let reading = |error| Error::file("reading", folder, error);
    let mut found = Vec::new();
    let listed = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        listed => listed.map_err(reading)?,
    };
    for entry in listed {
        let entry = entry.map_err(reading)?;
        if let Some(made) = entry.file_name().to_str().filter(|name| name.starts_with(PREFIX)).and_then(&made) {
            found.push((entry.path(), made));
        }
    }
    Ok(found)
}

/// Reads the time out of a backup's name: copying a folder may change the files' own times.
fn made_at(name: &str) -> Option<SystemTime> {
    let made_ms = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(made_ms))
}
