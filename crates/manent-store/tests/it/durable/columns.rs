//! One changed column, or one deleted row: `verify` reports it, whatever the table.

use super::runtime;
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The tables whose rows an export shows, and what names their rows.
const TABLES: [(&str, &str); 27] = [
    ("author", "no"),
    ("blob", "no"),
    ("blob_piece", "blob_no, n"),
    ("bookmark", "conversation_no, name"),
    ("branch", "no"),
    ("chunk", "key, n"),
    ("conversation", "no"),
    ("document", "no"),
    ("event", "key"),
    ("fold", "no"),
    ("input", "no"),
    ("journal", "pos"),
    ("memory", "no"),
    ("message", "key"),
    ("model_call", "no"),
    ("name", "no"),
    ("note", "no"),
    ("origin", "no"),
    ("participant", "person, conversation_no"),
    ("piece", "branch_no, ordinal"),
    ("project", "no"),
    ("quarantine", "no"),
    ("source", "no"),
    ("state", "no"),
    ("tag", "name_no, conversation_no"),
    ("tool_call", "key, part"),
    ("tool_step", "no"),
];

/// Columns that are 0 or 1.
const FLAGS: [&str; 7] = ["active", "complete", "made", "open", "pinned", "takes_part", "withdrawn"];

/// Only orders the pieces of a blob: another order has another SHA-256.
const HARMLESS: [&str; 1] = ["blob_piece.n"];

/// Fills every table that an export shows.
pub(super) async fn populate(store: &dyn Store) {
    let author = |name: &str| Author { id: name.to_owned(), name: name.to_uppercase() };
    let project = id(ProjectId::new);
    let draft = Project {
        id: project,
        kind: "instance".to_owned(),
        name: "a project".to_owned(),
        instructions: "be kind".to_owned(),
        facts: [("place".to_owned(), "here".to_owned())].into(),
        metadata: None,
        version: 1,
    };
    commit(store, Change::CreateProject { project: draft }).await;
    let talk = id(ConversationId::new);
    let draft = ConversationDraft {
        title: "对话".to_owned(),
        external_id: Some("outside".to_owned()),
        project: Some(project),
        creator: Some(author("ann")),
        members: vec![author("bob")],
        tags: ["blue".to_owned()].into(),
        metadata: Some(json(r#"{"a": 1}"#)),
        continued_from: Some(id(ConversationId::new)),
        forked_from: Some(id(ConversationId::new)),
        ..ConversationDraft::default()
    };
    commit(store, Change::CreateConversation { id: talk, branch: id(BranchId::new), draft, importing: false }).await;
    let source = Source {
        id: id(SourceId::new),
        format: "veloca".to_owned(),
        generation: "4".to_owned(),
        path: "a/b.json".to_owned(),
        sha256: "00".to_owned(),
        style: json("{}"),
        at: at(2),
    };
    let from = source.id;
    commit(store, Change::PutSource { source }).await;
    let object = OriginObject::Conversation(talk);
    let raw = Some("{}".to_owned());
    let external = Some("outside".to_owned());
    commit(store, Change::PutOrigin { origin: Origin { object, source: from, ordinal: 1, external, raw } }).await;
    let quarantined = Quarantined { source: from, at_byte: 3, why: "no JSON".to_owned(), bytes: b"x".to_vec() };
    commit(store, Change::Quarantine { quarantined }).await;

    let mut imported = message("user", "taken in from elsewhere");
    imported.content.author = Some(author("ann"));
    let mut answer = message("assistant", "an answer of several words");
    answer.content.model = Some("a-model".to_owned());
    answer.content.tokens = Some(7);
    answer.content.reply_to = Some(imported.id);
    let (first, second) = (imported.id, answer.id);
    let raw = Some(r#"{"text": "taken in from elsewhere"}"#.to_owned());
    let origin = MessageOrigin { message: first, source: from, ordinal: 2, external: Some("m-1".to_owned()), raw };
    let change = Change::AppendMessages {
        conversation: talk,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages: vec![imported, answer],
        origins: vec![origin],
    };
    commit(store, change).await;
    let third = say(store, talk, &["three", "four", "five"]).await;
    commit(store, splice(talk, instead_of(third[1], third[1]), &["four, edited"])).await;
    let mut streaming = message("assistant", "");
    streaming.content.status = MessageStatus::Streaming;
    let stream = streaming.id;
    commit(store, append(talk, vec![streaming])).await;
    for delta in ["so ", "far"] {
        commit(store, Change::AppendChunk { message: stream, delta: delta.to_owned() }).await;
    }

    let by_bob = |change: Change| Transaction { actor: Some(author("bob")), ..Transaction::of(at(5), change) };
    let note = Change::AddNote { id: id(NoteId::new), message: second, kind: "rating".to_owned(), value: json("1") };
    store.commit(by_bob(note)).await.expect("a note");
    let value = Some(json(r#"{"scene": 1}"#));
    let state = Change::SetState { conversation: talk, name: "plot".to_owned(), after: Some(second), value };
    store.commit(by_bob(state)).await.expect("a state");
    let metadata = Some(json("{}"));
    let bookmark = Change::SetBookmark { conversation: talk, name: "here".to_owned(), head: Some(second), metadata };
    commit(store, bookmark).await;
    let covers = vec![MessageRange { first, last: second }];
    let summary = Some("what was said".to_owned());
    let (kind, parent, made_by) = (FoldKind::Summary, Some(id(FoldId::new)), Some(json("{}")));
    let fold = NewFold { id: id(FoldId::new), after: second, kind, covers: covers.clone(), summary, parent, made_by };
    commit(store, Change::AddFold { conversation: talk, fold }).await;
    let call = Call {
        id: id(CallId::new),
        after: Some(second),
        model: Some("a-model".to_owned()),
        outcome: CallOutcome::Answered,
        tokens_in: Some(1),
        tokens_out: Some(2),
        cost_micros: Some(3),
        sent: covers,
        manifest: Some(json("{}")),
        at: at(3),
    };
    commit(store, Change::RecordCall { conversation: talk, call }).await;
    let call = ToolCall {
        message: second,
        part: 0,
        call_id: "call-1".to_owned(),
        name: "read".to_owned(),
        state: ToolState::Pending,
        record: json("{}"),
    };
    store.commit(by_bob(Change::PutToolCall { call, note: "asked".to_owned() })).await.expect("a tool call");
    let events = vec![NewEvent { channel: "progress".to_owned(), at: at(4), body: json("{}") }];
    commit(store, Change::AppendEvents { conversation: talk, events }).await;
    let input = id(InputId::new);
    store.commit(by_bob(Change::PutInput { conversation: talk, id: input, body: json("{}") })).await.expect("an input");
    commit(store, Change::TakeInputs { conversation: talk, ids: vec![input] }).await;
    let (kind, name) = ("character".to_owned(), "ann".to_owned());
    commit(store, Change::PutDocument { kind, id: name, project: Some(project), body: Some(json("{}")) }).await;
    let memory = Memory {
        project: Some(project),
        conversation: Some(talk),
        message: Some(second),
        external: Some("e".to_owned()),
        metadata: Some(json("{}")),
        ..memory("a memory")
    };
    store.commit(by_bob(Change::PutMemory { memory })).await.expect("a memory");
    let bytes = b"bytes of a picture".to_vec();
    let (sha256, size) = (Sha256::digest(&bytes).into(), bytes.len() as i64);
    commit(store, Change::PutBlobPiece { sha256, size, n: 0, last: true, bytes }).await;
    // Something that is undone and redone has flags that turned more than once.
    undo(store, UndoScope::Everything).await;
    redo(store, UndoScope::Everything).await;
}

/// Where statements of the test run, beside the store.
pub(super) enum Raw {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client, i64),
}

impl Raw {
    pub(super) async fn run(&self, sql: &str) -> std::result::Result<(), String> {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).map_err(|error| error.to_string()),
            Self::Postgres(client, _) => client.batch_execute(sql).await.map_err(|error| format!("{error:?}")),
        }
    }

    /// Returns the rows of one or two columns, as text.
    async fn pairs(&self, sql: &str) -> Vec<(String, String)> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql).expect("a statement");
                let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
                found.map(|row| row.expect("a row")).collect()
            }
            Self::Postgres(client, _) => {
                let found = client.query(sql, &[]).await.expect("rows");
                found.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
        }
    }

    /// The columns of a table, with their kinds.
    async fn columns(&self, table: &str) -> Vec<(String, String)> {
        let sql = match self {
            Self::Sqlite(_) => format!("select name, lower(type) from pragma_table_info('{table}')"),
            Self::Postgres(..) => format!(
                "select column_name::text, data_type::text from information_schema.columns
                 where table_name = '{table}' and column_name <> 'tenant' and table_schema = current_schema()"
            ),
        };
        self.pairs(&sql).await
    }

    /// What narrows a statement to the rows of this store.
    pub(super) fn of_store(&self) -> String {
        match self {
            Self::Sqlite(_) => "1 = 1".to_owned(),
            Self::Postgres(_, tenant) => format!("tenant = {tenant}"),
        }
    }

    /// Another value of the same kind.
    pub(super) fn other(&self, column: &str, kind: &str) -> String {
        match (self, kind) {
            _ if FLAGS.contains(&column) => format!("1 - {column}"),
            (_, "integer" | "bigint") => format!("coalesce({column}, 0) + 1"),
            (_, "text") => format!("coalesce({column}, '') || 'x'"),
            (Self::Sqlite(_), _) => {
                format!("case when length({column}) > 0 then zeroblob(length({column})) else x'01' end")
            }
            (Self::Postgres(..), _) => format!(
                "case when octet_length({column}) > 0 then decode(repeat('00', octet_length({column})), 'hex') else '\\x01'::bytea end"
            ),
        }
    }
}

async fn every_change_is_found(store: &dyn Store, raw: &Raw) {
    populate(store).await;
    let report = store.verify().await.expect("verifies");
    assert!(report.is_sound(), "{:?}", report.problems);
    let (mut unseen, mut tried) = (Vec::new(), 0);
    for (table, key) in TABLES {
        let of_store = raw.of_store();
        raw.run(&format!("create temp table saved as select * from {table} where {of_store}")).await.expect("saved");
        let columns = raw.columns(table).await;
        assert!(!columns.is_empty(), "{table}");
        let mut changes: Vec<(String, String)> = Vec::new();
        for (column, kind) in &columns {
            // The row with something in the column, if there is one.
            let row = format!(
                "({key}) in (select {key} from {table} where {of_store} order by {column} is null, {key} limit 1)"
            );
            let other = raw.other(column, kind);
            changes.push((
                format!("{table}.{column}"),
                format!("update {table} set {column} = {other} where {of_store} and {row}"),
            ));
        }
        let row = format!("({key}) in (select {key} from {table} where {of_store} order by {key} desc limit 1)");
        // A server refuses to delete a row that others refer to; this test has switched that off.
        if table != "blob" || matches!(raw, Raw::Sqlite(_)) {
            changes.push((format!("a row of {table}"), format!("delete from {table} where {of_store} and {row}")));
        }
        for (what, change) in changes {
            // What the engine itself refuses cannot happen.
            if let Err(error) = raw.run(&change).await {
                println!("{what}: refused: {error}");
                continue;
            }
            tried += 1;
            let report = store.verify().await.unwrap_or_else(|error| panic!("{what}: {error}"));
            if report.is_sound() && !HARMLESS.contains(&what.as_str()) {
                unseen.push(what);
            }
            let back = format!("delete from {table} where {of_store}; insert into {table} select * from saved");
            raw.run(&back).await.expect("put back");
        }
        raw.run("drop table saved").await.expect("dropped");
    }
    let report = store.verify().await.expect("verifies");
    assert!(report.is_sound(), "everything was put back: {:?}", report.problems);
    assert!(unseen.is_empty(), "{} of {tried} changes are not found: {unseen:?}", unseen.len());
    println!("{tried} changes, all found");
}

#[test]
fn verify_finds_every_changed_column_sqlite() {
    let folder = super::fast_folder();
    let path = folder.path().join("store.db");
    runtime().block_on(async {
        let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("opens");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection.execute_batch("pragma foreign_keys = off").expect("a setting");
        every_change_is_found(&store, &Raw::Sqlite(connection)).await;
    });
}

#[test]
fn verify_finds_every_changed_column_postgres() {
    let Some((url, _server)) = postgres_server() else { return };
    runtime().block_on(async {
        let tenant = fastrand::i64(1_000..);
        let options = manent_store::postgres::PostgresOptions {
            tenant,
            readers: 1,
            index: false,
            ..manent_store::postgres::PostgresOptions::new(url.clone())
        };
        let store = Arc::new(manent_store::postgres::PostgresStore::open(options).expect("opens"));
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("connects");
        tokio::spawn(connection);
        // Neither foreign keys nor policies keep the test from a change.
        client.batch_execute("set session_replication_role = replica").await.expect("a superuser");
        every_change_is_found(&*store, &Raw::Postgres(client, tenant)).await;
    });
}
