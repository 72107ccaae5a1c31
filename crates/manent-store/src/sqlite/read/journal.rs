//! The journal, for tails and for undo.

use super::super::apply::undo::{scope_no, target};
use super::super::codes::Kind;
use super::super::connection::{maybe, rows};
use super::super::fault::Outcome;
use super::Reading;
use super::message::author;
use crate::error::StoreError;
use crate::query::{JournalEntry, PAGE_MAX, Scope, Step};
use crate::transaction::Position;
use manent_model::{ConversationId, Micros};

pub(in crate::sqlite) fn journal(reading: &mut Reading<'_>, after: Position, limit: u32) -> Outcome<Vec<JournalEntry>> {
    type Row = (i64, i64, i64, i64, i64, Option<[u8; 16]>, Option<i64>, Option<i64>);
    let sql = "select j.pos, j.count, j.first, j.at, j.kind, c.id, j.actor_no, j.undoes
         from journal j
         left join conversation c on c.no = j.conversation_no
         where j.pos > $1
         order by j.pos
         limit $2";
    let found: Vec<Row> = rows(reading.connection, sql, (after, limit.clamp(1, PAGE_MAX)), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
    })?;
    let mut entries = Vec::with_capacity(found.len());
    for (position, count, first, at, kind, conversation, actor_no, undoes) in found {
        entries.push(JournalEntry {
            position,
            count,
            first,
            at: Micros(at),
            kind: Kind::of(kind).ok_or_else(|| StoreError::altered("journal", position))?.word(),
            conversation: conversation.map(ConversationId::from_bytes),
            actor: actor_no.map(|no| author(reading.connection, no)).transpose()?,
            undoes,
        });
    }
    Ok(entries)
}

pub(in crate::sqlite) fn request_at(reading: &mut Reading<'_>, key: &[u8]) -> Outcome<Option<Micros>> {
    let sql = "select at from request where key = $1";
    Ok(maybe(reading.connection, sql, [key], |row| row.get(0).map(Micros))?)
}

pub(in crate::sqlite) fn undo_target(
    reading: &mut Reading<'_>,
    scope: &Scope,
    step: Step,
) -> Outcome<Option<Position>> {
    let scope = scope_no(reading.connection, scope)?;
    target(reading.connection, scope, step)
}
