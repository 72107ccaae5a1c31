//! Every operation of a small workload fails once, in every way; what was acknowledged stays.

use manent_testing::{Failure, Fault, Faults, Lasting, Operation};
use rusqlite::ffi;
use tempfile::TempDir;

use crate::workload::{insert, open, prepare, read_back, reopen};

const COMMITS: i64 = 12;

#[test]
fn a_passing_fault_loses_nothing_acknowledged() {
    sweep(Lasting::Once);
}

#[test]
fn a_lasting_fault_loses_nothing_acknowledged() {
    sweep(Lasting::UntilHealed);
}

#[test]
fn each_operation_fails_with_its_own_code() {
    let cases = [
        (Operation::Write, Failure::IoError, ffi::SQLITE_IOERR_WRITE),
        (Operation::Write, Failure::ShortThenIoError, ffi::SQLITE_IOERR_WRITE),
        (Operation::Write, Failure::DiskFull, ffi::SQLITE_FULL),
        (Operation::Write, Failure::ShortThenDiskFull, ffi::SQLITE_FULL),
        (Operation::Sync, Failure::IoError, ffi::SQLITE_IOERR_FSYNC),
        (Operation::Sync, Failure::DiskFull, ffi::SQLITE_FULL),
    ];
    for (operation, failure, code) in cases {
        let directory = TempDir::new().expect("a temporary directory");
        let faults = Faults::install();
        let connection = open(directory.path(), faults.name()).expect("opens");
        prepare(&connection, "wal", "full").expect("prepares");
        faults.arm(Fault { operations: only(operation), nth: 1, failure, lasting: Lasting::UntilHealed });
        for _ in 0..2 {
            let error = insert(&connection, 1).expect_err("the disk is broken");
            assert_eq!(error.sqlite_error().map(|error| error.extended_code), Some(code), "{operation:?} {failure:?}");
        }
        assert_eq!(faults.fired(), 2);
        assert_eq!(faults.count(operation), 2);
        faults.heal();
        insert(&connection, 1).expect("the disk is whole again");
        assert_eq!(faults.fired(), 2);
        assert!(faults.count(operation) > 2);
    }
}

#[test]
fn a_truncate_can_fail() {
    let directory = TempDir::new().expect("a temporary directory");
    let faults = Faults::install();
    let connection = open(directory.path(), faults.name()).expect("opens");
    prepare(&connection, "truncate", "full").expect("prepares");
    let operations = only(Operation::Truncate);
    faults.arm(Fault { operations, nth: 1, failure: Failure::IoError, lasting: Lasting::Once });
    let error = insert(&connection, 1).expect_err("the journal cannot be cut");
    assert_eq!(error.sqlite_error().map(|error| error.extended_code), Some(ffi::SQLITE_IOERR_TRUNCATE));
    assert_eq!(faults.fired(), 1);
}

#[test]
fn half_of_a_short_write_reaches_the_file() {
    let directory = TempDir::new().expect("a temporary directory");
    let faults = Faults::install();
    let operations = only(Operation::Write);
    faults.arm(Fault { operations, nth: 1, failure: Failure::ShortThenDiskFull, lasting: Lasting::UntilHealed });
    let connection = open(directory.path(), faults.name()).expect("opens");
    // Without a journal the first write is the first page of the database.
    connection
        .execute_batch("pragma journal_mode = off; pragma page_size = 4096; create table one (id)")
        .expect_err("full");
    drop(connection);
    let size_bytes = directory.path().join(crate::workload::FILE).metadata().expect("the file is there").len();
    assert_eq!(size_bytes, 2048);
}

/// Runs the workload with every operation failing in turn, until a run gets by without the fault.
fn sweep(lasting: Lasting) {
    for failure in Failure::ALL {
        let fired = |nth: &u64| run(Fault { operations: Operation::ALL, nth: *nth, failure: *failure, lasting }) > 0;
        let faults = (1..).take_while(fired).count();
        println!("{failure:?}, {lasting:?}: {faults} faults");
        assert!(faults > 50, "the sweep reaches the whole workload");
    }
}

/// Runs the workload with a fault, checks what a restart finds, and returns how often the fault fired.
fn run(fault: Fault) -> u64 {
    let directory = TempDir::new().expect("a temporary directory");
    let faults = Faults::install();
    faults.arm(fault);
    let acknowledged = work(&directory, faults.name());
    let fired = faults.fired();
    let contents = read_back(directory.path());
    assert_eq!(contents.integrity, "ok", "{fault:?}");
    for id in &acknowledged {
        assert!(contents.ids.contains(id), "{fault:?} lost row {id} of {acknowledged:?}");
    }
    if fired == 0 {
        assert_eq!(acknowledged.len() as i64, COMMITS, "without a fault everything succeeds");
    }
    let connection = reopen(directory.path());
    // No power is cut here, so this need not wait for the disk.
    prepare(&connection, "wal", "off").expect("the database can be written again");
    insert(&connection, COMMITS).expect("the database can be written again");
    fired
}

/// Commits rows and goes on after errors; returns the rows whose commit succeeded.
fn work(directory: &TempDir, vfs: &str) -> Vec<i64> {
    let Ok(connection) = open(directory.path(), vfs) else {
        return Vec::new();
    };
    if prepare(&connection, "wal", "full").is_err() {
        return Vec::new();
    }
    (0..COMMITS).filter(|id| insert(&connection, *id).is_ok()).collect()
}

fn only(operation: Operation) -> &'static [Operation] {
    match operation {
        Operation::Write => &[Operation::Write],
        Operation::Sync => &[Operation::Sync],
        Operation::Truncate => &[Operation::Truncate],
    }
}
