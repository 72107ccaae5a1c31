//! Durability: what was answered is there, whatever happens to the machine. The SQLite engine; [`postgres`] is the
//! other.
//!
//! Every random choice comes from a seed that is printed. These variables change a run:
//! - `MANENT_SEED`: the seed, to see a failure again.
//! - `MANENT_STATES`: how many crash states are laid out and read back (10,000).
//! - `MANENT_FAULTS`: at least how many faults a running store meets (2,000), beside those while a file is opened.
//! - `MANENT_CYCLES`: how often a process is killed (300).
//! - `MANENT_ERASED`: how many words are erased from an index at once (2,000).
//! - `MANENT_FLIPS`: how many copies of a file get one flipped byte (200).
//! - `MANENT_NOT_RUN`: a file that gets a line for each test that the machine cannot run.
//! - `CI`: when it is `true`, a test that the machine cannot run fails instead of saying so.

mod child;
mod found;
mod crash;
mod faults;
mod kill;
mod processes;
mod store_runtime;
mod disk_full;
mod flip;
mod columns;
mod damage;
mod erase;
mod index;
mod backup;
mod migrate;
mod wal;
mod participants;
mod writers;
mod postgres;

use manent_model::*;
use manent_store::sqlite::SqliteStore;
use manent_store::*;
use std::sync::Arc;
use tempfile::TempDir;

/// Returns the seed of this run and prints it.
fn seed() -> u64 {
    let seed = std::env::var("MANENT_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a number"));
    println!("MANENT_SEED={seed}");
    seed
}

/// Returns a number that the environment may change.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

/// Makes a folder; in memory where there is such a place, since these tests cut the power themselves.
fn fast_folder() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()),
        false => tempfile::tempdir(),
    }
    .expect("a temporary folder")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// What `rows_of_schema_9.sql` holds.
struct OlderRows {
    conversation: ConversationId,
    messages: [MessageId; 2],
}

/// Puts the rows of a small store, as an older program wrote them, into a file whose tables are empty. This program
/// writes columns that older schemas do not have.
fn put_older_rows(connection: &rusqlite::Connection) -> OlderRows {
    connection.execute_batch("pragma synchronous = full; begin immediate").expect("the file takes writes");
    connection
        .execute_batch(include_str!("../../data/rows_of_schema_9.sql"))
        .expect("every older schema has the columns");
    connection.execute_batch("commit").expect("the file takes writes");
    let ids = |sql: &str| -> Vec<[u8; 16]> {
        let mut statement = connection.prepare(sql).expect("a statement");
        let found = statement.query_map([], |row| row.get(0)).expect("rows");
        found.map(|row| row.expect("a row")).collect()
    };
    let messages = ids("select id from message order by key");
    OlderRows {
        conversation: ConversationId::from_bytes(ids("select id from conversation")[0]),
        messages: [MessageId::from_bytes(messages[0]), MessageId::from_bytes(messages[1])],
    }
}

/// A unique text that is sometimes long.
fn text(rng: &mut fastrand::Rng, name: impl std::fmt::Display) -> String {
    let words = match rng.u8(..10) {
        0 => 400 + rng.usize(..1_500),
        1..4 => 20 + rng.usize(..100),
        _ => 1 + rng.usize(..8),
    };
    format!("{name} ").repeat(words)
}

/// Closes a store that others may still hold.
async fn close(store: Arc<SqliteStore>) {
    store.close().await.expect("a store can be closed");
}

/// Returns the body of a message of one text, as the file holds it.
fn body_of(text: &str) -> String {
    Body::of(&[Part::text(text)]).text().to_owned()
}
