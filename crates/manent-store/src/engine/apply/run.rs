//! Changes to agent runs: tool calls, events, inputs, leases.

use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{ChangeResult, NewEvent, ToolPart};
use crate::engine::codec::before_image::{BeforeImage, SoftDeletable, ToolCallImage};
use crate::engine::codec::disk_codes::{Kind, NameKind, tool_code, tool_of};
use crate::engine::codec::{body_mac, row_mac};
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::sql::connection::{execute, insert_numbered, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, ConversationId, InputId, Json, MessageId, Timestamp, ToolCall, ToolState, ToolStep};

pub(crate) fn tool_id(address: Address, part: i64) -> [u8; 16] {
    super::stream::chunk_id(address, part)
}

pub(crate) fn tool_row(tx: &Tx<'_>, key: i64, part: i64) -> TxResult<Option<ToolCallImage>> {
    let sql = "select conversation_no, call_id, name, state, body from tool_call where key = $1 and part = $2";
    let found = query_optional(tx.connection, sql, (key, part), |row| {
        Ok(ToolCallImage {
            conversation_no: row.get(0)?,
            call_id: row.get(1)?,
            name: row.get(2)?,
            state: row.get(3)?,
            body: row.get(4)?,
        })
    })?;
    Ok(found)
}

pub(crate) fn put_tool_row(tx: &Tx<'_>, key: i64, part: i64, row: Option<&ToolCallImage>) -> TxResult<()> {
    execute(tx.connection, "delete from tool_call where key = $1 and part = $2", (key, part))?;
    if let Some(row) = row {
        let open = tool_of(row.state).is_some_and(|state| !state.is_final());
        let sql = "insert into tool_call (key, part, conversation_no, call_id, name, open, state, body, mac)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let parameters = (key, part, row.conversation_no, &row.call_id, &row.name, open, row.state, &row.body);
        execute(tx.connection, sql, row_mac::row(tx.key, &row_mac::TOOL_CALL, parameters))?;
    }
    Ok(())
}

fn add_step(tx: &mut Tx<'_>, key: i64, part: i64, step: &ToolStep, actor_no: Option<i64>) -> TxResult<BeforeImage> {
    let sql = "insert into tool_step (key, part, state, at, actor_no, note, mac) values ($1, $2, $3, $4, $5, $6, $7)";
    let parameters = (key, part, tool_code(step.state), step.at.0, actor_no, &step.note);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::TOOL_STEP, parameters))?;
    Ok(BeforeImage::Flag { table: SoftDeletable::ToolStep, key: no, withdrawn: true })
}

/// Takes a tool call of a conversation back, with its steps.
fn remove_call(tx: &mut Tx<'_>, conversation_no: i64, message: MessageId, part: u32) -> TxResult<Vec<BeforeImage>> {
    let spot = tx.locate(message)?;
    tx.owner(&spot, message)?;
    let (key, part) = (spot.address.0, i64::from(part));
    let earlier = tool_row(tx, key, part)?.filter(|row| row.conversation_no == conversation_no);
    let earlier = earlier.ok_or_else(|| StoreError::not_found("tool call", format!("{part} of {message}")))?;
    put_tool_row(tx, key, part, None)?;
    let sql = "select no from tool_step where key = $1 and part = $2 and withdrawn = 0 order by no";
    let steps: Vec<i64> = query_all(tx.connection, sql, (key, part), |row| row.get(0))?;
    for no in &steps {
        execute(tx.connection, "update tool_step set withdrawn = 1 where no = $1", [*no])?;
    }
    let mut images = vec![BeforeImage::ToolCall { key, part, row: Some(earlier) }];
    images.extend(steps.into_iter().map(|no| BeforeImage::Flag {
        table: SoftDeletable::ToolStep,
        key: no,
        withdrawn: false,
    }));
    Ok(images)
}

pub(crate) fn put_tool_call(tx: &mut Tx<'_>, call: &ToolCall, note: &str) -> TxResult<ChangeResult> {
    let step = ToolStep { state: call.state, at: tx.at, actor: None, note: note.to_owned() };
    let actor_no = tx.actor_no;
    put_call(tx, call, &[(step, actor_no)], None)
}

pub(crate) fn put_tool_trail(
    tx: &mut Tx<'_>,
    call: &ToolCall,
    steps: &[ToolStep],
    instead_of: Option<ToolPart>,
) -> TxResult<ChangeResult> {
    let mut with_actors = Vec::with_capacity(steps.len());
    for step in steps {
        with_actors.push((step.clone(), tx.author(step.actor.as_ref())?));
    }
    put_call(tx, call, &with_actors, instead_of)
}

fn put_call(
    tx: &mut Tx<'_>,
    call: &ToolCall,
    steps: &[(ToolStep, Option<i64>)],
    instead_of: Option<ToolPart>,
) -> TxResult<ChangeResult> {
    let spot = tx.locate(call.message)?;
    let row = tx.owner(&spot, call.message)?;
    let (key, part) = (spot.address.0, i64::from(call.part));
    let mut images = match instead_of {
        Some(at) => remove_call(tx, row.no, at.message, at.part)?,
        None => Vec::new(),
    };
    if tool_row(tx, key, part)?.is_some() {
        let id = format!("{} of {}", call.part, call.message);
        return Err(Conflict::Exists { what: "tool call", id }.into());
    }
    let sealed =
        body_mac::authenticate(tx.key, "tool call", &tool_id(spot.address, part), call.record.text().as_bytes());
    let now = ToolCallImage {
        conversation_no: row.no,
        call_id: call.call_id.clone(),
        name: call.name.clone(),
        state: tool_code(call.state),
        body: sealed,
    };
    put_tool_row(tx, key, part, Some(&now))?;
    // Undoing the record of the same part restores the earlier record.
    if instead_of != Some(ToolPart { message: call.message, part: call.part }) {
        images.push(BeforeImage::ToolCall { key, part, row: None });
    }
    for (step, actor_no) in steps {
        images.push(add_step(tx, key, part, step, *actor_no)?);
    }
    tx.journal(row.no, &JournalDraft { key: Some(key), ..JournalDraft::of(Kind::ToolCallPut, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn move_tool_call(
    tx: &mut Tx<'_>,
    message: MessageId,
    part: u32,
    to: ToolState,
    record: Option<&Json>,
    note: &str,
) -> TxResult<ChangeResult> {
    let spot = tx.locate(message)?;
    let row = tx.owner(&spot, message)?;
    let (key, part) = (spot.address.0, i64::from(part));
    let earlier =
        tool_row(tx, key, part)?.ok_or_else(|| StoreError::not_found("tool call", format!("{part} of {message}")))?;
    let from = tool_of(earlier.state).ok_or_else(|| StoreError::altered("tool call", message))?;
    if !from.may_become(to) {
        return Err(Conflict::ToolState { from, to }.into());
    }
    let body = match record {
        Some(record) => {
            body_mac::authenticate(tx.key, "tool call", &tool_id(spot.address, part), record.text().as_bytes())
        }
        None => earlier.body.clone(),
    };
    let now = ToolCallImage { state: tool_code(to), body, ..earlier.clone() };
    put_tool_row(tx, key, part, Some(&now))?;
    let step = ToolStep { state: to, at: tx.at, actor: None, note: note.to_owned() };
    let actor_no = tx.actor_no;
    let step = add_step(tx, key, part, &step, actor_no)?;
    let images = [BeforeImage::ToolCall { key, part, row: Some(earlier) }, step];
    tx.journal(row.no, &JournalDraft { key: Some(key), ..JournalDraft::of(Kind::ToolCallMoved, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn append_events(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    events: &[NewEvent],
) -> TxResult<ChangeResult> {
    let mut row = tx.conversation(conversation)?;
    if events.is_empty() {
        return Err(StoreError::Invalid("an append has at least one event".to_owned()).into());
    }
    if row.event_cursor + events.len() as i64 > i64::from(u32::MAX) {
        return Err(StoreError::TooLarge { what: "the log", limit: "4,294,967,295 events" }.into());
    }
    let mut images = Vec::with_capacity(events.len());
    for event in events {
        row.event_cursor += 1;
        let key = row.no << 32 | row.event_cursor;
        let channel_no = tx.intern(NameKind::Channel, &event.channel)?;
        let sealed = body_mac::authenticate(tx.key, "event", &key.to_le_bytes(), event.body.text().as_bytes());
        let sql = "insert into event (key, at, channel_no, body, mac) values ($1, $2, $3, $4, $5)";
        let parameters = (key, event.at.0, channel_no, sealed);
        execute(tx.connection, sql, row_mac::row(tx.key, &row_mac::EVENT, parameters))?;
        images.push(BeforeImage::Flag { table: SoftDeletable::Event, key, withdrawn: true });
    }
    tx.mark_changed(&row);
    tx.journal(row.no, &JournalDraft::of(Kind::EventsAppended, &images))?;
    Ok(ChangeResult::Events(row.event_cursor))
}

pub(crate) fn put_input(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    id: InputId,
    body: &Json,
) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    if query_optional(tx.connection, "select 1 from input where id = $1", [id.as_bytes()], |_| Ok(()))?.is_some() {
        return Err(Conflict::Exists { what: "input", id: id.to_string() }.into());
    }
    let sealed = body_mac::authenticate(tx.key, "input", id.as_bytes(), body.text().as_bytes());
    let sql = "insert into input (id, conversation_no, at, taken_pos, actor_no, body, mac)
         values ($1, $2, $3, $4, $5, $6, $7)";
    let taken_pos: Option<i64> = None;
    let parameters = (id.as_bytes(), row.no, tx.at.0, taken_pos, tx.actor_no, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::INPUT, parameters))?;
    let images = [BeforeImage::Flag { table: SoftDeletable::Input, key: no, withdrawn: true }];
    tx.journal(row.no, &JournalDraft::of(Kind::InputPut, &images))?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn take_inputs(tx: &mut Tx<'_>, conversation: ConversationId, ids: &[InputId]) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let mut images = Vec::with_capacity(ids.len());
    for id in ids {
        let sql = "select no, taken_pos from input where id = $1 and conversation_no = $2 and withdrawn = 0";
        let found: Option<(i64, Option<i64>)> =
            query_optional(tx.connection, sql, (id.as_bytes(), row.no), |row| Ok((row.get(0)?, row.get(1)?)))?;
        match found {
            None => return Err(StoreError::not_found("input", id).into()),
            Some((_, Some(_))) => return Err(Conflict::Taken.into()),
            Some((no, None)) => images.push(BeforeImage::InputTaken { no, taken_pos: None }),
        }
    }
    for image in &images {
        if let BeforeImage::InputTaken { no, .. } = image {
            put_taken(tx, *no, Some(tx.first))?;
        }
    }
    tx.journal(row.no, &JournalDraft::of(Kind::InputsTaken, &images))?;
    Ok(ChangeResult::Applied)
}

/// Says which commit took an input.
pub(crate) fn put_taken(tx: &Tx<'_>, no: i64, taken_pos: Option<i64>) -> TxResult<()> {
    execute(tx.connection, "update input set taken_pos = $1 where no = $2", (taken_pos, no))?;
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::INPUT, no)?)
}

fn lease_row(tx: &Tx<'_>, conversation_no: i64) -> TxResult<Option<(String, i64, i64)>> {
    let sql = "select owner, token, until from lease where conversation_no = $1";
    Ok(query_optional(tx.connection, sql, [conversation_no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?)
}

fn put_lease(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    owner: &str,
    token: i64,
    until: Timestamp,
) -> TxResult<ChangeResult> {
    let sql = "insert into lease (conversation_no, owner, token, until) values ($1, $2, $3, $4)
         on conflict (conversation_no) do update set owner = $2, token = $3, until = $4";
    execute(tx.connection, sql, (conversation_no, owner, token, until.0))?;
    tx.journal(conversation_no, &JournalDraft::of(Kind::LeaseChanged, &[]))?;
    Ok(ChangeResult::Lease(token))
}

pub(crate) fn take_lease(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    owner: &str,
    until: Timestamp,
) -> TxResult<ChangeResult> {
    if owner.is_empty() {
        return Err(StoreError::Invalid("the owner of a lease has a name".to_owned()).into());
    }
    let row = tx.conversation(conversation)?;
    let token = match lease_row(tx, row.no)? {
        Some((holder, _, until)) if until > tx.at.0 && holder != owner => return Err(Conflict::Lease.into()),
        Some((_, token, _)) => token + 1,
        None => 1,
    };
    put_lease(tx, row.no, owner, token, until)
}

/// Returns the owner of a lease that a token still holds; a released lease has no owner.
///
/// An expired lease is held until another owner takes it: the token still fences.
pub(crate) fn held_lease(tx: &Tx<'_>, conversation_no: i64, token: i64) -> TxResult<String> {
    match lease_row(tx, conversation_no)? {
        Some((owner, held, _)) if held == token && !owner.is_empty() => Ok(owner),
        _ => Err(Conflict::Lease.into()),
    }
}

pub(crate) fn renew_lease(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    token: i64,
    until: Timestamp,
) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let owner = held_lease(tx, row.no, token)?;
    put_lease(tx, row.no, &owner, token, until)
}

pub(crate) fn release_lease(tx: &mut Tx<'_>, conversation: ConversationId, token: i64) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    held_lease(tx, row.no, token)?;
    // The row stays, so that the next owner's token is larger. It counts as expired, whatever the time of the next
    // owner.
    put_lease(tx, row.no, "", token, Timestamp(i64::MIN))
}
