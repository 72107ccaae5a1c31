//! FTS segments: FTS5 tables whose rows are numbered by time, so that the newest are at the end.
//!
//! Documents in order are appended to a segment. Documents that are too old for all segments wait in a list, which is
//! sorted and becomes a segment, or, if it is short, is added to an unsorted one. The unsorted segment, and segments
//! that are too many, are merged.

use super::Index;
use crate::engine::search::segment_table::{
    NUMBERS, SEGMENT_TABLES, columns_of, for_each_slot, number_of, place, segment_table_of,
};
use crate::engine::search::{Doc, DocKey, Entry};
use crate::engine::sql::connection::{DbResult, EngineError, Row, execute, query_all, query_one, query_optional};
use std::collections::HashSet;

/// A row that is older than the newest one by more than this is not added to a segment.
const LATENESS_MAX: i64 = 10_000_000;

/// The slack of a run that is not sorted.
const UNSORTED: i64 = i64::MAX >> 1;

/// Minimum number of rows of a segment of its own; fewer are added to the unsorted one.
const SEGMENT_MIN: i64 = 1_000;

/// Maximum number of rows of an unsorted segment.
const UNSORTED_MAX: i64 = 4_000;

/// More runs than this are put together.
const SEGMENTS_MAX: usize = 8;

for_each_slot! {
    ADD = "insert into wordSLOT (rowid, tokens) values ($1, $2)";
    TAKE_OUT = "insert into wordSLOT (wordSLOT, rowid, tokens) values ('delete', $1, $2)";
    CLEAR = "insert into wordSLOT (wordSLOT) values ('delete-all')";
}

/// Rows of one table of words.
#[derive(Debug, Clone, Copy)]
struct Segment {
    slot: i64,
    last: i64,
    newest: i64,
    max_lateness: i64,
    lot: Option<i64>,
    hidden: bool,
    is_retiring: bool,
    /// Its last entry.
    end: Entry,
}

impl Segment {
    fn new(slot: i64) -> Self {
        let end = Entry { at: i64::MIN, arrival: i64::MIN, key: DocKey(i64::MIN) };
        Self { slot, last: 0, newest: i64::MIN, max_lateness: 0, lot: None, hidden: false, is_retiring: false, end }
    }

    /// Takes one more row.
    fn grow(&mut self, entry: Entry) {
        let follows = entry.at > self.newest || (self.end.at == self.newest && entry > self.end);
        let late = if follows { 0 } else { self.newest.saturating_sub(entry.at).saturating_add(1) };
        self.last += 1;
        self.newest = self.newest.max(entry.at);
        self.max_lateness = self.max_lateness.max(late);
        self.end = entry;
    }

    fn is_sorted(&self) -> bool {
        self.max_lateness < UNSORTED
    }

    /// Rows of any time may go on it.
    fn is_open(&self) -> bool {
        self.lot.is_none() && !self.is_retiring
    }

    fn fits(&self, at: i64) -> bool {
        self.is_open() && self.is_sorted() && at >= self.newest.saturating_sub(LATENESS_MAX)
    }
}

/// Returns the segment to which a document of this time can be appended in order: the newest one that is not too new
/// for it.
fn fitting(runs: &mut [Segment], at: i64) -> Option<&mut Segment> {
    runs.iter_mut().filter(|run| run.fits(at)).max_by_key(|run| run.newest)
}

/// Creates another segment; there are always tables left, since only one is being built at a time.
fn another(runs: &mut Vec<Segment>) -> DbResult<&mut Segment> {
    let slot =
        (0..SEGMENT_TABLES as i64).find(|slot| runs.iter().all(|run| run.slot != *slot)).ok_or(EngineError::Index)?;
    runs.push(Segment::new(slot));
    runs.last_mut().ok_or(EngineError::Index)
}

/// Chooses runs that are better put together: the one that is not sorted when it is full, the smallest when there are
/// many.
fn chosen(runs: &[Segment]) -> Vec<Segment> {
    // The segment to which new documents are appended stays.
    let newest = runs.iter().filter(|run| run.is_sorted()).max_by_key(|run| run.newest).map(|run| run.slot);
    let mut others: Vec<Segment> =
        runs.iter().filter(|run| run.is_sorted() && Some(run.slot) != newest).copied().collect();
    others.sort_unstable_by_key(|run| run.last);
    let mut chosen: Vec<Segment> =
        runs.iter().filter(|run| !run.is_sorted() && run.last >= UNSORTED_MAX).copied().collect();
    let least = match (chosen.is_empty(), runs.len() > SEGMENTS_MAX) {
        (true, false) => return Vec::new(),
        (_, true) => 2,
        (false, false) => 1,
    };
    for run in others {
        let rows: i64 = chosen.iter().map(|run| run.last).sum();
        // Put together with one that is much larger, few rows would cost many.
        if chosen.len() >= least && run.last > 2 * rows {
            break;
        }
        chosen.push(run);
    }
    chosen
}

/// The result of one compaction step.
pub(in crate::sqlite) enum CompactionStep {
    /// Nothing is being made, and nothing waits.
    Nothing,
    /// The entries to write next, in order; `again`: they are in other segments already.
    Next { entries: Vec<Entry>, again: bool },
}

impl Index {
    fn segments(&self) -> DbResult<Vec<Segment>> {
        let sql = "select r.slot, r.last, r.newest, r.slack, r.lot, r.hidden, r.going, d.at, d.arrival, d.key
             from run r
             left join doc d on d.place = (r.slot << $1 | r.last)
             order by r.slot";
        query_all(&self.connection, sql, [i64::from(NUMBERS)], |row: &Row<'_>| {
            let (at, arrival, key): (Option<i64>, Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?, row.get(9)?);
            let newest: i64 = row.get(2)?;
            // If the last row was removed, a new row may be older than it was.
            let end =
                Entry { at: at.unwrap_or(newest), arrival: arrival.unwrap_or(i64::MAX), key: DocKey(key.unwrap_or(0)) };
            Ok(Segment {
                slot: row.get(0)?,
                last: row.get(1)?,
                newest,
                max_lateness: row.get(3)?,
                lot: row.get(4)?,
                hidden: row.get(5)?,
                is_retiring: row.get(6)?,
                end,
            })
        })
    }

    fn put_segment(&self, run: &Segment) -> DbResult<()> {
        let sql = "insert into run (slot, last, newest, slack, lot, hidden, going) values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (slot) do update set last = $2, newest = $3, slack = $4, lot = $5, hidden = $6, going = $7";
        let Segment { slot, last, newest, max_lateness: slack, lot, hidden, is_retiring: going, .. } = *run;
        execute(&self.connection, sql, (slot, last, newest, slack, lot, hidden, going))
    }

    fn put(&self, run: &mut Segment, doc: &Doc) -> DbResult<()> {
        run.grow(doc.entry);
        let Entry { at, arrival, key } = doc.entry;
        let sql = "insert into doc (place, key, at, arrival) values ($1, $2, $3, $4)";
        execute(&self.connection, sql, (place(run.slot, run.last), key.0, at, arrival))?;
        execute(&self.connection, &ADD[run.slot as usize], (run.last, &doc.tokens))
    }

    /// Says of each entry whether it can be appended to a segment in order. The entries of the very first batch are
    /// sorted before.
    pub(in crate::sqlite) fn fit(&self, entries: &[Entry]) -> DbResult<Vec<bool>> {
        let mut runs = self.segments()?;
        let is_first = !runs.iter().any(|run| run.is_open() && run.is_sorted());
        let many = entries.len() as i64 > SEGMENT_MIN;
        Ok(entries.iter().map(|entry| (is_first && !many) || fitting(&mut runs, entry.at).is_some()).collect())
    }

    /// Adds rows that are not indexed yet, except those that are about to be destroyed.
    pub(in crate::sqlite) fn add(&self, mut docs: Vec<Doc>) -> DbResult<()> {
        docs.sort_unstable_by_key(|doc| doc.entry);
        let unsure = self.all_pending_deletes()?;
        let mut runs = self.segments()?;
        for doc in &docs {
            if unsure.contains(&doc.entry.key.0) || self.has(doc.entry.key)? {
                continue;
            }
            let is_first = !runs.iter().any(|run| run.is_open() && run.is_sorted());
            if is_first {
                another(&mut runs)?;
            } else if fitting(&mut runs, doc.entry.at).is_none()
                && !runs.iter().any(|run| run.is_open() && !run.is_sorted())
            {
                another(&mut runs)?.max_lateness = UNSORTED;
            }
            let run = match fitting(&mut runs, doc.entry.at) {
                Some(run) => run,
                None => runs.iter_mut().find(|run| run.is_open() && !run.is_sorted()).ok_or(EngineError::Index)?,
            };
            self.put(run, doc)?;
        }
        runs.iter().try_for_each(|run| self.put_segment(run))
    }

    /// Takes a row out whose tokens are known; says whether it was there.
    pub(in crate::sqlite) fn remove(&self, key: DocKey, tokens: &str) -> DbResult<bool> {
        let sql = "select place from doc where key = $1";
        let found: Vec<i64> = query_all(&self.connection, sql, [key.0], |row| row.get(0))?;
        for place in &found {
            execute(&self.connection, &TAKE_OUT[segment_table_of(*place) as usize], (number_of(*place), tokens))?;
            execute(&self.connection, "delete from doc where place = $1", [*place])?;
        }
        Ok(!found.is_empty())
    }

    fn slots_of(&self, key: DocKey) -> DbResult<Vec<i64>> {
        query_all(&self.connection, "select place from doc where key = $1", [key.0], |row| {
            row.get(0).map(segment_table_of)
        })
    }

    /// Starts to build a segment from the pending documents, if there are enough, and returns the next entries of one
    /// that is being built.
    pub(in crate::sqlite) fn compaction_step(&self, many: i64) -> DbResult<CompactionStep> {
        let mut runs = self.segments()?;
        let made = match runs.iter().find(|run| run.lot.is_some()).copied() {
            Some(run) => run,
            None => {
                let lot = self.open_lot()?;
                let sql = "select count(*) from (select 1 from listed where lot = $1 limit $2)";
                let waiting: i64 = query_one(&self.connection, sql, (lot, SEGMENT_MIN), |row| row.get(0))?;
                if waiting == 0 {
                    return Ok(CompactionStep::Nothing);
                }
                if waiting < SEGMENT_MIN {
                    let entries = self.oldest_pending(lot, SEGMENT_MIN)?;
                    return Ok(CompactionStep::Next { entries, again: false });
                }
                let run = another(&mut runs)?;
                run.lot = Some(lot);
                self.put_segment(run)?;
                *run
            }
        };
        let entries = self.oldest_pending(made.lot.unwrap_or(0), many)?;
        Ok(CompactionStep::Next { entries, again: made.hidden })
    }

    /// Adds rows that were listed to the run that is being made, or where they go if none is.
    pub(in crate::sqlite) fn compact(&self, entries: &[Entry], docs: Vec<Doc>) -> DbResult<()> {
        let mut runs = self.segments()?;
        let going: Vec<i64> = runs.iter().filter(|run| run.is_retiring).map(|run| run.slot).collect();
        let Some(made) = runs.iter_mut().find(|run| run.lot.is_some()) else {
            self.add(docs)?;
            return self.mark_oldest_due(self.open_lot()?, entries);
        };
        let unsure = self.all_pending_deletes()?;
        for doc in docs {
            let slots = self.slots_of(doc.entry.key)?;
            // Rows of other segments are in one of them, unless they were removed or changed meanwhile; new rows are in
            // none.
            let is_wanted = match made.hidden {
                true => slots.iter().any(|slot| going.contains(slot)),
                false => slots.is_empty(),
            };
            if is_wanted && !unsure.contains(&doc.entry.key.0) {
                self.put(made, &doc)?;
            }
        }
        let lot = made.lot.unwrap_or(0);
        self.mark_oldest_due(lot, entries)?;
        let left = query_optional(&self.connection, "select 1 from listed where lot = $1 limit 1", [lot], |_| Ok(()))?;
        if left.is_none() {
            (made.lot, made.hidden) = (None, false);
        }
        self.put_segment(made)?;
        if left.is_none() {
            going.into_iter().try_for_each(|slot| self.clear(slot))?;
        }
        Ok(())
    }

    /// Says whether a run is being made.
    pub(in crate::sqlite) fn is_compacting(&self) -> DbResult<bool> {
        Ok(query_optional(&self.connection, "select 1 from run where lot is not null", (), |_| Ok(()))?.is_some())
    }

    /// Says whether runs are better put together.
    pub(in crate::sqlite) fn is_fragmented(&self) -> DbResult<bool> {
        Ok(!self.is_compacting()? && !chosen(&self.segments()?).is_empty())
    }

    /// Begins a compaction: the rows of some segments are listed, and written again as one segment ordered by time.
    pub(in crate::sqlite) fn gather(&self) -> DbResult<()> {
        let mut runs = self.segments()?;
        let chosen = chosen(&runs);
        if chosen.is_empty() || runs.iter().any(|run| run.lot.is_some()) {
            return Ok(());
        }
        let lot = 1 - self.open_lot()?;
        for run in &chosen {
            let (first, last) = columns_of(run.slot);
            let sql = "insert into listed (lot, at, arrival, key)
                 select $1, at, arrival, key from doc where place between $2 and $3";
            execute(&self.connection, sql, (lot, first, last))?;
            self.put_segment(&Segment { is_retiring: true, ..*run })?;
        }
        let any = query_optional(&self.connection, "select 1 from listed where lot = $1 limit 1", [lot], |_| Ok(()))?;
        if any.is_none() {
            return chosen.iter().try_for_each(|run| self.clear(run.slot));
        }
        let made = another(&mut runs)?;
        (made.lot, made.hidden) = (Some(lot), true);
        self.put_segment(made)
    }

    fn clear(&self, slot: i64) -> DbResult<()> {
        let (first, last) = columns_of(slot);
        execute(&self.connection, "delete from doc where place between $1 and $2", (first, last))?;
        execute(&self.connection, "delete from run where slot = $1", [slot])?;
        execute(&self.connection, &CLEAR[slot as usize], ())
    }

    /// Takes out every row of every run.
    pub(super) fn clear_all(&self) -> DbResult<()> {
        (0..SEGMENT_TABLES as i64).try_for_each(|slot| self.clear(slot))
    }

    fn all_pending_deletes(&self) -> DbResult<HashSet<i64>> {
        Ok(query_all(&self.connection, "select key from unsure", (), |row| row.get(0))?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::search::DocKind;
    use crate::sqlite::connection::SqliteOptions;

    fn run(slot: i64, last: i64, newest: i64) -> Segment {
        Segment { last, newest, ..Segment::new(slot) }
    }

    fn slots(runs: &[Segment]) -> Vec<i64> {
        chosen(runs).iter().map(|run| run.slot).collect()
    }

    #[test]
    fn what_comes_goes_on_the_newest_run_that_is_older() {
        let mut runs = [run(0, 1, 1_000 * LATENESS_MAX), run(1, 1, 10 * LATENESS_MAX), run(2, 1, 20 * LATENESS_MAX)];
        let mut fits = |at: i64| fitting(&mut runs, at * LATENESS_MAX).map(|run| run.slot);
        assert_eq!(
            (fits(2_000), fits(999), fits(500), fits(15), fits(9), fits(8)),
            (Some(0), Some(0), Some(2), Some(1), Some(1), None)
        );
        runs[1].is_retiring = true;
        assert!(fitting(&mut runs, 15 * LATENESS_MAX).is_none());
    }

    #[test]
    fn runs_are_put_together_with_others_of_their_size() {
        let unsorted = |last: i64| Segment { max_lateness: UNSORTED, ..run(9, last, 5) };
        assert_eq!(slots(&[run(0, 9, 9), unsorted(UNSORTED_MAX - 1)]), [0i64; 0]);
        assert_eq!(slots(&[run(0, 9, 9), unsorted(UNSORTED_MAX)]), [9]);
        let older = [run(0, 9, 9), run(1, UNSORTED_MAX, 3), run(2, 5 * UNSORTED_MAX, 3), unsorted(UNSORTED_MAX)];
        assert_eq!(slots(&older), [9, 1], "four times as many rows are left alone");
        let many: Vec<Segment> = (0..=SEGMENTS_MAX as i64).map(|slot| run(slot, 1 << (3 * slot), slot)).collect();
        assert_eq!(slots(&many), [0, 1]);
        let newest_is_small = [run(0, 1, 9), run(1, 1, 3), unsorted(UNSORTED_MAX)];
        assert_eq!(slots(&newest_is_small), [9, 1], "the newest run stays, however small");
    }

    fn doc(at: i64, no: i64) -> Doc {
        let entry = Entry { at, arrival: no, key: DocKey::new(DocKind::Message, no) };
        Doc { entry, tokens: format!("word{no}") }
    }

    fn listed(index: &Index) -> Vec<Entry> {
        match index.compaction_step(i64::MAX).expect("readable") {
            CompactionStep::Next { entries, again: true } => entries,
            _ => panic!("nothing is put together"),
        }
    }

    #[test]
    fn what_goes_or_changes_while_runs_are_put_together_does_not_come_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let index = Index::open(&SqliteOptions::new(folder.path().join("store.db"))).expect("opens");
        index.add(vec![doc(i64::MAX / 4, 0)]).expect("added");
        index.add((1..=UNSORTED_MAX).map(|no| doc(UNSORTED_MAX - no, no)).collect()).expect("added");
        index.gather().expect("begun");
        let entries = listed(&index);
        assert_eq!(entries.len() as i64, UNSORTED_MAX);
        // One is deleted, one changes and becomes newer, both after they were read.
        let docs: Vec<Doc> = entries.iter().map(|entry| doc(entry.at, entry.key.no())).collect();
        index.forget(&[doc(UNSORTED_MAX - 7, 7)], 1).expect("taken out");
        let changed = doc(i64::MAX / 4 + 1, 8);
        assert!(index.remove(changed.entry.key, "word8").expect("taken out"));
        index.add(vec![changed]).expect("added");
        index.compact(&entries, docs).expect("made");
        assert!(matches!(index.compaction_step(1).expect("readable"), CompactionStep::Nothing));
        let places = |no: i64| index.slots_of(DocKey::new(DocKind::Message, no)).expect("readable").len();
        assert_eq!((places(0), places(6), places(7), places(8), places(9)), (1, 1, 0, 1, 1));
        let runs = index.segments().expect("readable");
        assert_eq!(runs.iter().map(|run| run.last).collect::<Vec<i64>>(), [2, UNSORTED_MAX - 2]);
        assert!(runs.iter().all(|run| run.is_open() && run.is_sorted() && !run.hidden));
    }

    #[test]
    fn what_waits_gathers_apart_from_what_a_run_is_made_of() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let index = Index::open(&SqliteOptions::new(folder.path().join("store.db"))).expect("opens");
        let entries: Vec<Entry> = (1..=SEGMENT_MIN + 500).map(|no| doc(no * LATENESS_MAX, no).entry).collect();
        index.enqueue(&entries).expect("listed");
        let CompactionStep::Next { entries: first, again: false } = index.compaction_step(1_000).expect("readable")
        else {
            panic!("a run is made of many");
        };
        // Documents added meanwhile are older than those in the segment.
        index.enqueue(&[doc(0, 0).entry]).expect("listed");
        for entries in [first, entries[1_000..].to_vec()] {
            let docs = entries.iter().map(|entry| doc(entry.at, entry.key.no())).collect();
            index.compact(&entries, docs).expect("made");
        }
        assert_eq!((index.is_compacting().expect("readable"), index.pending_count().expect("readable")), (false, 1));
        let CompactionStep::Next { entries, .. } = index.compaction_step(1_000).expect("readable") else {
            panic!("one waits")
        };
        index.compact(&entries, vec![doc(0, 0)]).expect("made");
        let runs = index.segments().expect("readable");
        assert_eq!(
            runs.iter().map(|run| (run.last, run.is_sorted())).collect::<Vec<_>>(),
            [(SEGMENT_MIN + 500, true), (1, false)]
        );
    }

    #[test]
    fn a_run_is_ended_though_the_rest_of_its_list_is_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let index = Index::open(&SqliteOptions::new(folder.path().join("store.db"))).expect("opens");
        let docs: Vec<Doc> = (1..=SEGMENT_MIN).map(|no| doc(no * LATENESS_MAX, no)).collect();
        index.enqueue(&docs.iter().map(|doc| doc.entry).collect::<Vec<Entry>>()).expect("listed");
        assert!(matches!(index.compaction_step(1).expect("readable"), CompactionStep::Next { again: false, .. }));
        index.forget(&docs, 1).expect("taken off");
        assert!(index.has_work().expect("readable"), "it would stay unfinished");
        index.compact(&[], Vec::new()).expect("made");
        assert!(!index.has_work().expect("readable"));
    }
}
