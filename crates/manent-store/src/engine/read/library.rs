//! What stands beside conversations.

use super::super::apply::library::{
    MemoryBody, blob_bytes, blob_piece as piece_of, document_id, object_words, scratch_id, source_no,
};
use super::super::apply::project::Body as ProjectBody;
use super::super::codes::NameKind;
use super::super::connection::{Found, Ran, maybe, rows};
use super::super::fault::Outcome;
use super::super::{raw, seal};
use super::Reading;
use super::attached::json_of;
use super::path::id_at;
use crate::error::StoreError;
use crate::query::{Documents, DocumentsQuery, Memories, MemoriesQuery, OriginsQuery, PAGE_MAX, ScratchQuery};
use crate::transaction::MessageOrigin;
use manent_model::{
    Address, ConversationId, Document, Memory, MemoryId, MessageId, Micros, Origin, OriginObject, Project, ProjectId,
    Quarantined, Scratch, Source, SourceId,
};
use sha2::{Digest as _, Sha256};

pub(crate) fn documents(reading: &mut Reading<'_>, query: &DocumentsQuery) -> Outcome<Documents> {
    macro_rules! select {
        ($rest:literal) => {
            concat!(
                "select d.kind, d.id, p.id, d.version, d.at, d.body
                 from document d
                 left join project p on p.no = d.project_no and p.withdrawn = 0
                 where d.withdrawn = 0 ",
                $rest
            )
        };
    }
    type Row = (String, String, Option<[u8; 16]>, i64, i64, Option<Vec<u8>>);
    let read = |row: &Found<'_>| -> Ran<Row> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let found = match query {
        DocumentsQuery::Kind(kind) => rows(
            reading.connection,
            select!(
                "and d.kind = $1 and d.body is not null
                 and d.version = (select max(n.version) from document n
                                  where n.kind = d.kind and n.id = d.id and n.withdrawn = 0)
                 order by d.id"
            ),
            [kind],
            read,
        )?,
        DocumentsQuery::Newest { kind, id } => rows(
            reading.connection,
            select!("and d.kind = $1 and d.id = $2 order by d.version desc limit 1"),
            (kind, id),
            read,
        )?,
        DocumentsQuery::Versions { kind, id } => {
            rows(reading.connection, select!("and d.kind = $1 and d.id = $2 order by d.version"), (kind, id), read)?
        }
        DocumentsQuery::All => rows(reading.connection, select!("order by d.no"), (), read)?,
    };
    let mut documents = Vec::with_capacity(found.len());
    for (kind, id, project, version, at, body) in found {
        let body = match body {
            Some(body) => {
                let text = seal::open(reading.key, "document", &document_id(&kind, &id, version), &body)?;
                Some(json_of("document", text)?)
            }
            None => None,
        };
        let project = project.map(ProjectId::from_bytes);
        documents.push(Document { kind, id, project, version, body, at: Micros(at) });
    }
    Ok(documents)
}

pub(crate) fn memories(reading: &mut Reading<'_>, query: &MemoriesQuery) -> Outcome<Memories> {
    let collection_no = match &query.collection {
        Some(name) => match reading.caches.known_word(reading.connection, NameKind::Collection, name)? {
            Some(no) => Some(no),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let after: i64 = match query.after {
        Some(id) => {
            let sql = "select no from memory where id = $1";
            let found = maybe(reading.connection, sql, [id.as_bytes()], |row| row.get(0))?;
            found.ok_or_else(|| StoreError::not_found("memory", id))?
        }
        None => 0,
    };
    type Row = ([u8; 16], i64, Option<[u8; 16]>, Option<[u8; 16]>, Option<i64>, Option<String>, Vec<u8>);
    let sql = "select m.id, m.collection_no, p.id, c.id, m.key, m.external, m.body
         from memory m
         left join project p on p.no = m.project_no
         left join conversation c on c.no = m.conversation_no
         where m.no > $1
           and m.withdrawn = 0
           and (m.collection_no = $2 or $2 is null)
           and (p.id = $3 or $3 is null)
           and (m.external = $4 or $4 is null)
         order by m.no
         limit $5";
    let project = query.project.as_ref().map(|project| &project.as_bytes()[..]);
    let limit = query.limit.clamp(1, PAGE_MAX);
    let found: Vec<Row> =
        rows(reading.connection, sql, (after, collection_no, project, &query.external, limit), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
        })?;
    let mut memories = Vec::with_capacity(found.len());
    for (id, collection_no, project, conversation, key, external, body) in found {
        let body: MemoryBody = seal::open_json(reading.key, "memory", &id, &body)?;
        memories.push(Memory {
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
        });
    }
    Ok(memories)
}

type ProjectRow = ([u8; 16], String, String, i64, Vec<u8>);

fn project_row(row: &Found<'_>) -> Ran<ProjectRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

fn project_of(reading: &Reading<'_>, (id, kind, name, version, body): ProjectRow) -> Outcome<Project> {
    let body: ProjectBody = seal::open_json(reading.key, "project", &id, &body)?;
    let id = ProjectId::from_bytes(id);
    if body.name != name {
        return Err(StoreError::altered("project", id).into());
    }
    let ProjectBody { instructions, facts, metadata, .. } = body;
    Ok(Project { id, kind, name, instructions, facts, metadata, version })
}

pub(crate) fn project(reading: &mut Reading<'_>, id: ProjectId) -> Outcome<Option<Project>> {
    let sql = "select id, kind, name, version, body from project where id = $1 and withdrawn = 0";
    let found = maybe(reading.connection, sql, [id.as_bytes()], project_row)?;
    found.map(|row| project_of(reading, row)).transpose()
}

pub(crate) fn projects(reading: &mut Reading<'_>) -> Outcome<Vec<Project>> {
    let sql = "select id, kind, name, version, body from project where withdrawn = 0 order by no";
    let found = rows(reading.connection, sql, (), project_row)?;
    found.into_iter().map(|row| project_of(reading, row)).collect()
}

pub(crate) fn scratch(reading: &mut Reading<'_>, query: &ScratchQuery) -> Outcome<Vec<Scratch>> {
    type Row = (String, String, String, i64, Vec<u8>);
    let read = |row: &Found<'_>| -> Ran<Row> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)) };
    // A draft is looked for with every conversation that is opened, and only a plain comparison uses the key.
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
    let found: Vec<Row> = rows(reading.connection, sql, (&query.kind, &query.id, &query.actor), read)?;
    let mut scratch = Vec::with_capacity(found.len());
    for (kind, id, actor, at, body) in found {
        let text = seal::open(reading.key, "scratch", &scratch_id(&kind, &id, &actor), &body)?;
        let body = json_of("scratch", text)?;
        scratch.push(Scratch { kind, id, actor, body, at: Micros(at) });
    }
    Ok(scratch)
}

pub(crate) fn blob(reading: &mut Reading<'_>, sha256: &[u8; 32]) -> Outcome<Option<Vec<u8>>> {
    let sql = "select no from blob where sha256 = $1 and complete = 1";
    let Some(no) = maybe(reading.connection, sql, [&sha256[..]], |row| row.get(0))? else { return Ok(None) };
    let bytes = blob_bytes(reading.connection, no)?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    match found == *sha256 {
        true => Ok(Some(bytes)),
        false => Err(StoreError::altered("blob", manent_model::hex::encode(sha256)).into()),
    }
}

pub(crate) fn blob_piece(reading: &mut Reading<'_>, sha256: &[u8; 32], from: i64) -> Outcome<Option<(i64, Vec<u8>)>> {
    let sql = "select no from blob where sha256 = $1 and complete = 1";
    match maybe(reading.connection, sql, [&sha256[..]], |row| row.get(0))? {
        Some(no) => piece_of(reading.connection, no, from),
        None => Ok(None),
    }
}

pub(crate) fn blobs(reading: &mut Reading<'_>) -> Outcome<Vec<([u8; 32], i64)>> {
    let sql = "select sha256, size from blob where complete = 1 order by no";
    Ok(rows(reading.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?)
}

pub(crate) fn sources(reading: &mut Reading<'_>) -> Outcome<Vec<Source>> {
    type Row = ([u8; 16], String, String, String, String, i64, Vec<u8>);
    let sql = "select id, format, generation, path, sha256, at, style from source where withdrawn = 0 order by no";
    let found: Vec<Row> = rows(reading.connection, sql, (), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    })?;
    let mut sources = Vec::with_capacity(found.len());
    for (id, format, generation, path, sha256, at, style) in found {
        let style = json_of("source", seal::open(reading.key, "source", &id, &style)?)?;
        let id = SourceId::from_bytes(id);
        sources.push(Source { id, format, generation, path, sha256, style, at: Micros(at) });
    }
    Ok(sources)
}

pub(crate) fn origins(reading: &mut Reading<'_>, query: &OriginsQuery) -> Outcome<Vec<Origin>> {
    type Row = (String, String, [u8; 16], i64, Option<String>, Option<Vec<u8>>);
    let read = |row: &Found<'_>| -> Ran<Row> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    let found = match query {
        OriginsQuery::Source(id) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.source_no = $1 and o.withdrawn = 0
                 order by o.no";
            rows(reading.connection, sql, [source_no(reading.connection, *id)?], read)?
        }
        OriginsQuery::Object(object) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.kind = $1 and o.object = $2 and o.withdrawn = 0
                 order by o.no
                 limit $3";
            let (kind, name) = object_words(object);
            rows(reading.connection, sql, (kind, &name, PAGE_MAX), read)?
        }
        OriginsQuery::External(external) => {
            let sql = "select o.kind, o.object, s.id, o.ordinal, o.external, o.raw
                 from origin o
                 join source s on s.no = o.source_no
                 where o.external = $1 and o.withdrawn = 0
                 order by o.no
                 limit $2";
            rows(reading.connection, sql, (external, PAGE_MAX), read)?
        }
    };
    let mut origins = Vec::with_capacity(found.len());
    for (kind, object, source, ordinal, external, raw) in found {
        let altered = || StoreError::altered("origin", &object);
        let raw = match raw {
            Some(raw) => {
                let text = seal::open(reading.key, "origin", object.as_bytes(), &raw)?;
                Some(String::from_utf8(text.to_vec()).map_err(|_| altered())?)
            }
            None => None,
        };
        let named = object_of(&kind, &object).ok_or_else(altered)?;
        origins.push(Origin { object: named, source: SourceId::from_bytes(source), ordinal, external, raw });
    }
    Ok(origins)
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

pub(crate) fn message_origins(reading: &mut Reading<'_>, ids: &[MessageId]) -> Outcome<Vec<MessageOrigin>> {
    let mut origins = Vec::with_capacity(ids.len());
    for id in ids {
        origins.extend(message_origin(reading, *id)?);
    }
    Ok(origins)
}

fn message_origin(reading: &mut Reading<'_>, id: MessageId) -> Outcome<Option<MessageOrigin>> {
    let sql = "select s.id, m.ordinal, m.raw, m.body
         from message m
         join source s on s.no = m.source_no
         where m.id = $1";
    let found: Option<([u8; 16], i64, Option<Vec<u8>>, Vec<u8>)> =
        maybe(reading.connection, sql, [id.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let Some((source, ordinal, packed, body)) = found else { return Ok(None) };
    let body = std::str::from_utf8(&body).map_err(|_| StoreError::altered("message", id))?;
    let (external, raw) = match packed {
        Some(packed) => raw::opened(&packed, body)?,
        None => (None, None),
    };
    Ok(Some(MessageOrigin { message: id, source: SourceId::from_bytes(source), ordinal, external, raw }))
}

pub(crate) fn quarantined(reading: &mut Reading<'_>, source: SourceId) -> Outcome<Vec<Quarantined>> {
    let sql = "select at_byte, why, bytes from quarantine where source_no = $1 and withdrawn = 0 order by no";
    let source_no = source_no(reading.connection, source)?;
    let found: Vec<(i64, String, Vec<u8>)> =
        rows(reading.connection, sql, [source_no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut pieces = Vec::with_capacity(found.len());
    for (at_byte, why, sealed) in found {
        let mut piece = Quarantined { source, at_byte, why, bytes: Vec::new() };
        piece.bytes = seal::open(reading.key, "quarantine", &raw::place(&piece), &sealed)?.to_vec();
        pieces.push(piece);
    }
    Ok(pieces)
}
