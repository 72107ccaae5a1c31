//! One damaged record of each kind: a read fails, and one that skips damage leaves the record out, names it, and
//! returns the rest.

use super::columns::{Raw, populate};
use super::runtime;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A sealed column of each table, what names its rows, and the kind of record that is reported.
const SEALED: [(&str, &str, &str, &str); 18] = [
    ("bookmark", "body", "name", "bookmark"),
    ("chunk", "body", "key, n", "message"),
    ("conversation", "title", "no", "conversation"),
    ("document", "body", "no", "document"),
    ("event", "body", "key", "event"),
    ("fold", "body", "no", "fold"),
    ("input", "body", "no", "input"),
    ("memory", "body", "no", "memory"),
    ("message", "body", "key", "message"),
    ("message", "facts", "key", "message"),
    ("model_call", "body", "no", "call"),
    ("note", "body", "no", "note"),
    ("origin", "raw", "no", "origin"),
    ("project", "body", "no", "project"),
    ("quarantine", "bytes", "no", "quarantined piece"),
    ("source", "style", "no", "source"),
    ("state", "body", "no", "state"),
    ("tool_call", "body", "key, part", "tool call"),
];

/// Reads all that an export reads, and counts the records of each kind.
async fn counted(store: &dyn Store) -> Result<BTreeMap<&'static str, usize>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut add = |what, count| *counts.entry(what).or_default() += count;
    add("project", store.projects().await?.len());
    let sources = store.sources().await?;
    add("source", sources.len());
    for source in &sources {
        add("quarantined piece", store.quarantined(source.id).await?.len());
    }
    for id in store.conversation_ids(None, PAGE_MAX).await? {
        let found = store.conversation(ConversationRef::Id(id)).await?.expect("a conversation");
        add("conversation", usize::from(!found.title.is_empty()));
        let object = manent_model::OriginObject::Conversation(id);
        add("origin", store.origins(OriginsQuery::Object(object)).await?.len());
        for branch in store.branches(id).await? {
            let query = MessagesQuery::Branch { branch: branch.id, after: None, limit: PAGE_MAX };
            let messages = store.messages(query).await?;
            add("message", messages.len());
            let ids = messages.iter().map(|placed| placed.message.id).collect();
            add("origin of message", store.message_origins(ids).await?.len());
        }
        let (branch, from, direction) = (None, None, Direction::Forward);
        let window =
            store.message_page(MessagePageQuery { conversation: id, branch, from, direction, limit: PAGE_MAX }).await?;
        add("shown", window.messages.len());
        let annotations = store.annotations(id.into()).await?;
        add("note", annotations.notes.len());
        add("bookmark", annotations.bookmarks.len());
        add("state", annotations.states.len());
        add("fold", annotations.folds.len());
        add("call", annotations.calls.len());
        add("tool call", annotations.tool_calls.len());
        add("input", annotations.inputs.len());
        let query = EventsQuery { conversation: id, channels: Vec::new(), after: 0, limit: PAGE_MAX };
        add("event", store.events(query).await?.len());
    }
    add("document", store.documents(DocumentsQuery::All).await?.len());
    add("memory", store.memories(MemoriesQuery { limit: PAGE_MAX, ..MemoriesQuery::default() }).await?.len());
    Ok(counts)
}

async fn every_damaged_record_is_left_out(store: Arc<dyn Store>, raw: &Raw) {
    populate(&*store).await;
    let whole = counted(&*store).await.expect("readable");
    for (table, column, key, what) in SEALED {
        let of_store = raw.of_store();
        raw.run(&format!("create temp table saved as select * from {table} where {of_store}")).await.expect("saved");
        let kind = if column == "title" { "text" } else { "blob" };
        let other = raw.other(column, kind);
        let row =
            format!("({key}) in (select {key} from {table} where {of_store} order by {column} is null, {key} limit 1)");
        raw.run(&format!("update {table} set {column} = {other} where {of_store} and {row}")).await.expect("changed");

        let refused = counted(&*store).await.expect_err("an ordinary read reports the damage");
        assert_eq!(refused.code(), "altered", "{table}.{column}: {refused}");
        let log = Arc::new(DamageLog::default());
        let left = counted(&*store.clone().skipping_damaged(log.clone())).await;
        let mut left = left.unwrap_or_else(|error| panic!("{table}.{column}: {error}"));
        let named = log.records();
        assert!(named.iter().any(|record| record.what == what), "{table}.{column}: {named:?}");
        assert_eq!(left.get(what).copied().unwrap_or(0) + 1, whole[what], "{table}.{column}");
        // What can only be read with the damaged record is not there either.
        let with_it: &[&'static str] = match what {
            "message" => &["message", "origin of message", "shown"],
            "source" => &["source", "quarantined piece"],
            what => &[what],
        };
        for with_it in with_it {
            left.insert(with_it, whole[with_it]);
        }
        assert_eq!(left, whole, "{table}.{column}");

        let back = format!("delete from {table} where {of_store}; insert into {table} select * from saved");
        raw.run(&back).await.expect("put back");
        raw.run("drop table saved").await.expect("dropped");
    }
    assert_eq!(counted(&*store).await.expect("everything was put back"), whole);
}

#[test]
fn reads_that_skip_damage_leave_out_one_record_sqlite() {
    let folder = super::fast_folder();
    let path = folder.path().join("store.db");
    runtime().block_on(async {
        let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("opens");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection.execute_batch("pragma foreign_keys = off").expect("a setting");
        every_damaged_record_is_left_out(Arc::new(store), &Raw::Sqlite(connection)).await;
    });
}

#[test]
fn reads_that_skip_damage_leave_out_one_record_postgres() {
    let Some((url, _server)) = crate::kit::postgres_server() else { return };
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
        client.batch_execute("set session_replication_role = replica").await.expect("a superuser");
        every_damaged_record_is_left_out(store, &Raw::Postgres(client, tenant)).await;
    });
}
