//! Index scan: candidate rows of the index in batches, the newest first.

use super::super::read::Reading;
use super::segment_table::{for_each_slot, number_of, place};
use super::{DocKey, Entry};
use crate::engine::sql::connection::{Connection, DbResult, Row, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_text::IndexQuery;
use std::collections::VecDeque;

/// Maximum number of rows of a batch; each batch is twice as large as the one before.
const BATCH_ROWS_MAX: i64 = 1_024;

/// Which tokens a row must have, in the words of an engine.
pub(crate) struct Condition {
    /// None for all rows.
    text: Option<String>,
    /// The engine is told all of it, so that a row with these tokens has all that was asked of the index.
    is_whole: bool,
}

impl Condition {
    fn of(reading: &Reading<'_>, candidates: &IndexQuery) -> DbResult<Self> {
        let words: &QueryDialect = match reading.connection {
            Connection::Sqlite(_) => &FTS5,
            Connection::Postgres(_) => &TSQUERY,
        };
        let mut is_whole = true;
        let candidates = without_frequent(reading, candidates, &mut is_whole)?;
        let text = render(words, &candidates, &mut is_whole);
        Ok(Self { text, is_whole })
    }
}

/// A prefix with more occurrences than this is not asked of the index.
///
/// An index merges the rows of every token that begins so before it returns the first one, and no time limit ends that:
/// `te*` took 17.8 s with 10 million messages. Rows are then walked without the prefix and their texts compared; since
/// it is frequent, a page is soon full, and the walk ends when the time of the search is over.
const FREQUENT: i64 = 20_000;

/// Leaves frequent prefixes out of a condition.
fn without_frequent(reading: &Reading<'_>, candidates: &IndexQuery, is_whole: &mut bool) -> DbResult<IndexQuery> {
    let mut each = |inner: &[IndexQuery]| -> DbResult<Vec<IndexQuery>> {
        inner.iter().map(|one| without_frequent(reading, one, is_whole)).collect()
    };
    Ok(match candidates {
        IndexQuery::Every | IndexQuery::Token(_) => candidates.clone(),
        IndexQuery::All(inner) => IndexQuery::All(each(inner)?),
        IndexQuery::Any(inner) => IndexQuery::Any(each(inner)?),
        IndexQuery::Except(first, second) => {
            let first = without_frequent(reading, first, is_whole)?;
            IndexQuery::Except(Box::new(first), Box::new(without_frequent(reading, second, is_whole)?))
        }
        IndexQuery::Prefix(beginning) => match is_frequent(reading, beginning)? {
            true => {
                *is_whole = false;
                IndexQuery::Every
            }
            false => candidates.clone(),
        },
    })
}

fn is_frequent(reading: &Reading<'_>, beginning: &str) -> DbResult<bool> {
    match (reading.connection, reading.index) {
        (Connection::Sqlite(_), Some(index)) => {
            let sql = "select slot from run where hidden = 0";
            let slots: Vec<i64> = query_all(index, sql, (), |row| row.get(0))?;
            let mut left = FREQUENT;
            for slot in slots {
                let last = [beginning, LAST_CHARACTER].concat();
                let parameters = (beginning, last, left);
                left -= query_one(index, &OCCURRENCES[slot as usize], parameters, |row| row.get::<i64>(0))?;
                if left <= 0 {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Connection::Sqlite(_), None) => Ok(false),
        // A server counts by its statistics; they are of the last analysis of the table.
        (Connection::Postgres(_), _) => {
            let condition = [&(TSQUERY.quoted)(beginning), TSQUERY.prefix].concat();
            let sql = "explain select key from search_doc where tokens @@ $1::text::tsquery";
            let plan: String = query_one(reading.connection, sql, [condition], |row| row.get(0))?;
            Ok(estimated_rows(&plan).is_some_and(|rows| rows > FREQUENT))
        }
    }
}

/// Sorts behind every token that begins in a given way.
const LAST_CHARACTER: &str = "\u{10FFFF}";

/// Reads how many rows a plan expects from its first line.
fn estimated_rows(plan: &str) -> Option<i64> {
    let (_, behind) = plan.split_once("rows=")?;
    behind.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// How an engine writes conditions.
struct QueryDialect {
    and: &'static str,
    or: &'static str,
    not: &'static str,
    prefix: &'static str,
    quoted: fn(&str) -> String,
}

const FTS5: QueryDialect = QueryDialect {
    and: " AND ",
    or: " OR ",
    not: " NOT ",
    prefix: " *",
    quoted: |token| format!("\"{}\"", token.replace('"', "\"\"")),
};

const TSQUERY: QueryDialect = QueryDialect {
    and: " & ",
    or: " | ",
    not: " & !",
    prefix: ":*",
    quoted: |token| format!("'{}'", token.replace('\\', "\\\\").replace('\'', "''")),
};

fn render(words: &QueryDialect, candidates: &IndexQuery, is_whole: &mut bool) -> Option<String> {
    match candidates {
        IndexQuery::Every => None,
        IndexQuery::Token(token) => Some((words.quoted)(token)),
        IndexQuery::Prefix(token) => Some([&(words.quoted)(token), words.prefix].concat()),
        IndexQuery::All(all) => {
            let all: Vec<String> = all.iter().filter_map(|one| render(words, one, is_whole)).collect();
            (!all.is_empty()).then(|| format!("({})", all.join(words.and)))
        }
        IndexQuery::Any(any) => {
            let any: Option<Vec<String>> = any.iter().map(|one| render(words, one, is_whole)).collect();
            any.map(|any| format!("({})", any.join(words.or)))
        }
        // An exclusion cannot be expressed without a word of its own: the check of the text handles it.
        IndexQuery::Except(first, second) => match (render(words, first, is_whole), render(words, second, is_whole)) {
            (Some(first), Some(second)) => Some(format!("({first}{}{second})", words.not)),
            (first, _) => {
                *is_whole = false;
                first
            }
        },
    }
}

/// Rows of the index, the newest first.
pub(crate) enum IndexScan {
    /// In a file, rows are numbered in the order of time, in a few runs.
    Runs { condition: Condition, runs: Vec<SegmentScan> },
    /// On a server, an index knows the order.
    Rows { condition: Condition, from: Option<Entry>, limit: i64, waiting: VecDeque<(Entry, bool)>, ended: bool },
    /// There is no index.
    Nothing,
}

impl IndexScan {
    /// Starts the scan before an entry, or at the newest one, with a batch of the expected size.
    pub(crate) fn new(
        reading: &Reading<'_>,
        candidates: &IndexQuery,
        before: Option<Entry>,
        wanted: i64,
    ) -> TxResult<Self> {
        let mut condition = Condition::of(reading, candidates)?;
        Ok(match (reading.connection, reading.index) {
            (Connection::Postgres(_), _) => {
                condition.text = condition.text.map(|text| with_split_messages(&text, candidates));
                Self::Rows { condition, from: before, limit: wanted, waiting: VecDeque::new(), ended: false }
            }
            (Connection::Sqlite(_), Some(index)) => {
                let sql = "select slot, last, slack from run where hidden = 0 order by slot";
                let found: Vec<(i64, i64, i64)> =
                    query_all(index, sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
                let mut runs = Vec::with_capacity(found.len());
                for (slot, last, slack) in found {
                    runs.push(SegmentScan::new(index, (slot, last, slack), before, wanted)?);
                }
                Self::Runs { condition, runs }
            }
            (Connection::Sqlite(_), None) => Self::Nothing,
        })
    }

    /// Returns the next row, and whether it has all tokens that were asked for.
    pub(crate) fn next(&mut self, reading: &Reading<'_>) -> TxResult<Option<(Entry, bool)>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Runs { condition, runs } => {
                let Some(index) = reading.index else { return Ok(None) };
                let mut best: Option<usize> = None;
                for place in 0..runs.len() {
                    runs[place].confirm_order(index, condition.text.as_deref())?;
                    let head = runs[place].waiting.front();
                    if head.is_some() && head > best.and_then(|best| runs[best].waiting.front()) {
                        best = Some(place);
                    }
                }
                let next = best.and_then(|best| runs[best].waiting.pop_front());
                Ok(next.map(|entry| (entry, condition.is_whole)))
            }
            Self::Rows { condition, from, limit, waiting, ended } => {
                if waiting.is_empty() && !*ended {
                    let found = newest_rows(reading.connection, condition.text.as_deref(), *from, *limit)?;
                    *ended = (found.len() as i64) < *limit;
                    *limit = (*limit * 2).min(BATCH_ROWS_MAX);
                    *from = found.last().map(|(entry, _)| *entry).or(*from);
                    waiting.extend(found);
                }
                let next = waiting.pop_front();
                // A message of very many words has several rows.
                while next.is_some() && waiting.front() == next.as_ref() {
                    waiting.pop_front();
                }
                Ok(next.map(|(entry, is_split)| (entry, condition.is_whole && !is_split)))
            }
        }
    }
}

fn read_entry(row: &Row<'_>) -> DbResult<Entry> {
    Ok(Entry { key: DocKey(row.get(0)?), at: row.get(1)?, arrival: row.get(2)? })
}

/// Reads rows of a server, and whether each is one of several.
fn newest_rows(
    connection: Connection<'_>,
    condition: Option<&str>,
    before: Option<Entry>,
    limit: i64,
) -> DbResult<Vec<(Entry, bool)>> {
    let read = |row: &Row<'_>| Ok((read_entry(row)?, row.get(3)?));
    let Entry { at, arrival, key } = before.unwrap_or(Entry { at: i64::MAX, arrival: i64::MAX, key: DocKey(i64::MAX) });
    match condition {
        Some(condition) => {
            let sql = "select key, at, arrival, parts - 1
                 from search_doc
                 where tokens @@ $1::text::tsquery and (at, arrival, key) < ($2, $3, $4)
                 order by at desc, arrival desc, key desc
                 limit $5";
            query_all(connection, sql, (condition, at, arrival, key.0, limit), read)
        }
        None => {
            let sql = "select key, at, arrival, parts - 1
                 from search_doc
                 where (at, arrival, key) < ($1, $2, $3)
                 order by at desc, arrival desc, key desc
                 limit $4";
            query_all(connection, sql, (at, arrival, key.0, limit), read)
        }
    }
}

/// A message of very many words has several rows, none of which has all of them: one with any of them is a candidate.
fn with_split_messages(condition: &str, candidates: &IndexQuery) -> String {
    let mut tokens = Vec::new();
    leaves(candidates, &mut tokens);
    let split = (TSQUERY.quoted)(super::docs::SPLIT);
    match tokens.len() {
        0 | 1 => condition.to_owned(),
        _ => format!("{condition} | ({split} & ({}))", tokens.join(" | ")),
    }
}

fn leaves(candidates: &IndexQuery, tokens: &mut Vec<String>) {
    match candidates {
        IndexQuery::Every => {}
        IndexQuery::Token(_) | IndexQuery::Prefix(_) => tokens.extend(render(&TSQUERY, candidates, &mut true)),
        IndexQuery::All(inner) | IndexQuery::Any(inner) => inner.iter().for_each(|one| leaves(one, tokens)),
        IndexQuery::Except(first, _) => leaves(first, tokens),
    }
}

for_each_slot! {
    /// Counts occurrences of tokens between two, up to a limit.
    OCCURRENCES = "select count(*) from (select 1 from temp.spokenSLOT where term >= $1 and term <= $2 limit $3)";
    FIND = "select d.key, d.at, d.arrival, w.rowid
         from wordSLOT w
         cross join doc d on d.place = w.rowid + $1
         where w.wordSLOT match $2 and w.rowid <= $3
         order by w.rowid desc
         limit $4";
}

/// A table of words whose row numbers grow with time, up to the slack.
pub(crate) struct SegmentScan {
    slot: i64,
    /// The last row that was not evaluated.
    last: i64,
    /// No row is older than the newest one before it by more than this.
    max_lateness: i64,
    limit: i64,
    before: Option<Entry>,
    /// The time of the last row that was evaluated.
    reached: i64,
    /// Rows that were found, the newest first.
    waiting: VecDeque<Entry>,
}

impl SegmentScan {
    fn new(
        index: &rusqlite::Connection,
        (slot, last, slack): (i64, i64, i64),
        before: Option<Entry>,
        limit: i64,
    ) -> DbResult<Self> {
        let last = match before {
            Some(before) => last_not_after(index, slot, last, before.at.saturating_add(slack))?,
            None => last,
        };
        Ok(Self { slot, last, max_lateness: slack, limit, before, reached: i64::MAX, waiting: VecDeque::new() })
    }

    /// Reads rows until the first waiting one is the newest of all that are left.
    fn confirm_order(&mut self, index: &rusqlite::Connection, condition: Option<&str>) -> DbResult<()> {
        let is_sure = |run: &Self| match run.waiting.front() {
            _ if run.last < 1 => true,
            // Without slack the rows are in order.
            Some(_) if run.max_lateness == 0 => true,
            Some(entry) => entry.at > run.reached.saturating_add(run.max_lateness),
            None => false,
        };
        while !is_sure(self) {
            let found = match condition {
                Some(condition) => {
                    let parameters = (place(self.slot, 0), condition, self.last, self.limit);
                    query_all(index, &FIND[self.slot as usize], parameters, read_numbered)?
                }
                None => {
                    let sql = "select key, at, arrival, place
                         from doc
                         where place between $1 and $2
                         order by place desc
                         limit $3";
                    let parameters = (place(self.slot, 0), place(self.slot, self.last), self.limit);
                    query_all(index, sql, parameters, read_numbered)?
                }
            };
            self.last = match found.last() {
                Some((_, no)) if found.len() as i64 == self.limit => no - 1,
                _ => 0,
            };
            self.limit = (self.limit * 2).min(BATCH_ROWS_MAX);
            self.reached = found.last().map_or(self.reached, |(entry, _)| entry.at);
            let before = self.before;
            self.waiting.extend(
                found.into_iter().map(|(entry, _)| entry).filter(|entry| Some(*entry) < before || before.is_none()),
            );
            if self.max_lateness > 0 {
                self.waiting.make_contiguous().sort_unstable_by(|one, other| other.cmp(one));
            }
        }
        Ok(())
    }
}

fn read_numbered(row: &Row<'_>) -> DbResult<(Entry, i64)> {
    Ok((read_entry(row)?, row.get(3).map(number_of)?))
}

/// Returns a number in a run behind which every row is newer than a time.
fn last_not_after(index: &rusqlite::Connection, slot: i64, last: i64, at: i64) -> DbResult<i64> {
    let sql = "select place, at from doc where place >= $1 order by place limit 1";
    let (mut low, mut high) = (place(slot, 1), place(slot, last));
    while low <= high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, i64)> = query_optional(index, sql, [middle], |row| Ok((row.get(0)?, row.get(1)?)))?;
        match found {
            Some((no, found)) if no <= high && found <= at => low = no + 1,
            _ => high = middle - 1,
        }
    }
    Ok(high - place(slot, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> IndexQuery {
        IndexQuery::Token(text.to_owned())
    }

    #[test]
    fn conditions_are_written_in_the_words_of_each_engine() {
        let candidates = IndexQuery::All(vec![
            token("it's"),
            IndexQuery::Every,
            IndexQuery::Any(vec![token("a\"b"), IndexQuery::Prefix("枪".to_owned())]),
        ]);
        assert_eq!(render(&FTS5, &candidates, &mut true).as_deref(), Some(r#"("it's" AND ("a""b" OR "枪" *))"#));
        assert_eq!(render(&TSQUERY, &candidates, &mut true).as_deref(), Some(r#"('it''s' & ('a"b' | '枪':*))"#));
    }

    #[test]
    fn estimated_rows_of_a_plan_are_read() {
        let plan = "Bitmap Heap Scan on search_doc  (cost=12.04..20.31 rows=20512 width=8)";
        assert_eq!(estimated_rows(plan), Some(20_512));
        assert_eq!(estimated_rows("Result"), None);
    }

    #[test]
    fn what_may_be_anything_has_no_condition() {
        for every in [
            IndexQuery::Every,
            IndexQuery::Any(vec![token("a"), IndexQuery::Every]),
            IndexQuery::All(vec![IndexQuery::Every]),
        ] {
            assert_eq!(render(&FTS5, &every, &mut true), None);
        }
    }
}
