//! Related messages: the siblings of a message, and the reply thread that it is in.

use super::Reading;
use super::message::{place, visible_location};
use crate::api::error::StoreError;
use crate::api::query::{LocatedMessagePage, PAGE_BYTES, PAGE_MAX, Related, RelatedQuery};
use crate::engine::access::access_filter::AccessFilter;
use crate::engine::commit::tx::locate;
use crate::engine::sql::connection::{query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, Address, Head, MessageId, path};
use std::collections::BTreeSet;

/// Returns a page of the messages that belong together with one, as many as [`PAGE_BYTES`] hold.
pub(crate) fn related(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    query: &RelatedQuery,
) -> TxResult<LocatedMessagePage> {
    let within = &AccessFilter::of(reading.connection, access)?;
    let mut addresses = match query.related {
        Related::Siblings => siblings(reading, within, query.message)?,
        Related::Thread => thread(reading, within, query.message)?,
    };
    if let Some(after) = query.after {
        let found = locate(reading.connection, after)?;
        let place = found.and_then(|spot| addresses.iter().position(|address| *address == spot.address));
        addresses.drain(..=place.ok_or_else(|| StoreError::not_found("message", after))?);
    }
    let (mut messages, mut bytes) = (Vec::new(), 0);
    for address in addresses {
        let Some(next) = place(reading, within, address)? else { continue };
        bytes += next.message.content.body.text().len();
        let is_full = bytes > PAGE_BYTES || messages.len() == PAGE_MAX as usize;
        if is_full && !messages.is_empty() {
            return Ok(LocatedMessagePage { messages, more: true });
        }
        messages.push(next);
    }
    Ok(LocatedMessagePage { messages, more: false })
}

/// The siblings of a message follow the same predecessor: the next own slot of the predecessor's branch, and the first
/// message of every branch that forks right after it.
fn siblings(reading: &mut Reading<'_>, within: &AccessFilter, id: MessageId) -> TxResult<Vec<Address>> {
    let found = visible_location(reading, within, id)?.ok_or_else(|| StoreError::not_found("message", id))?;
    let sql = "select head_branch_no, head_key from conversation where no = $1";
    let head: Head = query_one(reading.connection, sql, [found.conversation_no], |row| {
        Ok(Head { branch: manent_model::BranchNo(row.get(0)?), at: Address(row.get(1)?) })
    })?;
    let mut branches = reading.caches.branches(reading.connection);
    let own = Head { branch: found.address.branch(), at: found.address };
    let before = match path::before(&mut branches, head, found.address)? {
        Some(before) => before,
        None => path::before(&mut branches, own, found.address)?.ok_or_else(|| StoreError::altered("message", id))?,
    };
    let mut alternatives = BTreeSet::from([found.address]);
    let sql = "select no from branch where fork_key = $1 and conversation_no = $2";
    let leaving: Vec<i64> = query_all(reading.connection, sql, (before.0, found.conversation_no), |row| row.get(0))?;
    for no in leaving {
        let branch = {
            use manent_model::Branches;
            reading.caches.branches(reading.connection).branch(manent_model::BranchNo(no))?
        };
        let first = match branch.pieces.first() {
            Some(piece) => Some(piece.range.from),
            None => Some(branch.no.slot(1)),
        };
        alternatives.extend(first);
    }
    if before != Address::START {
        use manent_model::Branches;
        let branch = reading.caches.branches(reading.connection).branch(before.branch())?;
        // A message spliced into the middle is followed by the kept tail, not by the next slot of its branch.
        let inside = before.slot() + 1 == branch.open_from && branch.tip_before_open() != before;
        if !inside {
            alternatives.insert(Address(before.0 + 1));
        }
    }
    let sql = "select arrival from message where key = $1";
    let mut arrived: Vec<(i64, Address)> = Vec::new();
    for address in alternatives {
        let arrival: Option<i64> = query_optional(reading.connection, sql, [address.0], |row| row.get(0))?;
        arrived.extend(arrival.map(|arrival| (arrival, address)));
    }
    arrived.sort_unstable();
    Ok(arrived.into_iter().map(|(_, address)| address).collect())
}

/// Follows reply-to links up to the first message of a thread, then down to all replies. A message outside the scope
/// ends the search, as a broken link does.
fn thread(reading: &mut Reading<'_>, within: &AccessFilter, id: MessageId) -> TxResult<Vec<Address>> {
    visible_location(reading, within, id)?.ok_or_else(|| StoreError::not_found("message", id))?;
    let up = "select reply_to from message where id = $1";
    let mut root = id;
    let mut seen = BTreeSet::from([root]);
    while let Some(Some(next)) =
        query_optional(reading.connection, up, [root.as_bytes()], |row| row.get::<Option<[u8; 16]>>(0))?
    {
        let next = MessageId::from_bytes(next);
        let exists = visible_location(reading, within, next)?.is_some();
        // Imported links may dangle or run in a circle.
        if !exists || !seen.insert(next) {
            break;
        }
        root = next;
    }
    let down = "select id, arrival, key from message where reply_to = $1";
    let first = "select arrival, key from message where id = $1";
    let found: Option<(i64, i64)> =
        query_optional(reading.connection, first, [root.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut collected: BTreeSet<(i64, i64)> =
        BTreeSet::from([found.ok_or_else(|| StoreError::not_found("message", id))?]);
    let mut queue = vec![root];
    while let Some(next) = queue.pop() {
        let answers: Vec<([u8; 16], i64, i64)> =
            query_all(reading.connection, down, [next.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for (answer, arrival, key) in answers {
            let answer = MessageId::from_bytes(answer);
            if within.is_limited() && visible_location(reading, within, answer)?.is_none() {
                continue;
            }
            if collected.len() < PAGE_MAX as usize && collected.insert((arrival, key)) {
                queue.push(answer);
            }
        }
    }
    Ok(collected.into_iter().map(|(_, key)| Address(key)).collect())
}
