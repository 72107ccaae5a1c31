//! Prepares a transaction outside the writer: validates it and computes digests, sums and sizes on the caller's thread.

use crate::api::error::{Result, StoreError};
use crate::api::transaction::{Change, MessageOrigin, Transaction};
use crate::engine::access::access_check::AccessChecks;
use manent_model::{
    Author, Body, Digest, DigestKey, Json, MessageId, MessageStatus, NewMessage, OriginObject, Part, Sums,
    blob_placeholder, hex,
};
use std::collections::HashMap;

/// A commit is bounded so that none of them holds the lock for long.
const CHANGES_MAX: usize = 2_000;
const BYTES_MAX: usize = 4 << 20;
/// Titles and paths are read with every list, so their size is limited.
const SHORT_MAX: usize = 64 << 10;
/// Names are indexed, and a PostgreSQL index entry holds at most 2,704 bytes; NUL is stored as two bytes.
const NAME_MAX: usize = 1 << 10;

/// The parts of a message that are computed before it is stored.
#[derive(Debug)]
pub(crate) struct MessageSummary {
    pub digest: Digest,
    pub sums: Sums,
    pub blobs: Vec<[u8; 32]>,
}

/// A transaction that is ready for the writer.
pub(crate) struct Prepared {
    pub transaction: Transaction,
    /// The access checks of a limited key.
    pub access: Option<AccessChecks>,
    /// For each change, the facts of the messages it adds.
    pub summaries: Vec<Vec<MessageSummary>>,
    /// The idempotency key and the digest of the request.
    pub request: Option<(Vec<u8>, Digest)>,
    pub bytes: usize,
}

pub(crate) fn prepare(key: &DigestKey, transaction: Transaction, access: Option<AccessChecks>) -> Result<Prepared> {
    let items: usize = transaction.changes.iter().map(|change| messages_of(change).len().max(1)).sum();
    if transaction.changes.is_empty() {
        return Err(StoreError::Invalid("a transaction has at least one change".to_owned()));
    }
    if transaction.changes.len() > 1 && transaction.changes.iter().any(stands_alone) {
        let why = "an undo, a purge or an erasure is the only change of its transaction";
        return Err(StoreError::Invalid(why.to_owned()));
    }
    if items > CHANGES_MAX {
        return Err(StoreError::TooLarge { what: "the transaction", limit: "2,000 changes" });
    }
    let mut bytes = 0;
    for change in &transaction.changes {
        bytes += size_of(change)?;
    }
    if bytes > BYTES_MAX {
        return Err(StoreError::TooLarge { what: "the transaction", limit: "4 MiB" });
    }
    if let Some(author) = &transaction.actor {
        named("an author", author.id.len() + author.name.len())?;
    }
    let facts = transaction
        .changes
        .iter()
        .map(|change| {
            let sources: HashMap<MessageId, &str> =
                origins_of(change).iter().filter_map(|origin| Some((origin.message, origin.raw.as_deref()?))).collect();
            messages_of(change)
                .iter()
                .map(|message| summarize(key, message, sources.get(&message.id).copied()))
                .collect()
        })
        .collect();
    let request = match &transaction.key {
        Some(request) if request.is_empty() || request.len() > 255 => {
            return Err(StoreError::Invalid("an idempotency key has 1 to 255 bytes".to_owned()));
        }
        Some(request) => {
            let asked = serde_json::to_vec(&transaction).map_err(|error| StoreError::Invalid(error.to_string()))?;
            Some((request.clone(), key.digest(&[b"request", &asked])))
        }
        None => None,
    };
    Ok(Prepared { transaction, access, summaries: facts, request, bytes })
}

/// Says whether a change must be the only one of its transaction: it could hide or destroy a conversation that the
/// others change.
fn stands_alone(change: &Change) -> bool {
    matches!(change, Change::Undo { .. } | Change::Step { .. } | Change::Purge { .. } | Change::Erase { .. })
}

pub(crate) fn messages_of(change: &Change) -> &[NewMessage] {
    match change {
        Change::AppendMessages { messages, .. } | Change::Splice { messages, .. } => messages,
        Change::OpenBranch { own, .. } => own,
        _ => &[],
    }
}

fn origins_of(change: &Change) -> &[MessageOrigin] {
    match change {
        Change::AppendMessages { origins, .. }
        | Change::Splice { origins, .. }
        | Change::OpenBranch { origins, .. } => origins,
        _ => &[],
    }
}

fn summarize(key: &DigestKey, message: &NewMessage, source: Option<&str>) -> MessageSummary {
    let streaming = message.content.status == MessageStatus::Streaming;
    let digest = match streaming {
        true => streaming_digest(key, message.id),
        false => message.content.digest(key, message.id),
    };
    let mut blobs = blobs_of_message(message);
    // A blob that was extracted from the source record of a message belongs to the message.
    blobs.extend(source.into_iter().flat_map(blob_placeholder::blobs_in));
    blobs.sort_unstable();
    blobs.dedup();
    MessageSummary { digest, sums: message.content.sums(), blobs }
}

/// Placeholder digest of a message in the journal chain until it is finished.
pub(crate) fn streaming_digest(key: &DigestKey, id: manent_model::MessageId) -> Digest {
    key.digest(&[b"streaming", id.as_bytes()])
}

/// Returns the blobs that a message shows, and those that were extracted from its source record.
pub(crate) fn blobs_of_message(message: &NewMessage) -> Vec<[u8; 32]> {
    let mut blobs = blobs_of(&message.content.body);
    blobs.extend(message.content.metadata.iter().flat_map(|metadata| blob_placeholder::blobs_in(metadata.text())));
    blobs
}

pub(crate) fn blobs_of(body: &Body) -> Vec<[u8; 32]> {
    let mut blobs: Vec<[u8; 32]> = blob_placeholder::blobs_in(body.text()).collect();
    // Most messages show no blob; reading their parts again would cost more than this look.
    if body.text().contains("\"blob\"") {
        blobs.extend(body.parts().iter().filter_map(|part| match part {
            Part::Media { blob: Some(blob), .. } => <[u8; 32]>::try_from(hex::decode(blob)?).ok(),
            _ => None,
        }));
    }
    blobs
}

fn short(what: &'static str, length: usize) -> Result<usize> {
    match length <= SHORT_MAX {
        true => Ok(length),
        false => Err(StoreError::TooLarge { what, limit: "64 KiB" }),
    }
}

/// Checks the length of an indexed value.
fn named(what: &'static str, length: usize) -> Result<usize> {
    match length <= NAME_MAX {
        true => Ok(length),
        false => Err(StoreError::TooLarge { what, limit: "1 KiB" }),
    }
}

fn text_size(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

fn json_size(json: &Option<Json>) -> usize {
    json.as_ref().map_or(0, |json| json.text().len())
}

fn words_size<'a>(what: &'static str, words: impl IntoIterator<Item = &'a String>) -> Result<usize> {
    words.into_iter().map(|word| named(what, word.len())).sum()
}

fn authors_size<'a>(authors: impl IntoIterator<Item = &'a Author>) -> Result<usize> {
    authors.into_iter().map(|author| named("an author", author.id.len() + author.name.len())).sum()
}

fn origin_size(external: &Option<String>, raw: &Option<String>) -> Result<usize> {
    Ok(named("an external id", text_size(external))? + text_size(raw) + 64)
}

fn origins_size(origins: &[MessageOrigin]) -> Result<usize> {
    origins.iter().map(|origin| origin_size(&origin.external, &origin.raw)).sum()
}

fn size_of(change: &Change) -> Result<usize> {
    let messages: usize = messages_of(change)
        .iter()
        .map(|message| {
            let content = &message.content;
            let extra = [&content.usage, &content.metadata];
            let extra: usize = extra.into_iter().flatten().map(|json| json.text().len()).sum();
            content.body.text().len() + extra + content.role.len() + 64
        })
        .sum();
    for message in messages_of(change) {
        named("a role", message.content.role.len())?;
        named("a model", message.content.model.as_ref().map_or(0, String::len))?;
        named("an author", message.content.author.as_ref().map_or(0, |author| author.id.len() + author.name.len()))?;
    }
    let rest = match change {
        Change::CreateConversation { draft, .. } => {
            short("a title", draft.title.len())?
                + named("an external id", text_size(&draft.external_id))?
                + authors_size(draft.creator.iter().chain(&draft.members))?
                + words_size("a tag", &draft.tags)?
                + json_size(&draft.metadata)
        }
        Change::EditConversation { patch, .. } => {
            short("a title", text_size(&patch.title))?
                + authors_size(patch.members.iter().flatten())?
                + words_size("a tag", &patch.add_tags)?
                + words_size("a tag", &patch.remove_tags)?
                + patch.metadata.as_ref().map_or(0, json_size)
        }
        Change::AppendMessages { origins, .. } | Change::Splice { origins, .. } => origins_size(origins)?,
        Change::AppendChunk { delta, .. } => delta.len(),
        Change::FinishMessage { finish, .. } => {
            finish.body.as_ref().map_or(0, |body| body.text().len()) + json_size(&finish.usage)
        }
        Change::AddNote { kind, value, .. } => named("a kind", kind.len())? + value.text().len(),
        Change::SetBookmark { name, metadata, .. } => named("a name", name.len())? + json_size(metadata),
        Change::RemoveBookmark { name, .. } => named("a name", name.len())?,
        Change::SetState { name, value, .. } => named("a name", name.len())? + json_size(value),
        Change::AddFold { fold, .. } => text_size(&fold.summary) + fold.covers.len() * 32 + json_size(&fold.made_by),
        Change::PutToolCall { call, note } => {
            named("a call", call.call_id.len() + call.name.len())?
                + short("a note", note.len())?
                + call.record.text().len()
        }
        Change::PutToolTrail { call, steps, .. } => {
            let notes = steps.iter().map(|step| step.note.len() + 32).sum::<usize>();
            named("a call", call.call_id.len() + call.name.len())? + notes + call.record.text().len()
        }
        Change::MoveToolCall { record, note, .. } => short("a note", note.len())? + json_size(record),
        Change::AppendEvents { events, .. } => {
            words_size("a channel", events.iter().map(|event| &event.channel))?
                + events.iter().map(|event| event.body.text().len() + 32).sum::<usize>()
        }
        Change::PutInput { body, .. } => body.text().len(),
        Change::TakeInputs { ids, .. } => ids.len() * 16,
        Change::TakeLease { owner, .. } => short("an owner", owner.len())?,
        Change::PutDocument { kind, id, body, .. } => {
            named("a document's name", kind.len() + id.len())? + json_size(body)
        }
        Change::RecordCall { call, .. } => {
            named("a model", text_size(&call.model))? + json_size(&call.manifest) + call.sent.len() * 32 + 64
        }
        Change::PutBlobPiece { bytes, .. } => bytes.len(),
        Change::PutSource { source } => short("a path", source.path.len())? + source.style.text().len(),
        Change::PutOrigin { origin } => {
            if let OriginObject::Document(name) = &origin.object {
                named("a document's name", name.len().saturating_sub(1))?;
            }
            origin_size(&origin.external, &origin.raw)?
        }
        Change::Quarantine { quarantined } => quarantined.why.len() + quarantined.bytes.len(),
        Change::PutMemory { memory } => {
            named("a collection", memory.collection.len())?
                + named("an external id", text_size(&memory.external))?
                + memory.text.len()
                + json_size(&memory.metadata)
        }
        Change::PutScratch { scratch } => {
            named("a name", scratch.kind.len() + scratch.id.len() + scratch.actor.len())? + scratch.body.text().len()
        }
        Change::CreateProject { project } => {
            short("a name", project.kind.len() + project.name.len())?
                + project.instructions.len()
                + json_size(&project.metadata)
                + project.facts.iter().map(|(name, text)| name.len() + text.len()).sum::<usize>()
        }
        Change::EditProject { patch, .. } => {
            short("a name", text_size(&patch.name))?
                + text_size(&patch.instructions)
                + patch.metadata.as_ref().map_or(0, json_size)
                + patch.facts.iter().map(|(name, text)| name.len() + text_size(text)).sum::<usize>()
        }
        Change::OpenBranch { pieces, origins, .. } => pieces.len() * 32 + origins_size(origins)?,
        Change::MoveHead { .. }
        | Change::RemoveNote { .. }
        | Change::SetFoldActive { .. }
        | Change::RenewLease { .. }
        | Change::ReleaseLease { .. }
        | Change::RemoveMemory { .. }
        | Change::RemoveScratch { .. }
        | Change::RemoveProject { .. }
        | Change::Undo { .. }
        | Change::Step { .. }
        | Change::Purge { .. }
        | Change::Erase { .. } => 0,
    };
    Ok(messages + rest + 32)
}
