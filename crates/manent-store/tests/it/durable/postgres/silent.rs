//! The other side says nothing any more, and the connection stays open.

use super::{Server, open, owner, server};
use crate::kit::{append, at, conversation, message, shown, sound, texts};
use manent_model::*;
use manent_store::postgres::PostgresStore;
use manent_store::*;
use manent_testing::proxy::{Fate, Proxy};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long the store tries to reach a server.
const PATIENCE: Duration = Duration::from_secs(2);
/// When a request must have been answered. Far more than the store may take, far less than for ever.
const ANSWERED: Duration = Duration::from_secs(25);

/// A store behind a wire, with a conversation in it.
struct Behind {
    store: Arc<PostgresStore>,
    talk: ConversationId,
    proxy: Proxy,
    server: Server,
}

async fn behind() -> Option<Behind> {
    let server = server(&["fsync=off"])?;
    let proxy = Proxy::start(server.postgres.port()).expect("a wire");
    let store = open(proxy.url(), 1, PATIENCE);
    let talk = conversation(&*store, "talk").await;
    shown(&*store, talk).await;
    Some(Behind { store, talk, proxy, server })
}

fn saying(talk: ConversationId, text: &str) -> Transaction {
    Transaction::of(at(1), append(talk, vec![message("user", text)]))
}

async fn insist(store: &dyn Store, transaction: Transaction) -> Committed {
    for _ in 0..1_000 {
        match store.commit(transaction.clone()).await {
            Ok(committed) => return committed,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("the wire is whole again, and nothing is stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_ends_in_a_timeout() {
    let Some(Behind { store, talk, proxy, server: _server }) = behind().await else { return };
    proxy.hold();
    let said = saying(talk, "one");
    let read = store.conversation(ConversationRef::Id(talk));
    let (written, read) = tokio::join!(timeout(ANSWERED, store.commit(said.clone())), timeout(ANSWERED, read));
    let written = written.expect("an append is answered").expect_err("it cannot be stored");
    assert!(["busy", "outcome_unknown"].contains(&written.code()), "{written:?}");
    let read = read.expect("a read is answered").expect_err("it cannot be read");
    assert_eq!(read.code(), "busy", "{read:?}");
    proxy.release();
    insist(&*store, said).await;
    assert_eq!(texts(&*store, talk).await, ["one"]);
    sound(&*store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_says_nothing_does_not_keep_us_from_the_next() {
    let Some(server) = server(&["fsync=off"]) else { return };
    // The system accepts for it; it never says a word.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let ports = [mute.local_addr().expect("bound").port(), server.postgres.port()];
    let url = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?connect_timeout=1", ports[0], ports[1]);
    let opened = tokio::task::spawn_blocking(move || open(url, 1, PATIENCE));
    let store = timeout(ANSWERED, opened).await.expect("it opens in time").expect("it opens");
    let talk = conversation(&*store, "reached").await;
    assert_eq!(shown(&*store, talk).await.title, "reached");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_reply_never_comes_is_answered_as_unknown() {
    let Some(Behind { store, talk, proxy, server: _server }) = behind().await else { return };
    proxy.at_commit(Fate::Hold);
    let said = saying(talk, "one");
    let written = timeout(ANSWERED, store.commit(said.clone())).await.expect("an append is answered");
    let written = written.expect_err("the outcome cannot be known");
    assert_eq!(written.code(), "outcome_unknown", "it is stored: {written:?}");
    proxy.release();
    assert!(insist(&*store, said).await.is_replay);
    assert_eq!(texts(&*store, talk).await, ["one"]);
    sound(&*store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_falls_silent_in_a_transaction_does_not_lock_others_out() {
    let Some(Behind { store, talk, proxy, server }) = behind().await else { return };
    let other = open(server.postgres.url(), 1, PATIENCE);
    let watching = owner(&server.postgres.url()).await;
    proxy.delay(Duration::from_millis(100));
    let silent = tokio::spawn(async move { store.commit(saying(talk, "silent")).await });
    let holding = "select count(*)
        from pg_stat_activity a join pg_locks l on l.pid = a.pid
        where a.state = 'idle in transaction' and l.relation = 'counter'::regclass and l.mode = 'RowShareLock'";
    while watching.query_one(holding, &[]).await.expect("it can be asked").get::<_, i64>(0) == 0 {
        assert!(!silent.is_finished(), "the transaction was over before it could be caught");
    }
    proxy.hold();
    let written = timeout(ANSWERED, other.commit(saying(talk, "other"))).await.expect("an append is answered");
    written.expect("the row of the journal is free again");
    assert_eq!(texts(&*other, talk).await, ["other"]);
}
