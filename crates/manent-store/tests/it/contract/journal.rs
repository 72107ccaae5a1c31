//! The journal: the order of all changes, for tails and copies.

use crate::kit::*;
use manent_model::*;
use manent_store::*;

pub async fn every_commit_has_its_rows_in_order(store: &dyn Store) {
    let start = *store.watch_position().borrow();
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
    let rows = journal(store, start, 100).await;
    let kinds: Vec<(JournalKind, i64, bool)> =
        rows.iter().map(|row| (row.kind, row.count, row.conversation.is_some())).collect();
    assert_eq!(
        kinds,
        [
            (JournalKind::ConversationCreated, 1, true),
            (JournalKind::MessagesAppended, 2, true),
            (JournalKind::DocumentPut, 1, false),
            (JournalKind::ConversationEdited, 1, true),
            (JournalKind::Undone, 1, false),
            (JournalKind::Undone, 1, true),
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
    let after = rows[1].position;
    let page = store.journal(JournalQuery { after, conversation: None, limit: 2 }).await.expect("readable");
    assert_eq!((&page.entries[..], page.scanned_to, page.more), (&rows[2..4], rows[3].position, true));
    let page = store.journal(JournalQuery { after: next, conversation: None, limit: 9 }).await.expect("readable");
    assert_eq!((&page.entries[..], page.scanned_to, page.more), (&[][..], next, false));
    sound(store).await;
}

pub async fn the_journal_of_one_conversation_is_read_in_pages(store: &dyn Store) {
    let (a, b) = (conversation(store, "a").await, conversation(store, "b").await);
    for n in 0..10 {
        say(store, if n % 3 == 0 { a } else { b }, &["x", "y"]).await;
        commit(store, Change::PutDocument { kind: "k".to_owned(), id: "i".to_owned(), project: None, body: None })
            .await;
    }
    let all = journal(store, 0, 1_000).await;
    for id in [a, b] {
        let own: Vec<JournalEntry> = all.iter().filter(|row| row.conversation == Some(id)).cloned().collect();
        for limit in [1, 3, 1_000] {
            let mut read = Vec::new();
            let mut query = JournalQuery { after: 0, conversation: Some(id), limit };
            loop {
                let page = store.journal(query.clone()).await.expect("readable");
                assert!(page.entries.len() <= limit as usize);
                query.after = page.scanned_to;
                read.extend(page.entries);
                if !page.more {
                    break;
                }
            }
            assert_eq!(read, own);
            assert_eq!(query.after, *store.watch_position().borrow(), "everything was looked at");
        }
        let query = JournalQuery { after: own[1].position, conversation: Some(id), limit: 1 };
        assert_eq!(store.journal(query).await.expect("readable").entries, own[2..3]);
    }
    let unknown = JournalQuery { conversation: Some(id(ConversationId::new)), ..JournalQuery::default() };
    assert_eq!(store.journal(unknown).await.expect_err("unknown").code(), "not_found");
}

pub async fn a_long_journal_is_looked_at_in_bounded_pages(store: &dyn Store) {
    let (long, short) = (conversation(store, "long").await, conversation(store, "short").await);
    let event = || NewEvent { channel: "c".to_owned(), at: at(1), body: json("1") };
    let log = |conversation| Change::AppendEvents { conversation, events: vec![event()] };
    for _ in 0..11 {
        let changes = (0..1_000).map(|_| log(long)).collect();
        store.commit(Transaction { changes, ..Transaction::of(at(1), log(long)) }).await.expect("it may");
    }
    commit(store, log(short)).await;
    let mut counts = Vec::new();
    for id in [long, short] {
        let mut query = JournalQuery { after: 0, conversation: Some(id), limit: 1_000 };
        let mut count = 0;
        loop {
            let page = store.journal(query.clone()).await.expect("readable");
            assert!(page.scanned_to > query.after);
            query.after = page.scanned_to;
            count += page.entries.len();
            if !page.more {
                break;
            }
        }
        counts.push(count);
    }
    assert_eq!(counts, [11_001, 2]);
}

pub async fn a_tail_ends_when_the_store_is_closed(store: &dyn Store) {
    let mut tail = store.watch_position();
    store.close().await.expect("it can be closed");
    tail.wait_for(|_| false).await.expect_err("nothing comes any more");
    store.watch_position().wait_for(|_| false).await.expect_err("nor for who comes late");
    store.close().await.expect("closing again is no mistake");
}

pub async fn a_tail_hears_of_every_commit(store: &dyn Store) {
    let mut tail = store.watch_position();
    let conversation = conversation(store, "a").await;
    let ids = [message("user", "1"), message("user", "2")];
    let committed = commit(store, append(conversation, ids.to_vec())).await;
    assert!(tail.has_changed().expect("the store lives"));
    assert_eq!(*tail.borrow_and_update(), committed.position);
    refused(store, head_to(conversation, id(MessageId::new)), "not_found").await;
    assert_eq!(*store.watch_position().borrow(), committed.position, "a refusal owns no position");
}

pub async fn many_writers_get_one_order(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let start = *store.watch_position().borrow();
    let writers = (0..64).map(|n| async move {
        let text = n.to_string();
        commit(store, append(conversation, vec![message("user", &text), message("user", &text)])).await.first
    });
    let mut firsts = together(writers).await;
    firsts.sort_unstable();
    assert_eq!(firsts, (0..64).map(|n| start + 1 + 2 * n).collect::<Vec<_>>());
    let texts = texts(store, conversation).await;
    assert!(texts.chunks(2).all(|pair| pair[0] == pair[1]), "a commit is not torn apart");
    counts_hold(store, conversation).await;
    sound(store).await;
}

pub async fn a_page_from_before_the_start_begins_at_the_start(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    for after in [0, -1, Position::MIN] {
        let query = JournalQuery { after, conversation: Some(conversation), limit: 10 };
        let page = store.journal(query).await.expect("readable");
        assert_eq!((page.entries.len(), page.more), (1, false), "after {after}");
    }
}

/// Returns the kinds and messages of the rows after a position.
async fn named(store: &dyn Store, after: Position) -> Vec<(JournalKind, Vec<MessageId>)> {
    journal(store, after, 100).await.into_iter().map(|row| (row.kind, row.messages)).collect()
}

pub async fn journal_entry_of_messages_names_their_ids(store: &dyn Store) {
    let chat = conversation(store, "a").await;
    let start = *store.watch_position().borrow();
    let said = say(store, chat, &["1", "2", "3"]).await;
    let [first, second, third] = said[..] else { panic!("three messages") };
    commit(store, head_to(chat, second)).await;
    let note = id(NoteId::new);
    commit(store, Change::AddNote { id: note, message: first, kind: "k".to_owned(), value: json("1") }).await;
    commit(store, Change::RemoveNote { id: note }).await;
    let bookmark = |head| Change::SetBookmark { conversation: chat, name: "b".to_owned(), head, metadata: None };
    commit(store, bookmark(Some(third))).await;
    commit(store, Change::RemoveBookmark { conversation: chat, name: "b".to_owned() }).await;
    commit(store, bookmark(None)).await;
    let state = |after| Change::SetState { conversation: chat, name: "s".to_owned(), after, value: None };
    commit(store, state(Some(first))).await;
    commit(store, state(None)).await;
    // Without new messages a splice only moves the head.
    commit(store, splice(chat, instead_of(first, first), &[])).await;
    commit(store, splice(chat, SplicePosition::After(None), &["0"])).await;
    let inserted = path(store, chat, None).await[0].id;
    let mut streaming = message("assistant", "");
    streaming.content.status = MessageStatus::Streaming;
    let stream = streaming.id;
    commit(store, append(chat, vec![streaming])).await;
    commit(store, Change::AppendChunk { message: stream, delta: "x".to_owned() }).await;
    let finish = Finish { status: MessageStatus::Complete, body: None, tokens: None, usage: None };
    commit(store, Change::FinishMessage { message: stream, finish }).await;
    commit(store, Change::Erase { target: EraseTarget::Message(third) }).await;
    use JournalKind::*;
    let expected = [
        (MessagesAppended, said.clone()),
        (HeadMoved, vec![second]),
        (NoteAdded, vec![first]),
        (NoteRemoved, vec![first]),
        (BookmarkSet, vec![third]),
        (BookmarkRemoved, vec![third]),
        (BookmarkSet, vec![]),
        (StateSet, vec![first]),
        (StateSet, vec![]),
        (HeadMoved, vec![second]),
        (BranchOpened, vec![inserted]),
        (MessagesAppended, vec![stream]),
        (ChunkAppended, vec![stream]),
        (MessageFinished, vec![stream]),
        (Erased, vec![third]),
    ];
    assert_eq!(named(store, start).await, expected);
    sound(store).await;
}

pub async fn journal_entry_of_an_undo_names_the_messages_of_the_commit(store: &dyn Store) {
    let chat = conversation(store, "a").await;
    let said = say(store, chat, &["1", "2"]).await;
    let start = *store.watch_position().borrow();
    let scope = || UndoScope::Conversation(chat);
    undo(store, scope()).await;
    redo(store, scope()).await;
    undo(store, scope()).await;
    let expected = [JournalKind::Undone, JournalKind::Redone, JournalKind::Undone].map(|kind| (kind, said.clone()));
    assert_eq!(named(store, start).await, expected);
    sound(store).await;
}

pub async fn journal_entry_of_many_messages_is_cut(store: &dyn Store) {
    let chat = conversation(store, "a").await;
    let start = *store.watch_position().borrow();
    let messages: Vec<NewMessage> = (0..ENTRY_MESSAGES_MAX + 1).map(|n| message("user", &n.to_string())).collect();
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    commit(store, append(chat, messages)).await;
    undo(store, UndoScope::Conversation(chat)).await;
    let last = message("user", "x");
    let last_id = last.id;
    commit(store, append(chat, vec![last])).await;
    let rows = journal(store, start, 10).await;
    for row in &rows[..2] {
        assert_eq!((&row.messages[..], row.messages_cut), (&ids[..ENTRY_MESSAGES_MAX], true), "{:?}", row.kind);
    }
    assert_eq!((&rows[2].messages[..], rows[2].messages_cut), (&[last_id][..], false));
    // What was purged is not named.
    patch(store, chat, ConversationPatch { status: Some(ConversationStatus::Trashed), ..Default::default() }).await;
    while !matches!(commit(store, Change::Purge { conversation: chat }).await.results[..], [ChangeResult::Purged(true)])
    {
    }
    assert!(journal(store, start, 10).await.iter().all(|row| row.messages.is_empty() && !row.messages_cut));
}
