//! Backups: each one is restored and checked before it counts; old ones are removed by a retention count.

use crate::database::Database;
use crate::database::ulid::fresh_key;
use crate::error::{Error, Result};
use crate::location::Location;
use crate::private_files;
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{BackupReport, Store, StoreError};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const PREFIX: &str = "manent-";
const SUFFIX: &str = ".backup";
/// Suffix of on-demand backups in their file names; the schedule neither counts nor replaces them.
const ON_DEMAND: &str = "-on-demand";
/// Infix in the names of unfinished backups and of their auxiliary files.
const UNFINISHED: &str = ".backup.";

/// Backup schedule and retention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPlan {
    /// Folder of the backups.
    pub folder: PathBuf,
    /// Interval after the newest backup at which the next one is due.
    pub every: Duration,
    /// Number of backups to keep.
    pub keep: usize,
}

impl BackupPlan {
    /// Daily backups, seven of them kept.
    pub fn daily(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), every: Duration::from_secs(86_400), keep: 7 }
    }

    /// Returns whether a scheduled backup is due. On-demand backups do not count.
    pub fn is_due(&self) -> Result<bool> {
        let newest = of_kind(&self.folder, Kind::Scheduled)?.pop();
        Ok(newest.is_none_or(|(_, made)| made.elapsed().unwrap_or_default() >= self.every))
    }

    /// Retention time of an on-demand backup: as long as a scheduled one is kept.
    fn on_demand_stays(&self) -> Duration {
        self.every.saturating_mul(u32::try_from(self.keep.max(1)).unwrap_or(u32::MAX))
    }
}

/// Why a backup was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scheduled,
    OnDemand,
}

impl Database {
    /// Writes a backup that is restored, checked and compared before this returns.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        Ok(self.store.backup(to.as_ref()).await?)
    }

    /// Makes a backup if one is due, then removes those beyond the retention count. It may be called at any time.
    pub async fn backup_if_due(&self, plan: &BackupPlan) -> Result<Option<BackupReport>> {
        keep(plan, async |path| self.backup(path).await).await
    }

    /// Makes an on-demand backup and removes none. It is kept as long as a scheduled one; while the plan's number of
    /// on-demand backups exists, no further one is made: returns `None`.
    pub async fn backup_on_demand(&self, plan: &BackupPlan) -> Result<Option<BackupReport>> {
        let _lock = folder_lock(&plan.folder).await?;
        if of_kind(&plan.folder, Kind::OnDemand)?.len() >= plan.keep.max(1) {
            return Ok(None);
        }
        self.backup(plan.folder.join(name_of(Kind::OnDemand))).await.map(Some)
    }

    /// Restores a backup to a place without a store, after checking it. Never overwrites.
    ///
    /// The place may be a server, whichever engine the backup was made on, so that a store can move between engines.
    pub async fn restore_backup(from: impl AsRef<Path>, to: &Location) -> Result<()> {
        let from = from.as_ref();
        refuse_half(from)?;
        match to {
            Location::File(file) => {
                refuse_to_overwrite(file)?;
                if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    private_files::create_folders(folder).map_err(|error| Error::file("creating", folder, error))?;
                }
                let partial = beside(file, ".partial");
                // Removes what an earlier attempt left, so that a symlink placed there is not written through.
                remove_file(&partial)?;
                let restored = copied(from, &partial, async |copy| restore_checked(copy, to).await).await;
                // Also after a failure, such as a full disk.
                remove_file(&partial)?;
                restored
            }
            Location::Server(_) => with_copy(from, async |copy| restore_checked(copy, to).await).await,
        }
    }
}

/// Refuses a database file with a WAL or journal beside it: another process has it open, or crashed with it open.
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

/// Writes a backup if one is due, then removes those beyond the retention count, and on-demand ones that are too old.
pub(crate) async fn keep<T>(plan: &BackupPlan, write: impl AsyncFnOnce(&Path) -> Result<T>) -> Result<Option<T>> {
    if !plan.is_due()? {
        return Ok(None);
    }
    let _lock = folder_lock(&plan.folder).await?;
    // Another process may have taken one meanwhile.
    if !plan.is_due()? {
        return Ok(None);
    }
    let written = write(&plan.folder.join(name_of(Kind::Scheduled))).await?;
    let scheduled = of_kind(&plan.folder, Kind::Scheduled)?;
    remove(&scheduled[..scheduled.len().saturating_sub(plan.keep.max(1))])?;
    let mut old = of_kind(&plan.folder, Kind::OnDemand)?;
    old.retain(|(_, made)| made.elapsed().unwrap_or_default() > plan.on_demand_stays());
    remove(&old)?;
    Ok(Some(written))
}

/// Creates the backup folder, takes its lock, and removes unfinished backups that a crash left: a running backup would
/// hold the lock.
async fn folder_lock(folder: &Path) -> Result<File> {
    std::fs::create_dir_all(folder).map_err(|error| Error::file("making", folder, error))?;
    let opened = File::open(folder).map_err(|error| Error::file("opening", folder, error))?;
    let locking = tokio::task::spawn_blocking(move || opened.lock().map(|()| opened));
    let lock = locking.await.map_err(std::io::Error::other).and_then(|locked| locked);
    let lock = lock.map_err(|error| Error::file("locking", folder, error))?;
    remove(&unfinished(folder)?)?;
    Ok(lock)
}

fn name_of(kind: Kind) -> String {
    let made_ms = manent_store::now().0 / 1_000;
    let kind = if kind == Kind::OnDemand { ON_DEMAND } else { "" };
    format!("{PREFIX}{made_ms:015}{kind}{SUFFIX}")
}

/// Returns the files of unfinished backups.
fn unfinished(folder: &Path) -> Result<Vec<(PathBuf, SystemTime)>> {
    listed(folder, |name| name.contains(UNFINISHED).then_some(SystemTime::UNIX_EPOCH))
}

/// Removes backups and returns how many were removed. Another process may remove old ones at the same time.
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

/// Returns all existing backups, to be removed once newer ones exist. Backups that another process is still writing
/// are aborted: the auxiliary file missing at their end tells that they are too old.
pub(crate) fn of_before(folder: &Path) -> Result<Vec<(PathBuf, SystemTime)>> {
    // Unfinished files go first. If one was finished meanwhile, the second pass finds the finished backup.
    for _ in 0..2 {
        remove(&unfinished(folder)?)?;
    }
    backups(folder)
}

/// Makes a backup of the remaining content, and only then removes the older ones; returns how many were removed.
pub(crate) async fn renew_backups(database: &Database, folder: &Path) -> Result<i64> {
    let before = of_before(folder)?;
    if before.is_empty() {
        return Ok(0);
    }
    let plan = BackupPlan { folder: folder.to_owned(), every: Duration::ZERO, keep: before.len() + 1 };
    database.backup_if_due(&plan).await?;
    remove(&before)
}

/// Runs a function on a private copy of a backup.
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

/// Checks the copy of a backup and moves it to its place.
async fn restore_checked(copy: &Path, to: &Location) -> Result<()> {
    check(copy).await?;
    match to {
        Location::File(file) => place_file(copy, file),
        Location::Server(options) => Ok(PostgresStore::restore(options, copy).await?),
    }
}

/// Creates a temporary folder that other users can neither read nor write.
fn private_folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("manent-{}", manent_model::hex::encode(&fresh_key())));
    private_files::create_folder(&folder).map_err(|error| Error::file("making", &folder, error))?;
    Ok(folder)
}

fn refuse_to_overwrite(to: &Path) -> Result<()> {
    // SQLite would replay a WAL without its database over any file placed beside it; and the WAL may hold the only
    // copy of acknowledged commits. So it is neither ignored nor removed.
    for there in [to.to_owned(), beside(to, "-wal"), beside(to, "-journal")] {
        if std::fs::symlink_metadata(&there).is_ok() {
            return Err(StoreError::Invalid(format!("{} exists already", there.display())).into());
        }
    }
    Ok(())
}

/// Removes a database file and SQLite's auxiliary files.
fn remove_file(partial: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm", "-reserve"] {
        let left = beside(partial, suffix);
        if std::fs::symlink_metadata(&left).is_ok() {
            std::fs::remove_file(&left).map_err(|error| Error::file("removing", &left, error))?;
        }
    }
    Ok(())
}

async fn check(copy: &Path) -> Result<()> {
    // The copy is not searched, and the words in an index would remain after it is deleted.
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

/// Returns the scheduled backups in a folder with their times, oldest first.
pub(crate) fn backups(folder: &Path) -> Result<Vec<(PathBuf, SystemTime)>> {
    let mut found = listed(folder, |name| made_at(name).map(|(made, _)| made))?;
    found.sort_by_key(|(_, made)| *made);
    Ok(found)
}

/// Returns the backups of one kind, oldest first.
fn of_kind(folder: &Path, wanted: Kind) -> Result<Vec<(PathBuf, SystemTime)>> {
    let mut found = listed(folder, |name| made_at(name).filter(|(_, kind)| *kind == wanted).map(|(made, _)| made))?;
    found.sort_by_key(|(_, made)| *made);
    Ok(found)
}

/// Returns the files whose names contain the time of a backup.
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

/// Parses the time in a backup's name: copying a folder may change the modification times.
fn made_at(name: &str) -> Option<(SystemTime, Kind)> {
    let name = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (made_ms, kind) = match name.strip_suffix(ON_DEMAND) {
        Some(made_ms) => (made_ms, Kind::OnDemand),
        None => (name, Kind::Scheduled),
    };
    Some((SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(made_ms.parse().ok()?))?, kind))
}
