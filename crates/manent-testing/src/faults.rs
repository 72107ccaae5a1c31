//! Fault-injecting SQLite VFS.

use parking_lot::Mutex;
use std::os::raw::c_int;
use std::path::Path;
use std::sync::{Arc, Weak};

use libsqlite3_sys as ffi;

use crate::vfs::{DirectorySync, Hooks, Outcome, Registration, Role, Underlying};

/// A kind of file operation that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A write to a database, WAL or journal.
    Write,
    /// A sync of one of them.
    Sync,
    /// A change of the size of one of them.
    Truncate,
}

impl Operation {
    /// Every kind.
    pub const ALL: &[Operation] = &[Operation::Write, Operation::Sync, Operation::Truncate];
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing happens, and SQLite is told of an I/O error of the operation's kind, such as `SQLITE_IOERR_FSYNC`.
    IoError,
    /// Nothing happens, and SQLite is told `SQLITE_FULL`.
    DiskFull,
    /// The first half of a write reaches the file, then as `IoError`. Other operations: as `IoError`.
    ShortThenIoError,
    /// The first half of a write reaches the file, then as `DiskFull`. Other operations: as `DiskFull`.
    ShortThenDiskFull,
}

impl Failure {
    /// Every way to fail.
    pub const ALL: &[Failure] =
        &[Failure::IoError, Failure::DiskFull, Failure::ShortThenIoError, Failure::ShortThenDiskFull];

    fn is_short(self) -> bool {
        matches!(self, Failure::ShortThenIoError | Failure::ShortThenDiskFull)
    }

    fn code(self, operation: Operation) -> c_int {
        match (self, operation) {
            (Failure::DiskFull | Failure::ShortThenDiskFull, _) => ffi::SQLITE_FULL,
            (_, Operation::Write) => ffi::SQLITE_IOERR_WRITE,
            (_, Operation::Sync) => ffi::SQLITE_IOERR_FSYNC,
            (_, Operation::Truncate) => ffi::SQLITE_IOERR_TRUNCATE,
        }
    }
}

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// Only the Nth operation fails.
    Once,
    /// The Nth and every later operation of the chosen kinds fails, until [`Faults::heal`].
    UntilHealed,
}

/// A fault to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The kinds of operations that count and fail.
    pub operations: &'static [Operation],
    /// Which of them fails, counted from the moment the fault is armed. The first is 1.
    pub nth: u64,
    /// How it fails.
    pub failure: Failure,
    /// Whether those after it fail too.
    pub lasting: Lasting,
}

/// A SQLite VFS on which a chosen write, sync or truncate fails.
///
/// It works like the default VFS until a fault is armed, with any number of connections and threads. To sweep
/// over every operation of a workload, arm `nth` = 1, 2, 3 and so on until [`Faults::fired`] stays 0.
pub struct Faults {
    registration: Registration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    /// Operations of the armed fault's kinds since it was armed.
    matching: u64,
    fired: u64,
    counts: [u64; Operation::ALL.len()],
}

impl Faults {
    /// Registers a new, healthy file system under a name of its own.
    ///
    /// The name ends with the last handle and the last connection, whichever is later.
    pub fn install() -> Arc<Faults> {
        Arc::new_cyclic(|faults: &Weak<Faults>| Faults {
            registration: Registration::new("faults", faults.clone()),
            state: Mutex::default(),
        })
    }

    /// Returns the name of the VFS, to open a database with.
    pub fn name(&self) -> &str {
        self.registration.name()
    }

    /// Sets the fault to come, in place of any other, and starts all counts at 0.
    pub fn arm(&self, fault: Fault) {
        *self.state.lock() = State { fault: Some(fault), ..State::default() };
    }

    /// Makes every operation succeed again. The counts stay.
    pub fn heal(&self) {
        self.state.lock().fault = None;
    }

    /// Returns how many operations have failed since the fault was armed.
    pub fn fired(&self) -> u64 {
        self.state.lock().fired
    }

    /// Returns how many operations of a kind were tried, failed ones included, since the last fault was armed.
    pub fn count(&self, operation: Operation) -> u64 {
        self.state.lock().counts[operation as usize]
    }

    /// Counts an operation and returns how it must fail, if it must.
    fn meet(&self, operation: Operation) -> Option<Failure> {
        let mut state = self.state.lock();
        state.counts[operation as usize] += 1;
        let fault = state.fault.filter(|fault| fault.operations.contains(&operation))?;
        state.matching += 1;
        let fails = match fault.lasting {
            Lasting::Once => state.matching == fault.nth,
            Lasting::UntilHealed => state.matching >= fault.nth,
        };
        if !fails {
            return None;
        }
        state.fired += 1;
        Some(fault.failure)
    }
}

impl Hooks for Faults {
    fn open(&self, _path: &Path, _role: Role, _file: &Underlying, open: &dyn Fn() -> Outcome) -> Result<usize, c_int> {
        open()?;
        // Every file fails alike, so files need no number.
        Ok(0)
    }

    fn write(&self, _number: usize, file: &Underlying, data: &[u8], offset: u64) -> Outcome {
        let Some(failure) = self.meet(Operation::Write) else {
            return file.write(data, offset);
        };
        if failure.is_short() {
            file.write(&data[..data.len() / 2], offset)?;
        }
        Err(failure.code(Operation::Write))
    }

    fn truncate(&self, _number: usize, file: &Underlying, size_bytes: u64) -> Outcome {
        match self.meet(Operation::Truncate) {
            Some(failure) => Err(failure.code(Operation::Truncate)),
            None => file.truncate(size_bytes),
        }
    }

    fn sync(&self, _number: usize, file: &Underlying, flags: c_int) -> Outcome {
        match self.meet(Operation::Sync) {
            Some(failure) => Err(failure.code(Operation::Sync)),
            None => file.sync(flags),
        }
    }

    fn delete(&self, _path: &Path, _directory: DirectorySync, delete: &dyn Fn() -> Outcome) -> Outcome {
        delete()
    }
}
