//! Unindexed tail: changes behind the cursor of the index, pending messages, and open streams, whose text still grows.
//! They are searched without the index.

use super::super::read::Reading;
use super::feed::{self, CURSOR, FeedCursor};
use super::{DocKey, DocKind, Entry, docs};
use crate::api::search::Coverage;
use crate::api::transaction::Position;
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::sql::connection::{Connection, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, Range};
use std::collections::HashSet;
use std::time::Instant;

/// Maximum number of messages in the tail; the index is woken when more wait.
pub(crate) const UNINDEXED_MAX: usize = 20_000;

/// Maximum number of open streams in the tail. Each is read by itself, so a search in a store with thousands of them
/// would be slow.
const STREAMS_MAX: usize = 100;

/// The entries that are not in the index.
pub(crate) struct UnindexedTail {
    /// The oldest first, so that the newest is taken from the end.
    pub entries: Vec<Entry>,
    /// The keys of entries with older versions that may be in the index.
    pub keys: HashSet<DocKey>,
    pub coverage: Coverage,
    /// The index is one of this store, as it is now.
    pub is_same_journal: bool,
    /// Time ran out before all of it was read.
    pub timed_out: bool,
}

/// The state of an index.
struct IndexState {
    cursor: FeedCursor,
    /// How many messages wait to be indexed.
    waiting: i64,
    has_unsure: bool,
}

/// Says how far the index reaches, and how many messages wait behind that.
pub(crate) fn cursor(reading: &Reading<'_>) -> TxResult<(FeedCursor, i64)> {
    index_state(reading).map(|known| (known.cursor, known.waiting))
}

fn index_state(reading: &Reading<'_>) -> TxResult<IndexState> {
    let (found, waiting, has_unsure): (Option<Vec<u8>>, i64, bool) = match (reading.connection, reading.index) {
        (Connection::Sqlite(_), None) => (None, 0, false),
        (Connection::Sqlite(_), Some(index)) => {
            let sql = "select
                 (select value from search_cursor where name = $1),
                 (select count(*) from todo),
                 exists (select 1 from unsure)";
            query_one(index, sql, [CURSOR], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        }
        (Connection::Postgres(_), _) => {
            let sql = "select value from search_cursor where name = $1";
            (query_optional(reading.connection, sql, [CURSOR], |row| row.get(0))?, 0, false)
        }
    };
    let cursor = found.and_then(|bytes| FeedCursor::decode(&bytes)).unwrap_or_default();
    Ok(IndexState { cursor, waiting, has_unsure })
}

/// Returns the last position of the store, and whether a cursor is one of this store.
fn compared(reading: &Reading<'_>, cursor: FeedCursor) -> TxResult<(Position, bool)> {
    let sql = "select pos, count, digest from journal order by pos desc limit 1";
    let last: Option<(Position, i64, [u8; 16])> =
        query_optional(reading.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let is_ours = match last {
        // An index that has come to the end is known by the same row.
        Some((row, _, digest)) if cursor.position > 0 && cursor.row == row => digest == cursor.digest.0,
        _ => feed::is_same_journal(reading, cursor)?,
    };
    Ok((last.map_or(0, |(row, count, _)| row + count - 1), is_ours))
}

/// Reads the unindexed entries, up to a count and a deadline.
pub(crate) fn read(reading: &mut Reading<'_>, until: Instant) -> TxResult<UnindexedTail> {
    let IndexState { cursor: mut at, mut waiting, has_unsure } = index_state(reading)?;
    let (last, is_ours) = compared(reading, at)?;
    if !is_ours {
        (at, waiting) = (FeedCursor::default(), 0);
    }
    let mut reach = Coverage { position: at.position, last, waiting, complete: waiting <= UNINDEXED_MAX as i64 };
    let mut cut_short = false;
    let mut entries = Vec::new();
    if is_ours && waiting > 0 {
        entries.extend(unindexed_entries(reading)?);
    }
    if is_ours && has_unsure {
        entries.extend(pending_deletes(reading)?);
    }
    while at.position < reach.last && entries.len() < UNINDEXED_MAX {
        cut_short = Instant::now() > until;
        if cut_short {
            break;
        }
        let Some(found) = feed::after(reading, at)? else { break };
        entries.extend(feed::entries(reading, &found.messages)?);
        for no in found.conversations {
            if let Some(doc) = docs::of_conversation(reading, no)? {
                entries.push(doc.entry);
            }
        }
        for conversation in found.folded {
            for no in feed::folds_of(reading, conversation)? {
                if let Some(fold) = docs::fold(reading, no)? {
                    entries.push(docs::of_fold(no, &fold).entry);
                }
            }
        }
        at = found.cursor;
        reach.waiting += found.messages.iter().map(|run| run.len() as i64).sum::<i64>();
    }
    reach.complete &= at.position >= reach.last;
    let streams = open_streams(reading)?;
    reach.complete &= streams.len() <= STREAMS_MAX;
    entries.extend(streams.into_iter().take(STREAMS_MAX));
    let thoughts: Vec<Entry> = entries
        .iter()
        .filter(|entry| entry.key.kind() == DocKind::Message)
        .map(|entry| Entry { key: DocKey::new(DocKind::Reasoning, entry.key.no()), ..*entry })
        .collect();
    entries.extend(thoughts);
    entries.sort_unstable();
    entries.dedup();
    let keys = entries.iter().map(|entry| entry.key).collect();
    Ok(UnindexedTail { entries, keys, coverage: reach, is_same_journal: is_ours, timed_out: cut_short })
}

/// Reads the entries that were removed from the index of a file for a deletion that may not have committed.
fn pending_deletes(reading: &mut Reading<'_>) -> TxResult<Vec<Entry>> {
    let (Connection::Sqlite(_), Some(index)) = (reading.connection, reading.index) else { return Ok(Vec::new()) };
    let keys: Vec<i64> = query_all(index, "select key from unsure limit $1", [UNINDEXED_MAX as i64], |row| row.get(0))?;
    let mut entries = Vec::new();
    for key in keys.into_iter().map(DocKey) {
        match key.kind() {
            DocKind::Message => entries.extend(feed::entries(reading, &[Range::one(Address(key.no()))])?),
            DocKind::Reasoning => {}
            DocKind::Conversation => entries.extend(docs::of_conversation(reading, key.no())?.map(|doc| doc.entry)),
            DocKind::Fold => {
                let fold = docs::fold(reading, key.no())?;
                entries.extend(fold.map(|fold| docs::of_fold(key.no(), &fold).entry));
            }
        }
    }
    Ok(entries)
}

/// Reads the open streams with the latest chunks, one more than the maximum, if there are that many.
fn open_streams(reading: &Reading<'_>) -> TxResult<Vec<Entry>> {
    let sql = "select m.key, m.arrival, m.facts
         from (select key, renewed_at from stream order by renewed_at desc, key desc limit $1) s
         join message m on m.key = s.key
         order by s.renewed_at desc, s.key desc";
    let found: Vec<(i64, i64, Vec<u8>)> = query_all(reading.connection, sql, [STREAMS_MAX as i64 + 1], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let entry = |(key, arrival, facts): (i64, i64, Vec<u8>)| {
        let at = MessageHeader::decode(&facts)?.at;
        Some(Entry { at, arrival, key: DocKey::new(DocKind::Message, key) })
    };
    Ok(found.into_iter().filter_map(entry).collect())
}

/// Reads the pending documents of a file, the newest of them.
fn unindexed_entries(reading: &Reading<'_>) -> TxResult<Vec<Entry>> {
    let (Connection::Sqlite(_), Some(index)) = (reading.connection, reading.index) else { return Ok(Vec::new()) };
    let sql = "select at, arrival, key from todo order by at desc, arrival desc, key desc limit $1";
    let read = |row: &crate::engine::sql::connection::Row<'_>| {
        Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
    };
    Ok(query_all(index, sql, [UNINDEXED_MAX as i64], read)?)
}
