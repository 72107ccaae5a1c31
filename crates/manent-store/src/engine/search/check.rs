//! Index check: compares the index with the store, in both directions.

use super::super::read::Reading;
use super::super::read::message::read_row;
use super::super::statistics;
use super::feed::{self, FeedCursor};
use super::segment_table::{NUMBERS, SEGMENT_TABLES, columns_of, for_each_slot, number_of, segment_table_of};
use super::{Doc, DocKey, DocKind, docs, unindexed};
use crate::api::error::StoreError;
use crate::api::transaction::Position;
use crate::engine::codec::disk_codes::Kind;
use crate::engine::sql::connection::{
    Connection, begin_reading, end_reading, for_each_row, next_page_start, query_all, query_one, query_optional,
};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::Address;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Messages that are checked in one read.
const PAGE: i64 = 500;

/// Rows of a file are compared in groups of this many.
const GROUP: i64 = 256;

/// More than this says nothing new.
const WRONG_MAX: usize = 20;

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct CheckReport {
    /// How many rows are as they should be.
    pub rows: i64,
    /// Problems that were found.
    pub wrong: Vec<String>,
}

/// Expected contents of the segment tables: a sum over the tokens of each group of rows, independent of their order.
#[derive(Default)]
struct Sums([Vec<u64>; SEGMENT_TABLES]);

impl Sums {
    fn add(&mut self, slot: i64, no: i64, token: &str) {
        let (Some(sums), Ok(group)) = (self.0.get_mut(slot as usize), usize::try_from(no / GROUP)) else { return };
        if sums.len() <= group {
            sums.resize(group + 1, 0);
        }
        let mut hasher = DefaultHasher::new();
        (no, token).hash(&mut hasher);
        sums[group] ^= hasher.finish();
    }

    fn of(&self, slot: usize, group: usize) -> u64 {
        self.0[slot].get(group).copied().unwrap_or(0)
    }
}

for_each_slot! {
    SPOKEN = "select term, doc from temp.spokenSLOT";
}

/// Compares the index with the store. Concurrent changes are not reported as problems.
pub(crate) fn check(reading: &mut Reading<'_>) -> TxResult<CheckReport> {
    let index = reading.index;
    let outcome = IndexChecker::new(reading).and_then(IndexChecker::run);
    if let Some(index) = index {
        end_reading(index.into());
    }
    outcome
}

struct IndexChecker<'a, 'r> {
    reading: &'a mut Reading<'r>,
    /// The cursor of the index.
    cursor: FeedCursor,
    /// The last position of the store when the check began.
    last: Position,
    /// Pending or later changes: these may be missing.
    pending: HashSet<DocKey>,
    /// The index of a file as it was first seen.
    version: i64,
    sums: Sums,
    rows: i64,
    wrong: Vec<String>,
}

impl<'a, 'r> IndexChecker<'a, 'r> {
    fn new(reading: &'a mut Reading<'r>) -> TxResult<Self> {
        begin(reading)?;
        let version = version(reading)?;
        let (cursor, _) = unindexed::cursor(reading)?;
        let (last, pending, sums) = (feed::last_position(reading)?, HashSet::new(), Sums::default());
        Ok(Self { reading, cursor, last, pending, version, sums, rows: 0, wrong: Vec::new() })
    }

    fn run(mut self) -> TxResult<CheckReport> {
        let outcome = self.check_next();
        end_reading(self.reading.connection);
        outcome?;
        Ok(CheckReport { rows: self.rows, wrong: self.wrong })
    }

    /// Lets writers and checkpoints pass between two pages, those of the index too: an erasure waits for them.
    fn reopen(&self) -> TxResult<()> {
        end_reading(self.reading.connection);
        if let Some(index) = self.reading.index {
            end_reading(index.into());
        }
        begin(self.reading)
    }

    fn check_next(&mut self) -> TxResult<()> {
        if !feed::is_same_journal(self.reading, self.cursor)? {
            self.wrong.push("it belongs to another store, or to an earlier time of this one".to_owned());
            return Ok(());
        }
        self.pending()?;
        let destroyed = self.destroyed()?;
        self.messages()?;
        self.others("select no from conversation where no > $1 order by no limit $2", DocKind::Conversation)?;
        self.others("select no from fold where no > $1 order by no limit $2", DocKind::Fold)?;
        self.statistics()?;
        // Rows that were added or removed meanwhile change the sums of their group; then only missing rows are
        // reported.
        let is_same = version(self.reading)? == self.version;
        if is_same && self.wrong.is_empty() && destroyed == self.destroyed()? && destroyed == 0 {
            self.compare()?;
        }
        Ok(())
    }

    /// Collects the documents that may be missing.
    fn pending(&mut self) -> TxResult<()> {
        let mut at = self.cursor;
        while let Some(found) = feed::after(self.reading, at)? {
            for run in &found.messages {
                for key in run.from.0..=run.to.0 {
                    self.pending.insert(DocKey::new(DocKind::Message, key));
                }
            }
            self.pending.extend(found.conversations.iter().map(|no| DocKey::new(DocKind::Conversation, *no)));
            for conversation in &found.folded {
                let folds = feed::folds_of(self.reading, *conversation)?;
                self.pending.extend(folds.into_iter().map(|no| DocKey::new(DocKind::Fold, no)));
            }
            at = found.cursor;
            self.reopen()?;
        }
        if let Some(index) = self.reading.index {
            let sql = "select key from todo union all select key from unsure";
            let waiting: Vec<i64> = query_all(index, sql, (), |row| row.get(0))?;
            self.pending.extend(waiting.into_iter().map(DocKey));
        }
        Ok(())
    }

    /// Counts the deletions since the index last read the journal.
    fn destroyed(&self) -> TxResult<i64> {
        let sql = "select count(*) from journal where pos > $1 and kind in ($2, $3)";
        let parameters = (self.cursor.position, Kind::Purged as i64, Kind::Erased as i64);
        Ok(query_one(self.reading.connection, sql, parameters, |row| row.get(0))?)
    }

    fn messages(&mut self) -> TxResult<()> {
        let mut after = 0;
        loop {
            let sql = "select key, id, arrival, facts, body from message where key > $1 order by key limit $2";
            let page = query_all(self.reading.connection, sql, (after, PAGE), read_row)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = next_page_start(after, Some(last.key)).ok_or_else(|| StoreError::altered("message", last.key))?;
            for row in page {
                let (address, arrival) = (Address(row.key), row.arrival);
                let Some(owner) = docs::owner_of(self.reading, address)? else { continue };
                let message = match docs::indexable(self.reading, row) {
                    Ok(message) => message,
                    // The check of the messages reports content that cannot be read.
                    Err(TxError::Rejected(_)) => continue,
                    Err(fault) => return Err(fault),
                };
                let is_new = arrival > self.cursor.position;
                if message.is_none() {
                    self.expect_nothing(DocKey::new(DocKind::Message, address.0))?;
                    self.expect_nothing(DocKey::new(DocKind::Reasoning, address.0))?;
                }
                for doc in message.iter().flat_map(|message| docs::of_message(message, owner)) {
                    self.expect(&doc, is_new)?;
                }
            }
            self.reopen()?;
        }
    }

    fn others(&mut self, sql: &str, kind: DocKind) -> TxResult<()> {
        let mut after = 0;
        loop {
            let page: Vec<i64> = query_all(self.reading.connection, sql, (after, PAGE), |row| row.get(0))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = next_page_start(after, Some(*last)).ok_or_else(|| StoreError::altered("row", last))?;
            for no in page {
                let doc = match kind {
                    DocKind::Fold => docs::fold(self.reading, no)?.map(|row| docs::of_fold(no, &row)),
                    _ => docs::of_conversation(self.reading, no)?,
                };
                if let Some(doc) = doc {
                    self.expect(&doc, false)?;
                }
            }
            self.reopen()?;
        }
    }

    /// Compares the sums of statistics.
    fn statistics(&mut self) -> TxResult<()> {
        let mut after = 0;
        loop {
            let (last, wrong) = statistics::check::check_page(self.reading, after)?;
            self.wrong.extend(wrong);
            self.reopen()?;
            let Some(last) = last else { break };
            after = next_page_start(after, Some(last)).ok_or_else(|| StoreError::altered("row", last))?;
        }
        let totals = statistics::check::check_totals(self.reading)?;
        self.wrong.extend(totals);
        Ok(())
    }

    fn expect(&mut self, doc: &Doc, is_new: bool) -> TxResult<()> {
        let key = doc.entry.key;
        let is_pending = is_new
            || self.pending.contains(&key)
            || self.pending.contains(&DocKey::new(DocKind::Message, key.no())) && key.kind() == DocKind::Reasoning;
        let found = match (self.reading.connection, self.reading.index) {
            (Connection::Sqlite(_), Some(index)) => {
                let sql = "select d.place
                     from doc d
                     join run r on r.slot = d.place >> $1 and r.hidden = 0
                     where d.key = $2 and d.at = $3 and d.arrival = $4";
                let parameters = (i64::from(NUMBERS), key.0, doc.entry.at, doc.entry.arrival);
                let place: Option<i64> = query_optional(index, sql, parameters, |row| row.get(0))?;
                if let Some(place) = place {
                    let (slot, no) = (segment_table_of(place), number_of(place));
                    doc.tokens.split(' ').for_each(|token| self.sums.add(slot, no, token));
                }
                place.is_some()
            }
            _ => count_on_server(self.reading, doc)?,
        };
        match found {
            true => self.rows += 1,
            // An entry that changes during the check may be indexed or not.
            false if is_pending || feed::last_position(self.reading)? != self.last => {}
            false => self.wrong.push(format!("{:?} {} is not in the index as it is", key.kind(), key.no())),
        }
        self.wrong.truncate(WRONG_MAX);
        Ok(())
    }

    /// Something that is erased or still written has no row.
    fn expect_nothing(&mut self, key: DocKey) -> TxResult<()> {
        let held = match (self.reading.connection, self.reading.index) {
            (Connection::Sqlite(_), Some(index)) => {
                query_optional(index, "select 1 from doc where key = $1", [key.0], |_| Ok(()))?
            }
            _ => {
                query_optional(self.reading.connection, "select 1 from search_doc where key = $1", [key.0], |_| Ok(()))?
            }
        };
        if held.is_some() && feed::last_position(self.reading)? == self.last {
            self.wrong.push(format!("{:?} {} is in the index and should not be", key.kind(), key.no()));
        }
        Ok(())
    }

    /// Counts rows that stand for nothing, and compares the sums of a file.
    fn compare(&mut self) -> TxResult<()> {
        let Some(index) = self.reading.index else {
            let sql = "select count(*)
                 from search_doc d
                 where (d.key & 3 < 2 and not exists (select 1 from message m where m.key = d.key >> 2))
                   or (d.key & 3 = 2 and not exists (select 1 from conversation c where c.no = d.key >> 2))
                   or (d.key & 3 = 3 and not exists (select 1 from fold f where f.no = d.key >> 2))";
            let stray: i64 = query_one(self.reading.connection, sql, (), |row| row.get(0))?;
            if stray > 0 {
                self.wrong.push(format!("{stray} rows of the index stand for nothing"));
            }
            return Ok(());
        };
        let hidden: Vec<i64> = query_all(index, "select slot from run where hidden = 1", (), |row| row.get(0))?;
        let mut held = 0;
        for slot in (0..SEGMENT_TABLES as i64).filter(|slot| !hidden.contains(slot)) {
            let sql = "select count(*) from doc where place between $1 and $2";
            held += query_one(index, sql, columns_of(slot), |row| row.get::<i64>(0))?;
        }
        // Pending documents may have rows with their old tokens; then the groups cannot be compared.
        if held != self.rows && self.pending.is_empty() {
            self.wrong.push(format!("{} rows of the index stand for nothing", held - self.rows));
        }
        if !self.pending.is_empty() {
            return Ok(());
        }
        let mut found = Sums::default();
        for slot in (0..SEGMENT_TABLES).filter(|slot| !hidden.contains(&(*slot as i64))) {
            for_each_row(index, &SPOKEN[slot], (), |row| {
                let (term, no): (String, i64) = (row.get(0)?, row.get(1)?);
                found.add(slot as i64, no, &term);
                Ok(true)
            })?;
            let groups = found.0[slot].len().max(self.sums.0[slot].len());
            for group in (0..groups).filter(|group| found.of(slot, *group) != self.sums.of(slot, *group)) {
                let first = group as i64 * GROUP;
                let last = first + GROUP - 1;
                self.wrong.push(format!("rows {first} to {last} of table {slot} of the index have other words"));
            }
        }
        self.wrong.truncate(WRONG_MAX);
        Ok(())
    }
}

fn begin(reading: &Reading<'_>) -> TxResult<()> {
    if let Some(index) = reading.index {
        begin_reading(index.into())?;
    }
    Ok(begin_reading(reading.connection)?)
}

/// Returns a number that changes when another connection writes the index of a file.
fn version(reading: &Reading<'_>) -> TxResult<i64> {
    let Some(index) = reading.index else { return Ok(0) };
    Ok(query_one(index, "select data_version from pragma_data_version", (), |row| row.get(0))?)
}

/// Says whether a server holds a row with exactly these tokens.
fn count_on_server(reading: &Reading<'_>, doc: &Doc) -> TxResult<bool> {
    let sql = "select array_to_string(tsvector_to_array(tokens), ' '), at, arrival from search_doc where key = $1";
    let found: Vec<(String, i64, i64)> =
        query_all(reading.connection, sql, [doc.entry.key.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut held: Vec<&str> = found.iter().flat_map(|(tokens, ..)| tokens.split(' ')).collect();
    held.retain(|token| *token != docs::SPLIT);
    held.sort_unstable();
    let mut expected: Vec<&str> = doc.tokens.split(' ').collect();
    expected.sort_unstable();
    let in_time = found.iter().all(|(_, at, arrival)| (*at, *arrival) == (doc.entry.at, doc.entry.arrival));
    Ok(in_time && held == expected)
}
