//! Backups: a file of its own that holds what the store held, whatever engine it was.

use crate::kit::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;

pub async fn a_backup_is_a_store_of_its_own(store: &dyn Store) {
    let kept = conversation(store, "天气\0").await;
    let said = say(store, kept, &["one", "two", "three"]).await;
    let fork = append(kept, vec![message("user", "instead of three")]);
    commit(store, Change::MoveHead { conversation: kept, to: HeadTarget::Message(said[1]) }).await;
    commit(store, fork).await;
    let gone = conversation(store, "gone").await;
    say(store, gone, &["x"]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("copy.db");
    let report = store.backup(&path).await.expect("a backup");
    assert_eq!((report.conversations, report.messages), (2, 5));
    let copy = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("a store");
    assert_eq!(sound(&copy).await.messages, sound(store).await.messages);
    assert_eq!(texts(&copy, kept).await, ["one", "two", "instead of three"]);
    assert_eq!(shown(&copy, kept).await, shown(store, kept).await);
    let everything = JournalQuery { after: 0, conversation: None, limit: PAGE_MAX };
    let (ours, theirs) = (store.journal(everything.clone()).await, copy.journal(everything).await);
    assert_eq!(ours.expect("readable").entries, theirs.expect("readable").entries);
    // It goes on where the store stood.
    say(&copy, kept, &["after"]).await;
    assert_eq!(texts(&copy, kept).await, ["one", "two", "instead of three", "after"]);
    assert_eq!(texts(store, kept).await, ["one", "two", "instead of three"]);
    let again = store.backup(&path).await.expect_err("it exists");
    assert!(matches!(again, StoreError::Invalid(_)), "{again:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 3, "the store, its WAL, nothing else");
}
