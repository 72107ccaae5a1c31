//! Executes one transaction inside the open one of its engine: access checks, preconditions, changes, results. The
//! writer looks up the replay of its idempotency key before.

use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{Change, Committed, Position};
use crate::engine::access::authorize;
use crate::engine::apply;
use crate::engine::commit::prepare::{Prepared, messages_of};
use crate::engine::commit::tx::Tx;
use crate::engine::sql::connection::{Connection, DbResult, execute, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{ConversationStatus, Digest};

/// How long the answer of an idempotency key is kept for replays.
const REQUESTS_KEPT_MICROS: i64 = 7 * 86_400_000_000;

/// The frequent kinds check everything before their first write, so a refusal of one leaves nothing to take back.
pub(crate) fn validates_before_writing(prepared: &Prepared) -> bool {
    prepared.request.is_none()
        && prepared.transaction.actor.is_none()
        && match prepared.transaction.changes.as_slice() {
            [only] => matches!(
                only,
                Change::AppendMessages { .. }
                    | Change::AppendChunk { .. }
                    | Change::FinishMessage { .. }
                    | Change::AppendEvents { .. }
                    | Change::PutScratch { .. }
            ),
            _ => false,
        }
}

/// An erasure ends with an empty WAL, so it does not share a commit; neither may it wait behind half a batch.
pub(crate) fn is_exclusive(prepared: &Prepared) -> bool {
    prepared.transaction.changes.iter().any(|change| matches!(change, Change::Erase { .. }))
}

/// Says whether a transaction only moves to the trash, purges or erases: only those may use the disk reserve.
pub(crate) fn is_deletion(prepared: &Prepared) -> bool {
    prepared.transaction.changes.iter().all(|change| match change {
        Change::Purge { .. } | Change::Erase { .. } => true,
        Change::EditConversation { patch, .. } => patch.status == Some(ConversationStatus::Trashed),
        _ => false,
    })
}

/// A request by its key.
pub(crate) const REQUEST: &str = "select digest, answer from request where key = $1";

/// When a message came.
pub(crate) const ARRIVAL: &str = "select arrival from message where id = $1";

pub(crate) fn find_replay(connection: Connection<'_>, key: &[u8], digest: Digest) -> TxResult<Option<Committed>> {
    let found: Option<([u8; 16], Vec<u8>)> =
        query_optional(connection, REQUEST, [key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    match found {
        None => Ok(None),
        Some((earlier, _)) if earlier != digest.0 => Err(Conflict::Key.into()),
        Some((_, answer)) => {
            let mut committed: Committed = serde_json::from_slice(&answer)
                .map_err(|_| StoreError::altered("request", manent_model::hex::encode(key)))?;
            committed.is_replay = true;
            Ok(Some(committed))
        }
    }
}

/// Says whether a transaction does nothing but append messages.
pub(crate) fn appends_only(prepared: &Prepared) -> bool {
    prepared.transaction.changes.iter().all(|change| matches!(change, Change::AppendMessages { .. }))
}

pub(crate) fn execute_transaction(tx: &mut Tx<'_>, prepared: &Prepared) -> TxResult<Committed> {
    let transaction = &prepared.transaction;
    tx.appends_only = appends_only(prepared);
    if !tx.appends_only {
        tx.caches.recent.forget();
    }
    // A retry by message ids is checked too: content that is stored already could otherwise name what the caller must not.
    if let Some(checks) = &prepared.access {
        authorize::check(tx, checks)?;
    }
    // A retry of an append must not fail because the first try moved the head: its messages are looked for first.
    if !transaction.expect.is_empty() && first_arrival(tx, prepared)?.is_none() {
        apply::check(tx, transaction)?;
    }
    if transaction.actor.is_some() {
        tx.actor_no = tx.author(transaction.actor.as_ref())?;
    }
    let first = tx.next;
    let mut done = Vec::with_capacity(transaction.changes.len());
    for (change, facts) in transaction.changes.iter().zip(&prepared.summaries) {
        done.push(apply::apply(tx, change, facts)?);
    }
    tx.finish()?;
    let arrival = match tx.next == first {
        true => first_arrival(tx, prepared)?,
        false => None,
    };
    let repeated = arrival.is_some();
    let (first, position) = match arrival {
        Some(arrival) => commit_of(tx, arrival)?,
        None => (first, tx.next - 1),
    };
    let committed = Committed { first, position, at: prepared.transaction.at, results: done, is_replay: repeated };
    if let Some((key, digest)) = &prepared.request {
        let answer = serde_json::to_vec(&committed).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let sql = "insert into request (key, digest, answer, at) values ($1, $2, $3, $4)";
        // The time of the transaction may come from a file; one in the far future would make all others look old.
        execute(tx.connection, sql, (key, &digest.0[..], answer, crate::api::clock::now().0))?;
    }
    Ok(committed)
}

/// Returns the first and the last position of the commit in which a message arrived.
fn commit_of(tx: &Tx<'_>, arrival: Position) -> TxResult<(Position, Position)> {
    let sql = "select first from journal where pos <= $1 order by pos desc limit 1";
    let first: Position = query_one(tx.connection, sql, [arrival], |row| row.get(0))?;
    let sql = "select max(pos + count - 1) from journal where first = $1 and pos >= $1 and pos <= $1 + 5000";
    let last = query_one(tx.connection, sql, [first], |row| row.get(0))?;
    Ok((first, last))
}

/// Returns the position at which the first message of this transaction was stored, if it was.
fn first_arrival(tx: &Tx<'_>, prepared: &Prepared) -> TxResult<Option<Position>> {
    let first = prepared.transaction.changes.iter().flat_map(messages_of).next();
    let Some(message) = first else { return Ok(None) };
    Ok(query_optional(tx.connection, ARRIVAL, [message.id.as_bytes()], |row| row.get(0))?)
}

/// Forgets some of the requests whose callers have long had their answer.
pub(crate) fn forget_requests<'c>(connection: impl Into<Connection<'c>>) -> DbResult<()> {
    let sql = "delete from request
         where key in (select key from request where at < (select max(at) from request) - $1 limit 500)";
    execute(connection, sql, [REQUESTS_KEPT_MICROS])
}
