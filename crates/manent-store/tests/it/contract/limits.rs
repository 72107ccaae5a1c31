//! Limits: what is too much is refused whole, and the store goes on.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

pub async fn a_transaction_without_changes_is_refused(store: &dyn Store) {
    let before = *store.position().borrow();
    let mut transaction = Transaction::of(at(1), append(id(ConversationId::new), Vec::new()));
    transaction.changes.clear();
    refused_as(store.commit(transaction).await, "invalid");
    assert_eq!(*store.position().borrow(), before);
    assert_eq!(store.journal(before, 9).await.expect("readable"), []);
}

pub async fn a_transaction_holds_two_thousand_changes(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let many = |count: usize| (0..count).map(|_| message("user", "x")).collect::<Vec<_>>();
    refused(store, append(conversation, many(2_001)), "too_large").await;
    let mut transaction = Transaction::of(at(1), append(conversation, many(1_999)));
    transaction.changes.push(append(conversation, many(1)));
    store.commit(transaction.clone()).await.expect("as many as there may be");
    transaction.changes.push(append(conversation, many(1)));
    refused_as(store.commit(transaction).await, "too_large");
    assert_eq!(shown(store, conversation).await.messages, 2_000);
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn a_transaction_happens_whole_or_not_at_all(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let before = *store.position().borrow();
    let mut transaction = Transaction::of(at(1), append(conversation, vec![message("never seen", "one")]));
    let patch =
        ConversationPatch { title: Some("b".to_owned()), add_tags: ["new".to_owned()].into(), ..Default::default() };
    transaction.changes.push(Change::EditConversation { id: conversation, patch });
    transaction.changes.push(Change::PutDocument {
        kind: "k".to_owned(),
        id: "i".to_owned(),
        project: None,
        body: None,
    });
    transaction.changes.push(Change::RemoveNote { id: id(NoteId::new) });
    refused_as(store.commit(transaction.clone()).await, "not_found");
    let now = shown(store, conversation).await;
    assert_eq!((now.title.as_str(), now.messages, now.version, now.tags.len()), ("a", 0, 1, 0));
    assert_eq!(store.documents(DocumentsQuery::All).await.expect("readable"), []);
    assert_eq!(*store.position().borrow(), before);
    transaction.changes.pop();
    store.commit(transaction).await.expect("without the last one it may");
    let now = shown(store, conversation).await;
    assert_eq!((now.title.as_str(), now.messages, now.version), ("b", 1, 2), "one commit, one version");
    sound(store).await;
}
