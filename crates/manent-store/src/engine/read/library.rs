//! Reads of objects outside conversations: documents, memories, scratch, blobs, sources and origins.

use super::super::apply::library::{MemoryBody, object_words, scratch_id, source_no};
use super::super::apply::project::Body as ProjectBody;
use super::Reading;
use super::annotations::json_of;
use super::damage::{RecordKind, owner_of, records};
pub(crate) use super::document::documents;
use super::path::id_at;
use crate::api::error::StoreError;
use crate::api::query::{Memories, MemoriesQuery, OriginsQuery, PAGE_MAX, ScratchQuery};
use crate::api::transaction::MessageOrigin;
use crate::engine::access::access_filter::{AccessFilter, within};
use crate::engine::codec::disk_codes::NameKind;
use crate::engine::codec::{body_mac, source_record};
use crate::engine::commit::tx::locate;
use crate::engine::sql::connection::{Connection, DbResult, Row, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{
    AccessScope, Address, ConversationId, Memory, MemoryId, MessageId, Origin, OriginObject, Project, ProjectId,
    Quarantined, Scratch, Source, SourceId, Timestamp,
};

/// SQL condition on a memory `m` of a conversation `c`: the conversation is in the scope, or the memory has none and
/// its project is listed.
macro_rules! remembered_within {
    ($limited:literal, $user:literal, $projects:literal) => {
        concat!(
            " (",
            $limited,
            " = 0 or (m.conversation_no is null and ",
            $projects,
            " like '%,' || m.project_no || ',%')
             or (c.withdrawn = 0 and c.status <> 4 and ",
            within!($user, $projects),
            "))"
        )
    };
}

pub(crate) fn memories(reading: &mut Reading<'_>, access: &AccessScope, query: &MemoriesQuery) -> TxResult<Memories> {
    let within = AccessFilter::of(reading.connection, access)?;
    let collection_no = match &query.collection {
        Some(name) => match reading.caches.number_of(reading.connection, NameKind::Collection, name)? {
            Some(no) => Some(no),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let after: i64 = match query.after {
        Some(id) => {
            let found = memory_within(reading.connection, &within, id)?;
            found.ok_or_else(|| StoreError::not_found("memory", id))?
        }
        None => 0,
    };
    type Columns = ([u8; 16], i64, Option<[u8; 16]>, Option<[u8; 16]>, Option<i64>, Option<String>, Vec<u8>);
    let sql = concat!(
        "select m.id, m.collection_no, p.id, c.id, m.key, m.external, m.body
         from memory m
         left join project p on p.no = m.project_no
         left join conversation c on c.no = m.conversation_no
         where m.no > $1
           and m.withdrawn = 0
           and (m.collection_no = $2 or $2 is null)
           and (p.id = $3 or $3 is null)
           and (m.external = $4 or $4 is null)
           and ",
        remembered_within!("$5", "$7", "$6"),
        " order by m.no
         limit $8"
    );
    let project = query.project.as_ref().map(|project| &project.as_bytes()[..]);
    let limit = query.limit.clamp(1, PAGE_MAX);
    let limited = within.is_limited();
    let parameters = (after, collection_no, project, &query.external, limited, &within.projects, &within.user, limit);
    let row = |row: &Row<'_>| -> DbResult<Columns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    };
    let name = |row: &Row<'_>| Ok(MemoryId::from_bytes(row.get(0)?).to_string());
    let memory = |reading: &mut Reading<'_>, row: Columns| {
        let (id, collection_no, project, conversation, key, external, body) = row;
        let body: MemoryBody = body_mac::verify_json(reading.key, "memory", &id, &body)?;
        Ok(Memory {
            id: MemoryId::from_bytes(id),
            collection: reading.caches.name(reading.connection, collection_no)?.to_string(),
            project: project.map(ProjectId::from_bytes),
            conversation: conversation.map(ConversationId::from_bytes),
            message: match key {
                Some(key) => id_at(reading.connection, Address(key))?,
                None => None,
            },
            external,
            text: body.text,
            metadata: body.metadata,
        })
    };
    records(reading, RecordKind::of("memory", None), (sql, parameters), name, row, memory)
}

/// Finds a memory within, even one that was withdrawn.
pub(crate) fn memory_within(connection: Connection<'_>, within: &AccessFilter, id: MemoryId) -> TxResult<Option<i64>> {
    let sql = concat!(
        "select m.no
         from memory m
         left join conversation c on c.no = m.conversation_no
         where m.id = $1 and ",
        remembered_within!("$2", "$4", "$3")
    );
    let parameters = (id.as_bytes(), within.is_limited(), &within.projects, &within.user);
    Ok(query_optional(connection, sql, parameters, |row| row.get(0))?)
}

type ProjectRow = ([u8; 16], String, String, i64, Vec<u8>, i64);

fn project_row(row: &Row<'_>) -> DbResult<ProjectRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

fn project_of(reading: &Reading<'_>, (id, kind, name, version, body, _): ProjectRow) -> TxResult<Project> {
    let body: ProjectBody = body_mac::verify_json(reading.key, "project", &id, &body)?;
    let id = ProjectId::from_bytes(id);
    if body.name != name {
        return Err(StoreError::altered("project", id).into());
    }
    let ProjectBody { instructions, facts, metadata, .. } = body;
    Ok(Project { id, kind, name, instructions, facts, metadata, version })
}

pub(crate) fn project(reading: &mut Reading<'_>, access: &AccessScope, id: ProjectId) -> TxResult<Option<Project>> {
    let within = AccessFilter::of(reading.connection, access)?;
    let sql = "select id, kind, name, version, body, no from project where id = $1 and withdrawn = 0";
    match query_optional(reading.connection, sql, [id.as_bytes()], project_row)? {
        Some(row) if within.has_project(reading.connection, row.5)? => project_of(reading, row).map(Some),
        _ => Ok(None),
    }
}

pub(crate) fn projects(reading: &mut Reading<'_>, access: &AccessScope) -> TxResult<Vec<Project>> {
    let within = AccessFilter::of(reading.connection, access)?;
    let sql = "select id, kind, name, version, body, no from project where withdrawn = 0 order by no";
    let name = |row: &Row<'_>| Ok(ProjectId::from_bytes(row.get(0)?).to_string());
    let project = |reading: &mut Reading<'_>, row: ProjectRow| match within.has_project(reading.connection, row.5)? {
        true => project_of(reading, row).map(Some),
        false => Ok(None),
    };
    let found = records(reading, RecordKind::of("project", None), (sql, ()), name, project_row, project)?;
    Ok(found.into_iter().flatten().collect())
}

/// Scratch kind of the records of which key uploaded a blob: for limited keys, only the store itself writes and reads
/// it.
pub(crate) const UPLOAD: &str = "upload";

/// Says whether a scratch value is the caller's own: of the user and not about a conversation outside the scope;
/// without a user, about a conversation in the scope.
fn is_own_scratch(
    connection: Connection<'_>,
    within: &AccessFilter,
    kind: &str,
    id: &str,
    actor: &str,
) -> TxResult<bool> {
    if !within.is_limited() {
        return Ok(true);
    }
    if kind == UPLOAD || within.user.as_ref().is_some_and(|user| user != actor) {
        return Ok(false);
    }
    match id.parse::<ConversationId>() {
        Ok(id) => Ok(within.conversation(connection, id)?.is_some()),
        Err(_) => Ok(within.user.is_some()),
    }
}

pub(crate) fn scratch(reading: &mut Reading<'_>, access: &AccessScope, query: &ScratchQuery) -> TxResult<Vec<Scratch>> {
    let within = AccessFilter::of(reading.connection, access)?;
    type Columns = (String, String, String, i64, Vec<u8>);
    let read =
        |row: &Row<'_>| -> DbResult<Columns> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)) };
    // Every opened conversation queries for a draft, and only a plain comparison uses the key.
    let by_kind_and_id = "select kind, id, actor, at, body
         from scratch
         where kind = $1 and id = $2 and (actor = $3 or $3 is null)
         order by kind, id, actor";
    let by_kind = "select kind, id, actor, at, body
         from scratch
         where kind = $1 and (id = $2 or $2 is null) and (actor = $3 or $3 is null)
         order by kind, id, actor";
    let all = "select kind, id, actor, at, body
         from scratch
         where (kind = $1 or $1 is null) and (id = $2 or $2 is null) and (actor = $3 or $3 is null)
         order by kind, id, actor";
    let sql = match (&query.kind, &query.id) {
        (Some(_), Some(_)) => by_kind_and_id,
        (Some(_), None) => by_kind,
        (None, _) => all,
    };
    let name = |row: &Row<'_>| Ok([row.get::<String>(0)?, row.get(1)?].join(" "));
    let scratch = |reading: &mut Reading<'_>, (kind, id, actor, at, body): Columns| {
        if !is_own_scratch(reading.connection, &within, &kind, &id, &actor)? {
            return Ok(None);
        }
        let text = body_mac::verify(reading.key, "scratch", &scratch_id(&kind, &id, &actor), &body)?;
        let body = json_of("scratch", text)?;
        Ok(Some(Scratch { kind, id, actor, body, at: Timestamp(at) }))
    };
    let parameters = (&query.kind, &query.id, &query.actor);
    let found = records(reading, RecordKind::of("scratch", None), (sql, parameters), name, read, scratch)?;
    Ok(found.into_iter().flatten().collect())
}

pub(crate) fn sources(reading: &mut Reading<'_>) -> TxResult<Vec<Source>> {
    type Columns = ([u8; 16], String, String, String, String, i64, Vec<u8>);
    let sql = "select id, format, generation, path, sha256, at, style from source where withdrawn = 0 order by no";
    let row = |row: &Row<'_>| -> DbResult<Columns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    };
    let name = |row: &Row<'_>| Ok(SourceId::from_bytes(row.get(0)?).to_string());
    let source = |reading: &mut Reading<'_>, (id, format, generation, path, sha256, at, style): Columns| {
        let style = json_of("source", body_mac::verify(reading.key, "source", &id, &style)?)?;
        let id = SourceId::from_bytes(id);
        Ok(Source { id, format, generation, path, sha256, style, at: Timestamp(at) })
    };
    records(reading, RecordKind::of("source", None), (sql, ()), name, row, source)
}

type OriginRow = (String, String, [u8; 16], i64, Option<String>, Option<Vec<u8>>);

pub(crate) fn origins(reading: &mut Reading<'_>, query: &OriginsQuery) -> TxResult<Vec<Origin>> {
    let read = |row: &Row<'_>| -> DbResult<OriginRow> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let kind = RecordKind::of("origin", None);
    let name = |row: &Row<'_>| Ok([row.get::<String>(0)?, row.get(1)?].join(" "));
    match query {
        OriginsQuery::Source(id) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.source_no = $1 and o.withdrawn = 0
                 order by o.no";
            let parameters = [source_no(reading.connection, *id)?];
            records(reading, kind, (sql, parameters), name, read, origin_of)
        }
        OriginsQuery::Object(object) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.kind = $1 and o.object = $2 and o.withdrawn = 0
                 order by o.no
                 limit $3";
            let (word, object) = object_words(object);
            records(reading, kind, (sql, (word, &object, PAGE_MAX)), name, read, origin_of)
        }
        OriginsQuery::External(external) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.external = $1 and o.withdrawn = 0
                 order by o.no
                 limit $2";
            records(reading, kind, (sql, (external, PAGE_MAX)), name, read, origin_of)
        }
    }
}

fn origin_of(reading: &mut Reading<'_>, row: OriginRow) -> TxResult<Origin> {
    let (kind, object, source, ordinal, external, raw) = row;
    let altered = || StoreError::altered("origin", &object);
    let raw = match raw {
        Some(raw) => {
            let text = body_mac::verify(reading.key, "origin", object.as_bytes(), &raw)?;
            Some(String::from_utf8(text.to_vec()).map_err(|_| altered())?)
        }
        None => None,
    };
    let named = object_of(&kind, &object).ok_or_else(altered)?;
    Ok(Origin { object: named, source: SourceId::from_bytes(source), ordinal, external, raw })
}

fn object_of(kind: &str, object: &str) -> Option<OriginObject> {
    Some(match kind {
        "conversation" => OriginObject::Conversation(object.parse().ok()?),
        "message" => OriginObject::Message(object.parse().ok()?),
        "project" => OriginObject::Project(object.parse().ok()?),
        "fold" => OriginObject::Fold(object.parse().ok()?),
        "memory" => OriginObject::Memory(object.parse().ok()?),
        "document" => OriginObject::Document(object.to_owned()),
        _ => return None,
    })
}

pub(crate) fn message_origins(reading: &mut Reading<'_>, ids: &[MessageId]) -> TxResult<Vec<MessageOrigin>> {
    let mut origins = Vec::with_capacity(ids.len());
    for id in ids {
        let (connection, outcome) = (reading.connection, message_origin(reading, *id));
        let owner = |id| locate(connection, id).ok().flatten().and_then(|spot| owner_of(connection, spot.address));
        let kind = RecordKind::of("origin of message", outcome.is_err().then(|| owner(*id)).flatten());
        origins.extend(reading.unless_damaged(kind, || id.to_string(), outcome)?.flatten());
    }
    Ok(origins)
}

fn message_origin(reading: &mut Reading<'_>, id: MessageId) -> TxResult<Option<MessageOrigin>> {
    let sql = "select s.id, m.ordinal, m.raw, m.body
         from message m
         join source s on s.no = m.source_no
         where m.id = $1";
    let found: Option<([u8; 16], i64, Option<Vec<u8>>, Vec<u8>)> =
        query_optional(reading.connection, sql, [id.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let Some((source, ordinal, packed, body)) = found else { return Ok(None) };
    let body = std::str::from_utf8(&body).map_err(|_| StoreError::altered("message", id))?;
    let (external, raw) = match packed {
        Some(packed) => source_record::decode(&packed, body)?,
        None => (None, None),
    };
    Ok(Some(MessageOrigin { message: id, source: SourceId::from_bytes(source), ordinal, external, raw }))
}

pub(crate) fn quarantined(reading: &mut Reading<'_>, source: SourceId) -> TxResult<Vec<Quarantined>> {
    let sql = "select at_byte, why, bytes from quarantine where source_no = $1 and withdrawn = 0 order by no";
    let source_no = source_no(reading.connection, source)?;
    let row = |row: &Row<'_>| -> DbResult<(i64, String, Vec<u8>)> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
    let name = |row: &Row<'_>| Ok(format!("of {source} at byte {}", row.get::<i64>(0)?));
    let piece = |reading: &mut Reading<'_>, (at_byte, why, sealed): (i64, String, Vec<u8>)| {
        let mut piece = Quarantined { source, at_byte, why, bytes: Vec::new() };
        piece.bytes = body_mac::verify(reading.key, "quarantine", &source_record::place(&piece), &sealed)?.to_vec();
        Ok(piece)
    };
    records(reading, RecordKind::of("quarantined piece", None), (sql, [source_no]), name, row, piece)
}
