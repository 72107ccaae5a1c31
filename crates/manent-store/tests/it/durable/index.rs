//! The index beside the file: it may lag, be lost, be spoilt or be killed, and is right again by itself.

use super::{number, runtime, seed};
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use manent_text::{Clock, Query};
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
            let done = commit(&store, Change::Erase { target: EraseTarget::Conversation(goes) }).await.results;
            if matches!(&done[..], [ChangeResult::Erased(receipt)] if receipt.finished) {
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
            .query_row("select key from doc where key & 3 = 0 order by place limit 1", [], |row| row.get(0))
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

/// Appends messages with a word, at seconds.
async fn at_times(store: &dyn Store, talk: ConversationId, word: &str, seconds: impl IntoIterator<Item = i64>) {
    let told = |second: i64| {
        let mut message = message("user", &format!("{word} history"));
        message.content.time = Time { at: at(second), source: TimeSource::Exact };
        message
    };
    let messages: Vec<NewMessage> = seconds.into_iter().map(told).collect();
    for part in messages.chunks(500) {
        commit(store, append(talk, part.to_vec())).await;
    }
}

/// The times of all hits, page by page.
async fn times(store: &dyn Store, text: &str) -> Vec<i64> {
    let clock = Clock { now: at(0), offset_seconds: 0 };
    let query = Query::parse(text, clock).expect("a test asks what can be read");
    let mut search = Search { limit: 100, neighbours: 0, ..Search::new(query, clock.now) };
    let mut times = Vec::new();
    loop {
        let found = store.search(search.clone()).await.expect("readable");
        times.extend(found.hits.iter().map(|hit| hit.time.0));
        search.after = found.next;
        if search.after.is_none() {
            return times;
        }
    }
}

#[test]
fn histories_that_overlap_are_put_together_and_found_in_order() {
    const HISTORIES: i64 = 11;
    const EACH: i64 = 1_200;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let count = |sql: &str| -> i64 {
        let index = rusqlite::Connection::open(folder.path().join("store.db-search")).expect("opens");
        index.query_row(sql, [], |row| row.get(0)).expect("a number")
    };
    runtime().block_on(async {
        let store = open(folder.path());
        let mut expected = Vec::new();
        let mut talks = Vec::new();
        for history in 0..HISTORIES {
            let talk = conversation(&store, &format!("h{history}")).await;
            let seconds = (0..EACH).map(|place| place * 1_000 - history * 7);
            expected.extend(seconds.clone());
            at_times(&store, talk, &format!("of{history}"), seconds).await;
            indexed(&store).await;
            talks.push(talk);
        }
        assert!(count("select count(*) from run") <= 9, "too many runs are put together");
        assert!(count("select max(last) from run") >= 2 * EACH, "some run holds several histories");
        // Now one by one, long after their time, while others are renamed and erased.
        let mut random = fastrand::Rng::with_seed(seed());
        for part in 0..90 {
            let seconds: Vec<i64> = (0..50).map(|_| random.i64(0..EACH * 1_000)).collect();
            expected.extend(&seconds);
            at_times(&store, talks[1], "late", seconds).await;
            if part % 10 == 0 {
                indexed(&store).await;
                let patch = ConversationPatch { title: Some(format!("renamed {part}")), ..ConversationPatch::default() };
                commit(&store, Change::EditConversation { id: talks[2], patch }).await;
            }
        }
        let gone = talks[3];
        while !matches!(&commit(&store, Change::Erase { target: EraseTarget::Conversation(gone) }).await.results[..], [ChangeResult::Erased(receipt)] if receipt.finished) {}
        indexed(&store).await;
        sound(&store).await;
        assert_eq!(hits(&store, "of3").await, 0);
        assert_eq!(hits(&store, "renamed").await, 1);
        let mut expected: Vec<i64> = expected.into_iter().map(|second| at(second).0).collect();
        for place in 0..EACH {
            let erased = at(place * 1_000 - 21).0;
            expected.swap_remove(expected.iter().position(|time| *time == erased).expect("it was there"));
        }
        expected.sort_unstable_by_key(|time| std::cmp::Reverse(*time));
        assert_eq!(times(&store, "history").await, expected);
        assert_eq!(count("select count(*) from run where hidden or going or lot is not null"), 0, "nothing is left half done");
        assert!(count("select coalesce(max(last), 0) from run where slack > 1000000000000000") < 4_000);
        store.close().await.expect("closes");
    });
}

#[test]
fn a_damaged_page_of_the_index_is_found_out_and_made_again() {
    const PAGE: usize = 8_192;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = folder.path().join("store.db-search");
    let mut random = fastrand::Rng::with_seed(seed());
    runtime().block_on(async {
        let store = open(folder.path());
        filled(&store, 2_000).await;
        indexed(&store).await;
        store.close().await.expect("closes");
        for round in 0..6 {
            // Now the pages of the file, but for the first, which says that it is a database; now what is in its words.
            if round % 2 == 0 {
                let mut bytes = std::fs::read(&index).expect("a file");
                for page in 1..bytes.len() / PAGE {
                    if random.bool() {
                        random.fill(&mut bytes[page * PAGE + 8..(page + 1) * PAGE]);
                    }
                }
                std::fs::write(&index, &bytes).expect("written");
            } else {
                let file = rusqlite::Connection::open(&index).expect("opens");
                for slot in 0..16 {
                    let sql = format!("update word{slot}_data set block = randomblob(length(block)) where id > 10");
                    file.execute(&sql, []).expect("written");
                }
            }
            let store = open(folder.path());
            for word in ["word777", "消息 word1999", "word5", "消息 1"] {
                assert!(hits(&store, word).await > 0, "round {round}: {word}");
            }
            // Damage that no search has met is reported by verify, and repaired by a reindex.
            if !store.verify().await.expect("verified").problems.is_empty() {
                store.reindex().await.expect("begun");
            }
            while !index.exists() {
                tokio::task::yield_now().await;
            }
            indexed(&store).await;
            assert_eq!(hits(&store, "word777").await, 1, "round {round}");
            sound(&store).await;
            store.close().await.expect("closes");
        }
    });
}

#[test]
fn a_damaged_message_does_not_hide_the_others_from_search() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    runtime().block_on(async {
        let store = open(folder.path());
        filled(&store, 3).await;
        store.close().await.expect("closes");
        let file = rusqlite::Connection::open(folder.path().join(FILE)).expect("opens");
        let sql = "update message
             set body = cast(replace(cast(body as text), 'word1', 'word9') as blob)
             where cast(body as text) like '%word1%'";
        assert_eq!(file.execute(sql, []).expect("written"), 1);
        drop(file);
        for anew in [false, true] {
            if anew {
                std::fs::remove_file(folder.path().join("store.db-search")).expect("it is there");
            }
            let store = open(folder.path());
            indexed(&store).await;
            assert_eq!((hits(&store, "word0").await, hits(&store, "word2").await), (1, 1));
            assert_eq!((hits(&store, "word1").await, hits(&store, "word9").await), (0, 0), "it is not what was said");
            assert!(!store.verify().await.expect("verified").problems.is_empty());
            store.close().await.expect("closes");
        }
    });
}

#[test]
fn the_unindexed_tail_is_searched_within_the_time_limit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(FILE);
    runtime().block_on(async {
        let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) }).expect("opens");
        filled(&store, 1_000).await;
        let clock = Clock { now: at(0), offset_seconds: 0 };
        let patient = Search::new(Query::parse("word7", clock).expect("a query"), clock.now);
        let hurried = Search { timeout: std::time::Duration::ZERO, ..patient.clone() };
        let found = store.search(hurried).await.expect("readable");
        assert!(found.timed_out && !found.coverage.complete, "{:?}", found.coverage);
        let found = store.search(patient).await.expect("readable");
        assert_eq!((found.hits.len(), found.timed_out, found.coverage.complete), (1, false, true));
    });
}

/// A prefix that begins very many words is not merged inside the index, which no time limit would end.
#[test]
fn search_by_frequent_prefix_finds_the_newest() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    runtime().block_on(async {
        let store = open(folder.path());
        let talk = conversation(&store, "named").await;
        // More than the limit up to which a prefix is asked of the index.
        for part in 0..22 {
            let texts: Vec<String> = (0..1_000)
                .map(|place| match part * 1_000 + place {
                    number if number % 1_000 == 7 => format!("test{number} rare"),
                    number => format!("test{number}"),
                })
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            say(&store, talk, &texts).await;
        }
        say(&store, talk, &["nothing of the kind"]).await;
        indexed(&store).await;
        let clock = Clock { now: at(0), offset_seconds: 0 };
        let found = |text: &'static str| {
            let query = Query::parse(text, clock).expect("a test asks what can be read");
            store.search(Search { limit: 20, ..Search::new(query, clock.now) })
        };
        let page = found("te*").await.expect("readable");
        let texts: Vec<String> = page.hits.iter().map(|hit| hit.snippet.text.clone()).collect();
        let newest: Vec<String> = (0..20).map(|back| format!("test{}", 21_999 - back)).collect();
        assert_eq!((texts, page.timed_out), (newest, false));
        // Beside another word the prefix is looked for in the texts alone.
        assert_eq!(found("rare te*").await.expect("readable").hits.len(), 20);
        assert_eq!(found("rare zz*").await.expect("readable").hits.len(), 0);
        assert_eq!(found("nothing -te*").await.expect("readable").hits.len(), 1);
        assert_eq!(found("rare -te*").await.expect("readable").hits.len(), 0);
    });
}
