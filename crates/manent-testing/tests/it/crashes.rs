//! What SQLite promises about power cuts, and what it does not, must both be seen in the crash states.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use manent_testing::Recording;
use tempfile::TempDir;

use crate::workload::{self, insert, open, prepare, read_back};

const COMMITS: i64 = 300;
const STATES: usize = 600;

#[test]
fn wal_full_loses_nothing() {
    let verdict = cut_power(&record("wal", "full"));
    assert_eq!(verdict.corrupt, 0);
    assert_eq!(verdict.lossy, 0);
}

#[test]
fn wal_normal_loses_acknowledged_rows_but_corrupts_nothing() {
    let verdict = cut_power(&record("wal", "normal"));
    assert_eq!(verdict.corrupt, 0);
    assert!(verdict.lossy > 0);
    assert!(verdict.torn > 0);
    assert!(verdict.lost_max > 1, "everything since the last checkpoint may go, not just one commit");
}

#[test]
fn wal_off_corrupts() {
    let verdict = cut_power(&record("wal", "off"));
    assert!(verdict.corrupt > 0);
}

#[test]
fn delete_full_loses_the_last_commit_only() {
    let verdict = cut_power(&record("delete", "full"));
    assert_eq!(verdict.corrupt, 0);
    assert!(verdict.lossy > 0, "the deletion of the journal is not synced, so it can come back");
    assert_eq!(verdict.lost_max, 1);
}

#[test]
fn delete_extra_loses_nothing() {
    let verdict = cut_power(&record("delete", "extra"));
    assert_eq!(verdict.corrupt, 0);
    assert_eq!(verdict.lossy, 0);
}

#[test]
fn many_threads_on_one_file_lose_nothing() {
    let directory = TempDir::new().expect("a temporary directory");
    let recording = Recording::install();
    prepare(&open(directory.path(), recording.name()).expect("opens"), "wal", "full").expect("prepares");
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (directory, recording, acknowledged) = (directory.path(), &recording, &acknowledged);
            scope.spawn(move || {
                let connection = open(directory, recording.name()).expect("opens");
                prepare(&connection, "wal", "full").expect("prepares");
                for count in 0..50 {
                    let id = thread * 1000 + count;
                    insert(&connection, id).expect("commits");
                    let mark = recording.mark();
                    acknowledged.lock().expect("no thread panics").push((id, mark));
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().expect("no thread panics");
    let verdict = cut_power(&Recorded { recording, acknowledged, _directory: directory });
    assert_eq!(verdict.corrupt, 0);
    assert_eq!(verdict.lossy, 0);
}

#[test]
fn the_same_seed_gives_the_same_state() {
    let recorded = record("wal", "normal");
    let crash_point = recorded.recording.log_len() / 2;
    let states = [(); 2].map(|()| {
        let directory = TempDir::new().expect("a temporary directory");
        let mut rng = fastrand::Rng::with_seed(7);
        let state = recorded.recording.crash_state(crash_point, &mut rng, directory.path()).expect("lays out");
        let file = |suffix| std::fs::read(directory.path().join(format!("{}{suffix}", workload::FILE))).ok();
        (state, file(""), file("-wal"))
    });
    assert!(states[0] == states[1]);
}

#[test]
fn a_database_from_before_the_recording_counts_as_synced() {
    let directory = TempDir::new().expect("a temporary directory");
    let connection = workload::reopen(directory.path());
    prepare(&connection, "wal", "off").expect("prepares");
    insert(&connection, 1).expect("commits");
    drop(connection);
    let recording = Recording::install();
    let connection = open(directory.path(), recording.name()).expect("opens");
    prepare(&connection, "wal", "full").expect("prepares");
    let mut acknowledged = vec![(1, 0)];
    for id in 2..40 {
        insert(&connection, id).expect("commits");
        acknowledged.push((id, recording.mark()));
    }
    let verdict = cut_power(&Recorded { recording, acknowledged, _directory: directory });
    assert_eq!(verdict.corrupt, 0);
    assert_eq!(verdict.lossy, 0);
}

#[test]
fn a_connection_outlives_the_handle_and_the_name_does_not() {
    let directory = TempDir::new().expect("a temporary directory");
    let recording = Recording::install();
    let name = recording.name().to_owned();
    let connection = open(directory.path(), &name).expect("opens");
    drop(recording);
    prepare(&connection, "wal", "full").expect("prepares");
    insert(&connection, 1).expect("commits");
    drop(connection);
    assert!(open(directory.path(), &name).is_err());
    assert_eq!(read_back(directory.path()).ids, [1]);
}

/// A workload that ran, and when its commits were acknowledged.
struct Recorded {
    recording: Arc<Recording>,
    acknowledged: Vec<(i64, usize)>,
    _directory: TempDir,
}

/// Runs the workload; the connection is closed and opened again half way, which deletes and makes the WAL anew.
fn record(journal: &str, synchronous: &str) -> Recorded {
    let directory = TempDir::new().expect("a temporary directory");
    let recording = Recording::install();
    let mut acknowledged = Vec::new();
    for ids in [0..COMMITS / 2, COMMITS / 2..COMMITS] {
        let connection = open(directory.path(), recording.name()).expect("opens");
        prepare(&connection, journal, synchronous).expect("prepares");
        for id in ids {
            insert(&connection, id).expect("commits");
            acknowledged.push((id, recording.mark()));
        }
    }
    Recorded { recording, acknowledged, _directory: directory }
}

/// What was found in many crash states.
#[derive(Debug, Default)]
struct Verdict {
    corrupt: usize,
    /// States that lack acknowledged rows, and the most that one of them lacks.
    lossy: usize,
    lost_max: usize,
    /// Writes that were torn, in all states.
    torn: usize,
}

/// Lays out many random crash states and reads each back. The seed is printed, to repeat a failure with it.
fn cut_power(recorded: &Recorded) -> Verdict {
    let seed = std::env::var("MANENT_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a number"));
    let mut rng = fastrand::Rng::with_seed(seed);
    let directory = TempDir::new().expect("a temporary directory");
    let log_len = recorded.recording.log_len();
    let mut verdict = Verdict::default();
    let mut laying_out = Duration::ZERO;
    for _ in 0..STATES {
        let crash_point = rng.usize(..=log_len);
        let start = Instant::now();
        let state = recorded.recording.crash_state(crash_point, &mut rng, directory.path()).expect("lays out");
        laying_out += start.elapsed();
        let contents = read_back(directory.path());
        let acknowledged = recorded.acknowledged.iter().filter(|(_, mark)| *mark <= crash_point);
        let lost = acknowledged.filter(|(id, _)| contents.ids.binary_search(id).is_err()).count();
        if contents.integrity != "ok" {
            let complaint = contents.integrity.lines().nth(1).unwrap_or(&contents.integrity);
            println!("corrupt at {crash_point} of {log_len}, {state:?}: {complaint}");
            verdict.corrupt += 1;
        }
        verdict.torn += state.torn;
        verdict.lossy += usize::from(lost > 0);
        verdict.lost_max = verdict.lost_max.max(lost);
    }
    println!("MANENT_SEED={seed}: {STATES} states of {log_len} operations, laid out in {laying_out:?}: {verdict:?}");
    verdict
}
