//! Several transactions in one commit of the server: what becomes of one is not what becomes of the others.

use super::{open, owner, server};
use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_refuses_of_one_transaction_is_not_what_became_of_the_others() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let (store, raw) = (open(server.postgres.url(), 1, PATIENCE), owner(&server.postgres.url()).await);
    let talk = conversation(&*store, "talk").await;
    raw.batch_execute("alter table scratch add constraint untold check (kind <> 'untold')").await.expect("a rule");
    // A second event, or a second version, would tell that they were stored twice.
    let event = |body| Change::AppendEvents {
        conversation: talk,
        events: vec![NewEvent { channel: "log".to_owned(), at: at(1), body: json(body) }],
    };
    let document =
        Change::PutDocument { kind: "kind".to_owned(), id: "id".to_owned(), project: None, body: Some(json("1")) };
    // The first rollback waits for its result; afterwards nothing waits.
    let nothing = Transaction { changes: vec![append(talk, Vec::new()), untold()], ..Transaction::of(at(1), untold()) };
    refused_as(store.commit(nothing).await, "invalid");
    for last in [vec![untold()], vec![untold(), append(talk, Vec::new())]] {
        // The refused one is the last: nothing waits for an answer between it and the commit.
        let transactions = [vec![event("1")], vec![document.clone()], vec![event("2")], last];
        let transactions = transactions.map(|changes| Transaction { changes, ..Transaction::of(at(1), event("0")) });
        let before = (events(&*store, talk).await.len(), versions(&*store).await);
        let answers = in_one_batch(&*store, &raw, &transactions).await;
        let [Ok(_), Ok(_), Ok(_), Err(refused)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(refused.code(), "engine", "{refused:?}");
        assert!(format!("{refused:?}").contains("untold"), "{refused:?}");
        assert_eq!(events(&*store, talk).await[before.0..], ["1", "2"]);
        assert_eq!(versions(&*store).await, before.1 + 1);
    }
    assert_eq!(store.scratch(ScratchQuery::default()).await.expect("readable"), []);
    sound(&*store).await;
}

/// A change that breaks the rule which the test has made.
fn untold() -> Change {
    let (kind, id) = ("untold".to_owned(), "id".to_owned());
    Change::PutScratch { scratch: Scratch { kind, id, actor: String::new(), body: json("1"), at: at(1) } }
}

async fn events(store: &dyn Store, conversation: ConversationId) -> Vec<String> {
    let query = EventsQuery { conversation, channels: Vec::new(), after: 0, limit: PAGE_MAX };
    let events = store.events(query).await.expect("readable");
    events.into_iter().map(|event| event.body.text().to_owned()).collect()
}

/// Returns how many versions of documents there are.
async fn versions(store: &dyn Store) -> usize {
    store.documents(DocumentsQuery::All).await.expect("readable").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_commit_has_no_time_for_comes_next_and_in_its_order() {
    const MESSAGES: usize = 250;
    let Some(server) = server(&["fsync=off"]) else { return };
    let (store, raw) = (open(server.postgres.url(), 1, PATIENCE), owner(&server.postgres.url()).await);
    let talk = conversation(&*store, "talk").await;
    // What is appended to what was appended last is sent without waiting.
    for text in ["one", "two", "three"] {
        say(&*store, talk, &[text]).await;
    }
    // How much one commit has time for depends on the machine.
    let mut commits = 1;
    for appends in [48, 96, 192, 384] {
        let (position, before) = (*store.watch_position().borrow(), texts(&*store, talk).await.len());
        let saying = |number: usize| {
            let messages = (0..MESSAGES).map(|_| message("user", &number.to_string())).collect();
            Transaction::of(at(1), append(talk, messages))
        };
        let transactions: Vec<Transaction> = (0..appends).map(saying).collect();
        for answer in in_one_batch(&*store, &raw, &transactions).await {
            answer.expect("each has its turn");
        }
        let said: Vec<String> = texts(&*store, talk).await.split_off(before + 1);
        let asked: Vec<String> = (0..appends).flat_map(|number| vec![number.to_string(); MESSAGES]).collect();
        assert!(
            said == asked,
            "the order is another: {:?}",
            said.chunks(MESSAGES).map(|some| &some[0]).collect::<Vec<_>>()
        );
        let sql = "select count(distinct xmin::text) from journal where tenant = 1 and pos - 1 > $1";
        commits = raw.query_one(sql, &[&position]).await.expect("counted").get::<_, i64>(0);
        if commits > 1 {
            break;
        }
    }
    assert!(commits > 1, "one commit had time for all of them, so nothing was tested");
    sound(&*store).await;
}

/// Commits all of these together, and returns their answers: they come while another one waits for its turn, which is
/// an append to the first conversation there is.
async fn in_one_batch(store: &dyn Store, raw: &Client, transactions: &[Transaction]) -> Vec<Result<Committed>> {
    let talks = store.conversation_ids(None, 1).await.expect("readable");
    let ahead = store.commit(Transaction::of(at(1), append(talks[0], vec![message("user", "ahead")])));
    let all = together(transactions.iter().map(|transaction| store.commit(transaction.clone())));
    let (mut ahead, mut all) = (pin!(ahead), pin!(all));
    raw.batch_execute("begin; select next from counter where name = 'journal' for update").await.expect("held");
    begun(ahead.as_mut()).await;
    super::waiting(raw, 1).await;
    begun(all.as_mut()).await;
    raw.batch_execute("rollback").await.expect("let go");
    ahead.await.expect("it is stored");
    all.await
}

/// Lets work begin.
async fn begun(mut work: std::pin::Pin<&mut impl Future>) {
    std::future::poll_fn(|context| {
        assert!(work.as_mut().poll(context).is_pending(), "it waits for its turn");
        Poll::Ready(())
    })
    .await;
}
