//! Recording SQLite VFS, for crash simulation.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::raw::c_int;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use libsqlite3_sys as ffi;

use crate::crash::{self, CrashState};
use crate::inode::Edit;
use crate::log::Log;
use crate::vfs::{DirectorySync, Hooks, Outcome, Registration, Role, Underlying};

/// A SQLite VFS that remembers every change of the durable files, to show what a power cut could leave of them.
///
/// Everything is passed on to the default VFS, so a database works as ever, in WAL mode too, with any number of
/// connections and threads. Files must be changed by SQLite only; a file that was there before, or was put in place
/// by a rename, is taken in when it is opened and counts as synced.
///
/// ```no_run
/// # use manent_testing::Recording;
/// # let (directory, mut rng) = (std::path::PathBuf::new(), fastrand::Rng::new());
/// let recording = Recording::install();
/// // Open a database with `recording.name()` as its VFS, commit, and after each commit:
/// let acknowledged = recording.mark();
/// // Later, for any point at which the power could have been cut:
/// let crash_point = rng.usize(..=recording.log_len());
/// recording.crash_state(crash_point, &mut rng, &directory).expect("the directory can be written");
/// // Open the database in `directory` with the default VFS. The commit must be there if `acknowledged <= crash_point`.
/// ```
pub struct Recording {
    registration: Registration,
    disk: RwLock<Disk>,
}

#[derive(Default)]
struct Disk {
    log: Log,
    /// Which real file we last saw under a path, to notice when it was replaced without us.
    identities: HashMap<PathBuf, Identity>,
}

/// The device and the number of a real file.
type Identity = (u64, u64);

impl Recording {
    /// Registers a new recording under a name of its own.
    ///
    /// The name ends with the last handle and the last connection, whichever is later.
    pub fn install() -> Arc<Recording> {
        Arc::new_cyclic(|recording: &Weak<Recording>| Recording {
            registration: Registration::new("recording", recording.clone()),
            disk: RwLock::default(),
        })
    }

    /// Returns the name of the VFS, to open a database with.
    pub fn name(&self) -> &str {
        self.registration.name()
    }

    /// Returns a stamp for something that was acknowledged just now.
    ///
    /// It holds after every cut at a crash point that is not less than the stamp.
    pub fn mark(&self) -> usize {
        self.log_len()
    }

    /// Returns how many operations were recorded: writes, truncates, syncs, creations and deletions.
    pub fn log_len(&self) -> usize {
        self.disk.read().log.len()
    }

    /// Writes into the directory `into` the files as a power cut after the first `crash_point` operations could
    /// have left them.
    ///
    /// What was synced is there. Each later write is there, is not, or is torn at a sector of 512 bytes; each later
    /// truncate, creation and deletion took place or did not. The same log and random numbers give the same state.
    /// Files keep their names; `into` is made if needed and files of an earlier state in it are replaced, so one
    /// directory serves for many states, as long as no connection to it is open.
    pub fn crash_state(&self, crash_point: usize, rng: &mut fastrand::Rng, into: &Path) -> io::Result<CrashState> {
        crash::lay_out(&self.disk.read().log, crash_point, rng, into)
    }
}

impl Hooks for Recording {
    fn open(&self, path: &Path, role: Role, file: &Underlying, open: &dyn Fn() -> Outcome) -> Result<usize, c_int> {
        let mut disk = self.disk.write();
        let existed = path.exists();
        open()?;
        let identity = identity(path).ok_or(ffi::SQLITE_CANTOPEN)?;
        let known = disk.log.find(path);
        let number = match known {
            Some(number) if existed && disk.identities.get(path) == Some(&identity) => number,
            _ if existed => disk.log.adopt(path, file.read_all()?),
            _ => disk.log.create(path, role),
        };
        disk.identities.insert(path.to_path_buf(), identity);
        Ok(number)
    }

    // The lock is held over the real change, so that two threads' changes are logged in the order they were made.

    fn write(&self, number: usize, file: &Underlying, data: &[u8], offset: u64) -> Outcome {
        let mut disk = self.disk.write();
        file.write(data, offset)?;
        disk.log.edit(number, Edit::Write { offset: offset as usize, data: data.into() });
        Ok(())
    }

    fn truncate(&self, number: usize, file: &Underlying, size_bytes: u64) -> Outcome {
        let mut disk = self.disk.write();
        file.truncate(size_bytes)?;
        disk.log.edit(number, Edit::Truncate { size_bytes: size_bytes as usize });
        Ok(())
    }

    fn sync(&self, number: usize, file: &Underlying, flags: c_int) -> Outcome {
        // Not locked meanwhile: a sync is slow, and other threads go on.
        let begun = self.disk.read().log.begin_sync(number);
        file.sync(flags)?;
        self.disk.write().log.end_sync(begun);
        Ok(())
    }

    fn delete(&self, path: &Path, directory: DirectorySync, delete: &dyn Fn() -> Outcome) -> Outcome {
        let mut disk = self.disk.write();
        delete()?;
        disk.log.delete(path, directory);
        Ok(())
    }
}

/// Returns the identity of the file at `path`. This only asks the directory: opening the file would drop its locks.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
