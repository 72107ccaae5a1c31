//! The files of tenants: where they lie, and how they go.

use crate::error::{Error, Result};
use manent_model::TenantId;
use std::path::{Path, PathBuf};

/// The file of the system store.
pub const SYSTEM: &str = "system.db";

/// Returns the folder beside a store in which the files of its tenants lie.
///
/// The whole name of the store is in it: two stores in one folder have nothing in common.
pub fn folder(store: &Path) -> PathBuf {
    crate::backup::beside(store, "-tenants")
}

/// Makes a folder that only its owner enters, unless it is there.
pub fn make_private(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Error::file("making", folder, error))
}

/// Returns where the store of a tenant is.
pub fn store_of(home: &Path, tenant: TenantId) -> PathBuf {
    folder(home).join(format!("{tenant}.db"))
}

/// What went when files were removed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removed {
    pub files: i64,
    pub bytes: i64,
}

impl Removed {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// Removes a folder of backups and what lies in it.
pub fn remove_folder(folder: &Path) -> Result<Removed> {
    let mut removed = Removed::default();
    for path in entries(folder)? {
        // What somebody put there besides goes as well; a link is a file.
        let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        match is_folder {
            true => removed.add(remove_folder(&path)?),
            false => remove_file(&path, &mut removed)?,
        }
    }
    match std::fs::remove_dir(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::file("removing", folder, error)),
    }
    if let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) {
        sync(parent)?;
    }
    Ok(removed)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("reading", folder, error)),
    };
    let paths = listed.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<std::io::Result<_>>().map_err(|error| Error::file("reading", folder, error))
}

fn remove_file(path: &Path, removed: &mut Removed) -> Result<()> {
    // A link is removed itself; what it points to is not ours.
    let metadata = std::fs::symlink_metadata(path).map_err(|error| Error::file("reading", path, error))?;
    std::fs::remove_file(path).map_err(|error| Error::file("removing", path, error))?;
    removed.files += 1;
    removed.bytes += i64::try_from(metadata.len()).unwrap_or(i64::MAX);
    Ok(())
}

/// Makes the removal durable: a power cut must not bring the names back.
fn sync(folder: &Path) -> Result<()> {
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::file("syncing", folder, error))
}
