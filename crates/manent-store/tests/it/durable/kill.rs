//! A process is killed again and again in the middle of its work.

use super::child::{Child, FILE, Ledger, Role, stored};
use super::found::Found;
use super::{number, runtime, seed};
use manent_store::Store;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

/// Between two looks the next child is the one that recovers the file.
const LOOKED_EVERY: usize = 10;
const VERIFIED_EVERY: usize = 50;

#[test]
fn a_killed_process_loses_doubles_and_tears_nothing() {
    let cycles = number("MANENT_CYCLES", 300);
    let mut rng = fastrand::Rng::with_seed(seed());
    let folder = tempfile::tempdir().expect("a temporary folder");
    for cycle in 1..=cycles {
        let child = Child::start(Role::AppendForEver, folder.path(), rng.u64(..));
        std::thread::sleep(Duration::from_millis(rng.u64(1..150)));
        child.kill();
        if cycle.is_multiple_of(LOOKED_EVERY) || cycle == cycles {
            look(folder.path());
        }
        if cycle.is_multiple_of(VERIFIED_EVERY) || cycle == cycles {
            verify(folder.path());
        }
    }
    let ledger = Ledger::read(folder.path());
    println!("{cycles} kills, {} acknowledged, {} begun", ledger.acknowledged.len(), ledger.begun.len());
    assert!(ledger.acknowledged.len() > cycles, "most children must live long enough to append");
}

fn look(folder: &Path) {
    let found = Found::read(&folder.join(FILE)).expect("the file is sound");
    let ledger = Ledger::read(folder);
    for id in &ledger.acknowledged {
        assert_eq!(found.values.get(id.as_bytes()), Some(&stored(*id)), "{id} was acknowledged");
    }
    let begun: HashMap<[u8; 16], _> = ledger.begun.iter().map(|id| (*id.as_bytes(), *id)).collect();
    let known: HashSet<[u8; 16]> = found.values.keys().copied().collect();
    for (id, value) in &found.values {
        // Whatever else is there was asked for, and is whole; four conversations are not messages.
        match begun.get(id) {
            Some(message) => assert_eq!(*value, stored(*message)),
            None => assert_eq!(value, "talk"),
        }
    }
    assert!(known.len() <= begun.len() + 4, "nothing is stored that was not requested");
}

fn verify(folder: &Path) {
    let store = SqliteStore::open(SqliteOptions::new(folder.join(FILE))).expect("opens");
    let report = runtime().block_on(store.verify()).expect("verify runs");
    assert!(report.is_sound(), "{:?}", report.problems);
}
