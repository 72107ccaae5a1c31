//! Indexer thread: fills the token table from the journal, in batches, at the lowest priority.
//!
//! Several processes on one database take turns by locking the row with the cursor of the index.

use super::Shared;
use super::client::Client;
use super::migrate::connect;
use super::options::PostgresOptions;
use crate::api::error::Result;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::read::Reading;
use crate::engine::search::feed::{self, CURSOR, FeedCursor};
use crate::engine::search::indexing::IndexRound;
use crate::engine::search::{Doc, DocKey, DocKind, docs};
use crate::engine::sql::connection::{DbResult, execute, query_optional};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::statistics;
use manent_model::DigestKey;

/// Maximum bytes of tokens in one row; PostgreSQL's own limit is below one MiB.
const ROW_BYTES: usize = 256 << 10;

/// The connection of the thread.
pub(super) struct IndexerState {
    client: Client,
    caches: RowCache,
    key: DigestKey,
}

impl IndexerState {
    pub(super) fn open(options: &PostgresOptions, key: &DigestKey) -> Result<Self> {
        Ok(Self { client: connect(options)?, caches: RowCache::default(), key: key.clone() })
    }

    /// Indexes some of the changes after the cursor.
    pub(super) fn round(&mut self, rebuild: bool) -> Result<IndexRound> {
        let outcome = self.work(rebuild);
        if outcome.is_err() {
            self.client.roll_back();
        }
        outcome.map_err(|fault| fault.into_store_error("indexing"))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn work(&mut self, rebuild: bool) -> TxResult<IndexRound> {
        let client = &self.client;
        let mut reading =
            Reading { connection: client.into(), caches: &mut self.caches, key: &self.key, index: None, damaged: None };
        // Most of the time there is nothing to do, and nothing is written then.
        client.begin_reading()?;
        let sql = "select value from search_cursor where name = $1";
        let found: Option<Vec<u8>> = query_optional(client, sql, [CURSOR], |row| row.get(0))?;
        let looked = found.and_then(|bytes| FeedCursor::decode(&bytes)).filter(|_| !rebuild);
        if let Some(cursor) = looked
            && feed::is_same_journal(&reading, cursor)?
            && feed::after(&reading, cursor)?.is_none()
        {
            client.end_reading();
            return Ok(IndexRound::Idle(cursor.position));
        }
        client.end_reading();
        client.begin()?;
        let sql = "select value from search_cursor where name = $1 for update";
        let found: Option<Vec<u8>> = query_optional(client, sql, [CURSOR], |row| row.get(0))?;
        if found.is_none() {
            // A store without counters is being destroyed: its remaining rows must not be indexed again.
            let sql = "select next from counter where name = $1";
            let is_there = query_optional(client, sql, ["journal"], |row| row.get::<i64>(0))?.is_some();
            if !is_there {
                client.run("commit")?;
                return Ok(IndexRound::Idle(0));
            }
            // Two that begin at once meet here; the second finds the row when it looks again.
            let sql = "insert into search_cursor (name, value) values ($1, $2) on conflict (name) do nothing";
            execute(client, sql, (CURSOR, FeedCursor::default().encode()))?;
            client.run("commit")?;
            return Ok(IndexRound::More { position: 0, waiting: 0, rest: false });
        }
        let known = found.and_then(|bytes| FeedCursor::decode(&bytes)).filter(|_| !rebuild);
        let cursor = match known {
            Some(cursor) if feed::is_same_journal(&reading, cursor)? => cursor,
            _ => {
                execute(client, "delete from search_doc where key = key", ())?;
                statistics::clear(client.into())?;
                FeedCursor::default()
            }
        };
        let Some(feed) = feed::after(&reading, cursor)? else {
            set_cursor(client, cursor)?;
            client.run("commit")?;
            return Ok(IndexRound::Idle(cursor.position));
        };
        for doc in feed::message_docs(&mut reading, &feed.messages)? {
            replace(client, doc.entry.key, Some(&doc))?;
        }
        for no in &feed.conversations {
            let doc = docs::of_conversation(&mut reading, *no)?;
            replace(client, DocKey::new(DocKind::Conversation, *no), doc.as_ref())?;
        }
        for conversation in &feed.folded {
            for no in feed::folds_of(&reading, *conversation)? {
                let doc = docs::fold(&mut reading, no)?.map(|row| docs::of_fold(no, &row));
                replace(client, DocKey::new(DocKind::Fold, no), doc.as_ref())?;
            }
        }
        let cursor = feed.cursor;
        statistics::update(client.into(), &mut reading, feed.counts)?;
        set_cursor(client, cursor)?;
        client.run("commit")?;
        Ok(IndexRound::More { position: cursor.position, waiting: 0, rest: false })
    }
}

fn set_cursor(client: &Client, cursor: FeedCursor) -> DbResult<()> {
    execute(client, "update search_cursor set value = $1 where name = $2", (cursor.encode(), CURSOR))
}

fn replace(client: &Client, key: DocKey, doc: Option<&Doc>) -> DbResult<()> {
    execute(client, "delete from search_doc where key = $1", [key.0])?;
    let Some(doc) = doc else { return Ok(()) };
    let sql = "insert into search_doc (key, part, parts, at, arrival, tokens)
         values ($1, $2, $3, $4, $5, array_to_tsvector(string_to_array($6, ' ')))";
    let (entry, parts) = (doc.entry, parts(&doc.tokens));
    let count = parts.len() as i64;
    for (part, tokens) in parts.into_iter().enumerate() {
        let tokens = match count {
            1 => tokens.to_owned(),
            _ => format!("{tokens} {}", docs::SPLIT),
        };
        execute(client, sql, (key.0, part as i64, count, entry.at, entry.arrival, tokens))?;
    }
    Ok(())
}

/// Cuts tokens into parts that a row holds.
fn parts(tokens: &str) -> Vec<&str> {
    let (mut rest, mut parts) = (tokens, Vec::new());
    while rest.len() > ROW_BYTES {
        let cut = rest.as_bytes()[..ROW_BYTES].iter().rposition(|byte| *byte == b' ').unwrap_or(rest.len());
        let (part, behind) = rest.split_at(cut);
        parts.push(part);
        rest = behind.trim_start_matches(' ');
    }
    parts.push(rest);
    parts
}

/// The main loop of the thread.
pub(super) fn serve(shared: &Shared, options: &PostgresOptions) {
    let mut work: Option<IndexerState> = None;
    shared.indexing.serve(|rebuild| {
        let mut now = match work.take().filter(|work| !work.is_closed()) {
            Some(work) => work,
            None => IndexerState::open(options, &shared.key)?,
        };
        let round = now.round(rebuild)?;
        work = Some(now);
        Ok(Some(round))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_cut_between_them() {
        let tokens: Vec<String> = (0..100_000).map(|number| format!("token{number}")).collect();
        let joined = tokens.join(" ");
        let parts = parts(&joined);
        assert!(parts.len() > 2 && parts.iter().all(|part| part.len() <= ROW_BYTES));
        assert_eq!(parts.join(" "), joined);
    }
}
