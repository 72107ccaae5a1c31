//! The size of the WAL beside its store.

use super::runtime;
use crate::kit::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};

#[test]
fn the_wal_of_a_small_store_stays_small() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions::new(folder.path().join("store.db"));
    let store = SqliteStore::open(options.clone()).expect("opens");
    runtime().block_on(async {
        let talk = conversation(&store, "small").await;
        for number in 0..800 {
            say(&store, talk, &[&format!("message {number}")]).await;
        }
        let wal = std::fs::metadata(options.sibling_path("-wal")).expect("a WAL").len();
        assert!(wal < 20 << 20, "{wal} bytes beside {} messages", 800);
    });
}
