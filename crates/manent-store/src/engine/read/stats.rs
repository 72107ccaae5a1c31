//! Statistics: what the shown paths hold, counted message by message.

use super::super::connection::rows;
use super::super::facts::MessageFacts;
use super::super::fault::Outcome;
use super::Reading;
use super::path::head_of;
use crate::error::StoreError;
use manent_model::path;
use manent_model::stats::{Counted, Counter};
use manent_model::{Address, ConversationId, Head, Known, MessageStatus, Micros, Stats};

/// Adds one conversation; the caller goes on to the next in a read of its own, so that none of them takes long.
pub(crate) fn add_conversation(reading: &mut Reading<'_>, id: ConversationId, stats: &mut Stats) -> Outcome<()> {
    let (_, head) = head_of(reading.connection, id)?;
    stats.conversations += 1;
    add_path(reading, head, stats)
}

fn add_path(reading: &mut Reading<'_>, head: Head, stats: &mut Stats) -> Outcome<()> {
    let mut counter = Counter::default();
    // What one message counts is the difference of the running sums around it; for a stream that is nothing until it ends.
    let sql = "select key, facts, words_sum - lag(words_sum, 1, 0) over (order by key),
                tokens_sum - lag(tokens_sum, 1, 0) over (order by key)
         from message
         where key between $1 and $2
         order by key";

    for range in path::ranges(&mut reading.caches.branches(reading.connection), head)? {
        let from = (range.from.0 - 1).max(range.from.branch().slot(0).0);
        let found: Vec<(i64, Vec<u8>, i64, i64)> = rows(reading.connection, sql, (from, range.to.0), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        for (key, facts, words, tokens) in found {
            if key < range.from.0 {
                continue;
            }
            let altered = || StoreError::altered("message", format!("{:?}", Address(key)));
            let facts = MessageFacts::decode(&facts).ok_or_else(altered)?;
            if !facts.flags.seen.by_reader || facts.flags.status == MessageStatus::Failed {
                continue;
            }
            let model = facts.model_no.map(|no| reading.caches.name(reading.connection, no)).transpose()?;
            let message = Counted {
                role: reading.caches.name(reading.connection, facts.role_no)?.to_string(),
                model: model.map(|model| model.to_string()),
                at: (facts.flags.known == Known::Exact).then_some(Micros(facts.at)),
                day: Micros(facts.at).day(),
                words,
                tokens,
            };

            counter.add(stats, &message);
        }
    }
    Ok(())
}
