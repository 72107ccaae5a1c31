//! What was erased is nowhere in the files.

use super::runtime;
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use sha2::Digest as _;
use std::path::Path;

/// A word that no schema, setting or other text contains.
const WORD: &str = "xylomancy";
const AUTHOR: &str = "user-4711";

fn json_word() -> Json {
    json(&format!(r#"{{"said": "{WORD}"}}"#))
}

#[test]
fn an_erased_conversation_leaves_no_trace_in_the_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    runtime().block_on(async {
        let other = conversation(&store, "stays").await;
        say(&store, other, &["stays"]).await;
        let talk = everywhere(&store).await;
        there_before(&store, folder.path()).await;
        erase(&store, EraseTarget::Conversation(talk)).await;
        assert_eq!(texts(&store, other).await, ["stays"]);
        assert_eq!(store.conversation(ConversationRef::Id(talk)).await.expect("readable"), None);
        sound(&store).await;
    });
    gone(store, folder.path());
}

#[test]
fn an_erased_message_leaves_no_trace_in_the_files_and_is_told_from_a_broken_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    runtime().block_on(async {
        let talk = conversation(&store, "stays").await;
        let spoken = media_message(&store).await;
        let target = spoken.id;
        commit(&store, append(talk, vec![spoken])).await;
        say(&store, talk, &["stays"]).await;
        attach(&store, talk, target).await;
        let fork = MessageAt::After { message: Some(target), branch: id(BranchId::new) };
        let (head, why, messages) = (HeadMove::Follow, BranchReason::Fork, vec![message("user", "on another branch")]);
        let origins = Vec::new();
        commit(&store, Change::AppendMessages { conversation: talk, at: fork, head, why, messages, origins }).await;
        there_before(&store, folder.path()).await;
        erase(&store, EraseTarget::Message(target)).await;
        assert_eq!(texts(&store, talk).await, ["", "on another branch"]);
        let report = sound(&store).await;
        assert_eq!((report.messages, report.erased), (2, 1));
    });
    gone(store, folder.path());
}

#[test]
fn a_stream_that_is_erased_half_way_leaves_no_trace_in_the_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    runtime().block_on(async {
        let talk = conversation(&store, "stays").await;
        let streamed = stream(&store, talk).await;
        assert!(is_in_files(folder.path()), "the word must be there before");
        erase(&store, EraseTarget::Message(streamed)).await;
        assert_eq!(sound(&store).await.erased, 1);
    });
    gone(store, folder.path());
}

#[test]
fn an_erased_author_leaves_no_trace_in_the_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path());
    runtime().block_on(async {
        let author = Author { id: AUTHOR.to_owned(), name: WORD.to_owned() };
        let other = Author { id: "user-1".to_owned(), name: "Somebody".to_owned() };
        let draft = ConversationDraft {
            title: "stays".to_owned(),
            creator: Some(author.clone()),
            members: vec![author.clone(), other],
            ..ConversationDraft::default()
        };
        let talk = id(ConversationId::new);
        let change = Change::CreateConversation { id: talk, branch: id(BranchId::new), draft, importing: false };
        commit(&store, change).await;
        let mut spoken = message("user", &format!("{WORD} says the author"));
        spoken.content.author = Some(author.clone());
        let target = spoken.id;
        commit(&store, append(talk, vec![spoken])).await;
        let ids = say(&store, talk, &["stays"]).await;
        let change =
            Change::AddNote { id: id(NoteId::new), message: ids[0], kind: "remark".to_owned(), value: json_word() };
        let by_author = Transaction { actor: Some(author.clone()), ..Transaction::of(at(2), change) };
        store.commit(by_author).await.expect("a note");
        let (kind, body) = ("draft".to_owned(), json_word());
        let scratch = Scratch { kind, id: talk.to_string(), actor: AUTHOR.to_owned(), body, at: at(3) };
        commit(&store, Change::PutScratch { scratch }).await;
        let patch = ConversationPatch { members: Some(vec![author]), ..ConversationPatch::default() };
        commit(&store, Change::EditConversation { id: talk, patch }).await;
        there_before(&store, folder.path()).await;
        erase(&store, EraseTarget::Person(AUTHOR.to_owned())).await;
        let placed = store.messages(MessagesQuery::Ids(vec![target])).await.expect("readable");
        assert!(placed[0].message.erased);
        assert_eq!(texts(&store, talk).await, ["", "stays"]);
        assert_eq!(sound(&store).await.erased, 1);
    });
    gone(store, folder.path());
    let files = ["store.db", "store.db-wal"].map(|name| std::fs::read(folder.path().join(name)).unwrap_or_default());
    assert!(!files.iter().any(|bytes| contains(bytes, AUTHOR)), "the author's id is gone as well");
}

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions { readers: 2, ..SqliteOptions::new(folder.join("store.db")) }).expect("opens")
}

/// Sends the erasure until it is finished.
async fn erase(store: &SqliteStore, target: EraseTarget) {
    for _ in 0..100 {
        let committed = commit(store, Change::Erase { target: target.clone() }).await;
        match &committed.results[..] {
            [ChangeResult::Erased(receipt)] if receipt.finished => return,
            [ChangeResult::Erased(_)] => {}
            done => panic!("{done:?}"),
        }
    }
    panic!("an erasure ends");
}

async fn sound(store: &SqliteStore) -> VerifyReport {
    let report = store.verify().await.expect("verify runs");
    assert!(report.is_sound(), "{:?}", report.problems);
    report
}

/// The word is in the files and in the index before anything is erased.
async fn there_before(store: &SqliteStore, folder: &Path) {
    indexed(store).await;
    assert!(is_in_files(folder), "the word must be there before");
    let index = ["-search", "-search-wal"].map(|end| std::fs::read(folder.join(format!("store.db{end}"))));
    assert!(index.iter().flatten().any(|bytes| contains(bytes, WORD)), "the word must be in the index before");
}

/// Looks into the files of a store that runs: once its own process has copied them away, so that no lock is lost.
fn is_in_files(folder: &Path) -> bool {
    let copy = tempfile::tempdir().expect("a temporary folder");
    let into = copy.path().join("copy");
    let copied = || {
        let cp = std::process::Command::new("cp").arg("-rT").arg(folder).arg(&into).output();
        cp.expect("cp runs").status.success()
    };
    // A journal of the index that is deleted while cp reads the folder makes it fail; the next try does not meet it.
    assert!((0..10).any(|_| copied()), "the folder could not be copied");
    finds(&into)
}

fn finds(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.into_iter().any(|path| contains(&std::fs::read(path).expect("a file"), WORD))
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// The word is nowhere, neither while the store still runs nor after it was closed.
fn gone(store: SqliteStore, folder: &Path) {
    assert!(!is_in_files(folder), "it is in the files of the store that runs: {:?}", places(folder));
    drop(store);
    assert!(!finds(folder), "it is in the files: {:?}", places(folder));
}

/// Returns the tables and columns that still contain the word, for the failure message.
fn places(folder: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.join("store.db")).expect("opens");
    let sql = "select s.name, c.name from sqlite_schema s join pragma_table_info(s.name) c where s.type = 'table'";
    let mut statement = connection.prepare(sql).expect("a query");
    let columns =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).expect("rows");
    let mut places = Vec::new();
    for (table, column) in columns.map(|row| row.expect("a row")) {
        let sql = format!("select count(*) from {table} where instr(cast({column} as blob), cast($1 as blob)) > 0");
        if connection.query_row(&sql, [WORD], |row| row.get::<_, i64>(0)).expect("a count") > 0 {
            places.push(format!("{table}.{column}"));
        }
    }
    places
}

/// Makes a conversation with the word wherever a conversation can hold one.
pub(super) async fn everywhere(store: &dyn Store) -> ConversationId {
    let author = Author { id: "user-1".to_owned(), name: "Somebody".to_owned() };
    let draft = ConversationDraft {
        external_id: Some(format!("external {WORD}")),
        title: format!("title {WORD}"),
        members: vec![Author { id: format!("member {WORD}"), name: String::new() }, author],
        tags: [WORD.to_owned()].into(),
        metadata: Some(json_word()),
        ..ConversationDraft::default()
    };
    let talk = id(ConversationId::new);
    let change = Change::CreateConversation { id: talk, branch: id(BranchId::new), draft, importing: false };
    commit(store, change).await;
    let spoken = media_message(store).await;
    let target = spoken.id;
    commit(store, append(talk, vec![spoken])).await;
    attach(store, talk, target).await;
    stream(store, talk).await;
    let name = WORD.to_owned();
    let metadata = Some(json_word());
    commit(store, Change::SetBookmark { conversation: talk, name, head: Some(target), metadata }).await;
    // The old title, tag and bookmark live on in the journal, for undo.
    let patch = ConversationPatch {
        title: Some("renamed".to_owned()),
        remove_tags: [WORD.to_owned()].into(),
        metadata: Some(None),
        ..ConversationPatch::default()
    };
    commit(store, Change::EditConversation { id: talk, patch }).await;
    commit(store, Change::RemoveBookmark { conversation: talk, name: WORD.to_owned() }).await;
    let (channel, body) = ("progress".to_owned(), json_word());
    commit(store, Change::AppendEvents { conversation: talk, events: vec![NewEvent { channel, at: at(4), body }] })
        .await;
    commit(store, Change::PutInput { conversation: talk, id: id(InputId::new), body: json_word() }).await;
    commit(store, Change::TakeLease { conversation: talk, owner: WORD.to_owned(), until: at(9) }).await;
    let (kind, actor) = ("draft".to_owned(), String::new());
    let scratch = Scratch { kind, id: talk.to_string(), actor, body: json_word(), at: at(5) };
    commit(store, Change::PutScratch { scratch }).await;
    talk
}

/// A message whose text, metadata and blob hold the word.
async fn media_message(store: &dyn Store) -> NewMessage {
    // Bytes that cannot be packed, so that the word would be seen as it is.
    let mut bytes: Vec<u8> = (0..3_000).map(|_| fastrand::u8(..)).collect();
    bytes.splice(1_000..1_000, WORD.bytes());
    let sha256: [u8; 32] = sha2::Sha256::digest(&bytes).into();
    let size = bytes.len() as i64;
    commit(store, Change::PutBlobPiece { sha256, size, n: 0, last: true, bytes }).await;
    let blob = Some(manent_model::hex::encode(&sha256));
    let media = Part::Media { mime: "image/png".to_owned(), blob, extra: Vec::new() };
    let mut spoken = message("user", "");
    let call = Part::ToolCall { id: "c1".to_owned(), name: "look".to_owned(), input: json_word(), extra: Vec::new() };
    spoken.content.body = Body::of(&[Part::text(format!("text {WORD}")), call, media]);
    spoken.content.metadata = Some(json_word());
    spoken.content.usage = Some(json_word());
    spoken
}

/// Attaches to a message whatever can be attached, with the word in it.
async fn attach(store: &dyn Store, conversation: ConversationId, message: MessageId) {
    let note = id(NoteId::new);
    commit(store, Change::AddNote { id: note, message, kind: "remark".to_owned(), value: json_word() }).await;
    commit(store, Change::RemoveNote { id: note }).await;
    let (name, after) = ("plot".to_owned(), Some(message));
    commit(store, Change::SetState { conversation, name, after, value: Some(json_word()) }).await;
    let covers = vec![MessageRange { first: message, last: message }];
    let fold = NewFold {
        id: id(FoldId::new),
        after: message,
        kind: FoldKind::Summary,
        covers: covers.clone(),
        summary: Some(format!("summary {WORD}")),
        parent: None,
        made_by: Some(json_word()),
    };
    commit(store, Change::AddFold { conversation, fold }).await;
    let call = ToolCall {
        message,
        part: 1,
        call_id: "c1".to_owned(),
        name: "look".to_owned(),
        state: ToolState::Pending,
        record: json_word(),
    };
    commit(store, Change::PutToolCall { call, note: format!("asked {WORD}") }).await;
    let (to, record, note) = (ToolState::Completed, Some(json(r#"{"result": 1}"#)), format!("done {WORD}"));
    commit(store, Change::MoveToolCall { message, part: 1, to, record, note }).await;
    let call = Call {
        id: id(CallId::new),
        after: Some(message),
        model: None,
        outcome: CallOutcome::Answered,
        tokens_in: None,
        tokens_out: None,
        cost_micros: None,
        sent: covers,
        manifest: Some(json_word()),
        at: at(2),
    };
    commit(store, Change::RecordCall { conversation, call }).await;
    let mut memory = Memory {
        id: id(MemoryId::new),
        collection: "plots".to_owned(),
        project: None,
        conversation: Some(conversation),
        message: Some(message),
        external: None,
        text: format!("memory {WORD}"),
        metadata: None,
    };
    commit(store, Change::PutMemory { memory: memory.clone() }).await;
    memory.text = "replaced".to_owned();
    commit(store, Change::PutMemory { memory }).await;
}

/// Streams the word into a message that is not finished.
async fn stream(store: &dyn Store, talk: ConversationId) -> MessageId {
    let mut streamed = message("assistant", "");
    streamed.content.status = MessageStatus::Streaming;
    let id = streamed.id;
    commit(store, append(talk, vec![streamed])).await;
    for _ in 0..3 {
        commit(store, Change::AppendChunk { message: id, delta: format!("delta {WORD}") }).await;
    }
    id
}
