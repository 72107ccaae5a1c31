//! Positions are in commit order, even if one of the writers is slow.

use super::client::{Client, Ledger, dense};
use super::{open, owner, server};
use manent_store::*;
use manent_testing::proxy::Proxy;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_skips_nothing_of_several_stores_one_of_which_is_slow() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let (url, proxy) = (server.postgres.url(), Proxy::start(server.postgres.port()).expect("a wire"));
    let tail = Tail::start(open(url.clone(), 1, PATIENCE));
    let slow = open(proxy.url(), 1, PATIENCE);
    // Each step of its transactions takes so long, and it holds what others want all the while.
    proxy.delay(Duration::from_millis(3));
    let mut stores = vec![(slow, 40)];
    for _ in 0..3 {
        stores.push((open(url.clone(), 1, PATIENCE), 400));
    }
    let ledger = write(stores).await;
    tail.ends_at(ledger.stored()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_skips_nothing_of_a_transaction_that_holds_a_position_for_long() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let url = server.postgres.url();
    let tail = Tail::start(open(url.clone(), 1, PATIENCE));
    let stores = vec![(open(url.clone(), 1, PATIENCE), 300), (open(url.clone(), 1, PATIENCE), 300)];
    let written = tokio::spawn(write(stores));
    let raw = owner(&url).await;
    for _ in 0..20 {
        take_a_position_and_wait(&raw).await;
    }
    let ledger = written.await.expect("no client panics");
    tail.ends_at(ledger.stored() + 20).await;
}

/// Does what a store does, and is slow between taking the position and committing it.
async fn take_a_position_and_wait(raw: &tokio_postgres::Client) {
    let sql = "
        begin;
        set local role manent_app;
        select set_config('manent.tenant', '1', true);
        select next from counter where tenant = 1 and name = 'journal' for update;
        insert into journal (tenant, pos, first, prev, count, at, kind, digest)
            select 1, next, next, 0, 1, 0, 1, '\\x00' from counter where tenant = 1 and name = 'journal';
        update counter set next = next + 1 where tenant = 1 and name = 'journal';
        select pg_sleep(0.05);
        commit";
    raw.batch_execute(sql).await.expect("it waits for its turn");
}

/// Writes through each store from two programs, the given number of requests each.
async fn write(stores: Vec<(Arc<impl Store>, usize)>) -> Ledger {
    let ledger: Arc<Mutex<Ledger>> = Arc::default();
    let mut tasks = JoinSet::new();
    for (place, (store, requests)) in stores.into_iter().enumerate() {
        for name in ["one", "two"] {
            let mut client = Client::start(store.clone(), format!("{place} {name}"), ledger.clone()).await;
            tasks.spawn(async move {
                for _ in 0..requests {
                    client.next().await;
                }
            });
        }
    }
    tasks.join_all().await;
    // No writer fails because of another: each waits for its turn.
    let answers: Vec<&str> = ledger.lock().expect("no client panics").answers.keys().copied().collect();
    assert_eq!(answers, ["stored"]);
    std::mem::take(&mut *ledger.lock().expect("no client panics"))
}

/// A follower that polls the journal.
struct Tail {
    ended: Arc<AtomicBool>,
    store: Arc<dyn Store>,
    followed: JoinHandle<(Position, usize)>,
}

impl Tail {
    fn start(store: Arc<dyn Store>) -> Self {
        let ended: Arc<AtomicBool> = Arc::default();
        let followed = tokio::spawn(follow(store.clone(), ended.clone()));
        Self { ended, store, followed }
    }

    /// Checks that it has seen everything: the expected number of commits, and every position of the journal.
    async fn ends_at(self, commits: usize) {
        self.ended.store(true, Ordering::Relaxed);
        let (reached, seen) = self.followed.await.expect("nothing was skipped");
        assert_eq!(reached, dense(&*self.store).await);
        assert_eq!(seen, commits);
    }
}

async fn follow(store: Arc<dyn Store>, ended: Arc<AtomicBool>) -> (Position, usize) {
    let (mut reached, mut commits) = (0, 0);
    let watch = store.watch_position();
    loop {
        let (last, known) = (ended.load(Ordering::Relaxed), *watch.borrow());
        let page = store.journal(JournalQuery { after: reached, conversation: None, limit: PAGE_MAX }).await;
        let page = page.expect("the journal can be read");
        for entry in &page.entries {
            assert_eq!(entry.position, reached + 1, "a position was skipped, or comes again");
            reached += entry.count;
            commits += usize::from(entry.first == entry.position);
        }
        assert!(page.more || reached >= known, "{known} was announced, and {reached} can be read");
        if last && page.entries.is_empty() {
            return (reached, commits);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
