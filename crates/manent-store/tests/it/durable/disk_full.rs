//! A disk that is really full.

use super::{not_run, runtime};
use crate::kit::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A file system of a few megabytes in memory; it is taken away with its handle.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(folder.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Small(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_refuses_writes_serves_reads_and_recovers_by_itself() {
    let Some(disk) = Small::mount() else {
        return not_run("disk full on a tmpfs (needs root)");
    };
    // The WAL must not be grown ahead: this disk is smaller.
    let options = SqliteOptions { grow_wal: false, ..SqliteOptions::new(disk.path().join("store.db")) };
    let store = SqliteStore::open(options).expect("opens");
    runtime().block_on(async {
        let conversation = conversation(&store, "full").await;
        let mut stored = Vec::new();
        for round in 0..3 {
            let filler = disk.path().join("filler");
            fill(&filler);
            let first_refused = fill_up(&store, conversation, &mut stored).await;
            assert_eq!(texts(&store, conversation).await, stored, "reads go on");
            // It stays full: the answer stays the same, and is quick.
            for _ in 0..5 {
                let started = Instant::now();
                let again = try_commit(&store, append(conversation, vec![message("user", &first_refused)])).await;
                assert!(matches!(again, Err(StoreError::DiskFull)), "round {round}: {again:?}");
                assert!(started.elapsed() < Duration::from_secs(2));
            }
            std::fs::remove_file(&filler).expect("the filler can be removed");
            let freed = Instant::now();
            while let Err(error) = try_commit(&store, append(conversation, vec![message("user", "again")])).await {
                assert!(freed.elapsed() < Duration::from_secs(2), "still {error:?}");
            }
            stored.push("again".to_owned());
            assert_eq!(texts(&store, conversation).await, stored);
        }
        let report = store.verify().await.expect("verify runs");
        assert!(report.is_sound(), "{:?}", report.problems);
    });
}

/// Leaves about a hundred kilobytes.
fn fill(filler: &Path) {
    let mut size_bytes = 4_000_000;
    while std::fs::write(filler, vec![7; size_bytes]).is_err() {
        size_bytes -= 50_000;
    }
    std::fs::write(filler, vec![7; size_bytes - 100_000]).expect("less than what went in before");
}

/// Appends until the disk is full; returns the text that no longer fitted.
async fn fill_up(store: &SqliteStore, conversation: manent_model::ConversationId, stored: &mut Vec<String>) -> String {
    for count in 0.. {
        let text = format!("{count} ").repeat(1_000);
        match try_commit(store, append(conversation, vec![message("user", &text)])).await {
            Ok(_) => stored.push(text),
            Err(StoreError::DiskFull) => return text,
            Err(error) => panic!("{error:?}"),
        }
        assert!(count < 1_000, "the disk must fill up");
    }
    unreachable!("the loop only returns")
}
