//! Tenants: whatever a statement asks for, the database gives and changes the rows of one of them.
//!
//! The tables are those that the catalogue lists, so that a new one cannot be forgotten.

use super::{open, owner, server};
use crate::durable::erase::everywhere;
use crate::kit::*;
use manent_model::*;
use manent_store::postgres::{PostgresOptions, PostgresStore};
use manent_store::*;
use manent_text::{Clock, Query};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

const OURS: i64 = 1;
const THEIRS: i64 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_of_the_store_reaches_the_rows_of_one_tenant_in_every_table() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    for tenant in [OURS, THEIRS] {
        let store = open(url.clone(), tenant, Duration::from_secs(10));
        fill(&*store).await;
        store.close().await.expect("closes");
    }
    let client = owner(&url).await;
    for tenant in [OURS, THEIRS] {
        remember_a_vector(&client, tenant).await;
        index_something(&client, tenant).await;
    }
    // Foreign keys would refuse to delete a whole table; they are no part of what keeps tenants apart.
    run(&client, "set session_replication_role = replica").await;
    for table in tables(&client).await {
        let all = (rows(&client, &table, OURS).await, rows(&client, &table, THEIRS).await);
        assert!(all.0 > 0 && all.1 > 0, "{table} has no rows of one tenant, so nothing would be tested: {all:?}");
        reaches(&client, &table, Some(OURS), all).await;
        reaches(&client, &table, Some(THEIRS), (all.1, all.0)).await;
        reaches(&client, &table, None, (0, all.0 + all.1)).await;
        writes_only_for_itself(&client, &table).await;
    }
}

/// `search_doc` has no policy. Rows of another tenant in an answer of the index, as if a statement forgot the tenant, show
/// nothing of theirs: every candidate is read again from tables that have one. At most they select a message of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_rows_of_another_tenant_show_nothing_of_theirs() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let stores = [OURS, THEIRS].map(|tenant| {
        let options = PostgresOptions { tenant, readers: 1, ..PostgresOptions::new(url.clone()) };
        PostgresStore::open(options).expect("the store opens")
    });
    let [ours, theirs] = &stores;
    let chat = conversation(ours, "ours").await;
    say(ours, chat, &["hello"]).await;
    // Others have more rows, so that their numbers are partly used here and partly not.
    for title in ["one", "two", "secret plans"] {
        let chat = conversation(theirs, title).await;
        say(theirs, chat, &["a secret", "another secret"]).await;
    }
    indexed(ours).await;
    indexed(theirs).await;
    let clock = Clock { now: at(1_000_000), offset_seconds: 0 };
    let secret = || Search::new(Query::parse("secret", clock).expect("a query"), clock.now);
    assert!(!theirs.search(secret()).await.expect("readable").hits.is_empty(), "they find it");
    let client = owner(&url).await;
    let moved = "insert into search_doc (tenant, key, part, parts, at, arrival, tokens)
        select $1, key, part, parts, at, arrival, tokens from search_doc where tenant = $2
        on conflict (tenant, key, part) do update set tokens = excluded.tokens";
    assert!(client.execute(moved, &[&OURS, &THEIRS]).await.expect("the owner may") > 0);
    let hits = ours.search(secret()).await.expect("readable").hits;
    let shown: Vec<&str> = hits.iter().map(|hit| hit.snippet.text.as_str()).collect();
    assert!(hits.iter().all(|hit| hit.conversation == chat), "{hits:?}");
    assert!(shown.iter().all(|text| ["hello", "ours"].contains(text)), "{shown:?}");
    for store in stores {
        store.close().await.expect("closes");
    }
}

async fn run(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// Returns the tables that hold rows of tenants.
async fn tables(client: &Client) -> Vec<String> {
    let sql = "select relname::text from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
          -- Every statement of ours names the tenant of tokens; no policy can, see where the table is made.
          and relname not in ('migration', 'search_doc')
        order by relname";
    let rows = client.query(sql, &[]).await.expect("the catalogue can be read");
    assert!(rows.len() > 30, "the schema is there");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Counts the rows of a tenant, as the owner sees them.
async fn rows(client: &Client, table: &str, tenant: i64) -> u64 {
    let sql = format!("select count(*) from {table} where tenant = $1");
    let row = client.query_one(&sql, &[&tenant]).await.expect("the owner sees all");
    u64::try_from(row.get::<_, i64>(0)).expect("a count")
}

/// Begins a transaction as the store does, for one tenant or for none.
async fn begin(client: &Client, tenant: Option<i64>) {
    let tenant = tenant.map(|tenant| format!("; select set_config('manent.tenant', '{tenant}', true)"));
    run(client, &format!("begin; set local role manent_app{}", tenant.unwrap_or_default())).await;
}

/// Checks that statements without any condition see and change this number of rows, and leave the others.
async fn reaches(client: &Client, table: &str, tenant: Option<i64>, (reached, others): (u64, u64)) {
    begin(client, tenant).await;
    let row = client.query_one(&format!("select count(*) from {table}"), &[]).await.expect("it may read");
    assert_eq!(row.get::<_, i64>(0), reached as i64, "{table} as {tenant:?}");
    for sql in [format!("update {table} set tenant = tenant"), format!("delete from {table}")] {
        let changed = client.execute(&sql, &[]).await.expect("it may write");
        assert_eq!(changed, reached, "{sql} as {tenant:?}");
    }
    run(client, "reset role").await;
    let left = client.query_one(&format!("select count(*) from {table}"), &[]).await.expect("the owner sees all");
    assert_eq!(left.get::<_, i64>(0), others as i64, "{table} as {tenant:?}");
    run(client, "rollback").await;
}

/// Checks that a row of another tenant can neither be made nor be given away.
async fn writes_only_for_itself(client: &Client, table: &str) {
    let sql = "select string_agg(attname, ', ' order by attnum) from pg_attribute
        where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attname <> 'tenant'";
    let columns: String = client.query_one(sql, &[&table]).await.expect("it has columns").get(0);
    let insert =
        |from: &str| format!("insert into {table} (tenant, {columns}) select {THEIRS}, {columns} from {from} limit 1");
    let given_away = format!("update {table} set tenant = {THEIRS}");
    for sql in [insert(table), given_away] {
        begin(client, Some(OURS)).await;
        refused_by_policy(client.execute(&sql, &[]).await, &sql);
        run(client, "rollback").await;
    }
    // Without a tenant nothing can be read, so the row comes from a copy.
    run(client, &format!("create temporary table copied as select * from {table} limit 1")).await;
    run(client, "grant select on copied to manent_app").await;
    begin(client, None).await;
    let sql = insert("copied");
    refused_by_policy(client.execute(&sql, &[]).await, &sql);
    run(client, "rollback; drop table copied").await;
}

fn refused_by_policy(outcome: Result<u64, Error>, sql: &str) {
    let error = outcome.expect_err(sql);
    assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error:?}");
    assert!(format!("{error:?}").contains("row-level security"), "{sql}: {error:?}");
}

/// Puts rows into every table that an operation of the store can fill.
async fn fill(store: &dyn Store) {
    let talk = everywhere(store).await;
    let said = say(store, talk, &["one", "two", "three"]).await;
    commit(store, splice(talk, instead_of(said[0], said[1]), &["instead"])).await;
    let tags = ["kept".to_owned()].into();
    patch(store, talk, ConversationPatch { add_tags: tags, ..Default::default() }).await;
    let (name, head) = ("here".to_owned(), Some(said[2]));
    commit(store, Change::SetBookmark { conversation: talk, name, head, metadata: None }).await;
    let project = Project {
        id: id(ProjectId::new),
        kind: "instance".to_owned(),
        name: "project".to_owned(),
        instructions: String::new(),
        facts: BTreeMap::new(),
        metadata: None,
        version: 1,
    };
    commit(store, Change::CreateProject { project }).await;
    let change =
        Change::PutDocument { kind: "kind".to_owned(), id: "id".to_owned(), project: None, body: Some(json("1")) };
    let author = Some(Author { id: "ann".to_owned(), name: "Ann".to_owned() });
    let keyed = Transaction { key: Some(b"key".to_vec()), actor: author, ..Transaction::of(at(1), change) };
    store.commit(keyed).await.expect("a document");
    let source = Source {
        id: id(SourceId::new),
        format: "veloca".to_owned(),
        generation: "2".to_owned(),
        path: "chat.json".to_owned(),
        sha256: "00ff".to_owned(),
        style: json("{}"),
        at: at(4),
    };
    let from = source.id;
    commit(store, Change::PutSource { source }).await;
    let object = OriginObject::Conversation(talk);
    commit(store, Change::PutOrigin { origin: Origin { object, source: from, ordinal: 1, external: None, raw: None } })
        .await;
    let quarantined = Quarantined { source: from, at_byte: 0, why: "not UTF-8".to_owned(), bytes: vec![255] };
    commit(store, Change::Quarantine { quarantined }).await;
}

/// No operation makes a vector yet.
async fn remember_a_vector(client: &Client, tenant: i64) {
    let sql = "insert into vector (tenant, memory_no, model_no, given, bytes)
        select m.tenant, m.no, m.collection_no, 0, '\\x00'
        from memory m
        where m.tenant = $1
        limit 1";
    assert_eq!(client.execute(sql, &[&tenant]).await.expect("it fits"), 1);
}

/// As if something had been indexed.
async fn index_something(client: &Client, tenant: i64) {
    for sql in [
        "insert into search_cursor (tenant, name, value) values ($1, 'x', '\\x00')",
        "insert into stat_conversation (tenant, conversation_no, branch_no, key) values ($1, -1, 1, 1)",
        "insert into stat_member (tenant, kind, no, conversation_no) values ($1, 0, 0, -1)",
        "insert into stat_cell
            (tenant, conversation_no, day, role_no, model_no, messages, words, tokens, timed, response_micros)
         values ($1, -1, 1, 1, 0, 1, 1, 1, 0, 0)",
        "insert into stat_total
            (tenant, kind, no, day, role_no, model_no, messages, words, tokens, timed, response_micros)
         values ($1, 9, 0, 1, 1, 0, 1, 1, 1, 0, 0)",
        "insert into stat_active (tenant, kind, no, day, previous, conversations) values ($1, 9, 0, 1, 0, 1)",
    ] {
        assert_eq!(client.execute(sql, &[&tenant]).await.expect("it fits"), 1);
    }
}
