//! Search benchmarks, compared with hand-written SQL, with ripgrep, and with appends without an index.

mod appends;
mod hand;
mod on_server;
mod words;

use crate::corpus::Corpus;
use crate::facts::Fact;
use crate::manent::draft;
use ::manent::store::sqlite::{SqliteOptions, SqliteStore};
use ::manent::{ConversationDraft, Database, SearchOrder, SearchQuery, Time};
use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How often each query is asked.
const ROUNDS: usize = 5;

/// Measures search over the messages of a corpus.
pub fn of(folder: &Path, corpus: &Corpus) -> Result<Vec<Fact>> {
    let runtime = Runtime::new()?;
    let (path, lines) = load(&runtime, folder, corpus)?;
    let mut facts = Vec::new();
    let started = Instant::now();
    let database = Database::from_store(Arc::new(SqliteStore::open(SqliteOptions::new(&path))?));
    runtime.block_on(database.when_indexed())?;
    let messages = corpus.conversations * corpus.messages;
    let rate = messages as f64 / started.elapsed().as_secs_f64();
    let mut tell = |found: Vec<Fact>| {
        found.iter().for_each(Fact::tell);
        facts.extend(found);
    };
    tell(sizes(&path, corpus, rate)?);
    tell(compared(&runtime, &database, &path, &lines, folder)?);
    tell(vec![recall(&runtime, &database, corpus)?]);
    runtime.block_on(database.close())?;
    for end in ["search.db", "search.db-search", "search.jsonl", "ranked.db"] {
        let _ = std::fs::remove_file(folder.join(end));
    }
    tell(on_server::of(&runtime, folder, corpus)?.into_iter().collect());
    tell(appends::of(&runtime, folder, corpus)?);
    Ok(facts)
}

/// Fills a store that is not indexed yet, and a file with a line for each message.
fn load(runtime: &Runtime, folder: &Path, corpus: &Corpus) -> Result<(PathBuf, PathBuf)> {
    let (path, lines) = (folder.join("search.db"), folder.join("search.jsonl"));
    let store = SqliteStore::open(SqliteOptions { index: false, ..SqliteOptions::new(&path) })?;
    let database = Database::from_store(Arc::new(store));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&lines)?);
    let mut at = 1_700_000_000_000_000i64;
    for number in 0..corpus.conversations {
        let chat = runtime.block_on(database.create(ConversationDraft::default()))?.id;
        let mut batch = Vec::new();
        for message in corpus.conversation(number) {
            file.write_all(&message.to_json())?;
            file.write_all(b"\n")?;
            at += 30_000_000;
            batch.push(draft(&message).at(Time::exact(at)));
            if batch.len() == 500 {
                runtime.block_on(database.append_many(chat, std::mem::take(&mut batch)))?;
            }
        }
        if !batch.is_empty() {
            runtime.block_on(database.append_many(chat, batch))?;
        }
    }
    file.flush()?;
    runtime.block_on(database.close())?;
    Ok((path, lines))
}

fn sizes(path: &Path, corpus: &Corpus, rate: f64) -> Result<Vec<Fact>> {
    let mut index = 0;
    for end in ["-search", "-search-wal"] {
        let file = PathBuf::from(format!("{}{end}", path.display()));
        index += std::fs::metadata(file).map_or(0, |file| file.len());
    }
    let text: u64 = corpus.all().map(|message| message.content.len() as u64).sum();
    let share = index as f64 / text as f64;
    Ok(vec![Fact {
        what: "index, over the bytes of the texts".to_owned(),
        found: format!("{share:.2}x ({:.0} MB; {rate:.0} messages/s)", index as f64 / 1e6),
        limit: "0.70x".to_owned(),
        met: share <= 0.7,
    }])
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn shown(duration: Duration) -> String {
    match duration.as_micros() {
        micros if micros < 1_000 => format!("{micros} us"),
        micros => format!("{:.2} ms", micros as f64 / 1e3),
    }
}

fn compared(runtime: &Runtime, database: &Database, path: &Path, lines: &Path, folder: &Path) -> Result<Vec<Fact>> {
    let hand = hand::Hand::open(path)?;
    let ranked = hand::Ranked::build(path, &folder.join("ranked.db"))?;
    let mut facts = Vec::new();
    for (kind, words) in [("Chinese", words::CHINESE), ("English", words::ENGLISH)] {
        let (mut newest, mut by_hand, mut waited) = (Vec::new(), Vec::new(), Vec::new());
        let (mut alone, mut best, mut bm25) = (Vec::new(), Vec::new(), Vec::new());
        // One kind after the other: what a ranked page reads would push the pages of the newest ones out of our cache alone.
        for _ in 0..ROUNDS {
            for word in words {
                let started = Instant::now();
                let found = runtime.block_on(database.search(&SearchQuery::new(*word)))?;
                waited.push(started.elapsed());
                newest.push(Duration::from_micros(found.micros));
                let (hits, took) = hand.newest(word)?;
                ensure!(hits == found.hits.len(), "{word}: {} hits, {hits} by hand", found.hits.len());
                by_hand.push(took);
                let query = SearchQuery { neighbours: 0, ..SearchQuery::new(*word) };
                alone.push(Duration::from_micros(runtime.block_on(database.search(&query))?.micros));
            }
        }
        for _ in 0..ROUNDS {
            for word in words {
                let query = SearchQuery { order: SearchOrder::Relevance, ..SearchQuery::new(*word) };
                best.push(Duration::from_micros(runtime.block_on(database.search(&query))?.micros));
                bm25.push(ranked.best(word)?);
            }
        }
        let (newest, by_hand, waited) = (median(newest), median(by_hand), median(waited));
        let ratio = newest.as_secs_f64() / by_hand.as_secs_f64();
        facts.push(Fact {
            what: format!("{kind} word, newest page of 20, over the same by hand in FTS5"),
            found: format!(
                "{ratio:.2}x ({} and {}; {} through Database)",
                shown(newest),
                shown(by_hand),
                shown(waited)
            ),
            limit: "2x".to_owned(),
            met: ratio <= 2.0,
        });
        let alone = median(alone);
        let ratio = alone.as_secs_f64() / by_hand.as_secs_f64();
        facts.push(Fact {
            what: format!("{kind} word, the same page without the messages around each hit"),
            found: format!("{ratio:.2}x ({})", shown(alone)),
            limit: "2x".to_owned(),
            met: ratio <= 2.0,
        });
        let (best, bm25) = (median(best), median(bm25));
        let ratio = best.as_secs_f64() / bm25.as_secs_f64();
        facts.push(Fact {
            what: format!("{kind} word, page by relevance, over FTS5's bm25"),
            found: format!("{ratio:.2}x ({} and {})", shown(best), shown(bm25)),
            limit: "2x".to_owned(),
            met: ratio <= 2.0,
        });
        let Some(grep) = words.iter().map(|word| ripgrep(word, lines)).collect::<Result<Option<Vec<Duration>>>>()?
        else {
            eprintln!("not run: ripgrep is not installed, so nothing is compared with it");
            continue;
        };
        let grep = median(grep);
        let ratio = grep.as_secs_f64() / waited.as_secs_f64();
        facts.push(Fact {
            what: format!("{kind} word, newest page of 20, faster than ripgrep over the same lines"),
            found: format!("{ratio:.0}x ({})", shown(grep)),
            limit: "≥ 50x".to_owned(),
            met: ratio >= 50.0,
        });
    }
    Ok(facts)
}

/// Scans all lines, because the newest hits are at the end; `None` if ripgrep is not installed.
fn ripgrep(word: &str, lines: &Path) -> Result<Option<Duration>> {
    let started = Instant::now();
    let output = match Command::new("rg").args(["--fixed-strings", "--count", word]).arg(lines).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        output => output.context("running ripgrep")?,
    };
    if !output.status.success() && output.status.code() != Some(1) {
        bail!("ripgrep: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(Some(started.elapsed()))
}

/// Every message with a two-character word is found.
fn recall(runtime: &Runtime, database: &Database, corpus: &Corpus) -> Result<Fact> {
    let words: Vec<&str> = words::CHINESE.iter().copied().filter(|word| word.chars().count() == 2).take(3).collect();
    let (mut found, mut there) = (0u64, 0u64);
    for message in corpus.all() {
        let line = String::from_utf8(message.to_json())?;
        there += words.iter().filter(|word| line.contains(**word)).count() as u64;
    }
    for word in words {
        let mut query = SearchQuery { limit: 100, neighbours: 0, ..SearchQuery::new(word) };
        loop {
            let page = runtime.block_on(database.search(&query))?;
            found += page.hits.len() as u64;
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
    }
    let recall = found as f64 / there as f64;
    Ok(Fact {
        what: "messages with a two-character Chinese word that are found".to_owned(),
        found: format!("{recall:.3} ({found} of {there})"),
        limit: "1.000".to_owned(),
        met: found == there,
    })
}
