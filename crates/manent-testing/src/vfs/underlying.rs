//! The underlying file of the default VFS.

use std::os::raw::c_int;

use libsqlite3_sys as ffi;

/// The result of a file operation; the error is a SQLite result code.
pub(crate) type Outcome = Result<(), c_int>;

/// Turns a SQLite result code into an [`Outcome`].
pub(crate) fn outcome(code: c_int) -> Outcome {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(code) }
}

/// Turns an [`Outcome`] back into a SQLite result code.
pub(super) fn code(outcome: Outcome) -> c_int {
    outcome.err().unwrap_or(ffi::SQLITE_OK)
}

/// A file of the default VFS. Its methods do what they say to the real file, past all hooks.
pub(crate) struct Underlying(*mut ffi::sqlite3_file);

impl Underlying {
    /// # Safety
    /// `file` must stay valid while this is used, and be opened before any method but `close_if_open` is called.
    pub(super) unsafe fn new(file: *mut ffi::sqlite3_file) -> Underlying {
        Underlying(file)
    }

    fn methods(&self) -> &ffi::sqlite3_io_methods {
        // SAFETY: an open file has methods, and they are static.
        unsafe { &*(*self.0).pMethods }
    }

    /// Writes all of `data` at `offset`.
    pub(crate) fn write(&self, data: &[u8], offset: u64) -> Outcome {
        let write = self.methods().xWrite.expect("every file can be written");
        // SAFETY: the file is open and `data` is as long as we say.
        outcome(unsafe { write(self.0, data.as_ptr().cast(), data.len() as c_int, offset as i64) })
    }

    /// Cuts or extends the file to `size_bytes`.
    pub(crate) fn truncate(&self, size_bytes: u64) -> Outcome {
        let truncate = self.methods().xTruncate.expect("every file can be truncated");
        // SAFETY: the file is open.
        outcome(unsafe { truncate(self.0, size_bytes as i64) })
    }

    /// Syncs the file to the disk.
    pub(crate) fn sync(&self, flags: c_int) -> Outcome {
        let sync = self.methods().xSync.expect("every file can be synced");
        // SAFETY: the file is open.
        outcome(unsafe { sync(self.0, flags) })
    }

    /// Reads the whole file.
    ///
    /// This goes through SQLite's own descriptor. Opening the path a second time and closing it would drop every
    /// lock this process holds on the file.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>, c_int> {
        const CHUNK_BYTES: usize = 1 << 20;
        let mut size_bytes = 0;
        let file_size = self.methods().xFileSize.expect("every file has a size");
        // SAFETY: the file is open and the answer goes to a local.
        outcome(unsafe { file_size(self.0, &mut size_bytes) })?;
        let mut content = vec![0; size_bytes as usize];
        let read = self.methods().xRead.expect("every file can be read");
        for (index, chunk) in content.chunks_mut(CHUNK_BYTES).enumerate() {
            let offset = (index * CHUNK_BYTES) as i64;
            // SAFETY: the file is open and `chunk` is as long as we say.
            outcome(unsafe { read(self.0, chunk.as_mut_ptr().cast(), chunk.len() as c_int, offset) })?;
        }
        Ok(content)
    }

    /// Closes the file if an attempt to open it left something to close.
    pub(super) fn close_if_open(&self) {
        // SAFETY: a null check of a pointer that was initialised before the attempt; only an open file is closed.
        unsafe {
            if !(*self.0).pMethods.is_null() {
                let close = self.methods().xClose.expect("every file can be closed");
                close(self.0);
            }
        }
    }
}
