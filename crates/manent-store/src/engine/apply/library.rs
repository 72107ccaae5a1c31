//! Changes to objects outside conversations: documents, memories, scratch, blobs, sources and origins.

use super::conversation::project_no;
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::ChangeResult;
use crate::engine::codec::before_image::{BeforeImage, MemoryImage, SoftDeletable};
use crate::engine::codec::disk_codes::{Kind, NameKind};
use crate::engine::codec::{body_mac, row_mac, source_record};
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::sql::connection::{Connection, execute, insert_numbered, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Json, Memory, MemoryId, Origin, OriginObject, ProjectId, Quarantined, Scratch, Source, SourceId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Larger blobs are staged piece by piece, so that no commit grows large.
const PIECE_MAX: usize = 1 << 20;

fn added(tx: &mut Tx<'_>, kind: Kind, table: SoftDeletable, no: i64) -> TxResult<ChangeResult> {
    let images = [BeforeImage::Flag { table, key: no, withdrawn: true }];
    tx.journal_workspace(&JournalDraft::of(kind, &images))?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn document_id(kind: &str, id: &str, version: i64) -> Vec<u8> {
    [kind.as_bytes(), b"\0", id.as_bytes(), b"\0", &version.to_le_bytes()].concat()
}

/// Returns the version of a document that holds, 0 where there is none or it was removed.
pub(crate) fn version(tx: &Tx<'_>, kind: &str, id: &str) -> TxResult<i64> {
    let id = &tx.document_name(kind, id);
    let sql = "select case when body is null then 0 else version end
         from document
         where kind = $1 and id = $2 and withdrawn = 0
         order by document.version desc
         limit 1";
    Ok(query_optional(tx.connection, sql, (kind, id), |row| row.get(0))?.unwrap_or(0))
}

pub(crate) fn put_document(
    tx: &mut Tx<'_>,
    kind: &str,
    id: &str,
    project: Option<ProjectId>,
    body: Option<&Json>,
) -> TxResult<ChangeResult> {
    let project_no = project.map(|project| project_no(tx, project)).transpose()?;
    let id = &tx.document_name(kind, id);
    // A withdrawn version keeps its number, so that bringing it back cannot collide.
    let sql = "select coalesce(max(version), 0) from document where kind = $1 and id = $2";
    let last: i64 = query_one(tx.connection, sql, (kind, id), |row| row.get(0))?;
    let version = last + 1;
    let sealed = body.map(|json| {
        body_mac::authenticate(tx.key, "document", &document_id(kind, id, version), json.text().as_bytes())
    });
    let sql = "insert into document (project_no, kind, id, version, at, body, mac) values ($1, $2, $3, $4, $5, $6, $7)";
    let parameters = (project_no, kind, id, version, tx.at.0, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::DOCUMENT, parameters))?;
    added(tx, Kind::DocumentPut, SoftDeletable::Document, no)?;
    Ok(ChangeResult::Version(version))
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemoryBody {
    pub text: String,
    #[serde(default, deserialize_with = "body_mac::present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// Returns the current text of a memory, and who wrote it.
pub(crate) fn memory_image(tx: &Tx<'_>, no: i64) -> TxResult<Option<BeforeImage>> {
    let sql =
        "select collection_no, project_no, conversation_no, key, external, body, actor_no from memory where no = $1";
    let image = query_optional(tx.connection, sql, [no], |row| {
        let memory = MemoryImage {
            collection_no: row.get(0)?,
            project_no: row.get(1)?,
            conversation_no: row.get(2)?,
            key: row.get(3)?,
            external: row.get(4)?,
            body: row.get(5)?,
        };
        Ok(BeforeImage::MemoryBy { no, row: memory, actor_no: row.get(6)? })
    })?;
    Ok(image)
}

pub(crate) fn put_memory_row(tx: &Tx<'_>, no: i64, row: &MemoryImage, actor_no: Option<i64>) -> TxResult<()> {
    let sql = "update memory
         set collection_no = $1, project_no = $2, conversation_no = $3, key = $4, external = $5, body = $6, actor_no = $7
         where no = $8";
    let MemoryImage { collection_no, project_no, conversation_no, key, external, body } = row;
    let parameters = (collection_no, project_no, conversation_no, key, external, body, actor_no, no);
    execute(tx.connection, sql, parameters)?;
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::MEMORY, no)?)
}

pub(crate) fn put_memory(tx: &mut Tx<'_>, memory: &Memory) -> TxResult<ChangeResult> {
    let project_no = memory.project.map(|project| project_no(tx, project)).transpose()?;
    let conversation_no = memory.conversation.map(|id| tx.conversation(id)).transpose()?.map(|row| row.no);
    let key = memory.message.map(|id| tx.locate(id)).transpose()?.map(|spot| spot.address.0);
    let sql = "select no, withdrawn from memory where id = $1";
    let found: Option<(i64, bool)> =
        query_optional(tx.connection, sql, [memory.id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let collection_no = tx.intern(NameKind::Collection, &memory.collection)?;
    let body = MemoryBody { text: memory.text.clone(), metadata: memory.metadata.clone() };
    let sealed = body_mac::authenticate_json(tx.key, "memory", memory.id.as_bytes(), &body);
    let row = MemoryImage {
        collection_no,
        project_no,
        conversation_no,
        key,
        external: memory.external.clone(),
        body: sealed,
    };
    match found {
        None => {
            let sql = "insert into memory
                    (id, collection_no, project_no, conversation_no, key, external, body, actor_no, mac)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let parameters = (
                memory.id.as_bytes(),
                row.collection_no,
                row.project_no,
                row.conversation_no,
                row.key,
                &row.external,
                &row.body,
                tx.actor_no,
            );
            let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::MEMORY, parameters))?;
            added(tx, Kind::MemoryPut, SoftDeletable::Memory, no)
        }
        Some((no, withdrawn)) => {
            let earlier = memory_image(tx, no)?.ok_or_else(|| StoreError::altered("memory", memory.id))?;
            put_memory_row(tx, no, &row, tx.actor_no)?;
            let mut images = vec![earlier];
            // `verify` derives the flag from the last image of it, so an image is written only where the flag changes.
            if withdrawn {
                execute(tx.connection, "update memory set withdrawn = 0 where no = $1", [no])?;
                images.push(BeforeImage::Flag { table: SoftDeletable::Memory, key: no, withdrawn });
            }
            tx.journal_workspace(&JournalDraft::of(Kind::MemoryPut, &images))?;
            Ok(ChangeResult::Applied)
        }
    }
}

pub(crate) fn remove_memory(tx: &mut Tx<'_>, id: MemoryId) -> TxResult<ChangeResult> {
    let sql = "select no from memory where id = $1 and withdrawn = 0";
    let found: Option<i64> = query_optional(tx.connection, sql, [id.as_bytes()], |row| row.get(0))?;
    let no = found.ok_or_else(|| StoreError::not_found("memory", id))?;
    execute(tx.connection, "update memory set withdrawn = 1 where no = $1", [no])?;
    let images = [BeforeImage::Flag { table: SoftDeletable::Memory, key: no, withdrawn: false }];
    tx.journal_workspace(&JournalDraft::of(Kind::MemoryRemoved, &images))?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn scratch_id(kind: &str, id: &str, actor: &str) -> Vec<u8> {
    [kind, id, actor].join("\0").into_bytes()
}

pub(crate) fn put_scratch(tx: &mut Tx<'_>, scratch: &Scratch) -> TxResult<ChangeResult> {
    let name = scratch_id(&scratch.kind, &scratch.id, &scratch.actor);
    let sealed = body_mac::authenticate(tx.key, "scratch", &name, scratch.body.text().as_bytes());
    let sql = "insert into scratch (kind, id, actor, at, body) values ($1, $2, $3, $4, $5)
         on conflict (kind, id, actor) do update set at = $4, body = $5";
    let parameters = (&scratch.kind, &scratch.id, &scratch.actor, scratch.at.0, sealed);
    execute(tx.connection, sql, parameters)?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn remove_scratch(tx: &mut Tx<'_>, kind: &str, id: &str, actor: &str) -> TxResult<ChangeResult> {
    let sql = "delete from scratch where kind = $1 and id = $2 and actor = $3";
    execute(tx.connection, sql, (kind, id, actor))?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn put_blob_piece(
    tx: &mut Tx<'_>,
    sha256: &[u8; 32],
    size: i64,
    n: i64,
    last: bool,
    bytes: &[u8],
) -> TxResult<ChangeResult> {
    if bytes.len() > PIECE_MAX {
        return Err(StoreError::TooLarge { what: "a piece of a blob", limit: "1 MiB" }.into());
    }
    let sql = "select no, complete from blob where sha256 = $1";
    let found: Option<(i64, bool)> =
        query_optional(tx.connection, sql, [&sha256[..]], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let no = match found {
        Some((_, true)) => return Ok(ChangeResult::Applied),
        Some((no, false)) => no,
        None => {
            let sql = "insert into blob (sha256, size, codec, complete, at, mac) values ($1, $2, $3, $4, $5, $6)";
            let (codec, complete) = (1i64, false);
            let parameters = (&sha256[..], size, codec, complete, tx.at.0);
            insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::BLOB, parameters))?
        }
    };
    let packed = zstd::bulk::compress(bytes, 1).map_err(|error| StoreError::engine("compressing a blob", error))?;
    let sql = "insert into blob_piece (blob_no, n, bytes) values ($1, $2, $3)
         on conflict (blob_no, n) do update set bytes = $3";
    execute(tx.connection, sql, (no, n, packed))?;
    if !last {
        return Ok(ChangeResult::Applied);
    }
    // An earlier try may have cut the blob into more pieces.
    execute(tx.connection, "delete from blob_piece where blob_no = $1 and n > $2", (no, n))?;
    if blob_digest(tx.connection, no)? != (*sha256, size) {
        return Err(
            StoreError::Invalid("the bytes of the blob do not have the SHA-256 they were given".to_owned()).into()
        );
    }
    execute(tx.connection, "update blob set complete = 1, size = $1 where no = $2", (size, no))?;
    row_mac::refresh(tx.connection, tx.key, &row_mac::BLOB, no)?;
    tx.journal_workspace(&JournalDraft { key: Some(no), ..JournalDraft::of(Kind::BlobPut, &[]) })?;
    Ok(ChangeResult::Applied)
}

/// Returns the bytes of a blob; the caller compares their SHA-256.
pub(crate) fn blob_bytes(connection: Connection<'_>, no: i64) -> TxResult<Vec<u8>> {
    let mut whole = Vec::new();
    each_piece(connection, no, |piece| whole.extend_from_slice(piece))?;
    Ok(whole)
}

/// Returns the SHA-256 and the size of a blob, which may be too large for memory.
pub(crate) fn blob_digest(connection: Connection<'_>, no: i64) -> TxResult<([u8; 32], i64)> {
    let (mut hasher, mut size) = (Sha256::new(), 0);
    each_piece(connection, no, |piece| {
        hasher.update(piece);
        size += piece.len() as i64;
    })?;
    Ok((hasher.finalize().into(), size))
}

fn each_piece(connection: Connection<'_>, no: i64, mut look: impl FnMut(&[u8])) -> TxResult<()> {
    let mut from = 0;
    while let Some((n, piece)) = blob_piece(connection, no, from)? {
        look(&piece);
        from = n + 1;
    }
    Ok(())
}

/// Returns the first piece of a blob from a number on, with its number.
pub(crate) fn blob_piece(connection: Connection<'_>, no: i64, from: i64) -> TxResult<Option<(i64, Vec<u8>)>> {
    let sql = "select n, bytes
         from blob_piece
         where blob_no = $1 and n >= $2
         order by n
         limit 1";
    let found: Option<(i64, Vec<u8>)> =
        query_optional(connection, sql, (no, from), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((n, packed)) = found else { return Ok(None) };
    let bytes = zstd::bulk::decompress(&packed, PIECE_MAX).map_err(|_| StoreError::altered("blob", no))?;
    Ok(Some((n, bytes)))
}

pub(crate) fn put_source(tx: &mut Tx<'_>, source: &Source) -> TxResult<ChangeResult> {
    if query_optional(tx.connection, "select 1 from source where id = $1", [source.id.as_bytes()], |_| Ok(()))?
        .is_some()
    {
        return Err(Conflict::Exists { what: "source", id: source.id.to_string() }.into());
    }
    let sealed = body_mac::authenticate(tx.key, "source", source.id.as_bytes(), source.style.text().as_bytes());
    let sql = "insert into source (id, format, generation, path, sha256, at, style, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let parameters =
        (source.id.as_bytes(), &source.format, &source.generation, &source.path, &source.sha256, source.at.0, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::SOURCE, parameters))?;
    added(tx, Kind::SourcePut, SoftDeletable::Source, no)
}

pub(crate) fn source_no(connection: Connection<'_>, id: SourceId) -> TxResult<i64> {
    let found = query_optional(connection, "select no from source where id = $1", [id.as_bytes()], |row| row.get(0))?;
    found.ok_or_else(|| StoreError::not_found("source", id).into())
}

pub(crate) fn object_words(object: &OriginObject) -> (&'static str, String) {
    match object {
        OriginObject::Conversation(id) => ("conversation", id.to_string()),
        OriginObject::Message(id) => ("message", id.to_string()),
        OriginObject::Project(id) => ("project", id.to_string()),
        OriginObject::Fold(id) => ("fold", id.to_string()),
        OriginObject::Memory(id) => ("memory", id.to_string()),
        OriginObject::Document(name) => ("document", name.clone()),
    }
}

pub(crate) fn put_origin(tx: &mut Tx<'_>, origin: &Origin) -> TxResult<ChangeResult> {
    let source_no = source_no(tx.connection, origin.source)?;
    let (kind, object) = object_words(&origin.object);
    let sql = "select 1 from origin where kind = $1 and object = $2 and source_no = $3";
    if query_optional(tx.connection, sql, (kind, &object, source_no), |_| Ok(()))?.is_some() {
        return Err(Conflict::Exists { what: "origin", id: object }.into());
    }
    let sealed =
        origin.raw.as_ref().map(|raw| body_mac::authenticate(tx.key, "origin", object.as_bytes(), raw.as_bytes()));
    let sql = "insert into origin (kind, object, source_no, ordinal, external, raw, mac)
         values ($1, $2, $3, $4, $5, $6, $7)";
    let parameters = (kind, &object, source_no, origin.ordinal, &origin.external, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::ORIGIN, parameters))?;
    added(tx, Kind::OriginPut, SoftDeletable::Origin, no)
}

pub(crate) fn quarantine(tx: &mut Tx<'_>, quarantined: &Quarantined) -> TxResult<ChangeResult> {
    let source_no = source_no(tx.connection, quarantined.source)?;
    let sealed = body_mac::authenticate(tx.key, "quarantine", &source_record::place(quarantined), &quarantined.bytes);
    let sql = "insert into quarantine (source_no, at_byte, why, bytes, mac) values ($1, $2, $3, $4, $5)";
    let parameters = (source_no, quarantined.at_byte, &quarantined.why, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::QUARANTINE, parameters))?;
    added(tx, Kind::Quarantined, SoftDeletable::Quarantine, no)
}
