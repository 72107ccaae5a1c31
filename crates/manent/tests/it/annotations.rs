//! What is attached to conversations, kept beside them and done by their runs, by its names.

use crate::kit::*;
use manent::model::*;
use manent::*;

#[tokio::test]
async fn a_note_and_a_bookmark_come_and_go() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one", "two"]).await;
    let note = database.add_note(ids[0], "rating", json("5")).await.expect("noted");
    database.set_bookmark(chat, "here", Some(ids[0]), Some(json("{}"))).await.expect("set");
    let annotations = database.annotations(chat).await.expect("read");
    assert_eq!((annotations.notes[0].id, annotations.notes[0].kind.as_str()), (note, "rating"));
    assert_eq!((annotations.bookmarks[0].name.as_str(), annotations.bookmarks[0].head), ("here", Some(ids[0])));
    database.remove_note(note).await.expect("taken back");
    database.remove_bookmark(chat, "here").await.expect("forgotten");
    let annotations = database.annotations(chat).await.expect("read");
    assert_eq!((annotations.notes, annotations.bookmarks), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn state_is_read_at_the_head_or_at_a_message() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one", "two"]).await;
    database.set_state(chat, "plot", None, Some(json("1"))).await.expect("set");
    database.set_state(chat, "plot", Some(ids[1]), Some(json("2"))).await.expect("set");
    assert_eq!(database.state(chat, "plot", None).await.expect("read"), Some(json("2")));
    assert_eq!(database.state(chat, "plot", Some(ids[0])).await.expect("read"), Some(json("1")));
    database.set_state(chat, "plot", Some(ids[1]), None).await.expect("unset");
    assert_eq!(database.state(chat, "plot", None).await.expect("read"), None);
}

#[tokio::test]
async fn folds_are_put_in_and_out_of_force() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one", "two", "three"]).await;
    let stretch = MessageRange { first: ids[0], last: ids[1] };
    let summary = database.add_fold(chat, FoldDraft::summary(stretch.clone(), "both")).await.expect("folded");
    let hidden = database.hide(chat, stretch).await.expect("hidden");
    let in_force = || async {
        let folds = database.annotations(chat).await.expect("read").folds;
        folds.into_iter().filter(|fold| fold.active).map(|fold| (fold.id, fold.kind)).collect::<Vec<_>>()
    };
    assert_eq!(in_force().await, [(summary, FoldKind::Summary), (hidden, FoldKind::Drop)]);
    database.unfold(summary).await.expect("unfolded");
    assert_eq!(in_force().await, [(hidden, FoldKind::Drop)]);
    database.refold(summary).await.expect("folded again");
    assert_eq!(in_force().await.len(), 2);
    let folds = database.annotations(chat).await.expect("read").folds;
    assert_eq!((folds[0].summary.as_deref(), folds[0].after), (Some("both"), ids[1]));
}

#[tokio::test]
async fn a_run_calls_tools_logs_takes_inputs_and_holds_a_lease() {
    let database = open();
    let run = conversation(&database, "run").await;
    let parts = r#"[{"type":"tool_call","id":"c1","name":"fs","input":{}}]"#;
    let asked = database.append(run, MessageDraft::from_json("assistant", parts).expect("parts")).await.expect("said");
    let call = ToolCall {
        message: asked,
        part: 0,
        call_id: "c1".to_owned(),
        name: "fs".to_owned(),
        state: ToolState::Pending,
        record: json("{}"),
    };
    database.put_tool_call(call, "asked").await.expect("recorded");
    let open = database.open_tool_calls(10).await.expect("read");
    assert_eq!((open.len(), open[0].0, open[0].1.call.message), (1, run, asked));
    let (done, record) = (ToolState::Completed, Some(json("1")));
    database.move_tool_call(asked, 0, done, record, "it ran").await.expect("moved");
    assert!(database.open_tool_calls(10).await.expect("read").is_empty());

    let cursor = database.log(run, "progress", vec![json("1"), json("2")]).await.expect("logged");
    let query = EventsQuery { conversation: run, channels: Vec::new(), after: 1, limit: 10 };
    let events = database.events(query).await.expect("read");
    assert_eq!((events.len(), events[0].cursor, &events[0].body), (1, cursor, &json("2")));

    let input = database.put_input(run, json("\"go\"")).await.expect("queued");
    database.take_inputs(run, vec![input]).await.expect("taken");
    assert_eq!(database.take_inputs(run, vec![input]).await.expect_err("once").code(), "input_taken");

    let until = Timestamp(i64::MAX);
    let token = database.take_lease(run, "a", until).await.expect("free");
    assert_eq!(database.take_lease(run, "b", until).await.expect_err("held").code(), "lease_held");
    database.renew_lease(run, token, until).await.expect("held");
    database.release_lease(run, token).await.expect("held");
    assert_eq!(database.take_lease(run, "b", until).await.expect("free"), token + 1);

    let draft = CallDraft {
        after: Some(asked),
        model: Some("m".to_owned()),
        outcome: CallOutcome::Answered,
        tokens_in: Some(1),
        tokens_out: Some(2),
        cost_micros: None,
        sent: vec![MessageRange { first: asked, last: asked }],
        manifest: None,
    };
    let recorded = database.record_call(run, draft).await.expect("recorded");
    assert_eq!(database.annotations(run).await.expect("read").calls[0].id, recorded);
}

#[tokio::test]
async fn documents_and_memories_are_put_read_and_removed() {
    let database = open();
    assert_eq!(database.document("character", "a").await.expect_err("none").code(), "not_found");
    assert_eq!(database.put_document("character", "a", None, json("1")).await.expect("put"), 1);
    assert_eq!(database.put_document("character", "a", None, json("2")).await.expect("put"), 2);
    assert_eq!(database.document("character", "a").await.expect("there").body, Some(json("2")));
    assert_eq!(database.documents("character").await.expect("read").len(), 1);
    database.remove_document("character", "a").await.expect("removed");
    assert_eq!(database.document("character", "a").await.expect_err("removed").code(), "not_found");
    assert!(database.documents("character").await.expect("read").is_empty());
    assert_eq!(database.document_versions("character", "a").await.expect("read").len(), 3);

    let draft = MemoryDraft { collection: "Plots".to_owned(), text: "one".to_owned(), ..MemoryDraft::default() };
    let memory = database.put_memory(draft.clone()).await.expect("kept");
    let other = MemoryDraft { id: Some(memory), text: "two".to_owned(), ..draft };
    assert_eq!(database.put_memory(other).await.expect("replaced"), memory);
    let found = database.memories(MemoriesQuery::default()).await.expect("read");
    assert_eq!((found.len(), found[0].text.as_str()), (1, "two"));
    database.remove_memory(memory).await.expect("forgotten");
    assert!(database.memories(MemoriesQuery::default()).await.expect("read").is_empty());
}

#[tokio::test]
async fn where_imported_things_came_from_can_be_read() {
    let database = open();
    let chat = fill(&database).await;
    let source = database.sources().await.expect("read")[0].id;
    let origins = database.origins(OriginsQuery::Source(source)).await.expect("read");
    assert_eq!(origins[0].object, OriginObject::Conversation(chat));
    assert_eq!(database.quarantined(source).await.expect("read")[0].why, "torn");
}

#[tokio::test]
async fn a_fork_says_something_behind_a_message_of_the_path() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let ids = say(&database, chat, &["one", "two", "three"]).await;
    let other = database.fork(chat, ids[0], MessageDraft::user("TWO")).await.expect("forked");
    assert_eq!(texts(&database, chat).await, ["one", "TWO"]);
    assert_eq!(database.siblings(other).await.expect("read").len(), 2);
    database.switch(chat, ids[2]).await.expect("switched");
    assert_eq!(texts(&database, chat).await, ["one", "two", "three"]);
}
