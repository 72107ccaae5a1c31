//! Ids by the beginning of their text: a range of the index of ids.

use super::super::connection::rows;
use super::super::fault::Outcome;
use super::Reading;
use crate::error::StoreError;
use crate::query::{IdKind, PAGE_MAX};
use manent_model::{ConversationId, MessageId, ProjectId};

pub(crate) fn by_prefix(reading: &mut Reading<'_>, kind: IdKind, prefix: &str, limit: u32) -> Outcome<Vec<[u8; 16]>> {
    macro_rules! ends {
        ($id:ty) => {{
            let span = <$id>::span(prefix).map_err(StoreError::from)?;
            (*span.start().as_bytes(), *span.end().as_bytes())
        }};
    }
    let (sql, (first, last)) = match kind {
        IdKind::Conversation => (
            "select id from conversation
             where id between $1 and $2 and withdrawn = 0 and status <> 4
             order by id
             limit $3",
            ends!(ConversationId),
        ),
        IdKind::Message => (
            "select m.id
             from message m
             where m.id between $1 and $2
               and 0 = (select case c.status when 4 then 1 else c.withdrawn end
                        from branch b
                        join conversation c on c.no = b.conversation_no
                        where b.no = m.key >> 24)
             order by m.id
             limit $3",
            ends!(MessageId),
        ),
        IdKind::Project => (
            "select id from project
             where id between $1 and $2 and withdrawn = 0
             order by id
             limit $3",
            ends!(ProjectId),
        ),
    };
    Ok(rows(reading.connection, sql, (first, last, limit.min(PAGE_MAX)), |row| row.get(0))?)
}
