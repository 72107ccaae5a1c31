//! LMDB as the baseline of reads: a memory-mapped B-tree with almost no overhead per row.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions};

use crate::corpus::Corpus;
use crate::drive;
use crate::measure::{LAST, Measure};
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name by which goals refer to it.
pub const NAME: &str = "LMDB";

// Address space, not disk: the map must only be larger than the corpus will ever be.
const MAP_BYTES: usize = 16 * 1024 * 1024 * 1024;

type Rows = Database<'static, Bytes, Bytes>;

/// The corpus in an LMDB database.
pub struct Lmdb {
    environment: Env,
    rows: Rows,
    corpus: Corpus,
}

impl Lmdb {
    /// Loads the corpus, one durable transaction per conversation, and reads everything once.
    pub fn load(directory: &Path, corpus: &Corpus) -> Result<Lmdb> {
        eprintln!("loading {} x {} messages into LMDB", corpus.conversations, corpus.messages);
        let environment = open(&directory.join("lmdb"))?;
        let rows = create_rows(&environment).context("creating the LMDB database")?;
        let lmdb = Lmdb { environment, rows, corpus: corpus.clone() };
        for conversation in 0..corpus.conversations {
            lmdb.insert(conversation).with_context(|| format!("loading conversation {conversation}"))?;
        }
        for conversation in 0..corpus.conversations {
            let read = lmdb.newest(conversation, usize::MAX)?.len();
            ensure!(read as u64 == corpus.messages, "conversation {conversation} holds {read} messages");
        }
        Ok(lmdb)
    }

    fn insert(&self, conversation: u64) -> heed::Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for message in self.corpus.conversation(conversation) {
            self.rows.put(&mut transaction, &key(conversation, message.sequence), &message.to_json())?;
        }
        transaction.commit()
    }

    /// Returns the newest rows first; owned, because a caller outlives the transaction.
    fn newest(&self, conversation: u64, count: usize) -> heed::Result<Vec<Vec<u8>>> {
        let transaction = self.environment.read_txn()?;
        let rows = self.rows.rev_prefix_iter(&transaction, &conversation.to_be_bytes())?;
        rows.take(count).map(|row| row.map(|(_, value)| value.to_vec())).collect()
    }

    fn read(&self, count: usize, window: Duration) -> Result<Summary> {
        drive::random_conversations(window, self.corpus.conversations, |conversation| {
            black_box(self.newest(conversation, count)?);
            Ok(())
        })
    }
}

impl Subject for Lmdb {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Yardstick
    }

    fn description(&self) -> String {
        let Corpus { conversations, messages, .. } = &self.corpus;
        format!(
            "through heed 0.23: {conversations} conversations of {messages} messages, key (conversation, sequence), \
             value JSON; warm, rows copied out as bytes"
        )
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        match measure {
            Measure::LastMessages => Some(self.read(LAST, window)),
            Measure::WholeConversation => Some(self.read(usize::MAX, window)),
            _ => None,
        }
    }
}

#[expect(unsafe_code, reason = "a memory map is only sound while no other process changes the file")]
fn open(directory: &Path) -> Result<Env> {
    std::fs::create_dir_all(directory).context("creating the LMDB folder")?;
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // SAFETY: the folder was just made inside this run's own temporary folder; no other program knows it.
    unsafe { options.open(directory) }.context("opening LMDB")
}

fn create_rows(environment: &Env) -> heed::Result<Rows> {
    let transaction = environment.write_txn()?;
    let created = environment.create_databases_and_commit(transaction, |opener, transaction| {
        opener.create_database(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
    })?;
    Ok(created.unwrap_commit())
}

/// Orders rows by conversation, then by sequence: big endian compares like the numbers do.
fn key(conversation: u64, sequence: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&conversation.to_be_bytes());
    key[8..].copy_from_slice(&sequence.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Message, SEED};

    #[test]
    fn the_last_messages_come_newest_first() {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let corpus = Corpus::new(SEED, 3, 60);
        let lmdb = Lmdb::load(directory.path(), &corpus).expect("loaded");
        let mut expected: Vec<Vec<u8>> = corpus.conversation(1).map(|message: Message| message.to_json()).collect();
        expected.reverse();
        assert_eq!(lmdb.newest(1, LAST).expect("read"), expected[..LAST]);
        assert_eq!(lmdb.newest(1, usize::MAX).expect("read"), expected);
    }
}
