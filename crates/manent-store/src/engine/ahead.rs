//! Looking ahead: what the appends of a batch will read, asked of a server all at once.
//!
//! Each answer is given once, to the first who asks the same, and only while nothing but appends runs. An append asks for
//! whatever it is going to change before it changes it (its conversation, the end of its branch, the ids of its messages,
//! its key), so nobody gets an answer that an append before it has made untrue.

use super::apply::message::STORED;
use super::cache::{BRANCH, Caches, PIECES};
use super::connection::{Found, Ran};
use super::prepare::{Prepared, messages_of};
use super::steps::{ARRIVAL, REQUEST};
use super::tx::{AUTHOR, CONVERSATION, LAST_OWN, own_slots};
use crate::postgres::Client;
use crate::transaction::{At, Change};
use manent_model::BranchNo;

/// Says whether it is known what a transaction will read.
pub(crate) fn is_known(prepared: &Prepared) -> bool {
    prepared.transaction.changes.iter().all(|change| matches!(change, Change::AppendMessages { .. }))
}

/// Asks for what these transactions will read first.
pub(crate) fn ask(client: &Client, batch: &[&Prepared]) {
    batch.iter().for_each(|prepared| ask_for(client, prepared));
}

/// Asks for what they will read then: the ends of the branches that they append to.
pub(crate) fn follow(client: &Client, caches: &Caches, batch: &[&Prepared]) -> Ran<()> {
    for change in batch.iter().flat_map(|prepared| &prepared.transaction.changes) {
        let Change::AppendMessages { conversation, at: At::Head { .. }, .. } = change else { continue };
        let head = client.peek(CONVERSATION, [conversation.as_bytes()], |row| Found::Postgres(row).get(3))?;
        let Some(no) = head.map(BranchNo) else { continue };
        client.ask(LAST_OWN, own_slots(no));
        if !caches.knows(no) {
            client.ask(BRANCH, [no.0]);
            client.ask(PIECES, [no.0]);
        }
    }
    Ok(())
}

fn ask_for(client: &Client, prepared: &Prepared) {
    let transaction = &prepared.transaction;
    if let Some((key, _)) = &prepared.request {
        client.ask(REQUEST, [key]);
    }
    for change in &transaction.changes {
        let Change::AppendMessages { conversation, .. } = change else { continue };
        client.ask(CONVERSATION, [conversation.as_bytes()]);
        for message in messages_of(change) {
            client.ask(STORED, [message.id.as_bytes()]);
            if let Some(author) = &message.content.author {
                client.ask(AUTHOR, (&author.id, &author.name));
            }
        }
    }
    let first = transaction.changes.iter().flat_map(messages_of).next();
    if let Some(message) = first.filter(|_| !transaction.expect.is_empty()) {
        client.ask(ARRIVAL, [message.id.as_bytes()]);
    }
}
