//! Programs that write through several stores of one tenant until they are told to end.

use super::client::{Client, Known, Ledger};
use super::open;
use manent_store::Store;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Programs on each store: as many as there are kinds of requests, so that most commits hold one of each.
const CLIENTS: usize = 8;

/// When a store acknowledged requests.
type Acknowledged = Arc<Mutex<Vec<Instant>>>;

/// Programs that write.
pub struct Load {
    ended: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    stores: Vec<(Arc<dyn Store>, Acknowledged)>,
    tasks: JoinSet<()>,
}

impl Load {
    /// Opens a store at each address and lets programs write to it.
    pub fn start(runtime: &Runtime, urls: &[String], patience: Duration) -> Self {
        let mut load =
            Self { ended: Arc::default(), ledger: Arc::default(), stores: Vec::new(), tasks: JoinSet::new() };
        for (place, url) in urls.iter().enumerate() {
            let store: Arc<dyn Store> = open(url.clone(), 1, patience);
            let acknowledged = Acknowledged::default();
            for client in 0..CLIENTS {
                let client = Client::start(store.clone(), format!("{place}.{client}"), load.ledger.clone());
                let work = write(runtime.block_on(client), load.ended.clone(), acknowledged.clone());
                load.tasks.spawn_on(work, runtime.handle());
            }
            load.stores.push((store, acknowledged));
        }
        load
    }

    /// Waits until each store has acknowledged a request after this moment.
    pub fn each_store_commits(&self, after: Instant, at_most: Duration) {
        for (_, acknowledged) in &self.stores {
            while acknowledged.lock().expect("no client panics").last().is_none_or(|last| *last <= after) {
                assert!(after.elapsed() < at_most, "nothing was committed for {at_most:?}");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// Returns the longest time after this moment, and just before, in which a store acknowledged nothing.
    pub fn longest_gap(&self, after: Instant) -> Duration {
        let of = |acknowledged: &Acknowledged| {
            let all = acknowledged.lock().expect("no client panics");
            let pairs = all.windows(2).filter(|pair| pair[1] > after);
            pairs.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
        };
        self.stores.iter().map(|(_, acknowledged)| of(acknowledged)).max().unwrap_or_default()
    }

    /// Waits until every request is answered, and returns what is known of them.
    pub fn end(mut self, runtime: &Runtime) -> Ledger {
        self.ended.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            while let Some(ended) = self.tasks.join_next().await {
                ended.expect("no client panics");
            }
            for (store, _) in &self.stores {
                store.close().await.expect("a store can be closed");
            }
        });
        std::mem::take(&mut *self.ledger.lock().expect("no client panics"))
    }
}

async fn write(mut client: Client, ended: Arc<AtomicBool>, acknowledged: Acknowledged) {
    while !ended.load(Ordering::Relaxed) {
        if client.next().await == Known::Stored {
            acknowledged.lock().expect("no client panics").push(Instant::now());
        }
    }
}
