//! The callbacks of one open durable file.

use super::underlying::{Underlying, code};
use super::*;

/// The start of the memory SQLite keeps for one of our files; the file of the VFS below follows it directly.
#[repr(C)]
pub(super) struct ShimFile {
    base: ffi::sqlite3_file,
    number: usize,
    // Initialised by `start` and dropped by `close`, because SQLite owns the memory.
    hooks: Arc<dyn Hooks>,
}

// The file below holds pointers and 64-bit numbers, so it needs the alignment the memory begins with.
const _: () = assert!(size_of::<ShimFile>().is_multiple_of(8));

impl ShimFile {
    /// Returns the address of the underlying VFS's file.
    ///
    /// # Safety
    /// `file` must have the `szOsFile` bytes of our VFS.
    pub(super) unsafe fn below(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
        // SAFETY: our `szOsFile` is the size of this struct and of the file below.
        unsafe { file.byte_add(size_of::<ShimFile>()) }
    }

    /// Makes `file` one of ours, once the file below is open.
    ///
    /// # Safety
    /// `file` must have the `szOsFile` bytes of our VFS and not be open.
    pub(super) unsafe fn start(file: *mut ffi::sqlite3_file, hooks: Arc<dyn Hooks>, number: usize) {
        let base = ffi::sqlite3_file { pMethods: &METHODS };
        // SAFETY: promised by the caller. Nothing is dropped: the memory held no `ShimFile` before.
        unsafe { ptr::write(file.cast(), ShimFile { base, number, hooks }) }
    }
}

/// Returns our file, and the one below it.
///
/// # Safety
/// `file` must have been started and not closed.
unsafe fn both<'a>(file: *mut ffi::sqlite3_file) -> (&'a ShimFile, Underlying) {
    // SAFETY: promised by the caller.
    unsafe { (&*file.cast::<ShimFile>(), Underlying::new(ShimFile::below(file))) }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once, and does not touch it afterwards.
    unsafe {
        let below = ShimFile::below(file);
        let result = (*(*below).pMethods).xClose.expect("every file can be closed")(below);
        ptr::drop_in_place(&raw mut (*file.cast::<ShimFile>()).hooks);
        (*file).pMethods = ptr::null();
        result
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    size_bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file and `size_bytes` of data.
    unsafe {
        let (shim, below) = both(file);
        let data = std::slice::from_raw_parts(data.cast::<u8>(), size_bytes as usize);
        code(shim.hooks.write(shim.number, &below, data, offset as u64))
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size_bytes: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (shim, below) = both(file);
        code(shim.hooks.truncate(shim.number, &below, size_bytes as u64))
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (shim, below) = both(file);
        code(shim.hooks.sync(shim.number, &below, flags))
    }
}

unsafe extern "C" fn file_control(file: *mut ffi::sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // Both would let the VFS below change the file's size by itself, past the hooks. They are only hints.
    if matches!(operation, ffi::SQLITE_FCNTL_CHUNK_SIZE | ffi::SQLITE_FCNTL_SIZE_HINT) {
        return ffi::SQLITE_OK;
    }
    // SAFETY: SQLite passes an open file; the argument goes through as it came.
    unsafe {
        let below = ShimFile::below(file);
        (*(*below).pMethods).xFileControl.expect("every file has controls")(below, operation, argument)
    }
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    let below = unsafe {
        let below = ShimFile::below(file);
        (*(*below).pMethods).xDeviceCharacteristics.expect("every file has characteristics")(below)
    };
    // On a file system with atomic batches SQLite would leave out the journal, and our writes are not atomic.
    below & !ffi::SQLITE_IOCAP_BATCH_ATOMIC
}

/// Defines a callback that only calls the same method of the file below.
macro_rules! pass_on {
    ($name:ident, $method:ident ( $($argument:ident : $type:ty),* ) $(-> $answer:ty)?) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $type),*) $(-> $answer)? {
            // SAFETY: SQLite passes an open file; the other arguments go through as they came.
            unsafe {
                let below = ShimFile::below(file);
                (*(*below).pMethods).$method.expect("files of the default VFS have every method")(below, $($argument),*)
            }
        }
    };
}

pass_on!(read, xRead(data: *mut c_void, size_bytes: c_int, offset: ffi::sqlite3_int64) -> c_int);
pass_on!(file_size, xFileSize(answer: *mut ffi::sqlite3_int64) -> c_int);
pass_on!(lock, xLock(level: c_int) -> c_int);
pass_on!(unlock, xUnlock(level: c_int) -> c_int);
pass_on!(check_reserved_lock, xCheckReservedLock(answer: *mut c_int) -> c_int);
pass_on!(sector_size, xSectorSize() -> c_int);
pass_on!(shm_map, xShmMap(region: c_int, size_bytes: c_int, extend: c_int, answer: *mut *mut c_void) -> c_int);
pass_on!(shm_lock, xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int);
pass_on!(shm_barrier, xShmBarrier());
pass_on!(shm_unmap, xShmUnmap(delete: c_int) -> c_int);
pass_on!(fetch, xFetch(offset: ffi::sqlite3_int64, size_bytes: c_int, answer: *mut *mut c_void) -> c_int);
pass_on!(unfetch, xUnfetch(offset: ffi::sqlite3_int64, page: *mut c_void) -> c_int);
