//! Endpoints for documents, memories and imported files, and for raw transactions.

use super::limit;
use crate::app::App;
use crate::extract::{Asked, Asker, Here, Id, Json, Kind, Word, Write};
use crate::operation::{Operation, group};
use crate::problem::Answer;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::MemoryDraft;
use manent::model::{Document, KeyScope, Memory, MemoryId, Origin, ProjectId, Quarantined, Source, SourceId};
use manent::store::system::AuditDraft;
use manent::store::{Change, Committed, MemoriesQuery, OriginsQuery};
use manent::{ConversationId, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    const DOCUMENT: &str = "/documents/{kind}/{name}";
    let operations = vec![
        Operation::new(Method::GET, "/documents/{kind}", "listDocuments", documents)
            .reads_much()
            .says("Lists the newest version of each document of a kind.")
            .library("documents")
            .answers::<Vec<Document>>(200),
        Operation::new(Method::GET, DOCUMENT, "getDocument", document)
            .reads_much()
            .says("Returns the newest version of a document.")
            .library("document")
            .answers::<Document>(200),
        Operation::new(Method::PUT, DOCUMENT, "putDocument", put_document)
            .needs(KeyScope::Manage)
            .says("Writes the next version of a document.")
            .library("put_document")
            .body::<NewDocument>()
            .answers::<Versioned>(200),
        Operation::new(Method::DELETE, DOCUMENT, "removeDocument", remove_document)
            .needs(KeyScope::Manage)
            .says("Removes a document; its versions are kept.")
            .library("remove_document"),
        Operation::new(Method::GET, "/documents/{kind}/{name}/versions", "listDocumentVersions", versions)
            .reads_much()
            .says("Lists all versions of a document, oldest first.")
            .library("document_versions")
            .answers::<Vec<Document>>(200),
        Operation::new(Method::GET, "/memories", "listMemories", memories)
            .reads_much()
            .says("Lists memories, oldest first.")
            .library("memories")
            .query::<MemoryParameters>()
            .answers::<Vec<Memory>>(200),
        Operation::new(Method::POST, "/memories", "putMemory", put_memory)
            .needs(KeyScope::Append)
            .says("Stores a memory, or replaces the one with this id.")
            .library("put_memory")
            .body::<NewMemory>()
            .answers::<Remembered>(201),
        Operation::new(Method::DELETE, "/memories/{memory}", "removeMemory", remove_memory)
            .needs(KeyScope::Manage)
            .says("Removes a memory.")
            .library("remove_memory"),
        Operation::new(Method::GET, "/sources", "listSources", sources)
            .says("Lists all imported files.")
            .library("sources")
            .answers::<Vec<Source>>(200),
        Operation::new(Method::GET, "/sources/{source}/origins", "listOrigins", origins)
            .reads_much()
            .says("Lists the origins of the objects of an imported file.")
            .library("origins")
            .answers::<Vec<Origin>>(200),
        Operation::new(Method::GET, "/sources/{source}/quarantined", "listQuarantined", quarantined)
            .reads_much()
            .says("Returns the quarantined bytes of an imported file.")
            .library("quarantined")
            .answers::<Vec<Quarantined>>(200),
        Operation::new(Method::POST, "/commits", "commit", commit)
            .needs(KeyScope::Append)
            .says("Applies a list of changes atomically. For clients that generate their own ids.")
            .library("commit")
            .library("change")
            .body::<Commit>()
            .answers::<Committed>(201),
    ];
    group("Library", operations)
}

/// A new version of a document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDocument {
    /// The value.
    body: manent::Json,
    /// The project it belongs to.
    project: Option<ProjectId>,
}

/// The stored version.
#[derive(Debug, Serialize, JsonSchema)]
struct Versioned {
    /// Its version number.
    version: i64,
}

/// Query parameters of the memory list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryParameters {
    /// Only of this collection.
    collection: Option<String>,
    /// Only of this project.
    project: Option<ProjectId>,
    /// Only with this external id.
    external: Option<String>,
    /// Only memories after this one.
    after: Option<MemoryId>,
    /// Maximum number of memories; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A memory to store.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewMemory {
    /// Id of an existing memory to replace.
    id: Option<MemoryId>,
    /// The collection it belongs to.
    collection: String,
    /// The project it belongs to.
    project: Option<ProjectId>,
    /// The conversation it came from.
    conversation: Option<ConversationId>,
    /// The message it came from.
    message: Option<MessageId>,
    /// The id in another program.
    external: Option<String>,
    /// The text.
    text: String,
    /// Custom metadata.
    metadata: Option<manent::Json>,
}

/// The stored memory.
#[derive(Debug, Serialize, JsonSchema)]
struct Remembered {
    /// Its id.
    id: MemoryId,
}

/// A transaction: changes that are committed together.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    /// The changes, in order.
    changes: Vec<Change>,
}

async fn documents(Here(database): Here, Kind(kind): Kind) -> Answer<axum::Json<Vec<Document>>> {
    Ok(axum::Json(database.documents(&kind).await?))
}

async fn document(Here(database): Here, Kind(kind): Kind, Word(name): Word) -> Answer<axum::Json<Document>> {
    Ok(axum::Json(database.document(&kind, &name).await?))
}

async fn put_document(
    Write(database): Write,
    Kind(kind): Kind,
    Word(name): Word,
    Json(new): Json<NewDocument>,
) -> Answer<axum::Json<Versioned>> {
    let version = database.put_document(&kind, &name, new.project, new.body).await?;
    Ok(axum::Json(Versioned { version }))
}

async fn remove_document(Write(database): Write, Kind(kind): Kind, Word(name): Word) -> Answer<StatusCode> {
    database.remove_document(&kind, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn versions(Here(database): Here, Kind(kind): Kind, Word(name): Word) -> Answer<axum::Json<Vec<Document>>> {
    Ok(axum::Json(database.document_versions(&kind, &name).await?))
}

async fn memories(Here(database): Here, Asked(asked): Asked<MemoryParameters>) -> Answer<axum::Json<Vec<Memory>>> {
    let MemoryParameters { collection, project, external, after, limit: wanted } = asked;
    let query = MemoriesQuery { collection, project, external, after, limit: limit(wanted)? };
    Ok(axum::Json(database.memories(query).await?))
}

async fn put_memory(
    Write(database): Write,
    Json(new): Json<NewMemory>,
) -> Answer<(StatusCode, axum::Json<Remembered>)> {
    let NewMemory { id, collection, project, conversation, message, external, text, metadata } = new;
    let draft = MemoryDraft { id, collection, project, conversation, message, external, text, metadata };
    let id = database.put_memory(draft).await?;
    Ok((StatusCode::CREATED, axum::Json(Remembered { id })))
}

async fn remove_memory(Write(database): Write, Id(memory): Id<MemoryId>) -> Answer<StatusCode> {
    database.remove_memory(memory).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sources(Here(database): Here) -> Answer<axum::Json<Vec<Source>>> {
    Ok(axum::Json(database.sources().await?))
}

async fn origins(Here(database): Here, Id(source): Id<SourceId>) -> Answer<axum::Json<Vec<Origin>>> {
    Ok(axum::Json(database.origins(OriginsQuery::Source(source)).await?))
}

async fn quarantined(Here(database): Here, Id(source): Id<SourceId>) -> Answer<axum::Json<Vec<Quarantined>>> {
    Ok(axum::Json(database.quarantined(source).await?))
}

async fn commit(
    State(app): State<App>,
    Asker(asker): Asker,
    Write(database): Write,
    Json(wish): Json<Commit>,
) -> Answer<(StatusCode, axum::Json<Committed>)> {
    for change in &wish.changes {
        // A destructive change is recorded in the audit log before it is made, whichever endpoint it arrives through.
        let action = match change {
            Change::Erase { .. } => "erase",
            Change::Purge { .. } => "purge",
            _ => continue,
        };
        app.tenants.audit(AuditDraft::new(action, Some(asker.tenant), asker.by.clone())).await?;
    }
    let committed = database.commit(wish.changes, Vec::new()).await?;
    Ok((StatusCode::CREATED, axum::Json(committed)))
}
