//! Pages of paths and branches, and the state along them.

use super::Reading;
use super::damage::RecordKind;
use super::message::{ByteLimit, MessageRow, Order, cut_streams, in_ranges_cut, sound_messages};
use crate::api::error::StoreError;
use crate::api::query::{BranchInfo, Direction, MessagePage, MessagePageQuery, PAGE_MAX};
use crate::engine::access::access_filter::AccessFilter;
use crate::engine::codec::body_mac;
use crate::engine::codec::disk_codes::{NameKind, why_of};
use crate::engine::commit::tx::{MessageLocation, locate};
use crate::engine::sql::connection::{Connection, for_each_row, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::path::{self, Backward};
use manent_model::{
    AccessScope, Address, BranchId, BranchNo, Branches, ConversationId, Head, Json, MessageId, MessageRange, Range,
};

/// The number and the head of a readable conversation. The row itself knows its id, whatever the index says.
pub(crate) fn head_of(connection: Connection<'_>, id: ConversationId) -> TxResult<(i64, Head)> {
    let sql = "select no, head_branch_no, head_key, id
         from conversation
         where no = (select i.no from conversation i where i.id = $1) and withdrawn = 0 and status <> 4";
    let found = query_optional(connection, sql, [id.as_bytes()], |row| {
        let head = Head { branch: BranchNo(row.get(1)?), at: Address(row.get(2)?) };
        Ok((row.get(0)?, head, ConversationId::from_bytes(row.get(3)?)))
    })?;
    match found {
        Some((no, head, own)) if own == id => Ok((no, head)),
        Some(_) => Err(StoreError::altered("conversation", id).into()),
        None => Err(StoreError::not_found("conversation", id).into()),
    }
}

/// The start of every path of a conversation: slot 0 of its first branch.
pub(crate) fn start_of(connection: Connection<'_>, conversation_no: i64) -> TxResult<Address> {
    let sql = "select min(no) from branch where conversation_no = $1";
    let no: i64 = query_one(connection, sql, [conversation_no], |row| row.get(0))?;
    Ok(BranchNo(no).slot(0))
}

/// Returns the end of a branch.
pub(crate) fn end_of(reading: &mut Reading<'_>, no: BranchNo) -> TxResult<Head> {
    let branch = reading.caches.branches(reading.connection).branch(no)?;
    let sql = "select max(key) from message where key between $1 and $2";
    let ends = (no.slot(branch.open_from).0, no.end().0);
    let last: Option<i64> = query_one(reading.connection, sql, ends, |row| row.get(0))?;
    Ok(Head { branch: no, at: last.map_or_else(|| branch.tip_before_open(), Address) })
}

pub(crate) fn window(reading: &mut Reading<'_>, query: &MessagePageQuery) -> TxResult<MessagePage> {
    let mut query = query.clone();
    loop {
        let (mut found, mut more) = window_rows(reading, &query)?;
        let (order, edge) = match query.direction {
            Direction::Backward => (Order::Descending, found.first()),
            Direction::Forward => (Order::Ascending, found.last()),
        };
        let edge = edge.map(|row| MessageId::from_bytes(row.id));
        more |= cut_streams(reading.connection, &mut found, order)?;
        let messages = sound_messages(reading, query.conversation, found)?;
        // Readers go on from a message of the page, so a page of damaged ones alone is followed by the next.
        match messages.is_empty() && more && edge.is_some() {
            true => query.from = edge,
            false => return Ok(MessagePage { messages, more }),
        }
    }
}

/// Reads the rows of a page as bytes, in reading order.
pub(crate) fn window_rows(reading: &mut Reading<'_>, query: &MessagePageQuery) -> TxResult<(Vec<MessageRow>, bool)> {
    let limit = query.limit.clamp(1, PAGE_MAX) as usize;
    if let (None, None, Direction::Backward) = (query.branch, query.from, query.direction)
        && let Some(page) = end_of_plain(reading.connection, query.conversation, limit)?
    {
        return Ok(page);
    }
    let (conversation_no, shown) = head_of(reading.connection, query.conversation)?;
    let from = match query.from {
        Some(id) => {
            let spot = locate(reading.connection, id)?.ok_or_else(|| StoreError::not_found("message", id))?;
            Some((id, spot))
        }
        None => None,
    };
    let head = match query.branch {
        Some(branch) => {
            let sql = "select no from branch where id = $1 and conversation_no = $2";
            let found =
                query_optional(reading.connection, sql, (branch.as_bytes(), conversation_no), |row| row.get(0))?;
            let no = BranchNo(found.ok_or_else(|| StoreError::not_found("branch", branch))?);
            end_of(reading, no)?
        }
        None => shown,
    };
    let from = match from {
        Some((id, spot)) => {
            own_or_reached(reading, conversation_no, head, id, &spot)?;
            Some((id, spot.address))
        }
        None => None,
    };
    match query.direction {
        Direction::Backward => backward(reading, head, from, limit),
        Direction::Forward => forward(reading, head, from, limit),
    }
}

/// Reads the end of a conversation in one go, where a way to the rows is long and its branch has only its own slots.
fn end_of_plain(
    connection: Connection<'_>,
    id: ConversationId,
    limit: usize,
) -> TxResult<Option<(Vec<MessageRow>, bool)>> {
    if let Connection::Sqlite(_) = connection {
        return Ok(None);
    }
    let sql = "with h as materialized
             (select c.head_branch_no << 24 as before, c.head_key - $1 as first, c.head_key as last
              from conversation c
              join branch b on b.no = c.head_branch_no
              where c.id = $2 and c.withdrawn = 0 and c.status <> 4 and b.parent_no is null and b.open_from = 1
                and not exists (select 1 from piece p where p.branch_no = b.no))
         select key, id, arrival,
                case when fits then facts end,
                case when fits then body end
         from (select m.key, m.id, m.arrival, m.facts, m.body,
                      sum(octet_length(m.facts) + octet_length(m.body)) over page <= $3
                      or row_number() over page = 1 as fits
               from h
               join message m on m.key between h.first and h.last and m.key > h.before
               window page as (order by m.key desc)) p
         order by key desc";
    let mut cut = ByteLimit::new();
    for_each_row(connection, sql, (limit as i64, id.as_bytes(), cut.room()), |row| cut.take(row))?;
    Ok((!cut.rows.is_empty()).then(|| page_of(cut, Order::Descending, limit)))
}

/// Refuses a message that neither belongs to a conversation nor is on the path it was requested with. Says whether it
/// is on the path.
fn own_or_reached(
    reading: &mut Reading<'_>,
    conversation_no: i64,
    head: Head,
    id: MessageId,
    spot: &MessageLocation,
) -> TxResult<bool> {
    let reached = path::reaches(&mut reading.caches.branches(reading.connection), head, spot.address)?;
    match reached || spot.conversation_no == conversation_no {
        true => Ok(reached),
        false => Err(StoreError::not_found("message", id).into()),
    }
}

/// Cuts a path before a message; a message that is not on it is read on its own branch.
fn cut_before(reading: &mut Reading<'_>, head: Head, id: MessageId, address: Address) -> TxResult<Head> {
    let mut branches = reading.caches.branches(reading.connection);
    let own = Head { branch: address.branch(), at: address };
    for path in [head, own] {
        if let Some(before) = path::before(&mut branches, path, address)? {
            return Ok(Head { branch: path.branch, at: before });
        }
    }
    Err(StoreError::altered("message", id).into())
}

fn backward(
    reading: &mut Reading<'_>,
    head: Head,
    from: Option<(MessageId, Address)>,
    limit: usize,
) -> TxResult<(Vec<MessageRow>, bool)> {
    let head = match from {
        Some((id, address)) => cut_before(reading, head, id, address)?,
        None => head,
    };
    let mut walk = Backward::from(head);
    let mut runs: Vec<Range> = Vec::new();
    let mut wanted = limit + 1;
    while wanted > 0 {
        let Some(range) = walk.next(&mut reading.caches.branches(reading.connection))? else { break };
        let from = Address(range.to.0 - range.len().min(wanted) as i64 + 1);
        wanted -= range.len().min(wanted);
        runs.push(Range::new(from, range.to));
    }
    runs.reverse();
    let cut = in_ranges_cut(reading.connection, &runs, Order::Descending, limit + 1)?;
    Ok(page_of(cut, Order::Descending, limit))
}

/// Sorts rows into reading order, and says whether there is more: one message more than the limit was requested.
fn page_of(cut: ByteLimit, order: Order, limit: usize) -> (Vec<MessageRow>, bool) {
    let (mut found, mut more) = (cut.rows, cut.is_cut);
    if found.len() > limit {
        found.truncate(limit);
        more = true;
    }
    if order == Order::Descending {
        found.reverse();
    }
    (found, more)
}

fn forward(
    reading: &mut Reading<'_>,
    head: Head,
    from: Option<(MessageId, Address)>,
    limit: usize,
) -> TxResult<(Vec<MessageRow>, bool)> {
    let mut branches = reading.caches.branches(reading.connection);
    let runs = match from {
        None => path::ranges(&mut branches, head)?,
        Some((id, address)) => {
            let mut runs = path::ranges_from(&mut branches, head, address)?;
            if runs.is_none() {
                let own = end_of(reading, address.branch())?;
                runs = path::ranges_from(&mut reading.caches.branches(reading.connection), own, address)?;
            }
            let mut runs = runs.ok_or_else(|| StoreError::altered("message", id))?;
            match runs.first_mut() {
                Some(first) if first.from < first.to => first.from = Address(first.from.0 + 1),
                _ => {
                    runs.remove(0);
                }
            }
            runs
        }
    };
    let cut = in_ranges_cut(reading.connection, &runs, Order::Ascending, limit + 1)?;
    Ok(page_of(cut, Order::Ascending, limit))
}

/// Returns the id of the message at an address; none for a start.
pub(crate) fn id_at(connection: Connection<'_>, address: Address) -> TxResult<Option<MessageId>> {
    if address.slot() == 0 {
        return Ok(None);
    }
    let sql = "select id from message where key = $1";
    Ok(query_optional(connection, sql, [address.0], |row| row.get(0).map(MessageId::from_bytes))?)
}

fn range_of(connection: Connection<'_>, range: Range) -> TxResult<MessageRange> {
    let lost = || StoreError::altered("piece", format!("{range:?}"));
    Ok(MessageRange {
        first: id_at(connection, range.from)?.ok_or_else(lost)?,
        last: id_at(connection, range.to)?.ok_or_else(lost)?,
    })
}

type BranchRow = (i64, [u8; 16], i64, Option<[u8; 16]>);

pub(crate) fn branches(reading: &mut Reading<'_>, id: ConversationId) -> TxResult<Vec<BranchInfo>> {
    let (conversation_no, head) = head_of(reading.connection, id)?;
    let sql = "select b.no, b.id, b.why, p.id
         from branch b
         left join branch p on p.no = b.parent_no
         where b.conversation_no = $1
         order by b.no";
    let found: Vec<BranchRow> = query_all(reading.connection, sql, [conversation_no], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let mut infos = Vec::with_capacity(found.len());
    for row in found {
        let branch_id = BranchId::from_bytes(row.1);
        let outcome = branch_of(reading, head, row);
        infos.extend(reading.unless_damaged(RecordKind::of("branch", Some(id)), || branch_id.to_string(), outcome)?);
    }
    Ok(infos)
}

fn branch_of(reading: &mut Reading<'_>, head: Head, (no, id, why, parent): BranchRow) -> TxResult<BranchInfo> {
    let branch = reading.caches.branches(reading.connection).branch(BranchNo(no))?;
    let sql = "select coalesce(max(key) - $1, 0) from message where key between $1 and $2";
    let (zero, end) = (branch.no.slot(0).0, branch.no.end().0);
    let own: i64 = query_one(reading.connection, sql, (zero, end), |row| row.get(0))?;
    let mut pieces = Vec::with_capacity(branch.pieces.len());
    for piece in &branch.pieces {
        pieces.push(range_of(reading.connection, piece.range)?);
    }
    Ok(BranchInfo {
        id: BranchId::from_bytes(id),
        parent: parent.map(BranchId::from_bytes),
        fork: match branch.base {
            Some(base) => id_at(reading.connection, base.fork)?,
            None => None,
        },
        own_in_ranges: branch.open_from - 1,
        ranges: pieces,
        own_messages: own,
        is_head: head.branch == branch.no,
        reason: why_of(why).ok_or_else(|| StoreError::altered("branch", no))?,
    })
}

/// Returns the newest value of a name on the path that ends at a message.
pub(crate) fn state(
    reading: &mut Reading<'_>,
    id: ConversationId,
    name: &str,
    at: Option<MessageId>,
    access: &AccessScope,
) -> TxResult<Option<Json>> {
    let (conversation_no, shown) = head_of(reading.connection, id)?;
    let within = AccessFilter::of(reading.connection, access)?;
    let Some(name_no) = reading.caches.number_of(reading.connection, NameKind::State, name)? else {
        return Ok(None);
    };
    let head = match at {
        Some(message) => {
            let found =
                locate(reading.connection, message)?.ok_or_else(|| StoreError::not_found("message", message))?;
            let reached = own_or_reached(reading, conversation_no, shown, message, &found)?;
            let branch = if reached { shown.branch } else { found.address.branch() };
            Head { branch, at: found.address }
        }
        None => shown,
    };
    let sql = "select key, body
         from state
         where key between $1 and $2 and name_no = $3 and withdrawn = 0
           and (conversation_no = $4
                or $5 = 1 and conversation_no = (select b.conversation_no from branch b where b.no = key >> 24))
         order by key desc, no desc
         limit 1";
    // State that another conversation set on a range that it takes from this one belongs to that conversation. State
    // that the owner of a taken range set there is visible to readers that reach the owner.
    let look = |reading: &mut Reading<'_>, from: Address, to: Address| -> TxResult<Option<(i64, Option<Vec<u8>>)>> {
        let reaches_owner = match within.is_limited() {
            true => within.has(reading.connection, owner_of(reading.connection, from)?)?,
            false => true,
        };
        Ok(query_optional(reading.connection, sql, (from.0, to.0, name_no, conversation_no, reaches_owner), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?)
    };
    let mut found = None;
    let mut first = None;
    let mut walk = Backward::from(head);
    while let Some(range) = walk.next(&mut reading.caches.branches(reading.connection))? {
        first = Some(range.from);
        found = look(reading, range.from, range.to)?;
        if found.is_some() {
            break;
        }
    }
    // The start of a conversation comes before its path; a fork into a new one has the start of the old one as well.
    let mut starts = vec![start_of(reading.connection, conversation_no)?];
    if let Some(first) = first {
        let owner = owner_of(reading.connection, first)?;
        starts.push(start_of(reading.connection, owner)?);
    }
    for start in starts {
        if found.is_none() {
            found = look(reading, start, start)?;
        }
    }
    match found {
        Some((key, Some(body))) => state_value(reading, key, &body).map(Some),
        _ => Ok(None),
    }
}

/// Returns the conversation whose branch an address is on.
fn owner_of(connection: Connection<'_>, address: Address) -> TxResult<i64> {
    let sql = "select conversation_no from branch where no = $1";
    Ok(query_one(connection, sql, [address.branch().0], |row| row.get(0))?)
}

pub(crate) fn state_value(reading: &Reading<'_>, key: i64, body: &[u8]) -> TxResult<Json> {
    let text = body_mac::verify(reading.key, "state", &key.to_le_bytes(), body)?;
    super::annotations::json_of("state", text)
}
