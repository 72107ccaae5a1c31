//! Index check: compares the index with the store, in both directions.

use super::super::codes::Kind;
use super::super::connection::{Connection, begin_reading, each, end_reading, further, maybe, one, rows};
use super::super::fault::{Fault, Outcome};
use super::super::read::Reading;
use super::super::read::message::read_row;
use super::super::statistics;
use super::feed::{self, Cursor};
use super::slot::{NUMBERS, SLOTS, for_each_slot, number_of, places, slot_of};
use super::{Doc, DocKey, DocKind, docs, tail};
use crate::error::StoreError;
use crate::transaction::Position;
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
pub(crate) struct Checked {
    /// How many rows are as they should be.
    pub rows: i64,
    /// Problems that were found.
    pub wrong: Vec<String>,
}

/// Expected contents of the segment tables: a sum over the tokens of each group of rows, independent of their order.
#[derive(Default)]
struct Sums([Vec<u64>; SLOTS]);

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
pub(crate) fn check(reading: &mut Reading<'_>) -> Outcome<Checked> {
    let index = reading.index;
    let outcome = Checker::new(reading).and_then(Checker::run);
    if let Some(index) = index {
        end_reading(index.into());
    }
    outcome
}

struct Checker<'a, 'r> {
    reading: &'a mut Reading<'r>,
    /// How far the index has come.
    cursor: Cursor,
    /// How far the store had come.
    last: Position,
    /// Pending or later changes: these may be missing.
    pending: HashSet<DocKey>,
    /// The index of a file as it was first seen.
    version: i64,
    sums: Sums,
    rows: i64,
    wrong: Vec<String>,
}

impl<'a, 'r> Checker<'a, 'r> {
    fn new(reading: &'a mut Reading<'r>) -> Outcome<Self> {
        begin(reading)?;
        let version = version(reading)?;
        let (cursor, _) = tail::cursor(reading)?;
        let (last, pending, sums) = (feed::last_position(reading)?, HashSet::new(), Sums::default());
        Ok(Self { reading, cursor, last, pending, version, sums, rows: 0, wrong: Vec::new() })
    }

    fn run(mut self) -> Outcome<Checked> {
        let outcome = self.look();
        end_reading(self.reading.connection);
        outcome?;
        Ok(Checked { rows: self.rows, wrong: self.wrong })
    }

    /// Lets writers and checkpoints pass between two pages, those of the index too: an erasure waits for them.
    fn breathe(&self) -> Outcome<()> {
        end_reading(self.reading.connection);
        if let Some(index) = self.reading.index {
            end_reading(index.into());
        }
        begin(self.reading)
    }

    fn look(&mut self) -> Outcome<()> {
        if !feed::is_ours(self.reading, self.cursor)? {
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
    fn pending(&mut self) -> Outcome<()> {
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
            self.breathe()?;
        }
        if let Some(index) = self.reading.index {
            let sql = "select key from todo union all select key from unsure";
            let waiting: Vec<i64> = rows(index, sql, (), |row| row.get(0))?;
            self.pending.extend(waiting.into_iter().map(DocKey));
        }
        Ok(())
    }

    /// Counts the deletions since the index last read the journal.
    fn destroyed(&self) -> Outcome<i64> {
        let sql = "select count(*) from journal where pos > $1 and kind in ($2, $3)";
        let parameters = (self.cursor.position, Kind::Purged as i64, Kind::Erased as i64);
        Ok(one(self.reading.connection, sql, parameters, |row| row.get(0))?)
    }

    fn messages(&mut self) -> Outcome<()> {
        let mut after = 0;
        loop {
            let sql = "select key, id, arrival, facts, body from message where key > $1 order by key limit $2";
            let page = rows(self.reading.connection, sql, (after, PAGE), read_row)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = further(after, Some(last.key)).ok_or_else(|| StoreError::altered("message", last.key))?;
            for row in page {
                let (address, arrival) = (Address(row.key), row.arrival);
                let Some(owner) = docs::owner_of(self.reading, address)? else { continue };
                let message = match docs::indexable(self.reading, row) {
                    Ok(message) => message,
                    // The check of the messages reports content that cannot be read.
                    Err(Fault::Refused(_)) => continue,
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
            self.breathe()?;
        }
    }

    fn others(&mut self, sql: &str, kind: DocKind) -> Outcome<()> {
        let mut after = 0;
        loop {
            let page: Vec<i64> = rows(self.reading.connection, sql, (after, PAGE), |row| row.get(0))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = further(after, Some(*last)).ok_or_else(|| StoreError::altered("row", last))?;
            for no in page {
                let doc = match kind {
                    DocKind::Fold => docs::fold(self.reading, no)?.map(|row| docs::of_fold(no, &row)),
                    _ => docs::of_conversation(self.reading, no)?,
                };
                if let Some(doc) = doc {
                    self.expect(&doc, false)?;
                }
            }
            self.breathe()?;
        }
    }

    /// Compares the sums of statistics.
    fn statistics(&mut self) -> Outcome<()> {
        let mut after = 0;
        loop {
            let (last, wrong) = statistics::check::check_page(self.reading, after)?;
            self.wrong.extend(wrong);
            self.breathe()?;
            let Some(last) = last else { break };
            after = further(after, Some(last)).ok_or_else(|| StoreError::altered("row", last))?;
        }
        let totals = statistics::check::check_totals(self.reading)?;
        self.wrong.extend(totals);
        Ok(())
    }

    fn expect(&mut self, doc: &Doc, is_new: bool) -> Outcome<()> {
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
                let place: Option<i64> = maybe(index, sql, parameters, |row| row.get(0))?;
                if let Some(place) = place {
                    let (slot, no) = (slot_of(place), number_of(place));
                    doc.tokens.split(' ').for_each(|token| self.sums.add(slot, no, token));
                }
                place.is_some()
            }
            _ => held_by_server(self.reading, doc)?,
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
    fn expect_nothing(&mut self, key: DocKey) -> Outcome<()> {
        let held = match (self.reading.connection, self.reading.index) {
            (Connection::Sqlite(_), Some(index)) => {
                maybe(index, "select 1 from doc where key = $1", [key.0], |_| Ok(()))?
            }
            _ => maybe(self.reading.connection, "select 1 from search_doc where key = $1", [key.0], |_| Ok(()))?,
        };
        if held.is_some() && feed::last_position(self.reading)? == self.last {
            self.wrong.push(format!("{:?} {} is in the index and should not be", key.kind(), key.no()));
        }
        Ok(())
    }

    /// Counts rows that stand for nothing, and compares the sums of a file.
    fn compare(&mut self) -> Outcome<()> {
        let Some(index) = self.reading.index else {
            let sql = "select count(*)
                 from search_doc d
                 where (d.key & 3 < 2 and not exists (select 1 from message m where m.key = d.key >> 2))
                   or (d.key & 3 = 2 and not exists (select 1 from conversation c where c.no = d.key >> 2))
                   or (d.key & 3 = 3 and not exists (select 1 from fold f where f.no = d.key >> 2))";
            let stray: i64 = one(self.reading.connection, sql, (), |row| row.get(0))?;
            if stray > 0 {
                self.wrong.push(format!("{stray} rows of the index stand for nothing"));
            }
            return Ok(());
        };
        let hidden: Vec<i64> = rows(index, "select slot from run where hidden = 1", (), |row| row.get(0))?;
        let mut held = 0;
        for slot in (0..SLOTS as i64).filter(|slot| !hidden.contains(slot)) {
            let sql = "select count(*) from doc where place between $1 and $2";
            held += one(index, sql, places(slot), |row| row.get::<i64>(0))?;
        }
        // Pending documents may have rows with their old tokens; then the groups cannot be compared.
        if held != self.rows && self.pending.is_empty() {
            self.wrong.push(format!("{} rows of the index stand for nothing", held - self.rows));
        }
        if !self.pending.is_empty() {
            return Ok(());
        }
        let mut found = Sums::default();
        for slot in (0..SLOTS).filter(|slot| !hidden.contains(&(*slot as i64))) {
            each(index, &SPOKEN[slot], (), |row| {
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

fn begin(reading: &Reading<'_>) -> Outcome<()> {
    if let Some(index) = reading.index {
        begin_reading(index.into())?;
    }
    Ok(begin_reading(reading.connection)?)
}

/// Returns a number that changes when another connection writes the index of a file.
fn version(reading: &Reading<'_>) -> Outcome<i64> {
    let Some(index) = reading.index else { return Ok(0) };
    Ok(one(index, "select data_version from pragma_data_version", (), |row| row.get(0))?)
}

/// Says whether a server holds a row with exactly these tokens.
fn held_by_server(reading: &Reading<'_>, doc: &Doc) -> Outcome<bool> {
    let sql = "select array_to_string(tsvector_to_array(tokens), ' '), at, arrival from search_doc where key = $1";
    let found: Vec<(String, i64, i64)> =
        rows(reading.connection, sql, [doc.entry.key.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut held: Vec<&str> = found.iter().flat_map(|(tokens, ..)| tokens.split(' ')).collect();
    held.retain(|token| *token != docs::SPLIT);
    held.sort_unstable();
    let mut expected: Vec<&str> = doc.tokens.split(' ').collect();
    expected.sort_unstable();
    let in_time = found.iter().all(|(_, at, arrival)| (*at, *arrival) == (doc.entry.at, doc.entry.arrival));
    Ok(in_time && held == expected)
}
