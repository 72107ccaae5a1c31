//! Reads of the journal, for change feeds and undo.

use super::super::apply::undo::target_for_caller;
use super::Reading;
use super::message::author;
use crate::api::error::StoreError;
use crate::api::query::{
    ENTRY_MESSAGES_MAX, JournalEntry, JournalPage, JournalQuery, PAGE_MAX, UndoDirection, UndoScope,
};
use crate::api::transaction::{Committed, Position};
use crate::engine::access::access_filter::{AccessFilter, require_known};
use crate::engine::codec::disk_codes::Kind;
use crate::engine::sql::connection::{Connection, DbResult, Row, for_each_row, list, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, ConversationId, MessageId, Timestamp};
use std::collections::HashMap;

/// Maximum number of rows that one page scans.
const SCANNED_MAX: usize = 10_000;

struct JournalRow {
    position: Position,
    count: i64,
    first: Position,
    at: i64,
    kind: i64,
    conversation: Option<[u8; 16]>,
    actor_no: Option<i64>,
    undoes: Option<Position>,
    conversation_no: Option<i64>,
}

impl JournalRow {
    fn last(&self) -> Position {
        self.position + self.count - 1
    }
}

fn read_row(row: &Row<'_>) -> DbResult<JournalRow> {
    Ok(JournalRow {
        position: row.get(0)?,
        count: row.get(1)?,
        first: row.get(2)?,
        at: row.get(3)?,
        kind: row.get(4)?,
        conversation: row.get(5)?,
        actor_no: row.get(6)?,
        undoes: row.get(7)?,
        conversation_no: row.get(8)?,
    })
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select j.pos, j.count, j.first, j.at, j.kind, c.id, j.actor_no, j.undoes, j.conversation_no
             from journal j
             left join conversation c on c.no = j.conversation_no ",
            $rest
        )
    };
}

pub(crate) fn journal(reading: &mut Reading<'_>, access: &AccessScope, query: &JournalQuery) -> TxResult<JournalPage> {
    let limit = query.limit.clamp(1, PAGE_MAX) as usize;
    match query.conversation {
        None if access.is_limited() => visible_entries(reading, access, query.after, limit),
        None => everything(reading, query.after, limit),
        Some(id) => {
            require_known(reading.connection, access, id)?;
            of_conversation(reading, id, query.after, limit)
        }
    }
}

/// Scans the rows after a position for those of conversations in the scope. Rows without a conversation are left out,
/// because they have no owner.
fn visible_entries(
    reading: &Reading<'_>,
    access: &AccessScope,
    after: Position,
    limit: usize,
) -> TxResult<JournalPage> {
    let within = AccessFilter::of(reading.connection, access)?;
    let sql = select!("where j.pos > $1 order by j.pos limit $2");
    let (mut found, mut reached, mut looked_at) = (Vec::new(), after, 0);
    let mut known: HashMap<i64, bool> = HashMap::new();
    while looked_at < SCANNED_MAX {
        let page = query_all(reading.connection, sql, (reached, i64::from(PAGE_MAX)), read_row)?;
        let is_last = page.len() < PAGE_MAX as usize;
        looked_at += page.len();
        for row in page {
            let is_within = match row.conversation_no {
                None => false,
                Some(no) => match known.get(&no) {
                    Some(is_within) => *is_within,
                    None => {
                        let is_within = within.has(reading.connection, no)?;
                        known.insert(no, is_within);
                        is_within
                    }
                },
            };
            // One more than fits says that there is more, and is left for the next page.
            if is_within && found.len() == limit {
                return Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more: true });
            }
            reached = row.last();
            if is_within {
                found.push(row);
            }
        }
        if is_last {
            return Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more: false });
        }
    }
    Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more: true })
}

fn everything(reading: &Reading<'_>, after: Position, limit: usize) -> TxResult<JournalPage> {
    let sql = select!("where j.pos > $1 order by j.pos limit $2");
    let mut found = query_all(reading.connection, sql, (after, limit as i64 + 1), read_row)?;
    let more = found.len() > limit;
    found.truncate(limit);
    let reached = found.last().map_or(after, JournalRow::last);
    Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more })
}

/// Follows the chain of a conversation back to a position. Where that is too far, as when a long conversation is read
/// from its start, it scans the rows after the position instead.
fn of_conversation(reading: &Reading<'_>, id: ConversationId, after: Position, limit: usize) -> TxResult<JournalPage> {
    let sql = "select no, last_pos from conversation where id = $1";
    let found: Option<(i64, Position)> =
        query_optional(reading.connection, sql, [id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (no, mut at) = found.ok_or_else(|| StoreError::not_found("conversation", id))?;
    let last = "select pos + count - 1 from journal order by pos desc limit 1";
    let last: Position = query_optional(reading.connection, last, (), |row| row.get(0))?.unwrap_or(0);
    let sql = "select prev from journal where pos = $1";
    let mut positions = Vec::new();
    while at > after.max(0) {
        if positions.len() == SCANNED_MAX {
            return scan(reading, no, after, limit);
        }
        positions.push(at);
        at = query_optional(reading.connection, sql, [at], |row| row.get(0))?.unwrap_or(0);
    }
    let more = positions.len() > limit;
    let mut found = Vec::with_capacity(limit.min(positions.len()));
    for position in positions.iter().rev().take(limit) {
        found.extend(query_optional(reading.connection, select!("where j.pos = $1"), [position], read_row)?);
    }
    let reached = match found.last() {
        Some(row) if more => row.last(),
        _ => last.max(after),
    };
    Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more })
}

fn scan(reading: &Reading<'_>, no: i64, after: Position, limit: usize) -> TxResult<JournalPage> {
    let sql = select!("where j.pos > $1 order by j.pos limit $2");
    let (mut found, mut reached) = (Vec::new(), after);
    for_each_row(reading.connection, sql, (after, SCANNED_MAX as i64), |row| {
        let row = read_row(row)?;
        reached = row.last();
        if row.conversation_no == Some(no) {
            found.push(row);
        }
        Ok(found.len() < limit)
    })?;
    // It was too long to follow, so there is always more behind this page.
    Ok(JournalPage { entries: complete(reading, found)?, scanned_to: reached, more: true })
}

fn complete(reading: &Reading<'_>, found: Vec<JournalRow>) -> TxResult<Vec<JournalEntry>> {
    let mut messages = messages_of(reading.connection, &found)?;
    let entry = |row: JournalRow| {
        let messages = messages.remove(&row.position).unwrap_or_default();
        Ok(JournalEntry {
            position: row.position,
            count: row.count,
            first: row.first,
            at: Timestamp(row.at),
            kind: Kind::of(row.kind).ok_or_else(|| StoreError::altered("journal", row.position))?,
            conversation: row.conversation.map(ConversationId::from_bytes),
            actor: row.actor_no.map(|no| author(reading.connection, no)).transpose()?,
            undoes: row.undoes,
            messages: messages.ids,
            messages_cut: messages.is_cut,
        })
    };
    found.into_iter().map(entry).collect()
}

/// The messages that a row is about, as far as an entry lists them.
#[derive(Default)]
struct RowMessages {
    ids: Vec<MessageId>,
    is_cut: bool,
}

// The list of positions is a JSON array for SQLite and a text with commas for PostgreSQL. `cross join` keeps the order
// of the loops: without it SQLite may walk all messages.
const MESSAGES_SQLITE: &str = "select j.pos, m.id
     from json_each($1) p
     cross join journal j on j.pos = p.value
     cross join message m on m.key between j.key and j.key + min(j.count, $2) - 1
     order by j.pos, m.key";

const MESSAGES_POSTGRES: &str = "select j.pos, m.id
     from unnest(string_to_array($1, ',')::int8[]) as p(pos)
     join journal j on j.pos = p.pos
     join message m on m.key between j.key and j.key + least(j.count, $2) - 1
     order by j.pos, m.key";

/// The messages of the commit whose first position is the key of an undo, in the conversation of the undo.
const UNDONE_MESSAGES: &str = "select m.id
     from journal u
     join journal j on j.first = u.key and j.pos >= u.key and j.pos <= u.key + 5000
                   and j.conversation_no = u.conversation_no
     join message m on m.key between j.key and j.key + j.count - 1
     where u.pos = $1
     order by j.pos, m.key
     limit $2";

/// Reads which messages the rows of a page are about. One statement serves all rows but undos, which are few.
fn messages_of(connection: Connection<'_>, found: &[JournalRow]) -> TxResult<HashMap<Position, RowMessages>> {
    let mut all: HashMap<Position, RowMessages> = HashMap::new();
    let max = ENTRY_MESSAGES_MAX as i64;
    let (mut keyed, mut undos) = (Vec::new(), Vec::new());
    for row in found.iter().filter(|row| row.conversation_no.is_some()) {
        match Kind::of(row.kind) {
            Some(Kind::Undone | Kind::Redone) => undos.push(row.position),
            Some(kind) if kind.has_message_key() => keyed.push(row.position),
            _ => {}
        }
    }
    if !keyed.is_empty() {
        let sql = match connection {
            Connection::Sqlite(_) => MESSAGES_SQLITE,
            Connection::Postgres(_) => MESSAGES_POSTGRES,
        };
        let read = |row: &Row<'_>| Ok((row.get(0)?, MessageId::from_bytes(row.get(1)?)));
        for (position, id) in query_all(connection, sql, (list(connection, &keyed), max), read)? {
            all.entry(position).or_default().ids.push(id);
        }
    }
    for row in found.iter().filter(|row| row.count > max) {
        // Without a listed message they were purged.
        all.entry(row.position).and_modify(|messages| messages.is_cut = true);
    }
    for position in undos {
        let read = |row: &Row<'_>| row.get(0).map(MessageId::from_bytes);
        let mut ids: Vec<MessageId> = query_all(connection, UNDONE_MESSAGES, (position, max + 1), read)?;
        let is_cut = ids.len() > ENTRY_MESSAGES_MAX;
        ids.truncate(ENTRY_MESSAGES_MAX);
        all.insert(position, RowMessages { ids, is_cut });
    }
    Ok(all)
}

pub(crate) fn idempotent_request_time(reading: &mut Reading<'_>, key: &[u8]) -> TxResult<Option<Timestamp>> {
    let sql = "select answer from request where key = $1";
    let answer: Option<Vec<u8>> = query_optional(reading.connection, sql, [key], |row| row.get(0))?;
    let Some(answer) = answer else { return Ok(None) };
    let committed: Committed =
        serde_json::from_slice(&answer).map_err(|_| StoreError::altered("request", manent_model::hex::encode(key)))?;
    Ok(Some(committed.at))
}

pub(crate) fn undo_target(
    reading: &mut Reading<'_>,
    scope: &UndoScope,
    step: UndoDirection,
) -> TxResult<Option<Position>> {
    target_for_caller(reading.connection, scope, step)
}

/// Returns the conversation of the newest journal row that has one in the access scope. Scans a bounded number of rows.
pub(crate) fn last_changed(reading: &Reading<'_>, access: &AccessScope) -> TxResult<Option<ConversationId>> {
    let within = AccessFilter::of(reading.connection, access)?;
    let sql = "select j.pos, j.conversation_no, c.id
         from (select pos, conversation_no from journal where pos < $1 order by pos desc limit $2) j
         left join conversation c on c.no = j.conversation_no and c.withdrawn = 0 and c.status <> 4
         order by j.pos desc";
    let (mut before, mut looked_at) = (Position::MAX, 0);
    while looked_at < SCANNED_MAX {
        let page: Vec<(Position, Option<i64>, Option<[u8; 16]>)> =
            query_all(reading.connection, sql, (before, i64::from(PAGE_MAX)), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        for (_, no, id) in &page {
            if let (Some(no), Some(id)) = (no, id)
                && within.has(reading.connection, *no)?
            {
                return Ok(Some(ConversationId::from_bytes(*id)));
            }
        }
        match page.last() {
            Some((position, ..)) => before = *position,
            None => return Ok(None),
        }
        looked_at += page.len();
    }
    Ok(None)
}
