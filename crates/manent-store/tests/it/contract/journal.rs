//! The journal: the order of all changes, for tails and copies.

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::pin::Pin;
use std::task::Poll;

pub async fn every_commit_has_its_rows_in_order(store: &dyn Store) {
    let start = *store.position().borrow();
    let conversation = conversation(store, "a").await;
    let actor = Author { id: "ann".to_owned(), name: "Ann".to_owned() };
    let mut transaction =
        Transaction::of(at(5), append(conversation, vec![message("user", "1"), message("user", "2")]));
    transaction.actor = Some(actor.clone());
    transaction.changes.push(Change::PutDocument {
        kind: "k".to_owned(),
        id: "i".to_owned(),
        project: None,
        body: None,
    });
    let patch = ConversationPatch { pinned: Some(true), ..Default::default() };
    transaction.changes.push(Change::EditConversation { id: conversation, patch });
    let committed = store.commit(transaction).await.expect("it may");
    commit(store, Change::Undo { position: committed.first }).await;
    let rows = store.journal(start, 100).await.expect("readable");
    let kinds: Vec<(&str, i64, bool)> =
        rows.iter().map(|row| (row.kind, row.count, row.conversation.is_some())).collect();
    assert_eq!(
        kinds,
        [
            ("conversation_created", 1, true),
            ("messages_appended", 2, true),
            ("document_put", 1, false),
            ("conversation_edited", 1, true),
            ("undone", 1, false),
            ("undone", 1, true),
        ]
    );
    let mut next = start + 1;
    for row in &rows {
        assert_eq!(row.position, next, "no position is left out");
        next += row.count;
    }
    for row in &rows[1..4] {
        assert_eq!((row.first, row.at, row.actor.as_ref()), (committed.first, at(5), Some(&actor)));
        assert_eq!(row.undoes, None);
    }
    assert_eq!(committed.position, rows[3].position);
    assert!(rows[4..].iter().all(|row| row.undoes == Some(committed.first) && row.first == rows[4].position));
    let arrivals: Vec<i64> = store
        .messages(MessagesQuery::Branch {
            branch: store.branches(conversation).await.expect("readable")[0].id,
            after: None,
            limit: 9,
        })
        .await
        .expect("readable")
        .iter()
        .map(|placed| placed.message.arrival)
        .collect();
    assert_eq!(arrivals, [committed.first, committed.first + 1]);
    let page = store.journal(rows[1].position, 2).await.expect("readable");
    assert_eq!(page, rows[2..4]);
    assert_eq!(store.journal(next, 9).await.expect("readable"), []);
    sound(store).await;
}

pub async fn a_tail_hears_of_every_commit(store: &dyn Store) {
    let mut tail = store.position();
    let conversation = conversation(store, "a").await;
    let ids = [message("user", "1"), message("user", "2")];
    let committed = commit(store, append(conversation, ids.to_vec())).await;
    assert!(tail.has_changed().expect("the store lives"));
    assert_eq!(*tail.borrow_and_update(), committed.position);
    refused(store, head_to(conversation, id(MessageId::new)), "not_found").await;
    assert_eq!(*store.position().borrow(), committed.position, "a refusal owns no position");
}

pub async fn many_writers_get_one_order(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let start = *store.position().borrow();
    let writers = (0..64).map(|n| async move {
        let text = n.to_string();
        commit(store, append(conversation, vec![message("user", &text), message("user", &text)])).await.first
    });
    let mut waiting: Vec<Pin<Box<dyn Future<Output = i64> + '_>>> =
        writers.map(|writer| Box::pin(writer) as _).collect();
    let mut firsts = Vec::new();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|writer| match writer.as_mut().poll(context) {
            Poll::Ready(first) => {
                firsts.push(first);
                false
            }
            Poll::Pending => true,
        });
        if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    firsts.sort_unstable();
    assert_eq!(firsts, (0..64).map(|n| start + 1 + 2 * n).collect::<Vec<_>>());
    let texts = texts(store, conversation).await;
    assert!(texts.chunks(2).all(|pair| pair[0] == pair[1]), "a commit is not torn apart");
    counts_hold(store, conversation).await;
    sound(store).await;
}
