//! The server dies, throws everybody out or cannot be heard any more, again and again, while programs write.

use super::client::check;
use super::load::Load;
use super::{open, server};
use crate::durable::{number, runtime, seed};
use crate::kit::conversation;
use manent_store::{ConversationRef, Store};
use manent_testing::postgres::Postgres;
use manent_testing::proxy::Proxy;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How soon after the server accepts connections each store commits again. Measured below a second; a machine that is
/// busy with something else may need more.
const BACK: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
enum Outage {
    /// Every process of the server is killed, and it is started again.
    Killed,
    /// The server ends every connection.
    Emptied,
    /// The wire of one store is cut.
    Cut,
}

const OUTAGES: [Outage; 3] = [Outage::Killed, Outage::Emptied, Outage::Cut];

#[test]
fn a_server_that_is_killed_emptied_or_cut_off_loses_and_doubles_nothing() {
    let outages = number("MANENT_OUTAGES", 20);
    let mut rng = fastrand::Rng::with_seed(seed());
    // What it acknowledges is on disk. Each commit takes its time on the way there, so that outages fall into one.
    let Some(server) = server(&["commit_delay=20000", "commit_siblings=0"]) else { return };
    let proxy = Proxy::start(server.postgres.port()).expect("a wire");
    let runtime = runtime();
    // Inside of it a store is closed without waiting, also when the test has failed and nothing answers any more.
    let _inside = runtime.enter();
    let load = Load::start(&runtime, &[proxy.url(), server.postgres.url()], PATIENCE);
    let mut slowest = [Duration::ZERO; OUTAGES.len()];
    for outage in 0..outages {
        std::thread::sleep(Duration::from_millis(rng.u64(100..500)));
        let kind = outage % OUTAGES.len();
        let back = strike(OUTAGES[kind], &server.postgres, &proxy);
        load.each_store_commits(back, 10 * BACK);
        slowest[kind] = slowest[kind].max(back.elapsed());
        assert!(back.elapsed() < BACK, "{:?}: commits again after {:?}", OUTAGES[kind], back.elapsed());
    }
    let ledger = load.end(&runtime);
    let store = open(server.postgres.url(), 1, PATIENCE);
    runtime.block_on(check(&*store, &ledger));
    println!("{outages} outages, {} stored, answers {:?}", ledger.stored(), ledger.answers);
    for (kind, slowest) in OUTAGES.iter().zip(slowest) {
        println!("{kind:?}: both stores commit again after at most {slowest:?}");
    }
}

#[test]
fn a_read_waits_for_a_server_that_starts_again() {
    let Some(server) = server(&["fsync=off"]) else { return };
    let runtime = runtime();
    let _inside = runtime.enter();
    let store = open(server.postgres.url(), 1, PATIENCE);
    let talk = runtime.block_on(conversation(&*store, "read all the while"));
    let ended = Arc::<AtomicBool>::default();
    let reads = runtime.spawn({
        let ended = ended.clone();
        async move {
            let mut reads = 0;
            while !ended.load(Ordering::Relaxed) {
                let found = store.conversation(ConversationRef::Id(talk)).await;
                assert_eq!(found.expect("a read waits").expect("it is there").id, talk);
                reads += 1;
            }
            reads
        }
    });
    for outage in [Outage::Killed, Outage::Emptied, Outage::Killed] {
        std::thread::sleep(Duration::from_millis(200));
        let proxy = Proxy::start(server.postgres.port()).expect("a wire");
        strike(outage, &server.postgres, &proxy);
    }
    std::thread::sleep(Duration::from_millis(200));
    ended.store(true, Ordering::Relaxed);
    let reads = runtime.block_on(reads).expect("no read is refused");
    assert!(reads > 0);
}

/// Makes an outage and returns when it was over.
fn strike(outage: Outage, postgres: &Postgres, proxy: &Proxy) -> Instant {
    match outage {
        Outage::Killed => {
            postgres.kill().expect("it can be killed");
            postgres.start_again().expect("it starts again");
        }
        Outage::Emptied => postgres.terminate_backends().expect("they can be ended"),
        Outage::Cut => assert!(proxy.cut() > 0, "there is something to cut"),
    }
    Instant::now()
}
