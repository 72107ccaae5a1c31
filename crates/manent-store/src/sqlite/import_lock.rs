//! Import lock: a file lock on an empty file beside the store, released with its holder.
//!
//! The store's own file is not locked: closing it would release the locks that SQLite holds on it.

use crate::api::error::{Result, StoreError};
use crate::api::store::ImportLock;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

struct LockFile {
    path: PathBuf,
    /// The lock ends when this is closed.
    _file: File,
}

impl Drop for LockFile {
    /// Removes the file while it is still locked. A process that waited for the lock then sees that the file is gone.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Waits for the turn.
pub(super) fn wait(path: &Path) -> Result<ImportLock> {
    locked(path).map(ImportLock::new).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull,
        _ => StoreError::engine("waiting for other imports", error),
    })
}

fn locked(path: &Path) -> io::Result<LockFile> {
    loop {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        if is_there(&file, path)? {
            return Ok(LockFile { path: path.to_owned(), _file: file });
        }
    }
}

/// Says whether a file is the one at a path, and not one that was there before it.
#[cfg(unix)]
fn is_there(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// On other platforms an open file cannot be replaced by another.
#[cfg(not(unix))]
fn is_there(_file: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}
