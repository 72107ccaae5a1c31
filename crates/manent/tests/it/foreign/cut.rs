//! Imports that are cut off: what is here is sound, and importing again brings the rest.

use super::*;
use manent::store::sqlite::{SqliteOptions, SqliteStore};
use manent_testing::{Failure, Fault, Faults, Lasting, Operation};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Polls an import this many times, then drops it. Returns whether it had finished.
async fn given_up(database: &Database, files: &Files, steps: usize) -> bool {
    let tree = memory(files);
    let format = formats::sniff(&*tree).expect("a known format");
    let mut import = pin!(database.import_tree(tree, format, ImportMode::Store, |_| {}));
    let mut left = steps;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        import.as_mut().poll(context).map(|outcome| {
            outcome.expect("imported");
            true
        })
    })
    .await
}

/// What an import brings that was cut off and made again is what one brings that was not.
async fn finishes(database: &Database, files: &Files, format: &str, expected: &Files) {
    import(database, files).await;
    assert_same(expected, &written(database, format).await);
    let position = database.position();
    import(database, files).await;
    assert_eq!(database.position(), position, "and then there is nothing left to bring");
    assert_sound(database).await;
}

/// Gives an import up after more and more steps, until it is done before.
async fn check_given_up(files: &Files, format: &str, stride: usize) {
    let whole = open();
    import(&whole, files).await;
    let expected = written(&whole, format).await;
    let counts = whole.store().conversation_ids(None, 99).await.expect("readable").len();
    for steps in (1..).step_by(stride) {
        let database = open();
        let is_done = given_up(&database, files, steps).await;
        finishes(&database, files, format, &expected).await;
        assert_eq!(database.store().conversation_ids(None, 99).await.expect("readable").len(), counts);
        if is_done {
            return;
        }
    }
}

#[tokio::test]
async fn an_import_that_is_given_up_is_finished_by_the_next() {
    check_given_up(&sessions(SESSIONS), "veloca", 2).await;
}

#[tokio::test]
async fn an_import_of_real_files_that_is_given_up_is_finished_by_the_next() {
    for (folder, format, stride) in [
        ("veloca/real-da1f742-veloca-storage.json", "veloca", 5),
        ("kode/store-level", "kode", 11),
        ("kode/crash-executing/before", "kode", 17),
        ("personalab/v1-instance-layout", "personalab", 5),
        ("conversation-tables/d1-v0.0.4.sqlite", "conversation-tables", 7),
        ("obsidian-rag/migrated", "obsidian-rag", 5),
    ] {
        let Some(files) = real(folder) else { return };
        check_given_up(&files, format, stride).await;
    }
}

#[tokio::test]
async fn unreadable_records_are_quarantined_once_across_aborted_imports() {
    let bad = |id: &str| format!("\"entry_id\": \"{id}\", \"role\" 7,");
    let good = |id: &str| format!("\"entry_id\": \"{id}\",");
    let text = ["e1", "e2", "e3"].iter().fold(SESSIONS.to_owned(), |text, id| text.replace(&good(id), &bad(id)));
    let files = sessions(&text);
    let kept = async |database: &Database| {
        let sources = database.sources().await.expect("readable");
        let mut kept = Vec::new();
        for source in sources {
            kept.extend(database.store().quarantined(source.id).await.expect("readable"));
        }
        kept.into_iter().map(|one| (one.at_byte, one.bytes)).collect::<Vec<_>>()
    };
    let whole = open();
    import(&whole, &files).await;
    let expected = kept(&whole).await;
    assert_eq!(expected.len(), 3, "each is kept by itself");
    for steps in (1..).step_by(3) {
        let database = open();
        let is_done = given_up(&database, &files, steps).await;
        import(&database, &files).await;
        assert_eq!(kept(&database).await, expected, "after {steps} steps");
        if is_done {
            return;
        }
    }
}

fn on(faults: &Faults, path: &Path) -> Database {
    let options = SqliteOptions { vfs: Some(faults.name().to_owned()), ..SqliteOptions::new(path) };
    Database::from_store(Arc::new(SqliteStore::open(options).expect("opens")))
}

/// A disk that fails at some write stays so until it is mended; every answer before it was true.
#[tokio::test]
async fn an_import_on_a_failing_disk_is_finished_when_it_is_mended() {
    let files = sessions(SESSIONS);
    let mut nth = 1;
    loop {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let faults = Faults::install();
        let database = on(&faults, &folder.path().join("test.db"));
        faults.arm(Fault {
            operations: &[Operation::Write, Operation::Sync],
            nth,
            failure: if nth % 2 == 0 { Failure::ShortThenDiskFull } else { Failure::IoError },
            lasting: Lasting::UntilHealed,
        });
        let tree = memory(&files);
        let format = formats::sniff(&*tree).expect("veloca");
        let outcome = database.import_tree(tree, format, ImportMode::Store, |_| {}).await;
        let (fired, is_done) = (faults.fired(), outcome.is_ok());
        faults.heal();
        finishes(&database, &files, "veloca", &files).await;
        database.close().await.expect("closes");
        if fired == 0 {
            assert!(is_done, "{outcome:?}");
            assert!(nth > 10, "the import writes more than that");
            return;
        }
        nth += 3;
    }
}

const CHILD: &str = "MANENT_CHILD_IMPORT";

/// Not a test by itself: another process that imports without end, until it is killed.
#[tokio::test]
async fn child_that_imports() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let database = Database::open(Path::new(&folder).join("test.db")).expect("opens");
    import(&database, &many(2_000)).await;
    std::thread::park();
}

/// This many sessions with a message each.
fn many(count: usize) -> Files {
    let session = |number: usize| format!(r#"{{"session_id":"s{number}","name":"{number}","status":0}}"#);
    let entry = |number: usize| {
        format!(
            r#"{{"entry_id":"e{number}","session_id":"s{number}","message":"第{number}","role":"user","status":0,"create_at":"2024-01-01T00:00:00.000Z"}}"#
        )
    };
    let list = |make: &dyn Fn(usize) -> String| (0..count).map(make).collect::<Vec<_>>().join(",\n");
    let (listed, said) = (list(&session), list(&entry));
    sessions(&format!("{{\"sessions\":[\n{listed}\n],\n\"entries\":[\n{said}\n],\n\"compacted_dialogues\":[]}}\n"))
}

#[tokio::test]
async fn an_import_whose_process_is_killed_is_finished_by_another() {
    let (folder, files) = (tempfile::tempdir().expect("a temporary folder"), many(2_000));
    let database = Database::open(folder.path().join("test.db")).expect("opens");
    let mut child = std::process::Command::new(std::env::current_exe().expect("a program knows itself"))
        .args(["--exact", "foreign::cut::child_that_imports", "--nocapture", "--quiet"])
        .env(CHILD, folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a process can be started");
    let mut begun = Vec::new();
    while begun.len() < 20 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        begun = database.store().conversation_ids(None, 999).await.expect("readable");
    }
    child.kill().expect("a child can be killed");
    child.wait().expect("a child ends");
    let report = import(&database, &files).await;
    let new = report.conversations.iter().filter(|one| one.is_new).count();
    assert!(new > 0 && new <= 1_980, "it was killed in the middle: {new} were missing");
    assert!(files == written(&database, "veloca").await, "everything is there as it was");
    assert_sound(&database).await;
}
