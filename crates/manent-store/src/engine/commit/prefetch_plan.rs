//! Prefetch plan: requests the rows that the appends of a batch will read from the server in one round trip.
//!
//! Each prefetched row is used once, by the first read with the same query, and only while the batch consists of
//! appends. An append reads everything that it will change before it changes it (its conversation, the end of its
//! branch, the ids of its messages, its key), so no append sees a row that an earlier append has made stale.

use crate::api::transaction::{Change, MessageAt, Transaction};
use crate::engine::apply::message::STORED;
use crate::engine::commit::execute::{ARRIVAL, REQUEST, validates_before_writing};
use crate::engine::commit::prepare::{Prepared, messages_of};
use crate::engine::commit::row_cache::{BRANCH, PIECES, RowCache};
use crate::engine::commit::tx::{AUTHOR, CONVERSATION, LAST_OWN, own_slots};
use crate::engine::sql::connection::{DbResult, Row};
use crate::postgres::Client;
use manent_model::{BranchNo, MessageId, NewMessage};
use std::collections::HashSet;

/// Says whether all rows that these transactions would read are cached: they append to what was written last, and
/// expect nothing.
pub(crate) fn is_known(caches: &RowCache, batch: &[&Prepared]) -> bool {
    let known_end = |change: &Change| match change {
        Change::AppendMessages { conversation, at: MessageAt::Head { .. }, .. } => {
            let head = caches.recent.conversation(*conversation).map(|row| row.head.branch);
            head.is_some_and(|no| caches.recent.end(no).is_some() && caches.contains(no))
        }
        _ => false,
    };
    let plain = |message: &NewMessage| message.content.author.is_none();
    batch.iter().all(|prepared| {
        let Transaction { changes, expect, .. } = &prepared.transaction;
        let without_blobs = prepared.summaries.iter().flatten().all(|facts| facts.blobs.is_empty());
        validates_before_writing(prepared)
            && expect.is_empty()
            && prepared.access.is_none()
            && without_blobs
            && changes.iter().all(|change| known_end(change) && messages_of(change).iter().all(plain))
    })
}

/// Takes their messages for new ones. A server refuses the ids of those that are not.
pub(crate) fn assume_new(client: &Client, batch: &[&Prepared]) {
    for message in batch.iter().flat_map(|prepared| &prepared.transaction.changes).flat_map(messages_of) {
        client.assume_absent(STORED, [message.id.as_bytes()]);
    }
}

/// Prefetches the first reads of these transactions.
pub(crate) fn prefetch(client: &Client, caches: &RowCache, batch: &[&Prepared]) {
    let mut named = HashSet::new();
    batch.iter().for_each(|prepared| prefetch_change(client, caches, prepared, &mut named));
}

/// Prefetches the rows that depend on the first ones: the ends of the branches that the batch appends to.
pub(crate) fn follow(client: &Client, caches: &RowCache, batch: &[&Prepared]) -> DbResult<()> {
    for change in batch.iter().flat_map(|prepared| &prepared.transaction.changes) {
        let Change::AppendMessages { conversation, at: MessageAt::Head { .. }, .. } = change else { continue };
        let head = match caches.recent.conversation(*conversation) {
            Some(row) => Some(row.head.branch),
            None => client.peek_prefetched(CONVERSATION, [conversation.as_bytes()], |row| {
                Row::Postgres(row).get(3).map(BranchNo)
            })?,
        };
        let Some(no) = head else { continue };
        if caches.recent.end(no).is_none() {
            client.prefetch(LAST_OWN, own_slots(no));
        }
        if !caches.contains(no) {
            client.prefetch(BRANCH, [no.0]);
            client.prefetch(PIECES, [no.0]);
        }
    }
    Ok(())
}

fn prefetch_change(client: &Client, caches: &RowCache, prepared: &Prepared, named: &mut HashSet<MessageId>) {
    let transaction = &prepared.transaction;
    if let Some((key, _)) = &prepared.request {
        client.prefetch(REQUEST, [key]);
    }
    for change in &transaction.changes {
        let Change::AppendMessages { conversation, .. } = change else { continue };
        if caches.recent.conversation(*conversation).is_none() {
            client.prefetch(CONVERSATION, [conversation.as_bytes()]);
        }
        for message in messages_of(change) {
            client.prefetch(STORED, [message.id.as_bytes()]);
            if let Some(author) = &message.content.author {
                client.prefetch(AUTHOR, (&author.id, &author.name));
            }
        }
    }
    let first = transaction.changes.iter().flat_map(messages_of).next();
    // Not where one before it may be adding that message.
    if let Some(message) = first.filter(|message| !transaction.expect.is_empty() && !named.contains(&message.id)) {
        client.prefetch(ARRIVAL, [message.id.as_bytes()]);
    }
    named.extend(transaction.changes.iter().flat_map(messages_of).map(|message| message.id));
}
