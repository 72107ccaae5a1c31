//! A disk that is really full.

use super::runtime;
use crate::kit::*;
use manent_model::*;
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

/// Fills the disk to the last block with files of its own.
fn fill_last(disk: &SmallDisk) -> Vec<std::path::PathBuf> {
    use std::io::Write;
    let mut fillers = Vec::new();
    // Blocks that a deleted file held may come back a moment later.
    for n in 0..3 {
        let path = disk.path().join(format!("last-{n}"));
        let mut file = std::fs::File::create(&path).expect("an empty file fits");
        while file.write_all(&[7; 512]).is_ok() {}
        fillers.push(path);
    }
    fillers
}

#[test]
fn deletion_on_a_full_disk_uses_the_reserve() {
    let Some(disk) = SmallDisk::mount(8) else {
        return not_run("deletions on a full tmpfs (needs root)");
    };
    let path = disk.path().join("store.db");
    let reserve = || std::fs::metadata(disk.path().join("store.db-reserve")).map_or(0, |file| file.len());
    let options = SqliteOptions { grow_wal: false, ..SqliteOptions::new(&path) };
    let store = SqliteStore::open(options).expect("opens");
    runtime().block_on(async {
        let store = &store;
        let mut chats = Vec::new();
        for title in ["trashed", "purged", "erased", "kept"] {
            let chat = conversation(store, title).await;
            chats.push((chat, say(store, chat, &["some words", "more words"]).await));
        }
        indexed(store).await;
        assert!(reserve() >= 256 << 10, "{} bytes are kept free", reserve());
        let filler = disk.path().join("filler");
        disk.fill(&filler).expect("filled");
        let kept = chats[3].0;
        fill_up(store, kept, &mut Vec::new()).await;
        indexed(store).await;
        let mut fillers = fill_last(&disk);
        fillers.push(filler);
        // What the write-ahead log has already allocated is used up by small messages.
        let mut small = 0;
        while try_commit(store, append(kept, vec![message("user", "x")])).await.is_ok() {
            small += 1;
            assert!(small < 10_000, "the disk must fill up");
        }
        assert!(reserve() >= 256 << 10, "ordinary writes leave it alone");
        refused(store, append(kept, vec![message("user", "x")]), "disk_full").await;

        let trash = |id| {
            let patch = ConversationPatch { status: Some(ConversationStatus::Trashed), ..Default::default() };
            Change::EditConversation { id, patch }
        };
        try_commit(store, trash(chats[0].0)).await.expect("moved to the trash on a full disk");
        try_commit(store, trash(chats[1].0)).await.expect("and another");
        let purge = Change::Purge { conversation: chats[1].0 };
        while !matches!(commit(store, purge.clone()).await.results[..], [ChangeResult::Purged(true)]) {}
        let erase = |target| Change::Erase { target };
        let (erased, messages) = &chats[2];
        try_commit(store, erase(EraseTarget::Message(messages[0]))).await.expect("a message is erased");
        loop {
            let done =
                try_commit(store, erase(EraseTarget::Conversation(*erased))).await.expect("a conversation is erased");
            if matches!(&done.results[..], [ChangeResult::Erased(receipt)] if receipt.finished) {
                break;
            }
        }
        assert_eq!(shown(store, chats[0].0).await.status, ConversationStatus::Trashed);
        for (gone, _) in &chats[1..3] {
            assert_eq!(store.conversation(ConversationRef::Id(*gone)).await.expect("readable"), None);
        }

        for filler in fillers {
            std::fs::remove_file(filler).expect("the filler can be removed");
        }
        commit(store, append(kept, vec![message("user", "again")])).await;
        assert!(reserve() >= 256 << 10, "it is allocated again: {}", reserve());
        sound(store).await;
        store.close().await.expect("closed");
    });
    let gone = runtime().block_on(SqliteStore::destroy(&path)).expect("destroyed");
    assert!(gone.files > 0 && reserve() == 0, "it goes with its store");
}

/// Fills the disk of a store three times: writes are refused, reads go on, and with room all goes on.
pub async fn refuses_and_recovers(store: &dyn Store, disk: &SmallDisk) {
    let conversation = conversation(store, "full").await;
    let mut stored = Vec::new();
    for round in 0..3 {
        let filler = disk.path().join("filler");
        disk.fill(&filler).expect("filled");
        let mut refused = fill_up(store, conversation, &mut stored).await;
        // It stays full: the answer stays the same, and is quick. The index may give some room back; then it fills up
        // again.
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
async fn fill_up(store: &dyn Store, conversation: ConversationId, stored: &mut Vec<String>) -> String {
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
