//! Commits that are sent before the one ahead of them is answered.

use super::client::{Client, Ledger, check};
use super::{open, server};
use crate::durable::{number, runtime, seed};
use manent_testing::proxy::{Fate, Proxy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const CLIENTS: usize = 24;
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn what_follows_a_commit_that_is_refused_or_cut_is_stored_once_and_in_order() {
    let cuts = number("MANENT_CUTS", 2_000) / 20;
    let mut rng = fastrand::Rng::with_seed(seed());
    // Nothing crashes here, so nothing needs the disk.
    let Some(server) = server(&["fsync=off"]) else { return };
    let proxy = Proxy::start(server.postgres.port()).expect("a wire");
    let runtime = runtime();
    let _inside = runtime.enter();
    let store = open(proxy.url(), 1, PATIENCE);
    // Each answer takes its time, so that the next commit is sent before it is there.
    proxy.delay(Duration::from_millis(1));
    let (ledger, ended) = (Arc::<Mutex<Ledger>>::default(), Arc::<AtomicBool>::default());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let mut client = runtime.block_on(Client::start(store.clone(), number.to_string(), ledger.clone()));
        let (ended, mut rng) = (ended.clone(), rng.fork());
        tasks.spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                // A message that is there already makes the server refuse the whole commit.
                client.say(rng.u8(..16) == 0).await;
            }
        });
    }
    let started = Instant::now();
    while proxy.met() < cuts {
        assert!(started.elapsed() < Duration::from_secs(120), "{} of {cuts} replies were cut", proxy.met());
        proxy.at_commit(Fate::Cut);
        std::thread::sleep(Duration::from_millis(rng.u64(5..40)));
    }
    ended.store(true, Ordering::Relaxed);
    runtime.block_on(tasks.join_all());
    let ledger = ledger.lock().expect("no client panics");
    println!("{} stored in {:?}, answers {:?}", ledger.stored(), started.elapsed(), ledger.answers);
    runtime.block_on(check(&*open(server.postgres.url(), 1, PATIENCE), &ledger));
}
