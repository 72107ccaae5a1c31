//! What is attached to a conversation: notes, bookmarks, state, folds, calls.

use super::messages::long;
use crate::kit::*;
use manent_model::*;
use manent_store::*;

async fn annotations(store: &dyn Store, conversation: ConversationId) -> Annotations {
    store.annotations(conversation.into()).await.expect("it can be read")
}

fn set(conversation: ConversationId, after: Option<MessageId>, value: Option<&str>) -> Change {
    Change::SetState { conversation, name: "plot\0".to_owned(), after, value: value.map(json) }
}

async fn state(store: &dyn Store, conversation: ConversationId, at: Option<MessageId>) -> Option<String> {
    let found = store.state(conversation, "plot\0".to_owned(), at).await.expect("it can be read");
    found.map(|json| json.text().to_owned())
}

pub async fn a_note_is_added_and_taken_back(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["one"]).await[0];
    let actor = Author { id: "ann".to_owned(), name: "Ann".to_owned() };
    let note = Note {
        id: id(NoteId::new),
        message,
        kind: "rating".to_owned(),
        actor: Some(actor.clone()),
        value: json(r#"{"up" : true, "s":"\ud800"}"#),
        at: at(5),
    };
    let add = Change::AddNote { id: note.id, message, kind: note.kind.clone(), value: note.value.clone() };
    let transaction = Transaction { actor: Some(actor), ..Transaction::of(at(5), add.clone()) };
    store.commit(transaction).await.expect("it may");
    assert_eq!(annotations(store, conversation).await.notes, std::slice::from_ref(&note));
    refused(store, add, "exists").await;
    let add =
        Change::AddNote { id: id(NoteId::new), message: id(MessageId::new), kind: String::new(), value: json("1") };
    refused(store, add, "not_found").await;
    commit(store, Change::RemoveNote { id: note.id }).await;
    assert_eq!(annotations(store, conversation).await.notes, []);
    refused(store, Change::RemoveNote { id: note.id }, "not_found").await;
    refused(store, Change::RemoveNote { id: id(NoteId::new) }, "not_found").await;
    sound(store).await;
}

pub async fn a_bookmark_is_set_moved_and_forgotten(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["one", "two"]).await;
    let set = |name: &str, head: Option<MessageId>, metadata: Option<&str>| Change::SetBookmark {
        conversation,
        name: name.to_owned(),
        head,
        metadata: metadata.map(json),
    };
    commit(store, set("é", Some(ids[0]), Some("{\"a\" : 1}"))).await;
    commit(store, set("Z", None, None)).await;
    let marks = annotations(store, conversation).await.bookmarks;
    let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(names, ["Z", "é"], "in order of bytes, whatever the language");
    assert_eq!((marks[1].head, marks[0].head), (Some(ids[0]), None));
    assert_eq!(marks[1].metadata, Some(json("{\"a\" : 1}")));
    commit(store, set("é", Some(ids[1]), None)).await;
    let marks = annotations(store, conversation).await.bookmarks;
    assert_eq!((marks.len(), marks[1].head, marks[1].metadata.clone()), (2, Some(ids[1]), None));
    refused(store, set("x", Some(id(MessageId::new)), None), "not_found").await;
    commit(store, Change::RemoveBookmark { conversation, name: "é".to_owned() }).await;
    refused(store, Change::RemoveBookmark { conversation, name: "é".to_owned() }, "not_found").await;
    assert_eq!(annotations(store, conversation).await.bookmarks.len(), 1);
    sound(store).await;
}

pub async fn state_follows_the_branch(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    assert_eq!(state(store, conversation, None).await, None);
    commit(store, set(conversation, None, Some("\"start\""))).await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("\"start\""));
    commit(store, set(conversation, Some(ids[0]), Some("1.0"))).await;
    commit(store, set(conversation, Some(ids[2]), Some("3"))).await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("3"));
    assert_eq!(state(store, conversation, Some(ids[1])).await.as_deref(), Some("1.0"));
    let (_, x) = fork(store, conversation, Some(ids[1]), "x").await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("1.0"));
    assert_eq!(state(store, conversation, Some(ids[2])).await.as_deref(), Some("3"), "off the path, on its own branch");
    commit(store, set(conversation, Some(x), None)).await;
    assert_eq!(state(store, conversation, None).await, None, "unset there");
    commit(store, head_to(conversation, ids[0])).await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("1.0"));
    commit(store, set(conversation, Some(ids[0]), Some("2"))).await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("2"), "the newest at one place holds");
    commit(store, splice(conversation, instead_of(ids[0], ids[0]), &["A"])).await;
    assert_eq!(state(store, conversation, None).await.as_deref(), Some("\"start\""));
    let states = annotations(store, conversation).await.states;
    let places: Vec<Option<MessageId>> = states.iter().map(|state| state.after).collect();
    assert_eq!(places, [None, Some(ids[0]), Some(ids[2]), Some(x), Some(ids[0])]);
    refused(store, set(conversation, Some(id(MessageId::new)), None), "not_found").await;
    refused(store, set(id(ConversationId::new), None, None), "not_found").await;
    sound(store).await;
}

pub async fn state_follows_a_fork_into_another_conversation(store: &dyn Store) {
    let a = conversation(store, "a").await;
    commit(store, set(a, None, Some("\"start\""))).await;
    let ids = say(store, a, &["a", "b"]).await;
    let parent = store.branches(a).await.expect("readable")[0].id;
    let b = conversation(store, "b").await;
    let branch = id(BranchId::new);
    let open = Change::OpenBranch {
        conversation: b,
        branch,
        base: Some(BranchBase { parent, fork: Some(ids[0]) }),
        own: Vec::new(),
        pieces: Vec::new(),
        why: BranchReason::Fork,
        origins: Vec::new(),
    };
    commit(store, open).await;
    commit(store, Change::MoveHead { conversation: b, to: HeadTarget::End(branch) }).await;
    assert_eq!(state(store, b, None).await.as_deref(), Some("\"start\""));
    commit(store, set(a, Some(ids[0]), Some("1"))).await;
    assert_eq!(state(store, b, None).await.as_deref(), Some("1"));
    commit(store, set(b, Some(ids[0]), Some("2"))).await;
    assert_eq!(state(store, b, None).await.as_deref(), Some("2"));
    assert_eq!(state(store, a, None).await.as_deref(), Some("1"), "what the fork sets is its own");
    let elsewhere = conversation(store, "c").await;
    let unknown = store.state(elsewhere, "plot\0".to_owned(), Some(ids[1])).await.expect_err("not its message");
    assert_eq!(unknown.code(), "not_found");
    sound(store).await;
}

pub async fn a_fold_covers_messages_of_its_path(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b", "c"]).await;
    let (_, x) = fork(store, conversation, Some(ids[1]), "x").await;
    let fold = |after: MessageId, first: MessageId, last: MessageId| NewFold {
        id: id(FoldId::new),
        after,
        kind: FoldKind::Summary,
        covers: vec![MessageRange { first, last }],
        summary: Some("in\0short".to_owned()),
        parent: Some(id(FoldId::new)),
        made_by: Some(json("{\"cost\" : 1.0}")),
    };
    let new = fold(x, ids[0], x);
    let add = |fold: &NewFold| Change::AddFold { conversation, fold: fold.clone() };
    commit(store, add(&new)).await;
    let expected = Fold {
        id: new.id,
        after: x,
        kind: new.kind,
        covers: new.covers.clone(),
        summary: new.summary.clone(),
        parent: new.parent,
        made_by: new.made_by.clone(),
        active: true,
        at: at(1),
    };
    assert_eq!(annotations(store, conversation).await.folds, [expected]);
    refused(store, add(&new), "exists").await;
    refused(store, add(&fold(x, ids[2], x)), "invalid").await;
    refused(store, add(&fold(ids[0], ids[0], ids[1])), "invalid").await;
    refused(store, add(&fold(id(MessageId::new), ids[0], ids[0])), "not_found").await;
    for active in [false, true, false] {
        commit(store, Change::SetFoldActive { fold: new.id, active }).await;
        assert_eq!(annotations(store, conversation).await.folds[0].active, active);
    }
    refused(store, Change::SetFoldActive { fold: id(FoldId::new), active: true }, "not_found").await;
    sound(store).await;
}

pub async fn a_call_is_recorded_as_it_was(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let ids = say(store, conversation, &["a", "b"]).await;
    let call = Call {
        id: id(CallId::new),
        after: Some(ids[1]),
        model: Some("m".to_owned()),
        outcome: CallOutcome::Stopped,
        tokens_in: Some(1 << 40),
        tokens_out: None,
        cost_micros: Some(-1),
        sent: vec![MessageRange { first: ids[0], last: ids[1] }],
        manifest: Some(json("{\"v\" :1}")),
        at: at(-7),
    };
    let bare = Call {
        id: id(CallId::new),
        after: None,
        model: None,
        outcome: CallOutcome::Failed,
        tokens_in: None,
        tokens_out: Some(0),
        cost_micros: None,
        sent: Vec::new(),
        manifest: None,
        at: at(8),
    };
    for call in [&call, &bare] {
        commit(store, Change::RecordCall { conversation, call: call.clone() }).await;
    }
    assert_eq!(annotations(store, conversation).await.calls, [call.clone(), bare.clone()]);
    refused(store, Change::RecordCall { conversation, call: call.clone() }, "exists").await;
    let early = Call { id: id(CallId::new), after: Some(ids[0]), ..call };
    refused(store, Change::RecordCall { conversation, call: early }, "invalid").await;
    let unknown = Call { id: id(CallId::new), after: Some(id(MessageId::new)), ..bare };
    refused(store, Change::RecordCall { conversation, call: unknown }, "not_found").await;
    sound(store).await;
}

pub async fn nothing_is_attached_to_what_was_taken_back(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["one"]).await[0];
    undo(store, UndoScope::Conversation(conversation)).await;
    undo(store, UndoScope::Conversation(conversation)).await;
    let note = || Change::AddNote { id: id(NoteId::new), message, kind: "k".to_owned(), value: json("1") };
    refused(store, note(), "not_found").await;
    assert_eq!(store.annotations(conversation.into()).await.expect_err("it is gone").code(), "not_found");
    redo(store, UndoScope::Conversation(conversation)).await;
    redo(store, UndoScope::Conversation(conversation)).await;
    commit(store, note()).await;
    assert_eq!(annotations(store, conversation).await.notes.len(), 1);
    sound(store).await;
}

pub async fn what_is_attached_stays_with_what_was_taken_back(store: &dyn Store) {
    let conversation = conversation(store, "a").await;
    let message = say(store, conversation, &["one"]).await[0];
    let (note, fold) = (id(NoteId::new), id(FoldId::new));
    let covers = vec![MessageRange { first: message, last: message }];
    let new =
        NewFold { id: fold, after: message, kind: FoldKind::Drop, covers, summary: None, parent: None, made_by: None };
    commit(store, Change::AddFold { conversation, fold: new }).await;
    commit(store, Change::AddNote { id: note, message, kind: "k".to_owned(), value: json("1") }).await;
    for _ in 0..4 {
        undo(store, UndoScope::Conversation(conversation)).await;
    }
    refused(store, Change::RemoveNote { id: note }, "not_found").await;
    refused(store, Change::SetFoldActive { fold, active: false }, "not_found").await;
    for _ in 0..4 {
        redo(store, UndoScope::Conversation(conversation)).await;
    }
    let found = annotations(store, conversation).await;
    assert_eq!((found.notes.len(), found.folds[0].active), (1, true));
    sound(store).await;
}

/// Attaches several records of each kind, the large ones of `kilobytes` each.
async fn attach_many(store: &dyn Store, kilobytes: usize) -> ConversationId {
    let chat = conversation(store, "a").await;
    let message = say(store, chat, &["one", "two"]).await[1];
    let large = || json(&format!("\"{}\"", long(kilobytes)));
    for number in 0..4 {
        let note = Change::AddNote { id: id(NoteId::new), message, kind: "label".to_owned(), value: large() };
        commit(store, note).await;
        // A name may be empty.
        let (name, metadata) = ("m".repeat(number as usize), Some(large()));
        let mark = Change::SetBookmark { conversation: chat, name, head: Some(message), metadata };
        commit(store, mark).await;
        commit(store, Change::PutInput { conversation: chat, id: id(InputId::new), body: large() }).await;
        commit(store, set(chat, Some(message), Some(large().text()))).await;
        let covers = vec![MessageRange { first: message, last: message }];
        let (kind, summary) = (FoldKind::Summary, Some(long(kilobytes)));
        let fold = NewFold { id: id(FoldId::new), after: message, kind, covers, summary, parent: None, made_by: None };
        commit(store, Change::AddFold { conversation: chat, fold }).await;
        let call = ToolCall {
            message,
            part: number,
            call_id: format!("call-{number}"),
            name: "read".to_owned(),
            state: ToolState::Pending,
            record: large(),
        };
        commit(store, Change::PutToolCall { call, note: String::new() }).await;
    }
    chat
}

fn size(page: &Annotations) -> (usize, usize) {
    let texts = [
        page.notes.iter().map(|note| note.value.text().len()).collect::<Vec<_>>(),
        page.bookmarks.iter().map(|mark| mark.metadata.as_ref().map_or(0, |json| json.text().len())).collect(),
        page.states.iter().map(|state| state.value.as_ref().map_or(0, |json| json.text().len())).collect(),
        page.folds.iter().map(|fold| fold.summary.as_ref().map_or(0, String::len)).collect(),
        page.tool_calls.iter().map(|trail| trail.call.record.text().len()).collect(),
        page.inputs.iter().map(|input| input.body.text().len()).collect(),
    ]
    .concat();
    (texts.len(), texts.iter().sum())
}

/// Reads all pages with at most `limit` records each.
async fn pages(store: &dyn Store, conversation: ConversationId, limit: u32) -> (Annotations, usize) {
    let mut query = AnnotationsQuery { limit, ..conversation.into() };
    let (mut all, mut pages) = (Annotations::default(), 0);
    loop {
        let page = store.annotations(query.clone()).await.expect("readable");
        let (records, bytes) = size(&page);
        assert!(records <= limit as usize, "a page of {records} records");
        assert!(bytes <= PAGE_BYTES, "a page of {bytes} bytes");
        all.append(page);
        pages += 1;
        match all.next.take() {
            Some(next) => query.after = Some(next.to_string().parse().expect("a cursor survives being written down")),
            None => return (all, pages),
        }
    }
}

pub async fn annotations_page_is_cut_by_bytes_and_goes_on_behind_the_cut(store: &dyn Store) {
    let chat = attach_many(store, 900).await;
    let (all, many) = pages(store, chat, PAGE_MAX).await;
    assert_eq!((size(&all).0, many), (24, 6), "four records of 900 kB fit on a page");
    for part in 0..4 {
        assert_eq!(all.bookmarks[part].name, "m".repeat(part));
        assert_eq!(all.tool_calls[part].call.call_id, format!("call-{part}"));
    }
}

pub async fn annotations_page_holds_as_many_records_as_asked_for(store: &dyn Store) {
    let chat = attach_many(store, 1).await;
    let whole = annotations(store, chat).await;
    assert_eq!((size(&whole).0, &whole.next), (24, &None));
    for (limit, expected) in [(1, 24), (5, 5), (24, 1)] {
        assert_eq!(pages(store, chat, limit).await, (whole.clone(), expected), "{limit}");
    }
    let after = Some("ff00".parse().expect("a cursor"));
    let behind = store.annotations(AnnotationsQuery { after, ..chat.into() }).await.expect("behind everything");
    assert_eq!(size(&behind).0, 0);
    let after = Some("0078".parse().expect("a cursor of a note"));
    let refused = store.annotations(AnnotationsQuery { after, ..chat.into() }).await.expect_err("no key of a note");
    assert_eq!(refused.code(), "invalid");
}
