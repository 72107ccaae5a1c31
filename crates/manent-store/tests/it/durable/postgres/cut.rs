//! The server has committed, and the client never hears of it.

use super::client::{Client, Ledger, check};
use super::{open, server};
use crate::durable::{number, runtime};
use manent_testing::proxy::{Fate, Proxy};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Stores of different tenants, each with a wire of its own, so that their outages overlap.
const STORES: usize = 4;

#[test]
fn a_reply_that_is_cut_after_the_commit_loses_and_doubles_nothing() {
    let cuts = number("MANENT_CUTS", 2_000);
    // Nothing crashes here, so nothing needs the disk.
    let Some(server) = server(&["fsync=off"]) else { return };
    let started = Instant::now();
    let runtime = runtime();
    let _inside = runtime.enter();
    let mut tasks = tokio::task::JoinSet::new();
    for tenant in 1..=STORES {
        let proxy = Proxy::start(server.postgres.port()).expect("a wire");
        tasks.spawn(write(proxy, tenant as i64, cuts.div_ceil(STORES)));
    }
    let ledgers = runtime.block_on(tasks.join_all());
    println!("{cuts} replies cut in {:?}", started.elapsed());
    for (tenant, ledger) in ledgers {
        let store = open(server.postgres.url(), tenant, Duration::from_secs(10));
        let ledger = ledger.lock().expect("no client panics");
        runtime.block_on(check(&*store, &ledger));
        println!("{} stored, answers {:?}", ledger.stored(), ledger.answers);
    }
}

/// Writes until `cuts` replies were cut; two programs at a time, so that a commit may contain transactions of both.
async fn write(proxy: Proxy, tenant: i64, cuts: usize) -> (i64, Arc<Mutex<Ledger>>) {
    let ledger = Arc::default();
    let store = open(proxy.url(), tenant, Duration::from_secs(10));
    let mut one = Client::start(store.clone(), format!("{tenant}.one"), Arc::clone(&ledger)).await;
    let mut two = Client::start(store.clone(), format!("{tenant}.two"), Arc::clone(&ledger)).await;
    while proxy.met() < cuts {
        proxy.at_commit(Fate::Cut);
        tokio::join!(one.next(), two.next());
    }
    (tenant, ledger)
}
