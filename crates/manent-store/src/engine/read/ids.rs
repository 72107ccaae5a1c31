//! Lookup of ids by prefix: a range scan of the id index.

use super::Reading;
use crate::api::error::StoreError;
use crate::api::query::{IdKind, PAGE_MAX};
use crate::engine::access::access_filter::{AccessFilter, within};
use crate::engine::sql::connection::query_all;
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, ConversationId, MessageId, ProjectId};

pub(crate) fn by_prefix(
    reading: &mut Reading<'_>,
    access: &AccessScope,
    kind: IdKind,
    prefix: &str,
    limit: u32,
) -> TxResult<Vec<[u8; 16]>> {
    macro_rules! ends {
        ($id:ty) => {{
            let span = <$id>::span(prefix).map_err(StoreError::from)?;
            (*span.start().as_bytes(), *span.end().as_bytes())
        }};
    }
    let (sql, (first, last)) = match kind {
        IdKind::Conversation => (
            concat!(
                "select c.id from conversation c
                 where c.id between $1 and $2 and c.withdrawn = 0 and c.status <> 4 and ",
                within!("$3", "$4"),
                " order by c.id
                 limit $5"
            ),
            ends!(ConversationId),
        ),
        IdKind::Message => (
            concat!(
                "select m.id
                 from message m
                 where m.id between $1 and $2
                   and 0 = (select case c.status when 4 then 1 else c.withdrawn end
                            from branch b
                            join conversation c on c.no = b.conversation_no
                            where b.no = m.key >> 24 and ",
                within!("$3", "$4"),
                ")
                 order by m.id
                 limit $5"
            ),
            ends!(MessageId),
        ),
        // Without a list, those are seen that hold a conversation of the user.
        IdKind::Project => (
            "select p.id
             from project p
             where p.id between $1 and $2 and p.withdrawn = 0
               and (exists (select 1
                            from participant w
                            join conversation c on c.no = w.conversation_no
                            where w.person = $3 and c.project_no = p.no and c.withdrawn = 0 and c.status <> 4)
                    or $3 is null)
               and ($4 like '%,' || p.no || ',%' or $4 is null)
             order by p.id
             limit $5",
            ends!(ProjectId),
        ),
    };
    let mut within = AccessFilter::of(reading.connection, access)?;
    if kind == IdKind::Project && within.projects.is_some() {
        within.user = None;
    }
    let parameters = (first, last, &within.user, &within.projects, limit.min(PAGE_MAX));
    Ok(query_all(reading.connection, sql, parameters, |row| row.get(0))?)
}
