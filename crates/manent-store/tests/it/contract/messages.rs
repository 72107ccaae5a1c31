//! Messages: appended, read, forked, edited.

use crate::kit::*;
use manent_store::*;

pub async fn appended_messages_are_read_back_in_order(store: &dyn Store) {
    let conversation = conversation(store, "天气").await;
    say(store, conversation, &["你好", "again"]).await;
    say(store, conversation, &["third"]).await;
    assert_eq!(texts(store, conversation).await, ["你好", "again", "third"]);
    let shown = shown(store, conversation).await;
    assert_eq!((shown.messages, shown.words, shown.title.as_str()), (3, 4, "天气"));
    let report = store.verify().await.expect("verify runs");
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.messages, 3);
}

pub async fn undo_takes_an_append_back_and_redo_brings_it_again(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    say(store, conversation, &["one"]).await;
    say(store, conversation, &["two"]).await;
    let scope = Scope::Conversation(conversation);
    let target = store.undo_target(scope.clone(), Step::Undo).await.expect("readable").expect("something to undo");
    commit(store, Change::Undo { position: target }).await;
    assert_eq!(texts(store, conversation).await, ["one"]);
    let target = store.undo_target(scope, Step::Redo).await.expect("readable").expect("something to redo");
    commit(store, Change::Undo { position: target }).await;
    assert_eq!(texts(store, conversation).await, ["one", "two"]);
    let report = store.verify().await.expect("verify runs");
    assert!(report.is_sound(), "{report:?}");
}
