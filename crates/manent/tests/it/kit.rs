//! What the tests of the library are made with.

use manent::model::*;
use manent::store::*;
use manent::*;

/// A database in a folder of its own.
pub struct Opened {
    pub database: Database,
    pub folder: tempfile::TempDir,
}

impl std::ops::Deref for Opened {
    type Target = Database;
    fn deref(&self) -> &Database {
        &self.database
    }
}

/// Opens an empty database.
pub fn open() -> Opened {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = Database::open(folder.path().join("test.db")).expect("an empty folder can hold a store");
    Opened { database, folder }
}

/// Makes a conversation with a title.
pub async fn conversation(database: &Database, title: &str) -> ConversationId {
    let draft = ConversationDraft { title: title.to_owned(), ..ConversationDraft::default() };
    database.create(draft).await.expect("a conversation can be made").id
}

/// Adds user messages.
pub async fn say(database: &Database, conversation: ConversationId, texts: &[&str]) -> Vec<MessageId> {
    let drafts = texts.iter().map(|text| MessageDraft::user(*text)).collect();
    database.append_many(conversation, drafts).await.expect("messages can be added")
}

/// Returns the texts of the shown path.
pub async fn texts(database: &Database, conversation: ConversationId) -> Vec<String> {
    let window = database.page(conversation, None, Direction::Forward, 1_000).await.expect("readable");
    window.messages.iter().map(|message| message.content.body.words()).collect()
}

/// Makes an id of any kind.
pub fn id<T>(make: fn(u64, [u8; 10]) -> T) -> T {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let mut chance = [0; 10];
    chance[2..].copy_from_slice(&NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_be_bytes());
    make(1_700_000_000_000, chance)
}

/// A JSON value.
pub fn json(text: &str) -> Json {
    Json::parse(text).expect("a test writes JSON")
}

/// Asserts that everything is as it was written.
pub async fn assert_sound(database: &Database) {
    let report = database.verify().await.expect("verify runs");
    assert!(report.is_sound(), "{report:?}");
}

/// Exports everything as text.
pub async fn export(database: &Database) -> String {
    let mut out = Vec::new();
    database.export_jsonl(&ExportSelection::Everything, &mut out).await.expect("everything can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Fills a database with at least one of everything that the format carries.
pub async fn fill(database: &Database) -> ConversationId {
    let project = database.create_project("废土", "Speak plainly.").await.expect("made");
    let patch = ProjectPatch {
        facts: [("name".to_owned(), Some("Alserqi".to_owned()))].into(),
        metadata: Some(Some(json(r#"{"k" : 1.50}"#))),
        ..ProjectPatch::default()
    };
    database.edit_project(project.id, patch, Some(1)).await.expect("edited");
    let blob = database.put_blob(&vec![7u8; 3 << 20]).await.expect("stored");
    let author = Author { id: "u-1".to_owned(), name: "小明".to_owned() };
    let draft = ConversationDraft {
        external_id: Some("agt:01/fork".to_owned()),
        title: "title with \u{0} and 👩‍👩‍👧‍👦".to_owned(),
        kind: ConversationKind::Roleplay,
        project: Some(project.id),
        creator: Some(author.clone()),
        members: vec![author.clone()],
        tags: ["工作".to_owned(), "b".to_owned()].into(),
        metadata: Some(json(r#"{"z": null, "a": 1e3}"#)),
        ..ConversationDraft::default()
    };
    let chat = database.create(draft).await.expect("made").id;
    let parts = format!(
        r#"[{{"type":"media","mime":"image/png","blob":"{blob}"}},{{"type":"hologram", "x" : 1.0}},{{"type":"tool_call","id":"c1","name":"fs","input":{{"p" : 1}}}}]"#
    );
    let ids = say(database, chat, &["一", "two", "three", "four"]).await;
    let media = MessageDraft::from_json("bot", &parts)
        .expect("parts")
        .by(author.clone())
        .by_model("glm")
        .with_tokens(12)
        .in_turn(3)
        .replying_to(ids[0])
        .with_metadata(json(r#"{"m": 1}"#));
    let media = database.append(chat, media).await.expect("added");
    database.edit(chat, ids[1], MessageDraft::user("TWO"), FollowUps::Keep).await.expect("edited");
    database.insert(chat, None, vec![MessageDraft::new("system", &[Part::text("be brief")])]).await.expect("inserted");
    database.remove(chat, MessageRange { first: ids[2], last: ids[2] }).await.expect("removed");
    database.edit(chat, ids[3], MessageDraft::user("FOUR"), FollowUps::Detach).await.expect("edited");
    database.keep_failed(chat, MessageDraft::user("never sent")).await.expect("kept");
    let stream = database.begin_stream(chat, MessageDraft::new("assistant", &[])).await.expect("begun");
    database.stream(stream, "half an ").await.expect("streamed");
    database.stream(stream, "answer").await.expect("streamed");
    attach(database, chat, ids[0], media).await;
    let child = ConversationDraft { title: "child".to_owned(), ..ConversationDraft::default() };
    let child = database.fork_to_new(chat, ids[0], child).await.expect("forked");
    say(database, child, &["in the child"]).await;
    database.trash(child).await.expect("trashed");
    let archived = conversation(database, "archived").await;
    let erased = say(database, archived, &["secret", "kept"]).await;
    database.erase(EraseTarget::Message(erased[0])).await.expect("erased");
    database.archive(archived).await.expect("archived");
    database.pin(archived).await.expect("pinned");
    let undone = conversation(database, "undone").await;
    say(database, undone, &["taken back"]).await;
    database.undo(UndoScope::Conversation(undone)).await.expect("undone");
    chat
}

async fn attach(database: &Database, chat: ConversationId, first: MessageId, media: MessageId) {
    let actor = database.with_actor(Author { id: "judge".to_owned(), name: String::new() });
    let note = Change::AddNote { id: id(NoteId::new), message: first, kind: "rating".to_owned(), value: json("5") };
    actor.change(note).await.expect("noted");
    let source = Source {
        id: id(SourceId::new),
        format: "veloca".to_owned(),
        generation: "3".to_owned(),
        path: "a/b.json".to_owned(),
        sha256: "00".repeat(32),
        style: json(r#"{"indent":2}"#),
        at: Timestamp(5),
    };
    let fold = NewFold {
        id: id(FoldId::new),
        after: first,
        kind: FoldKind::Summary,
        covers: vec![MessageRange { first, last: first }],
        summary: Some("摘要".to_owned()),
        parent: None,
        made_by: Some(json(r#"{"model":"x"}"#)),
    };
    let call = ToolCall {
        message: media,
        part: 2,
        call_id: "c1".to_owned(),
        name: "fs".to_owned(),
        state: ToolState::Pending,
        record: json(r#"{"input": {"p" : 1}}"#),
    };
    let request = Call {
        id: id(CallId::new),
        after: Some(first),
        model: Some("glm".to_owned()),
        outcome: CallOutcome::Answered,
        tokens_in: Some(10),
        tokens_out: None,
        cost_micros: Some(3),
        sent: vec![MessageRange { first, last: first }],
        manifest: Some(json(r#"{"left_out":[]}"#)),
        at: Timestamp(77),
    };
    let memory = Memory {
        id: id(MemoryId::new),
        collection: "Summaries".to_owned(),
        project: None,
        conversation: Some(chat),
        message: Some(first),
        external: Some("summary_sess_001_0".to_owned()),
        text: "情报交换".to_owned(),
        metadata: Some(json(r#"{"related_plot_id":"plot_sess_001_0"}"#)),
    };
    let scratch = Scratch {
        kind: "read".to_owned(),
        id: "x".to_owned(),
        actor: String::new(),
        body: json("1"),
        at: Timestamp(9),
    };
    let state = |name: &str, after, value: Option<&str>| Change::SetState {
        conversation: chat,
        name: name.to_owned(),
        after,
        value: value.map(json),
    };
    let (input, waiting) = (id(InputId::new), id(InputId::new));
    let fold_id = fold.id;
    let changes = vec![
        Change::SetBookmark {
            conversation: chat,
            name: "sfp:1".to_owned(),
            head: Some(first),
            metadata: Some(json("1")),
        },
        state("plot", None, Some(r#"{"index":1}"#)),
        state("plot", Some(first), Some(r#"{"index":2}"#)),
        state("todo", Some(first), None),
        Change::AddFold { conversation: chat, fold },
        Change::SetFoldActive { fold: fold_id, active: false },
        Change::PutToolCall { call, note: "asked".to_owned() },
        Change::MoveToolCall {
            message: media,
            part: 2,
            to: ToolState::Denied,
            record: Some(json(r#"{"error":"no"}"#)),
            note: "policy deny".to_owned(),
        },
        Change::RecordCall { conversation: chat, call: request },
        Change::PutInput { conversation: chat, id: input, body: json(r#"{"say":"hi"}"#) },
        Change::PutInput { conversation: chat, id: waiting, body: json("2") },
        Change::TakeInputs { conversation: chat, ids: vec![input] },
        Change::PutSource { source: source.clone() },
        Change::Quarantine {
            quarantined: Quarantined { source: source.id, at_byte: 10, why: "torn".to_owned(), bytes: vec![0, 255] },
        },
        Change::PutOrigin {
            origin: Origin {
                object: OriginObject::Conversation(chat),
                source: source.id,
                ordinal: 0,
                external: Some("s-1".to_owned()),
                raw: Some("{\"odd\" :1}".to_owned()),
            },
        },
        Change::PutMemory { memory },
        Change::PutScratch { scratch },
        Change::PutDocument { kind: "character".to_owned(), id: "a".to_owned(), project: None, body: Some(json("1")) },
        Change::PutDocument { kind: "character".to_owned(), id: "a".to_owned(), project: None, body: Some(json("2")) },
        Change::PutDocument { kind: "character".to_owned(), id: "b".to_owned(), project: None, body: None },
    ];
    for change in changes {
        database.change(change).await.expect("annotations");
    }
    database.log(chat, "progress", vec![json(r#"{"type":"done"}"#), json("2")]).await.expect("logged");
    database.log(chat, "monitor", vec![json("3")]).await.expect("logged");
    database.save_draft(chat, "u-1", "半句").await.expect("kept");
    let imported = MessageDraft::user("imported").finish_for_tests();
    let origin = MessageOrigin {
        message: imported.id,
        source: source.id,
        ordinal: 4,
        external: Some("e-1".to_owned()),
        raw: Some(r#"{"entry_id":"e-1","message":"imported","odd":null}"#.to_owned()),
    };
    let change = Change::AppendMessages {
        conversation: chat,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Import,
        messages: vec![imported],
        origins: vec![origin],
    };
    database.change(change).await.expect("imported");
}

trait FinishForTests {
    fn finish_for_tests(self) -> NewMessage;
}

impl FinishForTests for MessageDraft {
    fn finish_for_tests(self) -> NewMessage {
        NewMessage { id: id(MessageId::new), content: self.content }
    }
}
