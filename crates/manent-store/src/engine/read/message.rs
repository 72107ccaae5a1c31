//! Decodes message rows; a message that does not match its digest is refused.

use crate::engine::commit::row_cache::RowCache;

use super::Reading;
use super::damage::RecordKind;
use super::path::id_at;
use crate::api::error::StoreError;
use crate::api::query::{LocatedMessage, MessagesQuery, PAGE_BYTES, PAGE_MAX};
use crate::engine::access::access_filter::AccessFilter;
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::commit::tx::{MessageLocation, locate};
use crate::engine::sql::connection::{
    Connection, DbResult, Row, for_each_row, next_page_start, query_all, query_optional,
};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    AccessScope, Address, Author, Body, BranchId, Content, ConversationId, DigestKey, Head, Json, Message, MessageId,
    MessageStatus, Range, Time, Timestamp, path,
};
use std::collections::HashMap;

/// A message row as it is stored, before words are resolved and the digest is checked.
pub(crate) struct MessageRow {
    pub key: i64,
    pub id: [u8; 16],
    pub arrival: i64,
    pub facts: Vec<u8>,
    pub body: Vec<u8>,
}

pub(crate) fn read_row(row: &Row<'_>) -> DbResult<MessageRow> {
    Ok(MessageRow { key: row.get(0)?, id: row.get(1)?, arrival: row.get(2)?, facts: row.get(3)?, body: row.get(4)? })
}

/// Reads the messages of ranges, in order, up to a limit. One statement serves all ranges.
pub(crate) fn in_ranges(connection: Connection<'_>, ranges: &[Range], limit: usize) -> DbResult<Vec<MessageRow>> {
    let sql = "select key, id, arrival, facts, body from message where key between $1 and $2 order by key limit $3";
    let mut found = Vec::with_capacity(limit.min(ranges.iter().map(Range::len).sum()));
    for range in ranges {
        if found.len() >= limit {
            break;
        }
        found.extend(query_all(connection, sql, (range.from.0, range.to.0, (limit - found.len()) as i64), read_row)?);
    }
    Ok(found)
}

/// In which order the messages of runs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// From the first one on.
    Ascending,
    /// From the last one back.
    Descending,
}

/// Rows of a page in the order they were read.
pub(crate) struct ByteLimit {
    pub rows: Vec<MessageRow>,
    bytes: usize,
    /// A row did not fit into the page any more.
    pub is_cut: bool,
}

impl ByteLimit {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new(), bytes: 0, is_cut: false }
    }

    /// Adds a row if the page has room for its bytes; the first row always fits. Says whether another may follow.
    ///
    /// A server sends the bytes of a row only if they fit, so that it sends nothing that is thrown away.
    pub(crate) fn take(&mut self, row: &Row<'_>) -> DbResult<bool> {
        let (facts, body): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.get(3)?, row.get(4)?);
        let (Some(facts), Some(body)) = (facts, body) else {
            self.is_cut = true;
            return Ok(false);
        };
        self.bytes += facts.len() + body.len();
        if self.bytes > PAGE_BYTES && !self.rows.is_empty() {
            self.is_cut = true;
            return Ok(false);
        }
        self.rows.push(MessageRow { key: row.get(0)?, id: row.get(1)?, arrival: row.get(2)?, facts, body });
        Ok(true)
    }

    /// How many bytes still fit.
    pub(crate) fn room(&self) -> i64 {
        PAGE_BYTES.saturating_sub(self.bytes) as i64
    }
}

/// Reads the messages of ranges up to a limit, or until the next one would make the page larger than [`PAGE_BYTES`].
///
/// Ranges are given in reading order, and read in the requested order.
pub(crate) fn in_ranges_cut(
    connection: Connection<'_>,
    ranges: &[Range],
    order: Order,
    limit: usize,
) -> DbResult<ByteLimit> {
    let mut cut = ByteLimit::new();
    let ranges: Vec<&Range> = match order {
        Order::Ascending => ranges.iter().collect(),
        Order::Descending => ranges.iter().rev().collect(),
    };
    for range in ranges {
        if cut.rows.len() >= limit || cut.is_cut {
            break;
        }
        let (from, to, left) = (range.from.0, range.to.0, (limit - cut.rows.len()) as i64);
        match (connection, order) {
            (Connection::Sqlite(_), Order::Ascending) => {
                for_each_row(connection, ASCENDING, (from, to, left), |row| cut.take(row))?;
            }
            (Connection::Sqlite(_), Order::Descending) => {
                for_each_row(connection, DESCENDING, (from, to, left), |row| cut.take(row))?;
            }
            (Connection::Postgres(_), order) => {
                let sql = if order == Order::Ascending { ASCENDING_SENT } else { DESCENDING_SENT };
                let (room, is_first) = (cut.room(), cut.rows.is_empty());
                for_each_row(connection, sql, (room, is_first, from, to, left), |row| cut.take(row))?;
            }
        }
    }
    Ok(cut)
}

const ASCENDING: &str =
    "select key, id, arrival, facts, body from message where key between $1 and $2 order by key limit $3";

const DESCENDING: &str =
    "select key, id, arrival, facts, body from message where key between $1 and $2 order by key desc limit $3";

// `octet_length` reads the size of a value without the value.
const ASCENDING_SENT: &str = "select key, id, arrival,
            case when fits then facts end,
            case when fits then body end
     from (select key, id, arrival, facts, body,
                  sum(octet_length(facts) + octet_length(body)) over page <= $1
                  or $2 = 1 and row_number() over page = 1 as fits
           from message
           where key between $3 and $4
           window page as (order by key)
           order by key
           limit $5) m
     order by key";

const DESCENDING_SENT: &str = "select key, id, arrival,
            case when fits then facts end,
            case when fits then body end
     from (select key, id, arrival, facts, body,
                  sum(octet_length(facts) + octet_length(body)) over page <= $1
                  or $2 = 1 and row_number() over page = 1 as fits
           from message
           where key between $3 and $4
           window page as (order by key desc)
           order by key desc
           limit $5) m
     order by key desc";

/// Decodes a row into a message, if it matches its digest.
pub(crate) fn message_of(
    connection: Connection<'_>,
    caches: &mut RowCache,
    key: &DigestKey,
    row: MessageRow,
) -> TxResult<Message> {
    let mut texts = super::stream::texts(connection, key, &streaming(std::slice::from_ref(&row)))?;
    message_with(connection, caches, key, row, &mut texts)
}

/// Turns the rows of a page into messages. The chunks of all that still stream are read with one statement.
pub(crate) fn messages_of(
    connection: Connection<'_>,
    caches: &mut RowCache,
    key: &DigestKey,
    rows: Vec<MessageRow>,
) -> TxResult<Vec<Message>> {
    let mut texts = super::stream::texts(connection, key, &streaming(&rows))?;
    rows.into_iter().map(|row| message_with(connection, caches, key, row, &mut texts)).collect()
}

/// Returns the addresses of the messages that still stream.
fn streaming(rows: &[MessageRow]) -> Vec<i64> {
    rows.iter().filter(|row| MessageHeader::is_streaming(&row.facts)).map(|row| row.key).collect()
}

/// Cuts a page, in the order it was read, where the streams on it make it larger than [`PAGE_BYTES`]. Says whether it
/// did.
pub(crate) fn cut_streams(connection: Connection<'_>, rows: &mut Vec<MessageRow>, order: Order) -> TxResult<bool> {
    let streaming = streaming(rows);
    if streaming.is_empty() {
        return Ok(false);
    }
    let sizes = super::stream::sizes(connection, &streaming)?;
    let size = |row: &MessageRow| row.facts.len() + sizes.get(&row.key).map_or(row.body.len(), |bytes| *bytes);
    let (mut bytes, mut kept) = (0, 0);
    let in_order: Vec<usize> = match order {
        Order::Ascending => rows.iter().map(size).collect(),
        Order::Descending => rows.iter().rev().map(size).collect(),
    };
    for size in in_order {
        bytes += size;
        if bytes > PAGE_BYTES && kept > 0 {
            break;
        }
        kept += 1;
    }
    let is_cut = kept < rows.len();
    match order {
        Order::Ascending => rows.truncate(kept),
        Order::Descending => drop(rows.drain(..rows.len() - kept)),
    }
    Ok(is_cut)
}

fn message_with(
    connection: Connection<'_>,
    caches: &mut RowCache,
    key: &DigestKey,
    row: MessageRow,
    texts: &mut HashMap<i64, String>,
) -> TxResult<Message> {
    let id = MessageId::from_bytes(row.id);
    let altered = || StoreError::altered("message", id);
    let facts = MessageHeader::decode(&row.facts).ok_or_else(altered)?;
    let flags = facts.flags;
    let json = |text: Option<String>| -> TxResult<Option<Json>> {
        let Some(text) = text else { return Ok(None) };
        Ok(Some(Json::parse(&text).map_err(|_| altered())?))
    };
    let content = Content {
        role: caches.name(connection, facts.role_no)?.to_string(),
        author: facts.author_no.map(|no| author(connection, no)).transpose()?,
        time: Time { at: Timestamp(facts.at), source: flags.time_source },
        status: flags.status,
        seen: flags.seen,
        turn: facts.turn,
        model: facts.model_no.map(|no| caches.name(connection, no)).transpose()?.map(|name| name.to_string()),
        tokens: facts.tokens,
        usage: json(facts.usage)?,
        metadata: json(facts.metadata)?,
        reply_to: facts.reply_to,
        body: Body::trusted(String::from_utf8(row.body).map_err(|_| altered())?),
    };
    let mut message = Message { id, address: Address(row.key), arrival: row.arrival, erased: flags.erased, content };

    match facts.digest {
        _ if flags.erased => {
            if message.content.body.text() != "[]" {
                return Err(altered().into());
            }
        }
        Some(digest) if message.content.digest(key, message.id) == digest => {}
        // While it streams there is no digest: the first body is parsed, and each chunk carries its own MAC.
        None if flags.status == MessageStatus::Streaming => {
            let first = Body::parse(message.content.body.text()).map_err(|_| altered())?;
            message.content.body = first.with_text(&texts.remove(&row.key).unwrap_or_default());
        }
        _ => return Err(altered().into()),
    }
    Ok(message)
}

pub(crate) fn author(connection: Connection<'_>, no: i64) -> TxResult<Author> {
    let sql = "select external_id, name from author where no = $1";
    let found = query_optional(connection, sql, [no], |row| Ok(Author { id: row.get(0)?, name: row.get(1)? }))?;
    found.ok_or_else(|| StoreError::altered("author", no).into())
}

/// Reads one message that is known to exist.
pub(crate) fn by_address(
    connection: Connection<'_>,
    caches: &mut RowCache,
    key: &DigestKey,
    address: Address,
) -> TxResult<Message> {
    let found = in_ranges(connection, &[Range::one(address)], 1)?.pop();
    let row = found.ok_or_else(|| StoreError::altered("message", format!("{address:?}")))?;
    message_of(connection, caches, key, row)
}

pub(crate) fn messages(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    query: &MessagesQuery,
) -> TxResult<Vec<LocatedMessage>> {
    let within = &AccessFilter::of(reading.connection, access)?;
    let addresses: Vec<Address> = match query {
        MessagesQuery::Ids(ids) => {
            let mut found = Vec::new();
            for id in ids.iter().take(PAGE_MAX as usize) {
                found.extend(locate(reading.connection, *id)?.map(|spot| spot.address));
            }
            found
        }
        MessagesQuery::Branch { branch, after, limit } => in_branch(reading, within, *branch, *after, *limit)?,
        MessagesQuery::External(external) => by_external_id(reading, within, external)?,
    };
    // A copy of a branch requests the page after the last message until there is none.
    let is_page = matches!(query, MessagesQuery::Branch { .. });
    let (mut placed, mut bytes) = (Vec::with_capacity(addresses.len()), 0);
    for address in addresses {
        let Some(next) = place(reading, within, address)? else { continue };
        bytes += next.message.content.body.text().len();
        if is_page && bytes > PAGE_BYTES && !placed.is_empty() {
            break;
        }
        placed.push(next);
    }
    Ok(placed)
}

/// Returns a message with its owner; nothing if the owner is withdrawn or purged, or not within.
pub(super) fn place(
    reading: &mut Reading<'_>,
    within: &AccessFilter,
    address: Address,
) -> TxResult<Option<LocatedMessage>> {
    let sql = "select c.id, b.id, c.head_branch_no, c.head_key, c.no
         from branch b
         join conversation c on c.no = b.conversation_no
         where b.no = $1 and c.withdrawn = 0 and c.status <> 4";
    type Columns = ([u8; 16], [u8; 16], i64, i64, i64);
    let found: Option<Columns> = query_optional(reading.connection, sql, [address.branch().0], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    let Some((conversation, branch, head_branch, head_key, no)) = found else { return Ok(None) };
    if !within.has(reading.connection, no)? {
        return Ok(None);
    }
    let head = Head { branch: manent_model::BranchNo(head_branch), at: Address(head_key) };
    let (connection, conversation) = (reading.connection, ConversationId::from_bytes(conversation));
    let outcome = read_located(reading, head, address);
    let of = RecordKind::of("message", Some(conversation));
    let placed = reading.unless_damaged(of, || name_at(connection, address), outcome)?;
    let branch = BranchId::from_bytes(branch);
    Ok(placed.map(|(on_path, message)| LocatedMessage { conversation, branch, on_path, message }))
}

fn read_located(reading: &mut Reading<'_>, head: Head, address: Address) -> TxResult<(bool, Message)> {
    let on_path = path::reaches(&mut reading.caches.branches(reading.connection), head, address)?;
    Ok((on_path, by_address(reading.connection, reading.caches, reading.key, address)?))
}

/// Names the message at an address, by the address if its id cannot be read.
fn name_at(connection: Connection<'_>, address: Address) -> String {
    match id_at(connection, address) {
        Ok(Some(id)) => id.to_string(),
        _ => format!("at {address:?}"),
    }
}

/// Turns the rows of a page into messages; damaged ones are left out if that is wanted.
pub(super) fn sound_messages(
    reading: &mut Reading<'_>,
    conversation: ConversationId,
    rows: Vec<MessageRow>,
) -> TxResult<Vec<Message>> {
    if reading.damaged.is_none() {
        return messages_of(reading.connection, reading.caches, reading.key, rows);
    }
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        let id = MessageId::from_bytes(row.id);
        let outcome = message_of(reading.connection, reading.caches, reading.key, row);
        messages.extend(reading.unless_damaged(
            RecordKind::of("message", Some(conversation)),
            || id.to_string(),
            outcome,
        )?);
    }
    Ok(messages)
}

/// Finds a message whose owner is within.
pub(super) fn visible_location(
    reading: &Reading<'_>,
    within: &AccessFilter,
    id: MessageId,
) -> TxResult<Option<MessageLocation>> {
    match locate(reading.connection, id)? {
        Some(spot) if within.has(reading.connection, spot.conversation_no)? => Ok(Some(spot)),
        _ => Ok(None),
    }
}

/// Finds messages by their id in another program, as many as a page holds of those within.
fn by_external_id(reading: &Reading<'_>, within: &AccessFilter, external: &str) -> TxResult<Vec<Address>> {
    let hash = crate::engine::codec::source_record::external_hash(reading.key, external);
    let sql = "select key from message where external = $1 and key > $2 order by key limit $3";
    let owner = "select conversation_no from branch where no = $1";
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page: Vec<i64> = query_all(reading.connection, sql, (hash, after, PAGE_MAX), |row| row.get(0))?;
        let Some(last) = next_page_start(after, page.last().copied()) else { return Ok(found) };
        after = last;
        let is_last = page.len() < PAGE_MAX as usize;
        for address in page.into_iter().map(Address) {
            let owner: Option<i64> = match within.is_limited() {
                true => query_optional(reading.connection, owner, [address.branch().0], |row| row.get(0))?,
                false => Some(0),
            };
            if let Some(owner) = owner
                && within.has(reading.connection, owner)?
            {
                found.push(address);
            }
            if found.len() == PAGE_MAX as usize {
                return Ok(found);
            }
        }
        if is_last {
            return Ok(found);
        }
    }
}

fn in_branch(
    reading: &Reading<'_>,
    within: &AccessFilter,
    branch: BranchId,
    after: Option<MessageId>,
    limit: u32,
) -> TxResult<Vec<Address>> {
    let sql = "select no, conversation_no from branch where id = $1";
    let found: Option<(i64, i64)> =
        query_optional(reading.connection, sql, [branch.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let no = match found {
        Some((no, owner)) if within.has(reading.connection, owner)? => manent_model::BranchNo(no),
        _ => return Err(StoreError::not_found("branch", branch).into()),
    };
    let after = match after {
        Some(id) => {
            let own = locate(reading.connection, id)?.map(|spot| spot.address).filter(|own| own.branch() == no);
            own.ok_or_else(|| StoreError::not_found("message", id))?
        }
        None => no.slot(0),
    };
    let sql = "select key from message where key > $1 and key <= $2 order by key limit $3";
    Ok(query_all(reading.connection, sql, (after.0, no.end().0, limit.min(PAGE_MAX)), |row| row.get(0).map(Address))?)
}
