//! Many processes on one file.

use super::child::{Child, FILE, Ledger, Role, stored};
use super::found::Found;
use super::runtime;
use crate::kit::journal;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{JournalKind, Store};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

const PROCESSES: u64 = 64;

#[test]
fn sixty_four_processes_append_to_one_file_and_none_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let started = Instant::now();
    let children: Vec<Child> =
        (0..PROCESSES).map(|number| Child::start(Role::AppendHundred, folder.path(), number)).collect();
    for mut child in children {
        assert!(child.0.wait().expect("a child ends").success(), "every append succeeds");
    }
    println!("{PROCESSES} processes x 100 appends in {:?}", started.elapsed());
    let ledger = Ledger::read(folder.path());
    assert_eq!(ledger.acknowledged.len() as u64, PROCESSES * 100);
    let found = Found::read(&folder.path().join(FILE)).expect("the file is sound");
    for id in &ledger.acknowledged {
        assert_eq!(found.values.get(id.as_bytes()), Some(&stored(*id)), "{id} was acknowledged");
    }
    assert_eq!(found.values.len() as u64, PROCESSES * 101, "the messages and their conversations, nothing else");
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join(FILE))).expect("opens");
    let report = runtime().block_on(store.verify()).expect("verify runs");
    assert!(report.is_sound(), "{:?}", report.problems);
}

#[test]
fn a_tail_sees_the_commits_of_another_process_within_a_second() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join(FILE))).expect("opens");
    let mut child = Child::start(Role::Echo, folder.path(), 0);
    let mut asks = child.0.stdin.take().expect("piped");
    let mut answers = BufReader::new(child.0.stderr.take().expect("piped")).lines();
    let mut slowest = Duration::ZERO;
    runtime().block_on(async {
        let mut watch = store.watch_position();
        for _ in 0..20 {
            writeln!(asks, "go on").expect("the child reads");
            let position: i64 = loop {
                let line = answers.next().expect("the child answers").expect("text");
                if let Ok(position) = line.trim().parse() {
                    break position;
                }
            };
            let answered = Instant::now();
            let seen = watch.wait_for(|seen| *seen >= position);
            tokio::time::timeout(Duration::from_secs(1), seen).await.expect("within a second").expect("open");
            slowest = slowest.max(answered.elapsed());
            let entries = journal(&store, position - 1, 10).await;
            assert_eq!(
                entries.first().map(|entry| (entry.position, entry.kind)),
                Some((position, JournalKind::MessagesAppended))
            );
        }
    });
    println!("the slowest took {slowest:?}");
}
