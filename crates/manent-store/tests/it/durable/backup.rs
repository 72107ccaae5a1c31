//! Backups under load, and backups that were cut off.

use super::child::{Child, FILE, Role, populate};
use super::found::Found;
use super::{body_of, runtime, seed};
use crate::kit::*;
use manent_model::MessageId;
use manent_store::Store;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a_backup_holds_every_message_that_was_acknowledged_before_it_began() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(SqliteStore::open(SqliteOptions::new(folder.path().join(FILE))).expect("opens"));
    let acknowledged: Arc<Mutex<Vec<(MessageId, String)>>> = Arc::default();
    let done = Arc::new(AtomicBool::new(false));
    runtime().block_on(async {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..8 {
            let (store, acknowledged, done) = (store.clone(), acknowledged.clone(), done.clone());
            writers.spawn(async move {
                let talk = conversation(&*store, "busy").await;
                for count in 0.. {
                    let text = format!("{writer} says {count}");
                    let ids = say(&*store, talk, &[&text]).await;
                    acknowledged.lock().expect("no task panics").push((ids[0], body_of(&text)));
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for count in 0..20 {
            let before = acknowledged.lock().expect("no task panics").clone();
            let position = *store.watch_position().borrow();
            let to = folder.path().join(format!("copy {count}.db"));
            let report = store.backup(&to).await.expect("a backup is made");
            assert!(report.position >= position, "{report:?}");
            let found = Found::read(&to).expect("a copy is sound");
            assert_eq!(found.position, report.position);
            for (id, body) in &before {
                assert_eq!(found.values.get(id.as_bytes()), Some(body), "copy {count} lacks {id}");
            }
            println!("copy {count}: {} messages, {} known before", report.messages, before.len());
        }
        done.store(true, Ordering::Relaxed);
        writers.join_all().await;
        let copy = SqliteStore::open(SqliteOptions::new(folder.path().join("copy 19.db"))).expect("a copy opens");
        assert!(copy.verify().await.expect("verify runs").is_sound());
    });
    assert_eq!(leftovers(folder.path()), [""; 0]);
}

#[test]
fn a_backup_that_was_killed_leaves_nothing_under_its_name() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions::new(folder.path().join(FILE));
    let store = SqliteStore::open(options).expect("opens");
    let ids = runtime().block_on(populate(&store, 3_000));
    drop(store);
    let mut complete = 0;
    let mut cut_off = 0;
    for _ in 0..15 {
        let child = Child::start(Role::BackUpForEver, folder.path(), 0);
        std::thread::sleep(Duration::from_millis(rng.u64(20..400)));
        child.kill();
        cut_off += leftovers(folder.path()).len();
        for entry in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("our names").to_owned();
            if name.starts_with("copy-") && name.ends_with(".db") {
                let found = Found::read(&path).expect("what has its name is whole");
                assert!(ids.iter().all(|id| found.values.contains_key(id.as_bytes())), "{name} is not whole");
                complete += 1;
            }
            if name.starts_with("copy-") {
                let _ = std::fs::remove_file(path);
            }
        }
    }
    println!("{complete} complete, {cut_off} files of backups that were cut off");
    assert!(complete > 0 && cut_off > 0, "both must happen");
}

/// Returns the names of files that a backup should not leave.
fn leftovers(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.contains(".partial")).collect()
}
