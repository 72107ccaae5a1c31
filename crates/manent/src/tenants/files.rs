//! Files of tenants: their paths and their removal.

use crate::error::{Error, Result};
use manent_model::TenantId;
use manent_store::DeletionReport;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file of the system store.
pub const SYSTEM: &str = "system.db";

/// Maximum attempts to empty a folder into which another process writes.
const TRIES: usize = 10;

/// Returns the folder beside a store that holds the files of its tenants.
///
/// Its name contains the whole name of the store: two stores in one folder share nothing.
pub fn folder(store: &Path) -> PathBuf {
    crate::transfer::backup::beside(store, "-tenants")
}

/// Returns the path of a tenant's store.
pub fn store_of(home: &Path, tenant: TenantId) -> PathBuf {
    folder(home).join(format!("{tenant}.db"))
}

/// Removes a folder of backups with its content.
pub fn remove_folder(folder: &Path) -> Result<DeletionReport> {
    let (mut gone, mut tries) = (DeletionReport::default(), 0);
    loop {
        empty(folder, &mut gone)?;
        match std::fs::remove_dir(folder) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            // A running backup may add a file until it notices the removal.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < TRIES => tries += 1,
            Err(error) => return Err(Error::file("removing", folder, error)),
        }
    }
    if let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) {
        sync(parent)?;
    }
    Ok(gone)
}

fn empty(folder: &Path, gone: &mut DeletionReport) -> Result<()> {
    for path in entries(folder)? {
        // Unrelated files are removed as well; a symlink is treated as a file.
        if std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            empty(&path, gone)?;
            std::fs::remove_dir(&path).map_err(|error| Error::file("removing", &path, error))?;
        } else {
            gone.remove_file(&path).map_err(|error| Error::file("removing", &path, error))?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("reading", folder, error)),
    };
    let paths = listed.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<std::io::Result<_>>().map_err(|error| Error::file("reading", folder, error))
}

/// Syncs the folder, so that the removal is durable.
fn sync(folder: &Path) -> Result<()> {
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::file("syncing", folder, error))
}
