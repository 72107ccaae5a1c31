//! A commit whose answer was lost is looked for, and what is found stays as it is.

use super::{Server, open, owner, server, waiting};
use crate::kit::*;
use manent_model::*;
use manent_store::postgres::PostgresStore;
use manent_store::*;
use manent_testing::proxy::{Fate, Proxy};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(10);

/// A store behind a proxied connection that pipelines its writes, and an observer.
struct Behind {
    store: Arc<PostgresStore>,
    talk: ConversationId,
    proxy: Proxy,
    raw: Client,
    server: Server,
}

async fn behind() -> Option<Behind> {
    let server = server(&["fsync=off"])?;
    let proxy = Proxy::start(server.postgres.port()).expect("a wire");
    let (store, raw) = (open(proxy.url(), 1, PATIENCE), owner(&server.postgres.url()).await);
    let talk = conversation(&*store, "talk").await;
    for text in ["one", "two", "three"] {
        say(&*store, talk, &[text]).await;
    }
    Some(Behind { store, talk, proxy, raw, server })
}

fn committing(store: &Arc<PostgresStore>, change: Change) -> JoinHandle<Result<Committed>> {
    let store = store.clone();
    tokio::spawn(async move { store.commit(Transaction::of(at(1), change)).await })
}

impl Behind {
    /// Cuts the wire while the server works on a commit, lets the store come back, and then ends that work.
    async fn lose(&self, process: i32, waiters: usize) {
        assert!(self.proxy.cut() > 0, "there is something to cut");
        waiting(&self.raw, waiters).await;
        let ended = self.raw.query_one("select pg_terminate_backend($1, 5000)", &[&process]).await.expect("asked");
        assert!(ended.get::<_, bool>(0), "the work goes on");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_server_never_came_to_is_made_again() {
    let Some(behind) = behind().await else { return };
    let other = owner(&behind.server.postgres.url()).await;
    other.batch_execute("begin; select next from counter where name = 'journal' for update").await.expect("held");
    let lost = committing(&behind.store, append(behind.talk, vec![message("user", "lost")]));
    let process = waiting(&behind.raw, 1).await[0];
    behind.lose(process, 2).await;
    other.batch_execute("rollback").await.expect("let go");
    let committed = lost.await.expect("no panic").expect("it was not there, so it is stored now");
    assert!(!committed.is_replay, "{committed:?}");
    assert_eq!(texts(&*behind.store, behind.talk).await, ["one", "two", "three", "lost"]);
    sound(&*behind.store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leaves_no_trace_in_the_journal_is_not_taken_for_stored_when_others_have_written() {
    let Some(behind) = behind().await else { return };
    let other = open(behind.server.postgres.url(), 1, PATIENCE);
    say(&*other, behind.talk, &["other"]).await;
    let put = |id: &str| {
        let (kind, id, actor) = ("draft".to_owned(), id.to_owned(), String::new());
        Change::PutScratch { scratch: Scratch { kind, id, actor, body: json("1"), at: at(1) } }
    };
    // The statement is then known to the server, and the next one is sent with its commit.
    commit(&*behind.store, put("first")).await;
    let holding = owner(&behind.server.postgres.url()).await;
    holding.batch_execute("begin; lock table scratch in exclusive mode").await.expect("held");
    let lost = committing(&behind.store, put("lost"));
    let process = waiting(&behind.raw, 1).await[0];
    let written = committing(&other, append(behind.talk, vec![message("user", "other again")]));
    waiting(&behind.raw, 2).await;
    behind.lose(process, 3).await;
    holding.batch_execute("rollback").await.expect("let go");
    written.await.expect("no panic").expect("stored");
    let answer = lost.await.expect("no panic");
    let found = behind.store.scratch(ScratchQuery::default()).await.expect("readable");
    let there = found.iter().any(|scratch| scratch.id == "lost");
    match answer {
        Ok(_) => assert!(there, "it was answered as stored, and is not there"),
        Err(error) => assert_eq!((error.code(), there), ("outcome_unknown", false), "{error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_looks_for_a_commit_is_no_longer_the_one_that_sent_it() {
    let Some(behind) = behind().await else { return };
    let sql = "select next from counter where tenant = 1 and name = 'writer'";
    let writer = async || behind.raw.query_one(sql, &[]).await.expect("there is a row").get::<_, i64>(0);
    let before = writer().await;
    say(&*behind.store, behind.talk, &["four"]).await;
    assert_eq!(writer().await, before, "while its connection lasts, it is the same");
    behind.proxy.at_commit(Fate::Cut);
    say(&*behind.store, behind.talk, &["five"]).await;
    assert_eq!(behind.proxy.met(), 1);
    // By this the server refuses what was sent on the connection that is gone, whenever it comes.
    assert_ne!(writer().await, before, "what is late would be taken for ours");
    assert_eq!(texts(&*behind.store, behind.talk).await, ["one", "two", "three", "four", "five"]);
}
