//! A disk that is really full.

use super::runtime;
use crate::kit::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use manent_testing::{SmallDisk, not_run};
use std::time::{Duration, Instant};

#[test]
fn a_full_disk_refuses_writes_serves_reads_and_recovers_by_itself() {
    let Some(disk) = SmallDisk::mount(4) else {
        return not_run("disk full on a tmpfs (needs root)");
    };
    // The WAL must not be grown ahead: this disk is smaller.
    let options = SqliteOptions { grow_wal: false, ..SqliteOptions::new(disk.path().join("store.db")) };
    let store = SqliteStore::open(options).expect("opens");
    runtime().block_on(refuses_and_recovers(&store, &disk));
}

/// Fills the disk of a store three times: writes are refused, reads go on, and with room all goes on.
pub async fn refuses_and_recovers(store: &dyn Store, disk: &SmallDisk) {
    let conversation = conversation(store, "full").await;
    let mut stored = Vec::new();
    for round in 0..3 {
        let filler = disk.path().join("filler");
        disk.fill(&filler).expect("filled");
        let mut refused = fill_up(store, conversation, &mut stored).await;
        // It stays full: the answer stays the same, and is quick. The index may give some room back; then it fills up again.
        let mut times = 0;
        while times < 5 {
            let started = Instant::now();
            match try_commit(store, append(conversation, vec![message("user", &refused)])).await {
                Err(StoreError::DiskFull) => times += 1,
                Ok(_) => {
                    stored.push(std::mem::take(&mut refused));
                    (refused, times) = (fill_up(store, conversation, &mut stored).await, 0);
                }
                Err(error) => panic!("round {round}: {error:?}"),
            }
            assert!(times == 0 || started.elapsed() < Duration::from_secs(2));
        }
        assert_eq!(texts(store, conversation).await, stored, "reads go on");
        std::fs::remove_file(&filler).expect("the filler can be removed");
        let freed = Instant::now();
        while let Err(error) = try_commit(store, append(conversation, vec![message("user", "again")])).await {
            assert!(freed.elapsed() < Duration::from_secs(2), "still {error:?}");
        }
        stored.push("again".to_owned());
        assert_eq!(texts(store, conversation).await, stored);
    }
    sound(store).await;
}

/// Appends until the disk is full; returns the text that no longer fitted.
async fn fill_up(store: &dyn Store, conversation: manent_model::ConversationId, stored: &mut Vec<String>) -> String {
    for count in 0.. {
        // Words that do not repeat: an engine may pack those that do.
        let text: String = (0..1_000).map(|_| format!("{} ", fastrand::u32(..))).collect();
        match try_commit(store, append(conversation, vec![message("user", &text)])).await {
            Ok(_) => stored.push(text),
            Err(StoreError::DiskFull) => return text,
            Err(error) => panic!("{error:?}"),
        }
        assert!(count < 1_000, "the disk must fill up");
    }
    unreachable!("the loop only returns")
}
