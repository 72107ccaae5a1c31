//! Reads of attachments of conversations and of the logs of runs.

use super::super::apply::annotations::{CallBody, FoldBody, note_id};
use super::super::apply::run::tool_id;
use super::super::apply::stream::chunk_id;
use super::Reading;
use super::annotations_page::{Fitting, Page};
use super::damage::{RecordKind, records};
use super::message::author;
use super::path::{head_of, id_at, start_of, state_value};
use crate::api::error::StoreError;
use crate::api::query::{Annotations, AnnotationsQuery, Events, EventsQuery, PAGE_MAX, ToolCallTrail};
use crate::engine::access::access_filter::{AccessFilter, within};
use crate::engine::codec::body_mac;
use crate::engine::codec::disk_codes::{NameKind, fold_of, outcome_of, tool_of};
use crate::engine::sql::connection::{DbResult, Row, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    AccessScope, Address, Bookmark, Call, CallId, ConversationId, Event, Fold, FoldId, Input, InputId, Json, Lease,
    MessageId, Note, NoteId, State, Timestamp, ToolCall, ToolStep,
};
use std::cell::Cell;

/// Reads JSON that a seal has vouched for.
pub(crate) fn json_of(what: &'static str, text: &[u8]) -> TxResult<Json> {
    let text = std::str::from_utf8(text).map_err(|_| StoreError::altered(what, "its text"))?;
    Json::parse(text).map_err(|_| StoreError::altered(what, "its text").into())
}

fn message_at(reading: &Reading<'_>, key: i64) -> TxResult<MessageId> {
    id_at(reading.connection, Address(key))?
        .ok_or_else(|| StoreError::altered("message", format!("{:?}", Address(key))).into())
}

/// Formats an address for the report of damaged records.
fn place_of(row: &Row<'_>, column: usize) -> DbResult<String> {
    Ok(format!("at {:?}", Address(row.get(column)?)))
}

/// Reads the sizes of the records of a table that are numbered.
macro_rules! sizes {
    ($table:literal, $bytes:literal) => {
        concat!(
            "select no, ",
            $bytes,
            " from ",
            $table,
            " where conversation_no = $1 and withdrawn = 0 and no > $2
              order by no
              limit $3"
        )
    };
}

/// Reads the records of a table that fit on a page.
macro_rules! page_of {
    ($columns:literal, $table:literal) => {
        concat!(
            "select ",
            $columns,
            " from ",
            $table,
            " where conversation_no = $1 and withdrawn = 0 and no > $2 and no <= $3
              order by no"
        )
    };
}

pub(crate) fn annotations(reading: &mut Reading<'_>, query: &AnnotationsQuery) -> TxResult<Annotations> {
    let (no, _) = head_of(reading.connection, query.conversation)?;
    let (of, mut page) = ((no, query.conversation), Page::of(query));
    Ok(Annotations {
        notes: notes(reading, of, &mut page)?,
        bookmarks: bookmarks(reading, of, &mut page)?,
        states: states(reading, of, &mut page)?,
        folds: folds(reading, of, &mut page)?,
        calls: calls(reading, of, &mut page)?,
        tool_calls: tool_calls(reading, of, &mut page)?,
        inputs: inputs(reading, of, &mut page)?,
        lease: if query.after.is_none() { lease(reading, no)? } else { None },
        streams: streams(reading, of, &mut page)?,
        next: page.next,
    })
}

/// Finds out which records of a table that are numbered fit on a page.
fn fit(reading: &Reading<'_>, page: &mut Page, kind: u8, no: i64, sql: &str) -> TxResult<Option<Fitting<i64>>> {
    page.fit(reading, kind, sql, |after, many| (no, *after, many), |row| Ok((row.get(0)?, row.get(1)?)))
}

fn notes(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<Note>> {
    type Columns = ([u8; 16], i64, String, Option<i64>, i64, Vec<u8>);
    let sizes = sizes!("note", "octet_length(body)");
    let Some(Fitting { after, last }) = fit(reading, page, 0, no, sizes)? else { return Ok(Vec::new()) };
    let sql = page_of!("id, key, kind, actor_no, at, body", "note");
    let row = |row: &Row<'_>| -> DbResult<Columns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let name = |row: &Row<'_>| Ok(NoteId::from_bytes(row.get(0)?).to_string());
    let note = |reading: &mut Reading<'_>, (id, key, kind, actor_no, at, body): Columns| {
        let value = body_mac::verify(reading.key, "note", &note_id(&id, &kind, at), &body)?;
        Ok(Note {
            id: NoteId::from_bytes(id),
            message: message_at(reading, key)?,
            actor: actor_no.map(|no| author(reading.connection, no)).transpose()?,
            value: json_of("note", value)?,
            kind,
            at: Timestamp(at),
        })
    };
    records(reading, RecordKind::of("note", Some(of)), (sql, (no, after, last)), name, row, note)
}

fn bookmarks(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<Bookmark>> {
    type Columns = (String, i64, i64, Option<Vec<u8>>);
    let sizes = "select name, octet_length(name) + coalesce(octet_length(body), 0)
         from bookmark
         where conversation_no = $1 and (name > $2 or $2 is null)
         order by name
         limit $3";
    let parameters = |after: &Option<String>, many| (no, after.clone(), many);
    let fitting = page.fit(reading, 1, sizes, parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(Fitting { after, last }) = fitting else { return Ok(Vec::new()) };
    let sql = "select name, key, at, body
         from bookmark
         where conversation_no = $1 and (name > $2 or $2 is null) and name <= $3
         order by name";
    let row = |row: &Row<'_>| -> DbResult<Columns> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)) };
    let bookmark = |reading: &mut Reading<'_>, (name, key, at, body): Columns| {
        let metadata = match body {
            Some(body) => {
                Some(json_of("bookmark", body_mac::verify(reading.key, "bookmark", name.as_bytes(), &body)?)?)
            }
            None => None,
        };
        let head = id_at(reading.connection, Address(key))?;
        Ok(Bookmark { name, head, metadata, at: Timestamp(at) })
    };
    records(reading, RecordKind::of("bookmark", Some(of)), (sql, (no, after, last)), |row| row.get(0), row, bookmark)
}

fn states(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<State>> {
    type Columns = (i64, i64, i64, Option<Vec<u8>>);
    let sizes = sizes!("state", "coalesce(octet_length(body), 0)");
    let Some(Fitting { after, last }) = fit(reading, page, 2, no, sizes)? else { return Ok(Vec::new()) };
    let sql = page_of!("name_no, key, at, body", "state");
    let row = |row: &Row<'_>| -> DbResult<Columns> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)) };
    let start = start_of(reading.connection, no)?;
    let state = |reading: &mut Reading<'_>, (name_no, key, at, body): Columns| {
        Ok(State {
            name: reading.caches.name(reading.connection, name_no)?.to_string(),
            after: if key == start.0 { None } else { Some(message_at(reading, key)?) },
            value: body.map(|body| state_value(reading, key, &body)).transpose()?,
            at: Timestamp(at),
        })
    };
    records(reading, RecordKind::of("state", Some(of)), (sql, (no, after, last)), |row| place_of(row, 1), row, state)
}

type FoldRow = ([u8; 16], i64, i64, bool, Option<[u8; 16]>, i64, Vec<u8>);

fn read_fold(row: &Row<'_>) -> DbResult<FoldRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

fn folds(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<Fold>> {
    let sizes = sizes!("fold", "octet_length(body)");
    let Some(Fitting { after, last }) = fit(reading, page, 3, no, sizes)? else { return Ok(Vec::new()) };
    let sql = page_of!("id, key, kind, active, parent, at, body", "fold");
    let name = |row: &Row<'_>| Ok(FoldId::from_bytes(row.get(0)?).to_string());
    let fold = |reading: &mut Reading<'_>, row| fold_of_row(reading, row);
    records(reading, RecordKind::of("fold", Some(of)), (sql, (no, after, last)), name, read_fold, fold)
}

/// Reads a fold by its number, even one that was withdrawn.
pub(crate) fn fold_by_no(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<Fold>> {
    let sql = "select id, key, kind, active, parent, at, body from fold where no = $1";
    let found = query_optional(reading.connection, sql, [no], read_fold)?;
    found.map(|row| fold_of_row(reading, row)).transpose()
}

fn fold_of_row(reading: &Reading<'_>, row: FoldRow) -> TxResult<Fold> {
    let (id, key, kind, active, parent, at, body) = row;
    let body: FoldBody = body_mac::verify_json(reading.key, "fold", &id, &body)?;
    Ok(Fold {
        id: FoldId::from_bytes(id),
        after: message_at(reading, key)?,
        kind: fold_of(kind).ok_or_else(|| StoreError::altered("fold", FoldId::from_bytes(id)))?,
        covers: body.covers,
        summary: body.summary,
        parent: parent.map(FoldId::from_bytes),
        made_by: body.made_by,
        active,
        at: Timestamp(at),
    })
}

fn calls(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<Call>> {
    type Columns = ([u8; 16], i64, Option<i64>, i64, Option<i64>, Option<i64>, Option<i64>, i64, Vec<u8>);
    let sizes = sizes!("model_call", "octet_length(body)");
    let Some(Fitting { after, last }) = fit(reading, page, 4, no, sizes)? else { return Ok(Vec::new()) };
    let sql = page_of!("id, key, model_no, outcome, tokens_in, tokens_out, cost_micros, at, body", "model_call");
    let row = |row: &Row<'_>| -> DbResult<Columns> {
        let ids = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let counts = (row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?);
        Ok((ids.0, ids.1, ids.2, ids.3, counts.0, counts.1, counts.2, counts.3, row.get(8)?))
    };
    let name = |row: &Row<'_>| Ok(CallId::from_bytes(row.get(0)?).to_string());
    let call = |reading: &mut Reading<'_>, row: Columns| {
        let (id, key, model_no, outcome, tokens_in, tokens_out, cost_micros, at, body) = row;
        let body: CallBody = body_mac::verify_json(reading.key, "call", &id, &body)?;
        let model = model_no.map(|no| reading.caches.name(reading.connection, no)).transpose()?;
        Ok(Call {
            id: CallId::from_bytes(id),
            after: id_at(reading.connection, Address(key))?,
            model: model.map(|model| model.to_string()),
            outcome: outcome_of(outcome).ok_or_else(|| StoreError::altered("call", CallId::from_bytes(id)))?,
            tokens_in,
            tokens_out,
            cost_micros,
            sent: body.sent,
            manifest: body.manifest,
            at: Timestamp(at),
        })
    };
    records(reading, RecordKind::of("call", Some(of)), (sql, (no, after, last)), name, row, call)
}

struct ToolRow {
    key: i64,
    part: i64,
    call_id: String,
    name: String,
    state: i64,
    body: Vec<u8>,
    conversation: [u8; 16],
}

fn tool_row(row: &Row<'_>) -> DbResult<ToolRow> {
    Ok(ToolRow {
        key: row.get(0)?,
        part: row.get(1)?,
        call_id: row.get(2)?,
        name: row.get(3)?,
        state: row.get(4)?,
        body: row.get(5)?,
        conversation: row.get(6)?,
    })
}

fn trail(reading: &mut Reading<'_>, row: ToolRow) -> TxResult<ToolCallTrail> {
    let message = message_at(reading, row.key)?;
    let altered = || StoreError::altered("tool call", message);
    let sealed = body_mac::verify(reading.key, "tool call", &tool_id(Address(row.key), row.part), &row.body)?;
    let call = ToolCall {
        message,
        part: u32::try_from(row.part).map_err(|_| altered())?,
        call_id: row.call_id,
        name: row.name,
        state: tool_of(row.state).ok_or_else(altered)?,
        record: json_of("tool call", sealed)?,
    };
    let sql = "select state, at, actor_no, note
         from tool_step
         where key = $1 and part = $2 and withdrawn = 0
         order by no";
    let found: Vec<(i64, i64, Option<i64>, String)> = query_all(reading.connection, sql, (row.key, row.part), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let mut steps = Vec::with_capacity(found.len());
    for (state, at, actor_no, note) in found {
        steps.push(ToolStep {
            state: tool_of(state).ok_or_else(altered)?,
            at: Timestamp(at),
            actor: actor_no.map(|no| author(reading.connection, no)).transpose()?,
            note,
        });
    }
    Ok(ToolCallTrail { call, steps })
}

fn tool_calls(
    reading: &mut Reading<'_>,
    (no, of): (i64, ConversationId),
    page: &mut Page,
) -> TxResult<Vec<ToolCallTrail>> {
    let sizes = "select t.key, t.part,
                octet_length(t.body) + octet_length(t.call_id) + octet_length(t.name)
                + coalesce((select sum(octet_length(s.note))
                            from tool_step s
                            where s.key = t.key and s.part = t.part and s.withdrawn = 0), 0)
         from tool_call t
         where t.conversation_no = $1 and (t.key, t.part) > ($2, $3)
         order by t.key, t.part
         limit $4";
    let parameters = |after: &(i64, i64), many| (no, after.0, after.1, many);
    let fitting = page.fit(reading, 5, sizes, parameters, |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    let Some(Fitting { after, last }) = fitting else { return Ok(Vec::new()) };
    let sql = "select t.key, t.part, t.call_id, t.name, t.state, t.body, c.id
         from tool_call t
         join conversation c on c.no = t.conversation_no
         where t.conversation_no = $1 and (t.key, t.part) > ($2, $3) and (t.key, t.part) <= ($4, $5)
         order by t.key, t.part";
    let trail = |reading: &mut Reading<'_>, row| trail(reading, row);
    records(
        reading,
        RecordKind::of("tool call", Some(of)),
        (sql, (no, after.0, after.1, last.0, last.1)),
        |row| place_of(row, 0),
        tool_row,
        trail,
    )
}

pub(crate) fn open_tool_calls(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    limit: u32,
) -> TxResult<Vec<(ConversationId, ToolCallTrail)>> {
    let within = AccessFilter::of(reading.connection, access)?;
    let sql = concat!(
        "select t.key, t.part, t.call_id, t.name, t.state, t.body, c.id
         from tool_call t
         join conversation c on c.no = t.conversation_no
         where t.open = 1 and c.withdrawn = 0 and c.status < 2 and ",
        within!("$1", "$2"),
        " order by t.conversation_no, t.key, t.part
         limit $3"
    );
    let found = query_all(reading.connection, sql, (&within.user, &within.projects, limit.min(PAGE_MAX)), tool_row)?;
    let with_owner = |row: ToolRow| {
        let owner = ConversationId::from_bytes(row.conversation);
        Ok((owner, trail(reading, row)?))
    };
    found.into_iter().map(with_owner).collect()
}

fn inputs(reading: &mut Reading<'_>, (no, of): (i64, ConversationId), page: &mut Page) -> TxResult<Vec<Input>> {
    type Columns = ([u8; 16], i64, bool, Vec<u8>);
    let sizes = sizes!("input", "octet_length(body)");
    let Some(Fitting { after, last }) = fit(reading, page, 6, no, sizes)? else { return Ok(Vec::new()) };
    let sql = page_of!("id, at, taken_pos is not null, body", "input");
    let row = |row: &Row<'_>| -> DbResult<Columns> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)) };
    let name = |row: &Row<'_>| Ok(InputId::from_bytes(row.get(0)?).to_string());
    let input = |reading: &mut Reading<'_>, (id, at, taken, body): Columns| {
        let body = json_of("input", body_mac::verify(reading.key, "input", &id, &body)?)?;
        Ok(Input { id: InputId::from_bytes(id), at: Timestamp(at), body, taken })
    };
    records(reading, RecordKind::of("input", Some(of)), (sql, (no, after, last)), name, row, input)
}

fn lease(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<Lease>> {
    let sql = "select owner, token, until from lease where conversation_no = $1 and owner <> ''";
    Ok(crate::engine::sql::connection::query_optional(reading.connection, sql, [no], |row| {
        Ok(Lease { owner: row.get(0)?, token: row.get(1)?, until: Timestamp(row.get(2)?) })
    })?)
}

/// Joins the chunks of messages that are still streaming.
fn streams(
    reading: &mut Reading<'_>,
    (no, of): (i64, ConversationId),
    page: &mut Page,
) -> TxResult<Vec<(MessageId, String)>> {
    let sizes = "with b as materialized
             (select no << 24 as first, no << 24 | 16777215 as last from branch where conversation_no = $1)
         select h.key, sum(octet_length(h.body))
         from b
         join chunk h on h.key between b.first and b.last
         where h.key > $2
         group by h.key
         order by h.key
         limit $3";
    let Some(Fitting { after, last }) = fit(reading, page, 7, no, sizes)? else { return Ok(Vec::new()) };
    let sql = "with b as materialized
             (select no << 24 as first, no << 24 | 16777215 as last from branch where conversation_no = $1)
         select h.key, h.n, h.body
         from b
         join chunk h on h.key between b.first and b.last
         where h.key > $2 and h.key <= $3
         order by h.key, h.n";
    let row = |row: &Row<'_>| -> DbResult<(i64, i64, Vec<u8>)> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
    let chunk = |reading: &mut Reading<'_>, (key, n, body): (i64, i64, Vec<u8>)| {
        let delta = body_mac::verify(reading.key, "chunk", &chunk_id(Address(key), n), &body)?;
        let delta = std::str::from_utf8(delta).map_err(|_| StoreError::altered("chunk", n))?;
        Ok((message_at(reading, key)?, delta.to_owned()))
    };
    let found = records(
        reading,
        RecordKind::of("chunk", Some(of)),
        (sql, (no, after, last)),
        |row| place_of(row, 0),
        row,
        chunk,
    )?;
    let mut streams: Vec<(MessageId, String)> = Vec::new();
    for (message, delta) in found {
        match streams.last_mut() {
            Some((last, text)) if *last == message => text.push_str(&delta),
            _ => streams.push((message, delta)),
        }
    }
    Ok(streams)
}

pub(crate) fn events(reading: &mut Reading<'_>, query: &EventsQuery) -> TxResult<Events> {
    type Columns = (i64, i64, i64, Vec<u8>);
    let (no, _) = head_of(reading.connection, query.conversation)?;
    let mut wanted = Vec::new();
    for channel in &query.channels {
        wanted.extend(reading.caches.number_of(reading.connection, NameKind::Channel, channel)?);
    }
    let limit = query.limit.clamp(1, PAGE_MAX) as usize;
    let mut after = no << 32 | query.after.clamp(0, i64::from(u32::MAX));
    let mut events = Vec::new();
    let sql = "select key, at, channel_no, body
         from event
         where key > $1 and key < $2 and withdrawn = 0
         order by key
         limit $3";
    let name = |row: &Row<'_>| Ok((row.get::<i64>(0)? & i64::from(u32::MAX)).to_string());
    loop {
        let (seen, count) = (Cell::new(after), Cell::new(0));
        let row = |row: &Row<'_>| -> DbResult<Columns> {
            seen.set(row.get(0)?);
            count.set(count.get() + 1);
            Ok((seen.get(), row.get(1)?, row.get(2)?, row.get(3)?))
        };
        let event = |reading: &mut Reading<'_>, (key, at, channel_no, body): Columns| {
            if !query.channels.is_empty() && !wanted.contains(&channel_no) {
                return Ok(None);
            }
            Ok(Some(Event {
                cursor: key & i64::from(u32::MAX),
                channel: reading.caches.name(reading.connection, channel_no)?.to_string(),
                at: Timestamp(at),
                body: json_of("event", body_mac::verify(reading.key, "event", &key.to_le_bytes(), &body)?)?,
            }))
        };
        let kind = RecordKind::of("event", Some(query.conversation));
        let parameters = (after, (no + 1) << 32, limit as i64);
        let found = records(reading, kind, (sql, parameters), name, row, event)?;
        events.extend(found.into_iter().flatten());
        after = seen.get();
        if count.get() < limit || events.len() >= limit {
            events.truncate(limit);
            return Ok(events);
        }
    }
}
