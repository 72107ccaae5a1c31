//! Statistics: what the shown paths hold, counted message by message.

use super::super::codes::Flags;
use super::super::connection::rows;
use super::super::fault::Outcome;
use super::Reading;
use super::path::head_of;
use manent_model::path;
use manent_model::stats::{Counted, Counter};
use manent_model::{ConversationId, Head, Known, MessageStatus, Micros, Stats};

/// Adds one conversation; the caller goes on to the next in a read of its own, so that none of them takes long.
pub(in crate::sqlite) fn add_conversation(
    reading: &mut Reading<'_>,
    id: ConversationId,
    stats: &mut Stats,
) -> Outcome<()> {
    let (_, head) = head_of(reading.connection, id)?;
    stats.conversations += 1;
    add_path(reading, head, stats)
}

fn add_path(reading: &mut Reading<'_>, head: Head, stats: &mut Stats) -> Outcome<()> {
    let mut counter = Counter::default();
    // The words of one message are the difference of the running sums around it.
    let sql = "select key, at, flags, role_no, model_no, tokens, words_sum,
            lag(words_sum, 1, 0) over (order by key) as before_words
         from message
         where key between $1 and $2
         order by key";
    for range in path::ranges(&mut reading.caches.branches(reading.connection), head)? {
        let from = (range.from.0 - 1).max(range.from.branch().slot(0).0);
        type Row = (i64, i64, i64, i64, Option<i64>, Option<i64>, i64, i64);
        let found: Vec<Row> = rows(reading.connection, sql, (from, range.to.0), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
        })?;
        for (key, at, flags, role_no, model_no, tokens, words_sum, before_words) in found {
            let flags = Flags::of(flags);
            let counted = flags.seen.by_reader && flags.status != MessageStatus::Failed;
            if key < range.from.0 || !counted {
                continue;
            }
            let role = reading.caches.name(reading.connection, role_no)?.to_string();
            let model = model_no.map(|no| reading.caches.name(reading.connection, no)).transpose()?;
            let message = Counted {
                role,
                model: model.map(|model| model.to_string()),
                at: (flags.known == Known::Exact).then_some(Micros(at)),
                day: Micros(at).day(),
                words: words_sum - before_words,
                tokens: tokens.unwrap_or(0),
            };
            counter.add(stats, &message);
        }
    }
    Ok(())
}
