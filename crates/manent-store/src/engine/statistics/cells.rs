//! Tables of the materialized sums: cells by conversation, totals by scope.

use crate::engine::sql::connection::{Connection, DbResult, Row, execute, query_all, query_optional};
use crate::engine::sql::value::ToSql;
use manent_model::stats::Tally;
use manent_model::{Address, BranchNo, Head, Timestamp};
use std::collections::BTreeMap;

/// Messages of the same day, role and model. `model_no` is 0 where the model is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellKey {
    pub day: i64,
    pub role_no: i64,
    pub model_no: i64,
}

/// Tallies by cell; none has zero messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cells(pub BTreeMap<CellKey, Tally>);

impl Cells {
    pub(super) fn add(&mut self, key: CellKey, tally: &Tally) {
        let cell = self.0.entry(key).or_default();
        cell.add(tally);
        if *cell == Tally::default() {
            self.0.remove(&key);
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(key, tally)| self.add(*key, tally));
    }

    pub(super) fn subtract_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(key, tally)| self.add(*key, &tally.negated()));
    }

    /// The days with messages, each with the one before it.
    pub(super) fn active_days(&self) -> ActiveDays {
        let mut previous = NEVER;
        let mut days = ActiveDays::default();
        for key in self.0.keys() {
            if key.day != previous {
                days.0.insert((key.day, previous), 1);
                previous = key.day;
            }
        }
        days
    }
}

/// The day before the first day with messages.
pub(super) const NEVER: i64 = i64::MIN;

/// Counts conversations by a day with messages and the previous such day.
///
/// These counts are additive: a conversation has exactly one day in a range whose previous day is before the range, if
/// it has any. So their sum is the number of conversations that are active in the range, without looking at any of
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ActiveDays(pub BTreeMap<(i64, i64), i64>);

impl ActiveDays {
    pub(super) fn add_all(&mut self, other: &Self, sign: i64) {
        for (days, count) in &other.0 {
            *self.0.entry(*days).or_default() += sign * count;
        }
        self.0.retain(|_, count| *count != 0);
    }
}

/// A set of conversations that has totals of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Store,
    Project(i64),
    Tag(i64),
}

impl Scope {
    /// The kind and number under which it is stored.
    pub(super) fn code(self) -> (i64, i64) {
        match self {
            Self::Store => (0, 0),
            Self::Project(no) => (1, no),
            Self::Tag(no) => (2, no),
        }
    }
}

/// How far the path of a conversation is counted: up to its head, or up to the message before its first open stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub to: Head,
    /// The time of a question that is counted while its answer is not.
    pub asked_at: Option<Timestamp>,
}

const TABLES: [&str; 5] = ["stat_conversation", "stat_member", "stat_cell", "stat_total", "stat_active"];

/// Empties all sums.
pub(crate) fn clear(index: Connection<'_>) -> DbResult<()> {
    TABLES.iter().try_for_each(|table| execute(index, &["delete from ", table].concat(), ()))
}

pub(super) fn counted(index: Connection<'_>, conversation_no: i64) -> DbResult<Option<Counted>> {
    let sql = "select branch_no, key, asked_at from stat_conversation where conversation_no = $1";
    query_optional(index, sql, [conversation_no], |row| {
        let to = Head { branch: BranchNo(row.get(0)?), at: Address(row.get(1)?) };
        Ok(Counted { to, asked_at: row.get::<Option<i64>>(2)?.map(Timestamp) })
    })
}

pub(super) fn set_counted(index: Connection<'_>, conversation_no: i64, counted: Counted) -> DbResult<()> {
    let sql = "insert into stat_conversation (conversation_no, branch_no, key, asked_at)
         values ($1, $2, $3, $4)
         on conflict (conversation_no) do update set branch_no = $2, key = $3, asked_at = $4";
    let asked_at = counted.asked_at.map(|at| at.0);
    execute(index, sql, (conversation_no, counted.to.branch.0, counted.to.at.0, asked_at))
}

/// Removes a conversation whose cells and scopes are empty by now.
pub(super) fn remove(index: Connection<'_>, conversation_no: i64) -> DbResult<()> {
    execute(index, "delete from stat_conversation where conversation_no = $1", [conversation_no])
}

/// Returns the scopes that include a conversation.
pub(super) fn scopes(index: Connection<'_>, conversation_no: i64) -> DbResult<Vec<Scope>> {
    let sql = "select kind, no from stat_member where conversation_no = $1 order by kind, no";
    query_all(index, sql, [conversation_no], |row| {
        let no = row.get(1)?;
        Ok(match row.get::<i64>(0)? {
            0 => Scope::Store,
            1 => Scope::Project(no),
            _ => Scope::Tag(no),
        })
    })
}

pub(super) fn set_scopes(index: Connection<'_>, conversation_no: i64, scopes: &[Scope]) -> DbResult<()> {
    execute(index, "delete from stat_member where conversation_no = $1", [conversation_no])?;
    let sql = "insert into stat_member (kind, no, conversation_no) values ($1, $2, $3)";
    scopes.iter().try_for_each(|scope| {
        let (kind, no) = scope.code();
        execute(index, sql, (kind, no, conversation_no))
    })
}

/// Counts the conversations of a scope that have a message in a range of days.
pub(super) fn count_active(index: Connection<'_>, scope: Scope, days: &std::ops::Range<i64>) -> DbResult<i64> {
    let (kind, no) = scope.code();
    // Without a first day of the range, NEVER is still before it.
    let start = days.start.max(NEVER + 1);
    let sql = "select cast(coalesce(sum(conversations), 0) as bigint)
         from stat_active
         where kind = $1 and no = $2 and day >= $3 and day < $4 and previous < $3";
    crate::engine::sql::connection::query_one(index, sql, (kind, no, start, days.end), |row| row.get(0))
}

/// Counts the conversations of a scope.
pub(super) fn count_all(index: Connection<'_>, scope: Scope) -> DbResult<i64> {
    let sql = "select count(*) from stat_member where kind = $1 and no = $2";
    crate::engine::sql::connection::query_one(index, sql, scope.code(), |row| row.get(0))
}

pub(super) fn of_conversation(index: Connection<'_>, conversation_no: i64) -> DbResult<Cells> {
    let sql = "select day, role_no, model_no, messages, words, tokens, timed, response_micros
         from stat_cell
         where conversation_no = $1";
    collect(index, sql, [conversation_no])
}

/// Returns the totals of a scope over a range of days.
pub(super) fn of_scope(index: Connection<'_>, scope: Scope, days: &std::ops::Range<i64>) -> DbResult<Cells> {
    let (kind, no) = scope.code();
    let sql = "select day, role_no, model_no, messages, words, tokens, timed, response_micros
         from stat_total
         where kind = $1 and no = $2 and day >= $3 and day < $4";
    collect(index, sql, (kind, no, days.start, days.end))
}

fn collect(
    index: Connection<'_>,
    sql: &str,
    parameters: impl crate::engine::sql::value::Parameters,
) -> DbResult<Cells> {
    let found = query_all(index, sql, parameters, |row| Ok((key_at(row, 0)?, tally_at(row, 3)?)))?;
    Ok(Cells(found.into_iter().collect()))
}

pub(super) fn key_at(row: &Row<'_>, place: usize) -> DbResult<CellKey> {
    Ok(CellKey { day: row.get(place)?, role_no: row.get(place + 1)?, model_no: row.get(place + 2)? })
}

pub(super) fn tally_at(row: &Row<'_>, place: usize) -> DbResult<Tally> {
    Ok(Tally {
        messages: row.get(place)?,
        words: row.get(place + 1)?,
        tokens: row.get(place + 2)?,
        timed: row.get(place + 3)?,
        response_micros: row.get(place + 4)?,
    })
}

/// Adds to the cells of a conversation.
pub(super) fn add_to_conversation(index: Connection<'_>, conversation_no: i64, cells: &Cells) -> DbResult<()> {
    let add = "insert into stat_cell
            (conversation_no, day, role_no, model_no, messages, words, tokens, timed, response_micros)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (conversation_no, day, role_no, model_no) do update
         set messages = stat_cell.messages + $5, words = stat_cell.words + $6, tokens = stat_cell.tokens + $7,
             timed = stat_cell.timed + $8, response_micros = stat_cell.response_micros + $9";
    let sweep = "delete from stat_cell where conversation_no = $1 and messages = 0";
    write(index, (add, &[&conversation_no]), sweep, cells)
}

/// Adds to the totals of a scope.
pub(super) fn add_to_scope(index: Connection<'_>, scope: Scope, cells: &Cells) -> DbResult<()> {
    let (kind, no) = scope.code();
    let add =
        "insert into stat_total (kind, no, day, role_no, model_no, messages, words, tokens, timed, response_micros)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (kind, no, day, role_no, model_no) do update
         set messages = stat_total.messages + $6, words = stat_total.words + $7, tokens = stat_total.tokens + $8,
             timed = stat_total.timed + $9, response_micros = stat_total.response_micros + $10";
    let sweep = "delete from stat_total where kind = $1 and no = $2 and messages = 0";
    write(index, (add, &[&kind, &no]), sweep, cells)
}

/// Adds to the counts of active days of a scope.
pub(super) fn add_active(index: Connection<'_>, scope: Scope, days: &ActiveDays) -> DbResult<()> {
    let (kind, no) = scope.code();
    let add = "insert into stat_active (kind, no, day, previous, conversations)
         values ($1, $2, $3, $4, $5)
         on conflict (kind, no, day, previous) do update
         set conversations = stat_active.conversations + $5";
    for ((day, previous), count) in &days.0 {
        execute(index, add, (kind, no, *day, *previous, *count))?;
    }
    if days.0.values().any(|count| *count < 0) {
        let sweep = "delete from stat_active where kind = $1 and no = $2 and conversations = 0";
        execute(index, sweep, (kind, no))?;
    }
    Ok(())
}

/// Adds cells below an owner, whose columns are first in both statements. Cells that became empty are deleted.
fn write(index: Connection<'_>, (add, owner): (&str, &[&dyn ToSql]), sweep: &str, cells: &Cells) -> DbResult<()> {
    for (key, tally) in &cells.0 {
        let values: [&dyn ToSql; 8] = [
            &key.day,
            &key.role_no,
            &key.model_no,
            &tally.messages,
            &tally.words,
            &tally.tokens,
            &tally.timed,
            &tally.response_micros,
        ];
        execute(index, add, &[owner, &values].concat()[..])?;
    }
    if cells.0.values().any(|tally| tally.messages < 0) {
        execute(index, sweep, owner)?;
    }
    Ok(())
}
