//! The server runs, but refuses logins that it accepted before.

use super::{open, owner, server};
use crate::kit::{append, at, conversation, id, message, say, sound, texts};
use manent_model::*;
use manent_store::*;
use std::error::Error;
use std::time::Duration;

/// Longer than it takes to be refused, short enough to fail soon where a store waits instead.
const PATIENCE: Duration = Duration::from_secs(3);

/// What an administrator may do to a store that runs, how it is taken back, and what the server says meanwhile.
const REFUSALS: [[&str; 3]; 2] = [
    ["alter role ada nologin", "alter role ada login", "is not permitted to log in"],
    [
        "alter database chats allow_connections false",
        "alter database chats allow_connections true",
        "is not currently accepting connections",
    ],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_the_server_refuses_says_why_and_writes_again_when_it_is_let_in() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let raw = owner(&server.postgres.url()).await;
    raw.batch_execute("create role ada login superuser").await.expect("made");
    raw.batch_execute("create database chats owner ada").await.expect("made");
    let url = format!("postgres://ada@127.0.0.1:{}/chats", server.postgres.port());
    let store = open(url, 1, PATIENCE);
    let talk = conversation(&*store, "talk").await;
    let mut said = Vec::new();
    for [refuse, allow, why] in REFUSALS {
        raw.batch_execute(refuse).await.expect("told");
        let end = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'ada'";
        raw.batch_execute(end).await.expect("ended");
        // Not an append first: one that was sent on the connection that ended may have been stored for all we know.
        let draft = ConversationDraft { title: refuse.to_owned(), ..Default::default() };
        let (new, branch) = (id(ConversationId::new), id(BranchId::new));
        let created = Change::CreateConversation { id: new, branch, draft, importing: false };
        for change in [created, append(talk, vec![message("user", "refused")])] {
            tells(store.commit(Transaction::of(at(1), change)).await.map(drop), why);
        }
        tells(store.conversation(ConversationRef::Id(talk)).await.map(drop), why);
        raw.batch_execute(allow).await.expect("told");
        say(&*store, talk, &[allow]).await;
        said.push(allow);
        assert_eq!(texts(&*store, talk).await, said);
    }
    sound(&*store).await;
}

/// Checks that a call returns the reason that the server gives, so that the operator knows what to do.
fn tells(answer: Result<()>, why: &str) {
    let error = answer.expect_err(why);
    assert_eq!(error.code(), "engine", "{why}: {error:?}");
    let mut causes = Vec::new();
    let mut cause: Option<&dyn Error> = Some(&error);
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    assert!(causes.iter().any(|cause| cause.contains(why)), "{why}: {causes:?}");
}
