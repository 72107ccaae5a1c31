//! Check of the sums against the messages that they were computed from.

use super::super::read::Reading;
use super::answer::{cursor, index_of};
use super::cells::{self, ActiveDays, CellKey, NEVER, key_at, tally_at};
use super::changes::Changes;
use super::path::{self, Until};
use crate::engine::sql::connection::{Connection, for_each_row, query_all};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::stats::Tally;
use std::collections::BTreeMap;

/// How many conversations are compared in one read.
pub(crate) const PAGE: i64 = 100;

/// Checks the sums of a page of conversations after a number. Returns the last number of the page, if there is one, and
/// the problems. Conversations that changed since the index last read the journal are left out.
pub(crate) fn check_page(reading: &mut Reading<'_>, after: i64) -> TxResult<(Option<i64>, Vec<String>)> {
    let sql = "select no from conversation where no > $1 order by no limit $2";
    let page: Vec<i64> = query_all(reading.connection, sql, (after, PAGE), |row| row.get(0))?;
    let (last, mut wrong) = (page.last().copied(), Vec::new());
    let Some(index) = index_of(reading) else { return Ok((None, wrong)) };
    let position = cursor(index)?.position;
    let Some(changes) = Changes::since(reading, position)? else { return Ok((last, wrong)) };
    for no in page.into_iter().filter(|no| !changes.0.contains_key(no)) {
        let counted = cells::counted(index, no)?;
        let is_right = match path::current(reading, no)? {
            None => counted.is_none(),
            Some((head, scopes)) => match path::whole(reading, head, Until::OpenStream) {
                Ok((cells, to)) => {
                    counted == Some(to)
                        && cells == cells::of_conversation(index, no)?
                        && scopes == cells::scopes(index, no)?
                }
                // A damaged message is reported by the check of the messages.
                Err(TxError::Rejected(_)) => true,
                Err(fault) => return Err(fault),
            },
        };
        if !is_right {
            wrong.push(format!("statistics of conversation number {no}"));
        }
    }
    Ok((last, wrong))
}

/// Compares the totals with the cells that they are the sums of.
pub(crate) fn check_totals(reading: &Reading<'_>) -> TxResult<Option<String>> {
    type Totals = BTreeMap<(i64, i64, CellKey), Tally>;
    let Some(index) = index_of(reading) else { return Ok(None) };
    let sums = "select m.kind, m.no, c.day, c.role_no, c.model_no,
                cast(sum(c.messages) as bigint), cast(sum(c.words) as bigint), cast(sum(c.tokens) as bigint),
                cast(sum(c.timed) as bigint), cast(sum(c.response_micros) as bigint)
         from stat_member m
         join stat_cell c on c.conversation_no = m.conversation_no
         group by m.kind, m.no, c.day, c.role_no, c.model_no";
    let totals =
        "select kind, no, day, role_no, model_no, messages, words, tokens, timed, response_micros from stat_total";
    let read = |sql: &str| -> TxResult<Totals> {
        let found =
            query_all(index, sql, (), |row| Ok(((row.get(0)?, row.get(1)?, key_at(row, 2)?), tally_at(row, 5)?)))?;
        Ok(found.into_iter().collect())
    };
    if read(sums)? != read(totals)? {
        return Ok(Some("totals of statistics".to_owned()));
    }
    Ok((active_days(index)? != stored_active_days(index)?).then(|| "active days of statistics".to_owned()))
}

/// Counts of active days by kind and number of a scope.
type ScopeDays = BTreeMap<(i64, i64), ActiveDays>;

/// Counts the active days of all scopes from the cells.
fn active_days(index: Connection<'_>) -> TxResult<ScopeDays> {
    let sql = "select m.kind, m.no, c.conversation_no, c.day
         from stat_member m
         join stat_cell c on c.conversation_no = m.conversation_no
         order by m.kind, m.no, c.conversation_no, c.day";
    let mut scopes = ScopeDays::new();
    let mut last: Option<(i64, i64, i64, i64)> = None;
    for_each_row(index, sql, (), |row| {
        let (kind, no, conversation, day) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let previous = last.filter(|last| (last.0, last.1, last.2) == (kind, no, conversation)).map(|last| last.3);
        if previous != Some(day) {
            let counts = &mut scopes.entry((kind, no)).or_default().0;
            *counts.entry((day, previous.unwrap_or(NEVER))).or_default() += 1;
        }
        last = Some((kind, no, conversation, day));
        Ok(true)
    })?;
    Ok(scopes)
}

fn stored_active_days(index: Connection<'_>) -> TxResult<ScopeDays> {
    let mut scopes = ScopeDays::new();
    for_each_row(index, "select kind, no, day, previous, conversations from stat_active", (), |row| {
        let counts = &mut scopes.entry((row.get(0)?, row.get(1)?)).or_default().0;
        counts.insert((row.get(2)?, row.get(3)?), row.get(4)?);
        Ok(true)
    })?;
    Ok(scopes)
}
