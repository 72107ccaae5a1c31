//! Conversations as people see them.

use super::super::apply::conversation::{Body, seal_of};
use super::super::codes::{NameKind, STATUS_PURGED, kind_code, kind_of, status_code, status_of};
use super::super::connection::{Found, Ran, maybe, rows};
use super::super::fault::Outcome;
use super::super::tx::listed_at;
use super::Reading;
use super::message::author;
use super::path::id_at;
use crate::error::StoreError;
use crate::list_cursor::ListCursor;
use crate::query::{ConversationPage, ConversationRef, Count, ListOrder, ListQuery, PAGE_MAX};
use manent_model::{
    Address, BranchNo, Conversation, ConversationId, ConversationStatus, Head, Json, Micros, ProjectId,
};
use std::collections::{BTreeSet, HashMap};

macro_rules! columns {
    () => {
        "c.no, c.id, c.external_id, c.kind, c.status, c.title, c.pinned, c.creator_no, c.created_at, c.active_at,
         c.trashed_at, c.version, c.head_key, c.messages, c.words, c.tokens, c.continued_from, c.forked_from, c.seal,
         c.body, p.id"
    };
}

struct Row {
    no: i64,
    id: [u8; 16],
    kind: i64,
    status: i64,
    creator_no: Option<i64>,
    head_key: i64,
    seal: Vec<u8>,
    body: Option<Vec<u8>>,
    shown: Conversation,
}

fn read_row(row: &Found<'_>) -> Ran<Row> {
    let id: [u8; 16] = row.get(1)?;
    let other = |place: usize| -> Ran<Option<[u8; 16]>> { row.get(place) };
    Ok(Row {
        no: row.get(0)?,
        id,
        kind: row.get(3)?,
        status: row.get(4)?,
        creator_no: row.get(7)?,
        head_key: row.get(12)?,
        seal: row.get(18)?,
        body: row.get(19)?,
        shown: Conversation {
            id: ConversationId::from_bytes(id),
            external_id: row.get(2)?,
            title: row.get(5)?,
            kind: Default::default(),
            status: Default::default(),
            pinned: row.get(6)?,
            project: other(20)?.map(ProjectId::from_bytes),
            creator: None,
            members: Vec::new(),
            tags: Default::default(),
            metadata: None,
            continued_from: other(16)?.map(ConversationId::from_bytes),
            forked_from: other(17)?.map(ConversationId::from_bytes),
            created_at: Micros(row.get(8)?),
            active_at: Micros(row.get(9)?),
            trashed_at: row.get::<Option<i64>>(10)?.map(Micros),
            version: row.get(11)?,
            head: None,
            messages: row.get(13)?,
            words: row.get(14)?,
            tokens: row.get(15)?,
        },
    })
}

/// Completes a row with what other tables hold; what does not equal its seal is refused.
fn complete(reading: &mut Reading<'_>, row: Row) -> Outcome<Conversation> {
    let (no, creator_no, head_key) = (row.no, row.creator_no, row.head_key);
    let mut shown = checked(reading, row)?;
    shown.creator = creator_no.map(|no| author(reading.connection, no)).transpose()?;
    shown.tags = tags_of(reading, no)?;
    shown.head = id_at(reading.connection, Address(head_key))?;
    Ok(shown)
}

/// Returns what a row itself holds, if it equals its seal.
fn checked(reading: &Reading<'_>, row: Row) -> Outcome<Conversation> {
    let mut shown = row.shown;
    let altered = || StoreError::altered("conversation", ConversationId::from_bytes(row.id));
    let seal = seal_of(reading.key, &row.id, shown.external_id.as_deref(), &shown.title, row.body.as_deref());
    if seal != row.seal {
        return Err(altered().into());
    }
    shown.kind = kind_of(row.kind).ok_or_else(altered)?;
    shown.status = status_of(row.status).ok_or_else(altered)?;
    if let Some(body) = row.body {
        let body: Body = serde_json::from_slice(&body).map_err(|_| altered())?;
        shown.members = body.members;
        shown.metadata = body.metadata;
    }
    Ok(shown)
}

fn tags_of(reading: &mut Reading<'_>, no: i64) -> Outcome<BTreeSet<String>> {
    let sql = "select name_no from tag where conversation_no = $1";
    let mut tags = BTreeSet::new();
    for no in rows(reading.connection, sql, [no], |row| row.get::<i64>(0))? {
        tags.insert(reading.caches.name(reading.connection, no)?.to_string());
    }
    Ok(tags)
}

pub(crate) fn one(reading: &mut Reading<'_>, which: &ConversationRef) -> Outcome<Option<Conversation>> {
    let by_id = concat!(
        "select ",
        columns!(),
        " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.id = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let by_external = concat!(
        "select ",
        columns!(),
        " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.external_id = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let found = match which {
        ConversationRef::Id(id) => maybe(reading.connection, by_id, (id.as_bytes(), STATUS_PURGED), read_row)?,
        ConversationRef::External(external) => {
            maybe(reading.connection, by_external, (external, STATUS_PURGED), read_row)?
        }
    };
    found.map(|row| complete(reading, row)).transpose()
}

/// Reads a conversation by its number, with its head; none if it was taken back or purged.
pub(crate) fn by_no(reading: &mut Reading<'_>, no: i64) -> Outcome<Option<(Conversation, Head)>> {
    let sql = concat!(
        "select ",
        columns!(),
        ", c.head_branch_no
          from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.no = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let found = maybe(reading.connection, sql, (no, STATUS_PURGED), |row| {
        let head = Head { branch: BranchNo(row.get(21)?), at: Address(row.get(12)?) };
        Ok((read_row(row)?, head))
    })?;
    found.map(|(row, head)| Ok((complete(reading, row)?, head))).transpose()
}

/// A conversation with what a search asks of it; not its creator, nor the id of its head.
pub(crate) struct Searched {
    pub no: i64,
    pub shown: Conversation,
    pub head: Head,
    /// The name of its project.
    pub project: Option<String>,
}

/// Reads a conversation for a search, by its number; none if it was taken back or purged.
pub(crate) fn searched(reading: &mut Reading<'_>, no: i64) -> Outcome<Option<Searched>> {
    let sql = concat!(
        "select ",
        columns!(),
        ", c.head_branch_no, p.name, exists (select 1 from tag t where t.conversation_no = c.no)
          from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.no = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let found = maybe(reading.connection, sql, (no, STATUS_PURGED), |row| {
        let head = Head { branch: BranchNo(row.get(21)?), at: Address(row.get(12)?) };
        Ok((read_row(row)?, head, row.get(22)?, row.get(23)?))
    })?;
    let Some((row, head, project, has_tags)) = found else { return Ok(None) };
    let mut shown = checked(reading, row)?;
    if has_tags {
        shown.tags = tags_of(reading, no)?;
    }
    Ok(Some(Searched { no, shown, head, project }))
}

/// How many statuses there are; a list asks for some of them, and names one of these several times for the rest.
const STATUSES: usize = 4;

/// What a list is narrowed by, in the numbers of this file.
struct Narrowed {
    statuses: [i64; STATUSES],
    project_no: Option<i64>,
    tag_no: Option<i64>,
}

/// Looks up what a list is narrowed by; none if nothing can match.
fn narrowed(reading: &mut Reading<'_>, query: &ListQuery) -> Outcome<Option<Narrowed>> {
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
            let sql = "select no from project where id = $1 and withdrawn = 0";
            let found = maybe(reading.connection, sql, [project.as_bytes()], |row| row.get(0))?;
            Some(found.ok_or_else(|| StoreError::not_found("project", project))?)
        }
        None => None,
    };
    let tag_no: Option<i64> = match &query.tag {
        Some(tag) => match reading.caches.known_word(reading.connection, NameKind::Tag, tag)? {
            Some(no) => Some(no),
            None => return Ok(None),
        },
        None => None,
    };
    Ok(Some(Narrowed { statuses: codes, project_no, tag_no }))
}

/// Reads the rows behind a place in the order of a list.
fn rows_after(
    reading: &Reading<'_>,
    query: &ListQuery,
    narrowed: &Narrowed,
    after: &ListCursor,
    limit: usize,
) -> Outcome<Vec<Row>> {
    let by_activity = concat!(
        "select ",
        columns!(),
        " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where (c.pinned, c.listed_at) <= ($1, $2)
            and (c.pinned, c.active_at, c.id) < ($1, $3, $4)
            and c.withdrawn = 0
            and c.status in ($5, $6, $7, $8)
            and (c.kind = $9 or $9 is null)
            and (c.project_no = $10 or $10 is null)
            and (exists (select 1 from tag t where t.name_no = $11 and t.conversation_no = c.no) or $11 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $12) or $12 is null)
            and (c.active_at >= $13 or $13 is null)
            and (c.active_at < $14 or $14 is null)
            and (c.pinned = $15 or $15 is null)
          order by c.pinned desc, c.listed_at desc, c.active_at desc, c.id desc
          limit $16"
    );
    let by_id = concat!(
        "select ",
        columns!(),
        " from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.id < $1
            and c.withdrawn = 0
            and c.status in ($2, $3, $4, $5)
            and (c.kind = $6 or $6 is null)
            and (c.project_no = $7 or $7 is null)
            and (exists (select 1 from tag t where t.name_no = $8 and t.conversation_no = c.no) or $8 is null)
            and (c.creator_no in (select a.no from author a where a.external_id = $9) or $9 is null)
            and (c.active_at >= $10 or $10 is null)
            and (c.active_at < $11 or $11 is null)
            and (c.pinned = $12 or $12 is null)
          order by c.id desc
          limit $13"
    );
    let Narrowed { statuses: [first, second, third, fourth], project_no, tag_no } = narrowed;
    let (kind, limit) = (query.kind.map(kind_code), limit as i64);
    let (since, until) = (query.since.map(|at| at.0), query.until.map(|at| at.0));
    let id = after.id.as_bytes();
    Ok(match query.order {
        ListOrder::Activity => {
            let (pinned, active_at) = (after.pinned, after.active_at.0);
            let listed_at = listed_at(active_at);
            let parameters = (
                pinned,
                listed_at,
                active_at,
                id,
                first,
                second,
                third,
                fourth,
                kind,
                project_no,
                tag_no,
                &query.creator,
                since,
                until,
                query.pinned,
                limit,
            );
            rows(reading.connection, by_activity, parameters, read_row)?
        }
        ListOrder::Created => {
            let parameters = (
                id,
                first,
                second,
                third,
                fourth,
                kind,
                project_no,
                tag_no,
                &query.creator,
                since,
                until,
                query.pinned,
                limit,
            );
            rows(reading.connection, by_id, parameters, read_row)?
        }
    })
}

/// Before everything, in either order.
const START: ListCursor =
    ListCursor { pinned: true, active_at: Micros(i64::MAX), id: ConversationId::from_bytes([u8::MAX; 16]) };

fn cursor_of(row: &Row) -> ListCursor {
    ListCursor { pinned: row.shown.pinned, active_at: row.shown.active_at, id: row.shown.id }
}

/// Lists conversations. The engine narrows by what it has columns for; the rest is looked at row by row, with the same
/// rules whatever the engine.
pub(crate) fn list(reading: &mut Reading<'_>, query: &ListQuery) -> Outcome<ConversationPage> {
    let limit = query.limit.clamp(1, PAGE_MAX) as usize;
    let mut conversations = Vec::new();
    let Some(narrowed) = narrowed(reading, query)? else {
        return Ok(ConversationPage { conversations, next: None });
    };
    let mut cursor = query.after.unwrap_or(START);
    let mut last = None;
    loop {
        let found = rows_after(reading, query, &narrowed, &cursor, limit + 1)?;
        let ended = found.len() <= limit;
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
    }
}

/// Nobody reads a longer list to its end.
const COUNTED_MAX: u32 = 10_000;

pub(crate) fn count(reading: &mut Reading<'_>, query: &ListQuery) -> Outcome<Count> {
    let mut count = Count { n: 0, more: false };
    let Some(narrowed) = narrowed(reading, query)? else { return Ok(count) };
    let mut cursor = START;
    loop {
        let found = rows_after(reading, query, &narrowed, &cursor, PAGE_MAX as usize)?;
        let ended = found.len() < PAGE_MAX as usize;
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
    }
}

fn fits(query: &ListQuery, row: &Row) -> bool {
    let title = query.title.as_ref().is_none_or(|text| row.shown.title.to_lowercase().contains(&text.to_lowercase()));
    let metadata = query.metadata.as_ref().is_none_or(|(key, value)| {
        let body: Option<Body> = row.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
        let metadata = body.and_then(|body| body.metadata);
        // Only the value that is asked for is read: another one may hold what no string can, such as half a surrogate.
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
    let member = query.member.as_ref().is_none_or(|id| {
        let body: Option<Body> = row.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
        body.is_some_and(|body| body.members.iter().any(|member| member.id == *id))
    });
    title && member && metadata
}

pub(crate) fn ids(
    reading: &mut Reading<'_>,
    after: Option<ConversationId>,
    limit: u32,
) -> Outcome<Vec<ConversationId>> {
    let after: i64 = match after {
        Some(id) => {
            let sql = "select no from conversation where id = $1";
            let found = maybe(reading.connection, sql, [id.as_bytes()], |row| row.get(0))?;
            found.ok_or_else(|| StoreError::not_found("conversation", id))?
        }
        None => 0,
    };
    let sql = "select id from conversation
         where no > $1 and withdrawn = 0 and status <> $2
         order by no
         limit $3";
    let parameters = (after, STATUS_PURGED, limit.min(PAGE_MAX));
    Ok(rows(reading.connection, sql, parameters, |row| row.get(0).map(ConversationId::from_bytes))?)
}
