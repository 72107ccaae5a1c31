//! Counts the shown path of a conversation, or only its uncounted end.

use super::super::read::Reading;
use super::super::read::path::head_of;
use super::cells::{CellKey, Cells, Counted, Scope};
use crate::api::error::StoreError;
use crate::api::query::StatsQuery;
use crate::engine::codec::disk_codes::status_code;
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::sql::connection::{query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::stats::Counter;
use manent_model::{
    Address, BranchNo, ConversationId, ConversationStatus, Head, MessageStatus, Range, Stats, TimeSource, Timestamp,
    path,
};

/// Where counting ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At the head.
    Head,
    /// Before the first message that is still being written: its sums are not final.
    OpenStream,
}

/// A conversation as it is now: its head, and the scopes that include it.
pub(super) fn current(reading: &Reading<'_>, conversation_no: i64) -> TxResult<Option<(Head, Vec<Scope>)>> {
    let sql = "select head_branch_no, head_key, status, project_no
         from conversation
         where no = $1 and withdrawn = 0 and status <> 4";
    let found: Option<(Head, i64, Option<i64>)> = query_optional(reading.connection, sql, [conversation_no], |row| {
        let head = Head { branch: BranchNo(row.get(0)?), at: Address(row.get(1)?) };
        Ok((head, row.get(2)?, row.get(3)?))
    })?;
    let Some((head, status, project_no)) = found else { return Ok(None) };
    let listed = [ConversationStatus::Active, ConversationStatus::Archived].map(status_code);
    if !listed.contains(&status) {
        return Ok(Some((head, Vec::new())));
    }
    let mut scopes = vec![Scope::Store];
    scopes.extend(project_no.map(Scope::Project));
    let sql = "select name_no from tag where conversation_no = $1 order by name_no";
    scopes.extend(query_all(reading.connection, sql, [conversation_no], |row| row.get(0).map(Scope::Tag))?);
    Ok(Some((head, scopes)))
}

/// Reads every message of the current path and counts it. `verify` compares the sums with it.
pub(crate) fn count_messages(reading: &mut Reading<'_>, id: ConversationId) -> TxResult<Stats> {
    let (_, head) = head_of(reading.connection, id)?;
    let (cells, _) = whole(reading, head, Until::Head)?;
    let mut stats = Stats { conversations: 1, ..Stats::default() };
    add_to(reading, &mut stats, &cells, &StatsQuery::default().days())?;
    Ok(stats)
}

/// Counts a path from its start.
pub(super) fn whole(reading: &mut Reading<'_>, head: Head, until: Until) -> TxResult<(Cells, Counted)> {
    let ranges = path::ranges(&mut reading.caches.branches(reading.connection), head)?;
    let start = Counted { to: Head { branch: head.branch, at: Address::START }, asked_at: None };
    count(reading, &ranges, start, until)
}

/// Counts the messages added to a path after the counted ones; `None` if these are no longer its beginning.
pub(super) fn tail(
    reading: &mut Reading<'_>,
    head: Head,
    counted: Counted,
    until: Until,
) -> TxResult<Option<(Cells, Counted)>> {
    // Another branch may take the same message by reference behind other messages, so its address alone says nothing.
    if head.branch != counted.to.branch {
        return Ok(None);
    }
    let mut branches = reading.caches.branches(reading.connection);
    let ranges = match counted.to.at {
        Address::START => path::ranges(&mut branches, head)?,
        at => match path::ranges_from(&mut branches, head, at)? {
            Some(mut ranges) => {
                let first = ranges.remove(0);
                if first.from < first.to {
                    ranges.insert(0, Range::new(Address(first.from.0 + 1), first.to));
                }
                ranges
            }
            None => return Ok(None),
        },
    };
    count(reading, &ranges, counted, until).map(Some)
}

fn count(
    reading: &mut Reading<'_>,
    ranges: &[Range],
    mut counted: Counted,
    until: Until,
) -> TxResult<(Cells, Counted)> {
    // The words and tokens of one message are the difference of the running sums around it; those of an open stream are
    // 0.
    let sql = "select key, facts, words_sum - lag(words_sum, 1, 0) over (order by key),
                tokens_sum - lag(tokens_sum, 1, 0) over (order by key)
         from message
         where key between $1 and $2
         order by key";
    let (mut cells, mut counter) = (Cells::default(), Counter { asked_at: counted.asked_at });
    'path: for range in ranges {
        // One message more than the range, for the sums before it.
        let from = (range.from.0 - 1).max(range.from.branch().slot(0).0);
        let found: Vec<(i64, Vec<u8>, i64, i64)> = query_all(reading.connection, sql, (from, range.to.0), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        for (key, facts, words, tokens) in found.into_iter().filter(|(key, ..)| *key >= range.from.0) {
            let altered = || StoreError::altered("message", format!("{:?}", Address(key)));
            let facts = MessageHeader::decode(&facts).ok_or_else(altered)?;
            if until == Until::OpenStream && facts.flags.status == MessageStatus::Streaming {
                break 'path;
            }
            counted.to.at = Address(key);
            if !facts.flags.seen.by_reader || facts.flags.status == MessageStatus::Failed {
                continue;
            }
            let role = reading.caches.name(reading.connection, facts.role_no)?;
            let at = (facts.flags.time_source == TimeSource::Exact).then_some(Timestamp(facts.at));
            let tally = counter.tally(&role, at, words, tokens);
            let day = Timestamp(facts.at).day();
            cells.add(CellKey { day, role_no: facts.role_no, model_no: facts.model_no.unwrap_or(0) }, &tally);
        }
    }
    counted.asked_at = counter.asked_at;
    Ok((cells, counted))
}

/// Adds cells of a range of days to statistics.
pub(crate) fn add_to(
    reading: &mut Reading<'_>,
    stats: &mut Stats,
    cells: &Cells,
    days: &std::ops::Range<i64>,
) -> TxResult<()> {
    for (key, tally) in cells.0.iter().filter(|(key, _)| days.contains(&key.day)) {
        let role = reading.caches.name(reading.connection, key.role_no)?;
        let model = match key.model_no {
            0 => None,
            no => Some(reading.caches.name(reading.connection, no)?),
        };
        stats.add(key.day, &role, model.as_deref(), tally);
    }
    Ok(())
}

/// Says whether a conversation with these cells counts as one: any does, unless only some days are asked for.
pub(super) fn is_active(cells: &Cells, query: &StatsQuery) -> bool {
    let days = query.days();
    !query.is_limited_to_days() || cells.0.keys().any(|key| days.contains(&key.day))
}
