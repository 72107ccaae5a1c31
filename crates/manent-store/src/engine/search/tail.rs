//! The tail: what came since the index last looked, and what waits to be indexed. It is looked through as it is.

use super::super::connection::{Connection, maybe, one, rows};
use super::super::fault::Outcome;
use super::super::read::Reading;
use super::feed::{self, CURSOR, Cursor};
use super::{DocKey, DocKind, Entry, docs};
use crate::search::Reach;
use manent_model::{Address, Range};
use std::collections::HashSet;

/// So many messages are looked through; the index hurries when more wait.
pub(crate) const TAIL_MAX: usize = 20_000;

/// What is not in the index.
pub(crate) struct Tail {
    /// The oldest first, so that the newest is taken from the end.
    pub entries: Vec<Entry>,
    /// What of it an older version may be in the index.
    pub keys: HashSet<DocKey>,
    pub reach: Reach,
    /// The index is one of this store, as it is now.
    pub is_ours: bool,
}

/// Says how far the index reaches, and how many messages wait behind that.
pub(crate) fn cursor(reading: &Reading<'_>) -> Outcome<(Cursor, i64)> {
    let sql = "select value from search_cursor where name = $1";
    let (found, waiting): (Option<Vec<u8>>, i64) = match (reading.connection, reading.index) {
        (Connection::Sqlite(_), None) => (None, 0),
        (Connection::Sqlite(_), Some(index)) => {
            let waiting = one(index, "select count(*) from todo", (), |row| row.get(0))?;
            (maybe(index, sql, [CURSOR], |row| row.get(0))?, waiting)
        }
        (Connection::Postgres(_), _) => (maybe(reading.connection, sql, [CURSOR], |row| row.get(0))?, 0),
    };
    Ok((found.and_then(|bytes| Cursor::decode(&bytes)).unwrap_or_default(), waiting))
}

/// Reads what is not in the index, up to a bound.
pub(crate) fn tail(reading: &mut Reading<'_>) -> Outcome<Tail> {
    let (mut at, mut waiting) = cursor(reading)?;
    let is_ours = feed::is_ours(reading, at)?;
    if !is_ours {
        (at, waiting) = (Cursor::default(), 0);
    }
    let mut reach = Reach {
        position: at.position,
        last: feed::last_position(reading)?,
        waiting,
        complete: waiting <= TAIL_MAX as i64,
    };
    let mut entries = Vec::new();
    if is_ours {
        entries.extend(todo(reading)?);
        entries.extend(unsure(reading)?);
    }
    while reach.position < reach.last && entries.len() < TAIL_MAX {
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
    let thoughts: Vec<Entry> = entries
        .iter()
        .filter(|entry| entry.key.kind() == DocKind::Message)
        .map(|entry| Entry { key: DocKey::new(DocKind::Reasoning, entry.key.no()), ..*entry })
        .collect();
    entries.extend(thoughts);
    entries.sort_unstable();
    entries.dedup();
    let keys = entries.iter().map(|entry| entry.key).collect();
    Ok(Tail { entries, keys, reach, is_ours })
}

/// Reads what was taken out of the index of a file for a deletion that may not have come to pass.
fn unsure(reading: &mut Reading<'_>) -> Outcome<Vec<Entry>> {
    let (Connection::Sqlite(_), Some(index)) = (reading.connection, reading.index) else { return Ok(Vec::new()) };
    let keys: Vec<i64> = rows(index, "select key from unsure limit $1", [TAIL_MAX as i64], |row| row.get(0))?;
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

/// Reads what waits in a file, the newest of it.
fn todo(reading: &Reading<'_>) -> Outcome<Vec<Entry>> {
    let (Connection::Sqlite(_), Some(index)) = (reading.connection, reading.index) else { return Ok(Vec::new()) };
    let sql = "select at, arrival, key from todo order by at desc, arrival desc, key desc limit $1";
    let read = |row: &super::super::connection::Found<'_>| {
        Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
    };
    Ok(rows(index, sql, [TAIL_MAX as i64], read)?)
}
