//! Lists of conversations: filters, order, keyset paging, and counts.

use super::super::apply::conversation::Body;
use super::Reading;
use super::conversation::{ConversationRow, columns, complete, read_row};
use crate::api::error::StoreError;
use crate::api::list_cursor::ListCursor;
use crate::api::query::{BoundedCount, ConversationPage, ListOrder, ListQuery, PAGE_MAX};
use crate::engine::access::access_filter::{AccessFilter, project_no};
use crate::engine::codec::disk_codes::{NameKind, kind_code, status_code};
use crate::engine::commit::tx::listed_at;
use crate::engine::sql::connection::{query_all, query_one};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::sql::value::ToSql;
use manent_model::{AccessScope, ConversationId, ConversationStatus, Json, Timestamp};
use std::collections::HashMap;

/// How many statuses there are; a list asks for some of them, and names one of these several times for the rest.
const STATUSES: usize = 4;

/// The filters of a list, resolved to row numbers.
struct ListFilter {
    statuses: [i64; STATUSES],
    project_no: Option<i64>,
    tag_no: Option<i64>,
    tag_is_rare: bool,
    within: AccessFilter,
}

/// Resolves the filters of a list; `None` if nothing can match.
fn list_filter(reading: &mut Reading<'_>, access: &AccessScope, query: &ListQuery) -> TxResult<Option<ListFilter>> {
    let within = AccessFilter::of(reading.connection, access)?;
    let statuses = match query.statuses.is_empty() {
        true => vec![ConversationStatus::Active],
        false => query.statuses.clone(),
    };
    let mut codes = [status_code(statuses[0]); STATUSES];
    for status in &statuses {
        let code = status_code(*status);
        codes[code as usize % STATUSES] = code;
    }
    let project_no: Option<i64> = match query.project {
        Some(project) => {
            let found = match project_no(reading.connection, project)? {
                Some(no) if within.has_project(reading.connection, no)? => Some(no),
                _ => None,
            };
            Some(found.ok_or_else(|| StoreError::not_found("project", project))?)
        }
        None => None,
    };
    let tag_no: Option<i64> = match &query.tag {
        Some(tag) => match reading.caches.number_of(reading.connection, NameKind::Tag, tag)? {
            Some(no) => Some(no),
            None => return Ok(None),
        },
        None => None,
    };
    let tag_is_rare = match tag_no {
        Some(tag_no) => is_rare(reading, tag_no)?,
        None => false,
    };
    Ok(Some(ListFilter { statuses: codes, project_no, tag_no, tag_is_rare, within }))
}

const BY_ACTIVITY: &str = concat!(
    "select ",
    columns!(),
    " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and (exists (select 1 from tag t where t.name_no = $7 and t.conversation_no = c.no) or $7 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and (c.pinned, c.listed_at) <= ($13, $14)
            and (c.pinned, c.active_at, c.id) < ($13, $15, $16)
          order by c.pinned desc, c.listed_at desc, c.active_at desc, c.id desc
          limit $17"
);

const BY_ID: &str = concat!(
    "select ",
    columns!(),
    " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and (exists (select 1 from tag t where t.name_no = $7 and t.conversation_no = c.no) or $7 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and c.id < $13
          order by c.id desc
          limit $14"
);

/// The lists of a rare tag begin with its conversations: SQLite joins tables in the order of a cross join.
const OF_TAG_BY_ACTIVITY: &str = concat!(
    "select ",
    columns!(),
    " from tag d cross join conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and d.name_no = $7
            and d.conversation_no = c.no
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and (c.pinned, c.active_at, c.id) < ($13, $14, $15)
          order by c.pinned desc, c.active_at desc, c.id desc
          limit $16"
);

const OF_TAG_BY_ID: &str = concat!(
    "select ",
    columns!(),
    " from tag d cross join conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and d.name_no = $7
            and d.conversation_no = c.no
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and c.id < $13
          order by c.id desc
          limit $14"
);

/// The lists of one person begin with the conversations of that person, for the same reason.
pub(crate) const OF_PERSON_BY_ACTIVITY: &str = concat!(
    "select ",
    columns!(),
    " from participant d cross join conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and (exists (select 1 from tag t where t.name_no = $7 and t.conversation_no = c.no) or $7 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and d.conversation_no = c.no
            and d.person = $13
            and d.takes_part >= $14
            and (exists (select 1 from participant m
                         where m.person = $15 and m.conversation_no = c.no and m.takes_part = 1)
                 or $15 is null)
            and (c.pinned, c.active_at, c.id) < ($16, $17, $18)
          order by c.pinned desc, c.active_at desc, c.id desc
          limit $19"
);

pub(crate) const OF_PERSON_BY_ID: &str = concat!(
    "select ",
    columns!(),
    " from participant d cross join conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.withdrawn = 0
            and c.status in ($1, $2, $3, $4)
            and (c.kind = $5 or $5 is null)
            and (c.project_no = $6 or $6 is null)
            and (exists (select 1 from tag t where t.name_no = $7 and t.conversation_no = c.no) or $7 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $8) or $8 is null)
            and (c.active_at >= $9 or $9 is null)
            and (c.active_at < $10 or $10 is null)
            and (c.pinned = $11 or $11 is null)
            and ($12 like '%,' || c.project_no || ',%' or $12 is null)
            and d.conversation_no = c.no
            and d.person = $13
            and d.takes_part >= $14
            and (exists (select 1 from participant m
                         where m.person = $15 and m.conversation_no = c.no and m.takes_part = 1)
                 or $15 is null)
            and c.id < $16
          order by c.id desc
          limit $17"
);

/// A tag with more conversations is found quickly enough in the order of the list.
const RARE_TAG_MAX: i64 = 1_000;

/// Says whether few conversations have a tag.
fn is_rare(reading: &Reading<'_>, tag_no: i64) -> TxResult<bool> {
    let sql = "select count(*) from (select 1 from tag where name_no = $1 limit $2) x";
    let count: i64 = query_one(reading.connection, sql, (tag_no, RARE_TAG_MAX + 1), |row| row.get(0))?;
    Ok(count <= RARE_TAG_MAX)
}

/// Reads the rows behind a place in the order of a list.
fn rows_after(
    reading: &Reading<'_>,
    query: &ListQuery,
    narrowed: &ListFilter,
    after: &ListCursor,
    limit: usize,
) -> TxResult<Vec<ConversationRow>> {
    let ListFilter { statuses, project_no, tag_no, tag_is_rare, within } = narrowed;
    let (kind, limit) = (query.kind.map(kind_code), limit as i64);
    let (since, until) = (query.since.map(|at| at.0), query.until.map(|at| at.0));
    let mut parameters: Vec<&dyn ToSql> = statuses.iter().map(|status| status as &dyn ToSql).collect();
    let filters: [&dyn ToSql; 8] =
        [&kind, project_no, tag_no, &query.creator, &since, &until, &query.pinned, &within.projects];
    parameters.extend(filters);
    // A key that is limited to one user's conversations may still filter them by another participant.
    let (person, takes_part, member) = match &within.user {
        Some(user) => (Some(user), false, &query.member),
        None => (query.member.as_ref(), true, &None),
    };
    if person.is_some() {
        let person: [&dyn ToSql; 3] = [&person, &takes_part, member];
        parameters.extend(person);
    }
    let (active_at, id) = (after.active_at.0, after.id.as_bytes());
    let listed_at = listed_at(active_at);
    let sql = match (person.is_some(), *tag_is_rare, query.order) {
        (false, false, ListOrder::Activity) => {
            let place: [&dyn ToSql; 4] = [&after.pinned, &listed_at, &active_at, id];
            parameters.extend(place);
            BY_ACTIVITY
        }
        (of_person, _, ListOrder::Activity) => {
            let place: [&dyn ToSql; 3] = [&after.pinned, &active_at, id];
            parameters.extend(place);
            if of_person { OF_PERSON_BY_ACTIVITY } else { OF_TAG_BY_ACTIVITY }
        }
        (of_person, tag_is_rare, ListOrder::Created) => {
            parameters.push(id);
            match (of_person, tag_is_rare) {
                (true, _) => OF_PERSON_BY_ID,
                (false, true) => OF_TAG_BY_ID,
                (false, false) => BY_ID,
            }
        }
    };
    parameters.push(&limit);
    Ok(query_all(reading.connection, sql, &parameters[..], read_row)?)
}

/// Before everything, in either order.
const START: ListCursor =
    ListCursor { pinned: true, active_at: Timestamp(i64::MAX), id: ConversationId::from_bytes([u8::MAX; 16]) };

fn cursor_of(row: &ConversationRow) -> ListCursor {
    ListCursor { pinned: row.shown.pinned, active_at: row.shown.active_at, id: row.shown.id }
}

/// Maximum number of rows that one page scans for matching titles or metadata.
const SCANNED_MAX: usize = 4_000;

/// Lists conversations. SQL filters by columns; titles and metadata are compared here, with the same rules on both
/// engines. If most rows are rejected, the page ends early with a cursor.
pub(crate) fn list(reading: &mut Reading<'_>, access: &AccessScope, query: &ListQuery) -> TxResult<ConversationPage> {
    let limit = query.limit.clamp(1, PAGE_MAX) as usize;
    let mut conversations = Vec::new();
    let Some(narrowed) = list_filter(reading, access, query)? else {
        return Ok(ConversationPage { conversations, next: None });
    };
    let mut cursor = query.after.unwrap_or(START);
    let (mut last, mut scanned, mut rows_max) = (None, 0, limit + 1);
    loop {
        let found = rows_after(reading, query, &narrowed, &cursor, rows_max)?;
        let ended = found.len() < rows_max;
        scanned += found.len();
        for row in found {
            cursor = cursor_of(&row);
            if !fits(query, &row) {
                continue;
            }
            if conversations.len() == limit {
                return Ok(ConversationPage { conversations, next: last });
            }
            last = Some(cursor);
            conversations.push(complete(reading, row)?);
        }
        if ended {
            return Ok(ConversationPage { conversations, next: None });
        }
        if scanned >= SCANNED_MAX {
            return Ok(ConversationPage { conversations, next: Some(cursor) });
        }
        rows_max = PAGE_MAX as usize;
    }
}

/// Upper bound of a count; longer lists are not read to their end.
const COUNTED_MAX: u32 = 10_000;
/// Maximum number of rows that a count scans for matching titles or metadata.
const COUNT_SCANNED_MAX: usize = 100_000;

pub(crate) fn count(reading: &mut Reading<'_>, access: &AccessScope, query: &ListQuery) -> TxResult<BoundedCount> {
    let mut count = BoundedCount { n: 0, more: false };
    let Some(narrowed) = list_filter(reading, access, query)? else { return Ok(count) };
    // The order by id needs no sorting.
    let query = &ListQuery { order: ListOrder::Created, ..query.clone() };
    let (mut cursor, mut scanned) = (START, 0);
    loop {
        let found = rows_after(reading, query, &narrowed, &cursor, PAGE_MAX as usize)?;
        let ended = found.len() < PAGE_MAX as usize;
        scanned += found.len();
        for row in found {
            cursor = cursor_of(&row);
            if fits(query, &row) {
                count.more = count.n == COUNTED_MAX;
                if count.more {
                    return Ok(count);
                }
                count.n += 1;
            }
        }
        if ended {
            return Ok(count);
        }
        if scanned >= COUNT_SCANNED_MAX {
            count.more = true;
            return Ok(count);
        }
    }
}

fn fits(query: &ListQuery, row: &ConversationRow) -> bool {
    let title = query.title.as_ref().is_none_or(|text| row.shown.title.to_lowercase().contains(&text.to_lowercase()));
    let metadata = query.metadata.as_ref().is_none_or(|(key, value)| {
        let body: Option<Body> = row.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
        let metadata = body.and_then(|body| body.metadata);
        // Only the requested value is decoded: another one may contain what no string can, such as half a surrogate.
        let found = metadata.and_then(|json| json.read::<HashMap<String, Json>>().ok());
        match (found.as_ref().and_then(|found| found.get(key)), value) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(json), Some(value)) => match json.read() {
                Ok(serde_json::Value::String(text)) => text == *value,
                Ok(other) => other.to_string().as_str() == value,
                Err(_) => json.text() == value,
            },
        }
    });
    title && metadata
}
