//! What a server hands out and takes in: each has a schema, and what is read is what was written.

use crate::kit::*;
use manent::model::*;
use manent::store::*;
use manent::*;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Writes an example and checks that its schema knows every member of it.
fn written<T: Serialize + JsonSchema>(example: &T) -> String {
    let text = serde_json::to_string(example).expect("an example is JSON");
    let schema = schema_for!(T).to_value();
    println!("{}: {text}", T::schema_name());
    let value: Value = serde_json::from_str(&text).expect("what was written is JSON");
    if let (Some(members), Some(known)) = (value.as_object(), schema.get("properties").and_then(Value::as_object)) {
        for member in members.keys() {
            assert!(known.contains_key(member), "{} has no {member} in its schema", T::schema_name());
        }
    }
    text
}

/// Writes an example and reads it back.
fn survives<T: Serialize + DeserializeOwned + JsonSchema>(example: &T) {
    let text = written(example);
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), text);
}

/// Writes an example, reads it back, and refuses it with an unknown member.
fn survives_alone<T: Serialize + DeserializeOwned + JsonSchema>(example: &T) {
    survives(example);
    let mut value = serde_json::to_value(example).expect("JSON");
    let place = match value.as_object_mut().map(|members| (members.len(), members)) {
        // The kind of a change is the only member; what could be wrong is inside.
        Some((1, members)) => members.values_mut().next().and_then(Value::as_object_mut).expect("a kind with members"),
        Some((_, members)) => members,
        None => panic!("{value} has no members"),
    };
    place.insert("surplus".to_owned(), Value::Null);
    let text = value.to_string();
    assert!(serde_json::from_str::<T>(&text).is_err(), "{text} is read");
}

#[tokio::test]
async fn what_is_handed_out_has_a_schema() {
    let database = open();
    let chat = fill(&database).await;
    let shown = database.conversation(chat).await.expect("there");
    survives(&shown);
    let mut page = database.list(ListQuery { limit: 1, ..ListQuery::default() }).await.expect("listed");
    page.next = Some(ListCursor { pinned: true, active_at: Timestamp(5), id: chat });
    survives(&page);
    survives(&database.count(ListQuery::default()).await.expect("counted"));
    survives(&database.branches(chat).await.expect("read")[0]);
    written(&database.last(chat, 3).await.expect("read"));
    written(&database.message(shown.head.expect("a head")).await.expect("read"));
    let annotations = database.annotations(chat).await.expect("read");
    survives(&annotations);
    survives(&annotations.tool_calls[0]);
    survives(&database.journal(JournalQuery::default()).await.expect("read"));
    survives(&database.stats(StatsQuery::default()).await.expect("counted"));
    survives(&database.verify().await.expect("checked"));
    survives(&database.doctor().await.expect("looked"));
    survives(&database.backup(database.folder.path().join("copy")).await.expect("copied"));
    survives(&database.projects().await.expect("read")[0]);
    survives(&database.documents("character").await.expect("read")[0]);
    survives(&database.memories(MemoriesQuery::default()).await.expect("read")[0]);
    survives(&database.sources().await.expect("read")[0]);
    survives(&database.erase(EraseTarget::Conversation(chat)).await.expect("erased"));
    survives(&Committed {
        first: 1,
        position: 2,
        at: Timestamp(3),
        results: vec![ChangeResult::Applied, ChangeResult::Events(3)],
        is_replay: true,
    });
    survives(&JsonlImportReport {
        problems: vec![ImportProblem { line: 3, why: "x".to_owned() }],
        ..Default::default()
    });
}

#[tokio::test]
async fn a_message_is_flat() {
    let database = open();
    let chat = conversation(&database, "a").await;
    let id: MessageId = "msg_01JEC1DRGN0W3GE1R70W3GE1R7".parse().expect("an id");
    let plain = MessageDraft::user("hi").with_id(id).at(Time::exact(1_763_280_000_250_000));
    database.append(chat, plain).await.expect("added");
    let message = database.message(id).await.expect("there").message;
    assert_eq!(
        written(&message),
        r#"{"id":"msg_01JEC1DRGN0W3GE1R70W3GE1R7","role":"user","time":"2025-11-16T08:00:00.25Z","status":"complete","parts":[{"type":"text","text":"hi"}],"position":2}"#
    );
    let full = MessageDraft::from_json("bot", r#"[{"type":"hologram", "x" : 1.0}]"#)
        .expect("parts")
        .at(Time { at: Timestamp(0), source: TimeSource::File })
        .by(Author { id: "u".to_owned(), name: "U".to_owned() })
        .by_model("m")
        .with_tokens(3)
        .in_turn(2)
        .with_metadata(json(r#"{"k" : 1.50}"#))
        .replying_to(id)
        .seen(Visibility { by_reader: true, by_model: false })
        .with_status(MessageStatus::Incomplete);
    let full = database.append(chat, full).await.expect("added");
    let text = written(&database.message(full).await.expect("there").message).replace(&full.to_string(), "msg_…");
    assert_eq!(
        text,
        r#"{"id":"msg_…","role":"bot","author":{"id":"u","name":"U"},"time":"1970-01-01T00:00:00Z","time_source":"file","status":"incomplete","seen":{"by_reader":true,"by_model":false},"turn":2,"model":"m","tokens":3,"metadata":{"k" : 1.50},"reply_to":"msg_01JEC1DRGN0W3GE1R70W3GE1R7","parts":[{"type":"hologram", "x" : 1.0}],"position":3}"#
    );
    database.erase(EraseTarget::Message(id)).await.expect("erased");
    assert!(written(&database.message(id).await.expect("there").message).ends_with(r#""erased":true}"#));
}

#[test]
fn what_is_taken_in_is_read_to_the_letter_and_nothing_else() {
    let message = id(MessageId::new);
    let draft: MessageDraft =
        serde_json::from_str(r#"{"role":"user","parts":[{"type":"x" , "n":1.0}]}"#).expect("a draft");
    assert_eq!(draft.content.body.text(), r#"[{"type":"x" , "n":1.0}]"#);
    assert!(!draft.time_given);
    let full = MessageDraft::user("hi")
        .with_id(message)
        .at(Time { at: Timestamp(7), source: TimeSource::Inherited })
        .with_metadata(json(r#"{"k" : 1.50}"#))
        .with_status(MessageStatus::Streaming);
    let text = serde_json::to_string(&full).expect("JSON");
    assert_eq!(serde_json::from_str::<MessageDraft>(&text).expect("our own"), full);
    survives_alone(&full);
    let stretch = MessageRange { first: message, last: message };
    survives_alone(&stretch);
    survives_alone(&FoldDraft::summary(stretch.clone(), "s"));
    survives_alone(&CallDraft {
        after: None,
        model: None,
        outcome: CallOutcome::Stopped,
        tokens_in: None,
        tokens_out: Some(1),
        cost_micros: None,
        sent: vec![stretch],
        manifest: Some(json("[1.0]")),
    });
    survives_alone(&MemoryDraft { collection: "c".to_owned(), text: "t".to_owned(), ..MemoryDraft::default() });
    survives_alone(&ConversationDraft { external_id: Some("e".to_owned()), ..ConversationDraft::default() });
    let patch = ConversationPatch { pinned: Some(true), metadata: Some(None), ..ConversationPatch::default() };
    survives_alone(&patch);
    survives_alone(&ProjectPatch { name: Some("n".to_owned()), metadata: Some(None), ..ProjectPatch::default() });
    survives_alone(&ListQuery { tag: Some("t".to_owned()), order: ListOrder::Created, ..ListQuery::default() });
    survives_alone(&MemoriesQuery::default());
    survives_alone(&JournalQuery::default());
    survives_alone(&ScratchQuery::default());
    survives_alone(&Expect::Document { kind: "k".to_owned(), id: "i".to_owned(), version: 0 });
    survives_alone(&Expect::Head { conversation: id(ConversationId::new), head: None });
    for example in [UndoScope::Everything, UndoScope::Workspace, UndoScope::Conversation(id(ConversationId::new))] {
        survives(&example);
    }
    for example in [StatsQuery::default(), StatsQuery::project(id(ProjectId::new))] {
        survives(&example);
    }
    survives(&FollowUps::Keep);
}

#[test]
fn every_change_survives_json_but_bytes() {
    let (conversation, message, branch) = (id(ConversationId::new), id(MessageId::new), id(BranchId::new));
    let raw = || json(r#"{"n" : 1.50, "s":"\ud800"}"#);
    let stretch = || MessageRange { first: message, last: message };
    let new = || NewMessage {
        id: message,
        content: Content { usage: Some(raw()), ..Content::new("user", Time::exact(5), Body::of(&[Part::text("x")])) },
    };
    let name = || "n".to_owned();
    let call =
        || ToolCall { message, part: 0, call_id: name(), name: name(), state: ToolState::Pending, record: raw() };
    let finish =
        Finish { status: MessageStatus::Complete, body: Some(Body::of(&[])), tokens: None, usage: Some(raw()) };
    let fold = NewFold {
        id: id(FoldId::new),
        after: message,
        kind: FoldKind::Drop,
        covers: vec![stretch()],
        summary: None,
        parent: None,
        made_by: Some(raw()),
    };
    let patch = ConversationPatch { metadata: Some(None), ..ConversationPatch::default() };
    let draft = ConversationDraft { metadata: Some(raw()), ..ConversationDraft::default() };
    let source = id(SourceId::new);
    let origin = MessageOrigin { message, source, ordinal: 1, external: None, raw: Some("{ }".to_owned()) };
    let memory = Memory {
        id: id(MemoryId::new),
        collection: name(),
        project: None,
        conversation: None,
        message: None,
        external: None,
        text: name(),
        metadata: Some(raw()),
    };
    let changes = vec![
        Change::CreateConversation { id: conversation, branch, draft, importing: true },
        Change::EditConversation { id: conversation, patch },
        Change::AppendMessages {
            conversation,
            at: MessageAt::Head { branch },
            head: HeadMove::Follow,
            why: BranchReason::Fork,
            messages: vec![new()],
            origins: vec![origin],
        },
        Change::AppendChunk { message, delta: name() },
        Change::FinishMessage { message, finish },
        Change::OpenBranch {
            conversation,
            branch,
            base: Some(BranchBase { parent: branch, fork: None }),
            own: vec![new()],
            pieces: vec![stretch()],
            why: BranchReason::Import,
            origins: Vec::new(),
        },
        Change::Splice {
            conversation,
            branch,
            at: SplicePosition::Replace(stretch()),
            messages: vec![new()],
            origins: Vec::new(),
        },
        Change::MoveHead { conversation, to: HeadTarget::On { branch, message: None } },
        Change::AddNote { id: id(NoteId::new), message, kind: name(), value: raw() },
        Change::RemoveNote { id: id(NoteId::new) },
        Change::SetBookmark { conversation, name: name(), head: None, metadata: Some(raw()) },
        Change::RemoveBookmark { conversation, name: name() },
        Change::SetState { conversation, name: name(), after: None, value: Some(raw()) },
        Change::AddFold { conversation, fold },
        Change::SetFoldActive { fold: id(FoldId::new), active: false },
        Change::PutToolCall { call: call(), note: name() },
        Change::PutToolTrail { call: call(), steps: Vec::new(), instead_of: Some(ToolPart { message, part: 1 }) },
        Change::MoveToolCall { message, part: 0, to: ToolState::Sealed, record: Some(raw()), note: name() },
        Change::AppendEvents {
            conversation,
            events: vec![NewEvent { channel: name(), at: Timestamp(5), body: raw() }],
        },
        Change::PutInput { conversation, id: id(InputId::new), body: raw() },
        Change::TakeInputs { conversation, ids: vec![id(InputId::new)] },
        Change::TakeLease { conversation, owner: name(), until: Timestamp(9) },
        Change::RenewLease { conversation, token: 1, until: Timestamp(9) },
        Change::ReleaseLease { conversation, token: 1 },
        Change::PutDocument { kind: name(), id: name(), project: None, body: Some(raw()) },
        Change::PutMemory { memory },
        Change::RemoveMemory { id: id(MemoryId::new) },
        Change::RemoveScratch { kind: name(), id: name(), actor: name() },
        Change::EditProject { id: id(ProjectId::new), patch: ProjectPatch::default() },
        Change::RemoveProject { id: id(ProjectId::new) },
        Change::Undo { position: 7 },
        Change::Step { scope: UndoScope::Conversation(conversation), step: UndoDirection::Redo },
        Change::Purge { conversation },
        Change::Erase { target: EraseTarget::Person(name()) },
    ];
    for change in &changes {
        let text = serde_json::to_string(change).expect("JSON");
        let read: Change = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(serde_json::to_string(&read).expect("JSON"), text);
        survives_but_surplus(change);
    }
    let piece = Change::PutBlobPiece { sha256: [0; 32], size: 1, n: 0, last: true, bytes: vec![1] };
    let text = serde_json::to_string(&piece).expect("JSON");
    assert!(serde_json::from_str::<Change>(&text).is_err(), "bytes do not come as JSON");
}

/// A value cannot hold half a surrogate, so the surplus member is put into the text.
fn survives_but_surplus(change: &Change) {
    let text = serde_json::to_string(change).expect("JSON");
    let place = text.find(":{").expect("a kind with members") + 2;
    let surplus = format!("{}\"surplus\":null,{}", &text[..place], &text[place..]);
    assert!(serde_json::from_str::<Change>(&surplus).is_err(), "{surplus} is read");
}
