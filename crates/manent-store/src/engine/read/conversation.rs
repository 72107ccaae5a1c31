//! Reads of conversations, checked against their MACs.

use super::super::apply::conversation::{Body, authenticated_body};
use super::Reading;
use super::damage::RecordKind;
use super::message::author;
use super::path::id_at;
use crate::api::error::StoreError;
use crate::api::query::{ConversationRef, PAGE_MAX};
use crate::authz::access_filter::{AccessFilter, within};
use crate::engine::codec::disk_codes::{STATUS_PURGED, kind_of, status_of};
use crate::engine::sql::connection::{Connection, DbResult, Row, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, Address, BranchNo, Conversation, ConversationId, Head, ProjectId, Timestamp};
use std::collections::BTreeSet;

macro_rules! columns {
    () => {
        "c.no, c.id, c.external_id, c.kind, c.status, c.title, c.pinned, c.creator_no, c.created_at, c.active_at,
         c.trashed_at, c.version, c.head_key, c.messages, c.words, c.tokens, c.continued_from, c.forked_from, c.seal,
         c.body, p.id"
    };
}

pub(super) use columns;

/// Number of conversations in a report on the largest ones.
const LARGEST_MAX: i64 = 10;

/// Returns the conversations with the most messages: id, title, messages.
pub(crate) fn largest<'c>(connection: impl Into<Connection<'c>>) -> DbResult<Vec<(ConversationId, String, i64)>> {
    let sql = "select id, title, messages from conversation
         where withdrawn = 0 and status <> $1
         order by messages desc, no
         limit $2";
    query_all(connection, sql, (STATUS_PURGED, LARGEST_MAX), |row| {
        Ok((ConversationId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?))
    })
}

/// A conversation row as it is stored, before its MAC is checked.
pub(super) struct ConversationRow {
    no: i64,
    id: [u8; 16],
    kind: i64,
    status: i64,
    creator_no: Option<i64>,
    head_key: i64,
    seal: Vec<u8>,
    pub body: Option<Vec<u8>>,
    pub shown: Conversation,
}

pub(super) fn read_row(row: &Row<'_>) -> DbResult<ConversationRow> {
    let id: [u8; 16] = row.get(1)?;
    let other = |place: usize| -> DbResult<Option<[u8; 16]>> { row.get(place) };
    Ok(ConversationRow {
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
            created_at: Timestamp(row.get(8)?),
            active_at: Timestamp(row.get(9)?),
            trashed_at: row.get::<Option<i64>>(10)?.map(Timestamp),
            version: row.get(11)?,
            head: None,
            messages: row.get(13)?,
            words: row.get(14)?,
            tokens: row.get(15)?,
        },
    })
}

/// Completes a row with values of other tables; a row that does not match its MAC is refused.
pub(super) fn complete(reading: &mut Reading<'_>, row: ConversationRow) -> TxResult<Conversation> {
    let (no, creator_no, head_key, id) = (row.no, row.creator_no, row.head_key, row.shown.id);
    let unset = reading.damaged.is_some().then(|| without_sealed(&row));
    let outcome = checked(reading, row);
    let name = || id.to_string();
    let checked = reading.unless_damaged(RecordKind::of("conversation", Some(id)), name, outcome)?;
    let Some(mut shown) = checked.or(unset) else {
        return Err(StoreError::altered("conversation", id).into());
    };
    let creator = creator_no.map(|no| author(reading.connection, no)).transpose();
    shown.creator =
        reading.unless_damaged(RecordKind::of("creator of conversation", Some(id)), name, creator)?.flatten();
    let tags = tags_of(reading, no);
    let tags = reading.unless_damaged(RecordKind::of("tags of conversation", Some(id)), name, tags)?;
    shown.tags = tags.unwrap_or_default();
    shown.head = id_at(reading.connection, Address(head_key))?;
    Ok(shown)
}

/// Returns the fields of a row that its MAC does not cover.
fn without_sealed(row: &ConversationRow) -> Conversation {
    Conversation {
        external_id: None,
        title: String::new(),
        kind: kind_of(row.kind).unwrap_or_default(),
        status: status_of(row.status).unwrap_or_default(),
        ..row.shown.clone()
    }
}

/// Returns the fields of a row itself, if they match its MAC.
fn checked(reading: &Reading<'_>, row: ConversationRow) -> TxResult<Conversation> {
    let mut shown = row.shown;
    let altered = || StoreError::altered("conversation", ConversationId::from_bytes(row.id));
    let seal =
        authenticated_body(reading.key, &row.id, shown.external_id.as_deref(), &shown.title, row.body.as_deref());
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

fn tags_of(reading: &mut Reading<'_>, no: i64) -> TxResult<BTreeSet<String>> {
    let sql = "select name_no from tag where conversation_no = $1";
    let mut tags = BTreeSet::new();
    for no in query_all(reading.connection, sql, [no], |row| row.get::<i64>(0))? {
        tags.insert(reading.caches.name(reading.connection, no)?.to_string());
    }
    Ok(tags)
}

pub(crate) fn one(reading: &mut Reading<'_>, which: &ConversationRef) -> TxResult<Option<Conversation>> {
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
        ConversationRef::Id(id) => query_optional(reading.connection, by_id, (id.as_bytes(), STATUS_PURGED), read_row)?,
        ConversationRef::External(external) => {
            query_optional(reading.connection, by_external, (external, STATUS_PURGED), read_row)?
        }
    };
    found.map(|row| complete(reading, row)).transpose()
}

/// Reads a conversation by its number, with its head; none if it was withdrawn or purged.
pub(crate) fn by_no(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<(Conversation, Head)>> {
    let sql = concat!(
        "select ",
        columns!(),
        ", c.head_branch_no
          from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.no = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let found = query_optional(reading.connection, sql, (no, STATUS_PURGED), |row| {
        let head = Head { branch: BranchNo(row.get(21)?), at: Address(row.get(12)?) };
        Ok((read_row(row)?, head))
    })?;
    found.map(|(row, head)| Ok((complete(reading, row)?, head))).transpose()
}

/// A conversation with the fields that a search filters by; without its creator and the id of its head.
pub(crate) struct Searched {
    pub no: i64,
    pub shown: Conversation,
    pub head: Head,
    /// The name of its project.
    pub project: Option<String>,
}

/// Reads a conversation for a search, by its number; none if it was withdrawn or purged.
pub(crate) fn searched(reading: &mut Reading<'_>, no: i64) -> TxResult<Option<Searched>> {
    let sql = concat!(
        "select ",
        columns!(),
        ", c.head_branch_no, p.name, exists (select 1 from tag t where t.conversation_no = c.no)
          from conversation c
          left join project p on p.no = c.project_no and p.withdrawn = 0
          where c.no = $1 and c.withdrawn = 0 and c.status <> $2"
    );
    let found = query_optional(reading.connection, sql, (no, STATUS_PURGED), |row| {
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

pub(crate) fn ids(
    reading: &mut Reading<'_>,
    realm: &AccessScope,
    after: Option<ConversationId>,
    limit: u32,
) -> TxResult<Vec<ConversationId>> {
    let within = AccessFilter::of(reading.connection, realm)?;
    let after: i64 = match after {
        Some(id) => within.known(reading.connection, id)?.ok_or_else(|| StoreError::not_found("conversation", id))?,
        None => 0,
    };
    let sql = concat!(
        "select c.id from conversation c
         where c.no > $1 and c.withdrawn = 0 and c.status <> $2 and ",
        within!("$3", "$4"),
        " order by c.no
         limit $5"
    );
    let parameters = (after, STATUS_PURGED, &within.user, &within.projects, limit.min(PAGE_MAX));
    Ok(query_all(reading.connection, sql, parameters, |row| row.get(0).map(ConversationId::from_bytes))?)
}
