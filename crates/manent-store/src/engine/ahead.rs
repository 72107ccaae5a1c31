//! Prefetch plan: requests the rows that the appends of a batch will read from the server in one round trip.
//!
//! Each prefetched row is used once, by the first read with the same query, and only while the batch consists of
//! appends. An append reads everything that it will change before it changes it (its conversation, the end of its
//! branch, the ids of its messages, its key), so no append sees a row that an earlier append has made stale.

use super::apply::message::STORED;
use super::cache::{BRANCH, Caches, PIECES};
use super::connection::{Found, Ran};
use super::prepare::{Prepared, messages_of};
use super::steps::{ARRIVAL, REQUEST, refuses_before_it_writes};
use super::tx::{AUTHOR, CONVERSATION, LAST_OWN, own_slots};
use crate::postgres::Client;
use crate::transaction::{At, Change, Transaction};
use manent_model::{BranchNo, MessageId, NewMessage};
use std::collections::HashSet;

/// Says whether all rows that these transactions would read are cached: they append to what was written last, and
/// expect nothing.
pub(crate) fn is_known(caches: &Caches, batch: &[&Prepared]) -> bool {
    let known_end = |change: &Change| match change {
        Change::AppendMessages { conversation, at: At::Head { .. }, .. } => {
            let head = caches.recent.conversation(*conversation).map(|row| row.head.branch);
            head.is_some_and(|no| caches.recent.end(no).is_some() && caches.knows(no))
        }
        _ => false,
    };
    let plain = |message: &NewMessage| message.content.author.is_none();
    batch.iter().all(|prepared| {
        let Transaction { changes, expect, .. } = &prepared.transaction;
        let without_blobs = prepared.facts.iter().flatten().all(|facts| facts.blobs.is_empty());
        refuses_before_it_writes(prepared)
            && expect.is_empty()
            && without_blobs
            && changes.iter().all(|change| known_end(change) && messages_of(change).iter().all(plain))
    })
}

/// Takes their messages for new ones. A server refuses the ids of those that are not.
pub(crate) fn assume_new(client: &Client, batch: &[&Prepared]) {
    for message in batch.iter().flat_map(|prepared| &prepared.transaction.changes).flat_map(messages_of) {
        client.assume_none(STORED, [message.id.as_bytes()]);
    }
}

/// Prefetches the first reads of these transactions.
pub(crate) fn ask(client: &Client, caches: &Caches, batch: &[&Prepared]) {
    let mut named = HashSet::new();
    batch.iter().for_each(|prepared| ask_for(client, caches, prepared, &mut named));
}

/// Prefetches the rows that depend on the first ones: the ends of the branches that the batch appends to.
pub(crate) fn follow(client: &Client, caches: &Caches, batch: &[&Prepared]) -> Ran<()> {
    for change in batch.iter().flat_map(|prepared| &prepared.transaction.changes) {
        let Change::AppendMessages { conversation, at: At::Head { .. }, .. } = change else { continue };
        let head = match caches.recent.conversation(*conversation) {
            Some(row) => Some(row.head.branch),
            None => {
                client.peek(CONVERSATION, [conversation.as_bytes()], |row| Found::Postgres(row).get(3).map(BranchNo))?
            }
        };
        let Some(no) = head else { continue };
        if caches.recent.end(no).is_none() {
            client.ask(LAST_OWN, own_slots(no));
        }
        if !caches.knows(no) {
            client.ask(BRANCH, [no.0]);
            client.ask(PIECES, [no.0]);
        }
    }
    Ok(())
}

fn ask_for(client: &Client, caches: &Caches, prepared: &Prepared, named: &mut HashSet<MessageId>) {
    let transaction = &prepared.transaction;
    if let Some((key, _)) = &prepared.request {
        client.ask(REQUEST, [key]);
    }
    for change in &transaction.changes {
        let Change::AppendMessages { conversation, .. } = change else { continue };
        if caches.recent.conversation(*conversation).is_none() {
            client.ask(CONVERSATION, [conversation.as_bytes()]);
        }
        for message in messages_of(change) {
            client.ask(STORED, [message.id.as_bytes()]);
            if let Some(author) = &message.content.author {
                client.ask(AUTHOR, (&author.id, &author.name));
            }
        }
    }
    let first = transaction.changes.iter().flat_map(messages_of).next();
    // Not where one before it may be adding that message.
    if let Some(message) = first.filter(|message| !transaction.expect.is_empty() && !named.contains(&message.id)) {
        client.ask(ARRIVAL, [message.id.as_bytes()]);
    }
    named.extend(transaction.changes.iter().flat_map(messages_of).map(|message| message.id));
}
