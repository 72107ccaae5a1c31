//! SQLite VFS that passes changes of durable files to [`Hooks`] and everything else to the default VFS.
//!
//! - `methods`: the callbacks of one open file
//! - `underlying`: the underlying file of the default VFS

mod methods;
mod underlying;

use std::ffi::{CStr, CString, OsStr};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use libsqlite3_sys as ffi;

use methods::ShimFile;
pub(crate) use underlying::{Outcome, Underlying, outcome};

/// Whether a deletion was followed by a sync of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectorySync {
    Done,
    Pending,
}

/// What a durable file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Database,
    /// A rollback journal or a WAL.
    Journal,
}

/// What happens when SQLite changes a durable file: a database, a WAL or a journal.
///
/// A hook decides whether the change reaches the file below, so it can order, record or refuse it.
/// Hooks are called from every thread that has a connection.
pub(crate) trait Hooks: Send + Sync {
    /// Opens `file` at `path` by calling `open`, and returns the number that identifies it in later calls.
    fn open(&self, path: &Path, role: Role, file: &Underlying, open: &dyn Fn() -> Outcome) -> Result<usize, c_int>;
    /// Writes `data` at `offset`.
    fn write(&self, number: usize, file: &Underlying, data: &[u8], offset: u64) -> Outcome;
    /// Cuts or extends the file to `size_bytes`.
    fn truncate(&self, number: usize, file: &Underlying, size_bytes: u64) -> Outcome;
    /// Makes the file's changes durable.
    fn sync(&self, number: usize, file: &Underlying, flags: c_int) -> Outcome;
    /// Deletes the file at `path`, which may be any file, by calling `delete`.
    fn delete(&self, path: &Path, directory: DirectorySync, delete: &dyn Fn() -> Outcome) -> Outcome;
}

/// A VFS known to SQLite under a name of its own until this is dropped.
pub(crate) struct Registration {
    name: String,
    vfs: *mut ffi::sqlite3_vfs,
}

// SAFETY: the pointer is to a leaked allocation and is only handed to `sqlite3_vfs_unregister`, which locks.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// Registers a VFS over the default one; `kind` becomes a part of its name.
    ///
    /// The hooks are held weakly: they, and the registration, end with the last handle of a test and the last open
    /// file, whichever is later.
    pub(crate) fn new(kind: &str, hooks: Weak<dyn Hooks>) -> Registration {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("manent-{kind}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str()).expect("the name has no NUL");
        // SAFETY: a null name asks for the default VFS, which lives as long as the process.
        let below = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        assert!(!below.is_null(), "SQLite has a default VFS");
        // The VFS, its name and its data are leaked. A connection keeps a bare pointer to its VFS until it is
        // closed, and nothing tells us when the last one is.
        let shared = Box::leak(Box::new(Shared { below, hooks }));
        // SAFETY: `below` was checked above.
        let (below_file_bytes, path_bytes_max) = unsafe { ((*below).szOsFile, (*below).mxPathname) };
        let vfs = Box::into_raw(Box::new(ffi::sqlite3_vfs {
            // Version 3 would add the overriding of system calls, which belongs to the VFS below.
            iVersion: 2,
            szOsFile: size_of::<ShimFile>() as c_int + below_file_bytes,
            mxPathname: path_bytes_max,
            pNext: ptr::null_mut(),
            zName: c_name.into_raw(),
            pAppData: ptr::from_mut(shared).cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            // Extensions are loaded by connections to ordinary databases.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(get_last_error),
            xCurrentTimeInt64: Some(current_time_int64),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        // SAFETY: `vfs` is complete and leaked; zero keeps the default VFS the default.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite accepts a VFS");
        Registration { name, vfs }
    }

    /// Returns the name to open a database with.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: registered in `new`. Connections that still use the VFS are not disturbed: it stays allocated.
        unsafe { ffi::sqlite3_vfs_unregister(self.vfs) };
    }
}

/// What every callback of one VFS needs; `pAppData` points to it.
struct Shared {
    below: *mut ffi::sqlite3_vfs,
    hooks: Weak<dyn Hooks>,
}

/// # Safety
/// `vfs` must be one that [`Registration::new`] made.
unsafe fn shared<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Shared {
    // SAFETY: `pAppData` was set from a leaked `Shared`.
    unsafe { &*(*vfs).pAppData.cast::<Shared>() }
}

/// # Safety
/// `name` must be a string that ends in NUL and outlives the result.
unsafe fn path<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: promised by the caller.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// Returns what a file is for if its content must outlive a crash. Others have no place in a crash state.
fn role(flags: c_int) -> Option<Role> {
    const JOURNAL: c_int = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
    if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        Some(Role::Database)
    } else if flags & JOURNAL != 0 {
        Some(Role::Journal)
    } else {
        None
    }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the VFS it was given, a file of `szOsFile` bytes, and a name that outlives the file.
    unsafe {
        let shared = shared(vfs);
        let below_open = (*shared.below).xOpen.expect("every VFS opens files");
        let Some(role) = role(flags).filter(|_| !name.is_null()) else {
            // Our files are larger than those below, so the VFS below can use the space as its own, and SQLite then
            // calls its methods directly.
            return below_open(shared.below, name, file, flags, flags_out);
        };
        (*file).pMethods = ptr::null();
        let Some(hooks) = shared.hooks.upgrade() else {
            return ffi::SQLITE_CANTOPEN;
        };
        let below = ShimFile::below(file);
        (*below).pMethods = ptr::null();
        let underlying = Underlying::new(below);
        let open_below = || outcome(below_open(shared.below, name, below, flags, flags_out));
        match hooks.open(path(name), role, &underlying, &open_below) {
            Ok(number) => {
                ShimFile::start(file, hooks, number);
                ffi::SQLITE_OK
            }
            Err(code) => {
                underlying.close_if_open();
                code
            }
        }
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite passes the VFS it was given and a valid name.
    unsafe {
        let shared = shared(vfs);
        let below_delete = (*shared.below).xDelete.expect("every VFS deletes files");
        let delete_below = || outcome(below_delete(shared.below, name, sync_directory));
        let directory = if sync_directory == 0 { DirectorySync::Pending } else { DirectorySync::Done };
        let result = match shared.hooks.upgrade() {
            Some(hooks) => hooks.delete(path(name), directory, &delete_below),
            None => delete_below(),
        };
        underlying::code(result)
    }
}

/// Defines a callback that only calls the same method of the VFS below.
macro_rules! pass_on {
    ($name:ident, $method:ident ( $($argument:ident : $type:ty),* )) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs, $($argument: $type),*) -> c_int {
            // SAFETY: SQLite passes the VFS it was given; the other arguments go through as they came.
            unsafe {
                let below = shared(vfs).below;
                (*below).$method.expect("the default VFS has every method of version 2")(below, $($argument),*)
            }
        }
    };
}

pass_on!(access, xAccess(name: *const c_char, flags: c_int, answer: *mut c_int));
pass_on!(full_pathname, xFullPathname(name: *const c_char, size_bytes: c_int, answer: *mut c_char));
pass_on!(randomness, xRandomness(size_bytes: c_int, answer: *mut c_char));
pass_on!(sleep, xSleep(microseconds: c_int));
pass_on!(current_time, xCurrentTime(answer: *mut f64));
pass_on!(get_last_error, xGetLastError(size_bytes: c_int, answer: *mut c_char));
pass_on!(current_time_int64, xCurrentTimeInt64(answer: *mut ffi::sqlite3_int64));
