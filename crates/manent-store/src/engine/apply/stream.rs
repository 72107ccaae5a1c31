//! Changes to streams: messages that grow in chunks, hold a lease that each chunk renews, and end once.

use super::super::read;
use super::branch;
use super::message::{facts_at, move_to, use_blob};
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{ChangeResult, Finish};
use crate::engine::codec::body_mac;
use crate::engine::codec::disk_codes::{Flags, Kind};
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::commit::prepare::blobs_of;
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::sql::connection::{Connection, DbResult, execute, execute_batched, query_all, query_one};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, Body, MessageId, MessageStatus, Part, Sums};

/// The most that a stream holds, as JSON: so that one commit can hold it when it is copied.
const STREAM_BYTES_MAX: i64 = (4 << 20) - (64 << 10);

/// Registers a message that was just inserted as an open stream.
pub(super) fn open(tx: &Tx<'_>, address: Address, first: &Body) -> TxResult<()> {
    let sql = "insert into stream (key, renewed_at, bytes) values ($1, $2, $3)";
    execute_batched(tx.connection, sql, (address.0, tx.at.0, first.text().len() as i64))?;
    Ok(())
}

/// Removes a stream that ended or was destroyed, with its chunks.
pub(crate) fn close(connection: Connection<'_>, address: Address) -> DbResult<()> {
    execute(connection, "delete from chunk where key = $1", [address.0])?;
    execute(connection, "delete from stream where key = $1", [address.0])
}

/// Back-fill: registers the streams that older versions left open, with the sizes read from their chunks.
pub(crate) fn fill(connection: Connection<'_>, now: i64) -> DbResult<()> {
    let sql = "select key, length(body) from chunk order by key";
    let chunks: Vec<(i64, i64)> = query_all(connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "insert into stream (key, renewed_at, bytes) values ($1, $2, $3) on conflict (key) do nothing";
    for of_one in chunks.chunk_by(|(key, _), (next, _)| key == next) {
        let bytes: i64 = of_one.iter().map(|(_, bytes)| bytes).sum();
        execute(connection, sql, (of_one[0].0, now, bytes))?;
    }
    Ok(())
}

pub(crate) fn append_chunk(tx: &mut Tx<'_>, id: MessageId, delta: &str) -> TxResult<ChangeResult> {
    let spot = tx.locate(id)?;
    tx.owner(&spot, id)?;
    streaming_facts(tx, spot.address)?;
    let sql = "select bytes from stream where key = $1";
    let bytes: i64 = query_one(tx.connection, sql, [spot.address.0], |row| row.get(0))?;
    let bytes = bytes + Body::of(&[Part::text(delta)]).text().len() as i64;
    if bytes > STREAM_BYTES_MAX {
        return Err(StoreError::TooLarge { what: "the stream", limit: "4 MiB" }.into());
    }
    let sql = "update stream set renewed_at = $1, bytes = $2 where key = $3";
    execute(tx.connection, sql, (tx.at.0, bytes, spot.address.0))?;
    let sql = "select coalesce(max(n), 0) + 1 from chunk where key = $1";
    let n: i64 = query_one(tx.connection, sql, [spot.address.0], |row| row.get(0))?;
    let sealed = body_mac::authenticate(tx.key, "chunk", &chunk_id(spot.address, n), delta.as_bytes());
    execute(tx.connection, "insert into chunk (key, n, body) values ($1, $2, $3)", (spot.address.0, n, sealed))?;
    let entry = JournalDraft { key: Some(spot.address.0), ..JournalDraft::of(Kind::ChunkAppended, &[]) };
    tx.journal(spot.conversation_no, &entry)?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn chunk_id(address: Address, n: i64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&address.0.to_le_bytes());
    id[8..].copy_from_slice(&n.to_le_bytes());
    id
}

/// Returns the facts of a message that still streams.
fn streaming_facts(tx: &Tx<'_>, address: Address) -> TxResult<MessageHeader> {
    let facts = facts_at(tx, address)?;
    match facts.flags.status {
        MessageStatus::Streaming => Ok(facts),
        _ => Err(Conflict::NotStreaming.into()),
    }
}

/// Ends a stream. Without a body it keeps the acknowledged chunks: exactly what a read returns now.
pub(crate) fn finish(tx: &mut Tx<'_>, id: MessageId, finish: &Finish) -> TxResult<ChangeResult> {
    if finish.status == MessageStatus::Streaming {
        return Err(StoreError::Invalid("a message is finished as complete, incomplete or failed".to_owned()).into());
    }
    let spot = tx.locate(id)?;
    let mut row = tx.owner(&spot, id)?;
    let mut message = read::message::by_address(tx.connection, tx.caches, tx.key, spot.address)?;
    let facts = match streaming_facts(tx, spot.address) {
        Ok(facts) => facts,
        // The same ending again is a retry.
        Err(conflict) => {
            let same_body = finish.body.as_ref().is_none_or(|body| message.content.body == *body);
            let same = same_body && message.content.status == finish.status;
            return if same { Ok(ChangeResult::Applied) } else { Err(conflict) };
        }
    };
    let earlier = message.content.sums();
    message.content.status = finish.status;
    if let Some(body) = &finish.body {
        message.content.body = body.clone();
    }
    message.content.tokens = finish.tokens;
    message.content.usage = finish.usage.clone();
    let digest = message.content.digest(tx.key, id);
    let facts = MessageHeader {
        flags: Flags { status: finish.status, ..facts.flags },
        tokens: finish.tokens,
        usage: finish.usage.as_ref().map(|json| json.text().to_owned()),
        digest: Some(digest),
        ..facts
    };
    let sql = "update message set facts = $1, body = $2 where key = $3";
    execute(tx.connection, sql, (facts.encode(), message.content.body.text().as_bytes(), spot.address.0))?;
    close(tx.connection, spot.address)?;
    for sha256 in blobs_of(&message.content.body) {
        use_blob(tx, &sha256, spot.address.0)?;
    }
    grow_sums(tx, spot.address, message.content.sums() - earlier)?;
    let sums = tx.sums_at(row.head)?;
    let head = row.head;
    move_to(&mut row, head, sums);
    tx.mark_changed(&row);
    let entry = JournalDraft {
        key: Some(spot.address.0),
        added: Some(tx.key.digest(&[b"added", &digest.0])),
        ..JournalDraft::of(Kind::MessageFinished, &[])
    };
    tx.journal(row.no, &entry)?;
    Ok(ChangeResult::Applied)
}

/// A finished stream changes the counters at its slot, and so every running sum behind it.
///
/// Streams end at the end of their branch except for a rare race, so this touches one row. Branches that forked behind
/// the stream while it ran keep the sums of then; those are corrected as well.
fn grow_sums(tx: &mut Tx<'_>, address: Address, grown: Sums) -> TxResult<()> {
    if grown == Sums::default() {
        return Ok(());
    }
    let sql = "update message
         set visible_sum = visible_sum + $1, words_sum = words_sum + $2, tokens_sum = tokens_sum + $3
         where key between $4 and $5";
    let parameters = (grown.visible, grown.words, grown.tokens, address.0, address.branch().end().0);
    execute(tx.connection, sql, parameters)?;
    branch::extend_pieces(tx, address)
}
