//! Files of older, newer and other programs.

use super::{put_older_rows, runtime};
use crate::kit::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NEWEST: i64 = 12;

/// The last schema without row MACs: the rows that the test writes by hand have none.
const WITHOUT_MACS: i64 = 9;

#[test]
fn a_file_of_every_older_schema_keeps_its_rows_and_a_copy_of_before() {
    for schema in 1..=WITHOUT_MACS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = SqliteOptions::new(folder.path().join("store.db"));
        drop(SqliteStore::open_at(options.clone(), schema).expect("opens"));
        let talk = put_older_rows(&rusqlite::Connection::open(&options.path).expect("opens")).conversation;
        let newest = SqliteStore::open(options.clone()).expect("an older file opens");
        runtime().block_on(async {
            assert_eq!(texts(&newest, talk).await, ["one", "two"]);
            assert_eq!(newest.doctor().await.expect("doctor runs").schema, NEWEST);
            say(&newest, talk, &["three"]).await;
            assert!(newest.verify().await.expect("verify runs").is_sound());
        });
        drop(newest);
        let kept = SqliteOptions::new(options.sibling_path(&format!(".before-{}", schema + 1)));
        let copy = SqliteStore::open_at(kept, schema).expect("the copy of before opens");
        runtime().block_on(async {
            assert_eq!(copy.doctor().await.expect("doctor runs").schema, schema, "the copy is as it was");
            assert_eq!(texts(&copy, talk).await, ["one", "two"]);
        });
    }
}

#[test]
fn a_newer_file_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(SqliteOptions::new(&path)).expect("opens");
    runtime().block_on(conversation(&store, "new"));
    drop(store);
    let connection = rusqlite::Connection::open(&path).expect("opens");
    connection.pragma_update(None, "user_version", NEWEST + 1).expect("a newer program writes its number");
    drop(connection);
    refused(
        &path,
        |error| matches!(error, StoreError::NewerSchema { found, known } if (*found, *known) == (NEWEST + 1, NEWEST)),
    );
}

#[test]
fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for mode in ["delete", "wal"] {
        let path = folder.path().join(format!("{mode}.db"));
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection.pragma_update(None, "journal_mode", mode).expect("a mode");
        connection.execute_batch("create table theirs (id); insert into theirs values (1);").expect("their table");
        drop(connection);
        refused(&path, |error| matches!(error, StoreError::NotOurs { .. }));
    }
    for (name, bytes) in [
        ("text", "this is no database, it is a letter of more than a hundred bytes ".repeat(3)),
        ("short", "xy".to_owned()),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        refused(&path, |error| matches!(error, StoreError::NotOurs { .. }));
    }
    // A folder of its own: the files beside the store are compared, and other programs write into the system's folder.
    let inner = folder.path().join("folder");
    std::fs::create_dir(&inner).expect("a folder");
    refused(&inner, |error| matches!(error, StoreError::NotOurs { .. }));
}

/// A small file of another program, caught in the middle of a commit, looks much like one of ours that was never made.
#[test]
fn a_file_of_another_program_with_a_hot_journal_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("theirs.db");
    let connection = rusqlite::Connection::open(&path).expect("opens");
    connection.execute_batch("create table theirs (id); insert into theirs values (1);").expect("their table");
    connection
        .execute_batch("pragma cache_size = 1; pragma cache_spill = 1; begin; update theirs set id = 2;")
        .expect("begun");
    connection.cache_flush().expect("the journal is written");
    let copy = folder.path().join("copy.db");
    for suffix in ["", "-journal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        std::fs::copy(name(&path), name(&copy)).expect("a copy");
    }
    drop(connection);
    refused(&copy, |error| matches!(error, StoreError::NotOurs { .. }));
}

/// Opens what must be refused; no file of the folder changes. Looking at a file in WAL mode may leave an empty WAL.
fn refused(path: &Path, is_right: impl Fn(&StoreError) -> bool) {
    let before = contents(path);
    match SqliteStore::open(SqliteOptions::new(path)) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => assert!(is_right(&error), "{}: {error:?}", path.display()),
    }
    assert!(contents(path) == before, "{} was touched", path.display());
}

/// Returns the files beside a path, and their bytes.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = path.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let kept =
        |path: &PathBuf| path.is_file() && !["-wal", "-shm"].iter().any(|end| path.to_string_lossy().ends_with(end));
    files.filter(kept).map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect()
}
