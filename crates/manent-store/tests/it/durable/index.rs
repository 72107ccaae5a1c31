//! The index beside the file: it may lag, be lost, be spoilt or be killed, and is right again by itself.

use super::{number, runtime, seed};
use crate::kit::*;
use manent_model::search::{Clock, Query};
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::path::Path;

const FILE: &str = "store.db";

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions { readers: 2, ..SqliteOptions::new(folder.join(FILE)) }).expect("opens")
}

async fn hits(store: &dyn Store, text: &str) -> usize {
    let clock = Clock { now: at(0), offset_seconds: 0 };
    let query = Query::parse(text, clock).expect("a test asks what can be read");
    store.search(Search { limit: 100, ..Search::new(query, clock.now) }).await.expect("readable").hits.len()
}

async fn filled(store: &dyn Store, many: usize) -> ConversationId {
    let talk = conversation(store, "named").await;
    for part in 0..many.div_ceil(500) {
        let texts: Vec<String> =
            (0..500.min(many)).map(|place| format!("word{} 消息 {place}", part * 500 + place)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        say(store, talk, &texts).await;
    }
    talk
}

#[test]
fn a_lost_or_spoilt_index_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = folder.path().join("store.db-search");
    runtime().block_on(async {
        let store = open(folder.path());
        filled(&store, 1_000).await;
        indexed(&store).await;
        // While it runs: what is not indexed is looked through.
        std::fs::remove_file(&index).expect("it is there");
        assert_eq!(hits(&store, "word777").await, 1);
        say(&store, conversation(&store, "another").await, &["later"]).await;
        while !index.exists() {
            tokio::task::yield_now().await;
        }
        indexed(&store).await;
        assert_eq!((hits(&store, "word777").await, hits(&store, "later").await), (1, 1));
        sound(&store).await;
        store.close().await.expect("closes");
    });
    let spoilt: [fn(&Path); 4] = [
        |path| std::fs::remove_file(path).expect("it is there"),
        |path| std::fs::write(path, b"this is no database at all, and never was one").expect("written"),
        |path| {
            let bytes = std::fs::read(path).expect("a file");
            std::fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
        },
        |path| std::fs::write(path, vec![0x5a; 100_000]).expect("written"),
    ];
    for spoil in spoilt {
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.path().join(format!("store.db-search{suffix}")));
        }
        spoil(&index);
        runtime().block_on(async {
            let store = open(folder.path());
            indexed(&store).await;
            assert_eq!((hits(&store, "word777").await, hits(&store, "later").await), (1, 1));
            sound(&store).await;
            store.close().await.expect("closes");
        });
    }
}

#[test]
fn an_index_of_another_time_of_the_file_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("copy.db");
    runtime().block_on(async {
        let store = open(folder.path());
        let talk = conversation(&store, "kept").await;
        say(&store, talk, &["before"]).await;
        store.backup(&copy).await.expect("a backup");
        say(&store, talk, &["after the backup"]).await;
        indexed(&store).await;
        store.close().await.expect("closes");
    });
    // The file is put back, its index is not.
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.path().join(format!("{FILE}{suffix}")));
    }
    std::fs::rename(&copy, folder.path().join(FILE)).expect("put back");
    runtime().block_on(async {
        let store = open(folder.path());
        let talk = conversation(&store, "new").await;
        say(&store, talk, &["other words", "more of them"]).await;
        indexed(&store).await;
        assert_eq!((hits(&store, "before").await, hits(&store, "after").await, hits(&store, "other").await), (1, 0, 1));
        sound(&store).await;
        store.close().await.expect("closes");
    });
}

#[test]
fn what_is_erased_from_a_large_index_leaves_no_trace_in_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rng = fastrand::Rng::with_seed(seed());
    let many = number("MANENT_ERASED", 2_000);
    // Letters that differ from word to word, so that no beginning is shared with a neighbour for long.
    let rare: Vec<String> = (0..many).map(|_| (0..14).map(|_| rng.lowercase()).collect()).collect();
    let secret: Vec<Vec<u8>> = rare.iter().map(|word| word.as_bytes()[6..].to_vec()).collect();
    let found = |secret: &[Vec<u8>]| -> usize {
        let files = ["-search", "-search-wal"].map(|end| std::fs::read(folder.path().join(format!("{FILE}{end}"))));
        let files: Vec<Vec<u8>> = files.into_iter().flatten().collect();
        let held: std::collections::HashSet<&[u8]> = files.iter().flat_map(|bytes| bytes.windows(8)).collect();
        secret.iter().filter(|word| held.contains(word.as_slice())).count()
    };
    runtime().block_on(async {
        let store = open(folder.path());
        let (stays, goes) = (conversation(&store, "stays").await, conversation(&store, "goes").await);
        for part in rare.chunks(100) {
            let texts: Vec<String> = part.iter().map(|word| format!("common words around {word} 常用的词")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            say(&store, goes, &texts).await;
            say(&store, stays, &["common words that stay"; 50]).await;
            indexed(&store).await;
        }
        assert!(found(&secret) > many / 2, "most of the words can be seen in the file before");
        for _ in 0..1_000 {
            let done = commit(&store, Change::Erase { target: Erase::Conversation(goes) }).await.done;
            if matches!(&done[..], [Done::Erased(receipt)] if receipt.finished) {
                break;
            }
        }
        assert_eq!(found(&secret), 0, "words that were erased are in the index");
        indexed(&store).await;
        assert_eq!(hits(&store, &rare[0]).await, 0);
        sound(&store).await;
        store.close().await.expect("closes");
    });
    assert_eq!(found(&secret), 0, "words that were erased are in the index of a closed store");
}

#[test]
fn an_erasure_that_does_not_come_to_pass_leaves_everything_findable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    runtime().block_on(async {
        let store = open(folder.path());
        let talk = filled(&store, 500).await;
        indexed(&store).await;
        store.close().await.expect("closes");
        // As if it had been killed between the index and the store: the index has forgotten, the store has not.
        let index = rusqlite::Connection::open(folder.path().join("store.db-search")).expect("opens");
        let key: i64 = index
            .query_row("select key from doc where key & 3 = 0 order by no limit 1", [], |row| row.get(0))
            .expect("a row");
        index.execute("insert into unsure (key, position) values ($1, 999999)", [key]).expect("written");
        drop(index);
        let store = open(folder.path());
        indexed(&store).await;
        assert_eq!(hits(&store, "word0").await, 1);
        say(&store, talk, &["goes on"]).await;
        indexed(&store).await;
        assert_eq!((hits(&store, "word0").await, hits(&store, "goes").await), (1, 1));
        store.close().await.expect("closes");
    });
}

#[test]
fn what_is_about_to_be_erased_stays_out_of_the_index_and_is_still_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(FILE);
    let indexes = |key: i64| -> i64 {
        let index = rusqlite::Connection::open(folder.path().join("store.db-search")).expect("opens");
        index.query_row("select count(*) from doc where key = $1", [key], |row| row.get(0)).expect("a count")
    };
    runtime().block_on(async {
        let store = open(folder.path());
        let talk = filled(&store, 1).await;
        indexed(&store).await;
        store.close().await.expect("closes");
        let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("opens");
        say(&store, talk, &["lingering"]).await;
        store.close().await.expect("closes");
        let file = rusqlite::Connection::open(&path).expect("opens");
        let key: i64 = file.query_row("select max(key) << 2 from message", [], |row| row.get(0)).expect("a message");
        drop(file);
        // Another process has taken it out and is about to commit its erasure.
        let index = rusqlite::Connection::open(folder.path().join("store.db-search")).expect("opens");
        index.execute("insert into unsure (key, position) values ($1, 999999)", [key]).expect("written");
        drop(index);
        let store = open(folder.path());
        indexed(&store).await;
        assert_eq!(hits(&store, "lingering").await, 1);
        store.close().await.expect("closes");
        assert_eq!(indexes(key), 0, "it would be there for ever");
    });
}

#[test]
fn what_is_not_indexed_is_looked_through_no_longer_than_somebody_waits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(FILE);
    runtime().block_on(async {
        let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("opens");
        filled(&store, 1_000).await;
        let clock = Clock { now: at(0), offset_seconds: 0 };
        let patient = Search::new(Query::parse("word7", clock).expect("a query"), clock.now);
        let hurried = Search { patience: std::time::Duration::ZERO, ..patient.clone() };
        let found = store.search(hurried).await.expect("readable");
        assert!(found.cut_short && !found.reach.complete, "{:?}", found.reach);
        let found = store.search(patient).await.expect("readable");
        assert_eq!((found.hits.len(), found.cut_short, found.reach.complete), (1, false, true));
    });
}
