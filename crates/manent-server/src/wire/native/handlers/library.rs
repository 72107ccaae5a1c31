//! Endpoints for documents, memories and imported files, and for raw transactions.

use crate::app::App;
use crate::problem::ApiResult;
use crate::wire::native::extract::{Caller, CallerDatabase, Json, PathId, PathKind, PathName, Query, WriteDatabase};
use crate::wire::native::handlers::limit;
use crate::wire::native::operation::{Operation, group};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::MemoryDraft;
use manent::model::{Document, KeyScope, Memory, MemoryId, Origin, ProjectId, Quarantined, Source, SourceId};
use manent::store::system::NewAuditRecord;
use manent::store::{Change, Committed, MemoriesQuery, OriginsQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const DOCUMENT: &str = "/documents/{kind}/{name}";
    let operations = vec![
        Operation::new(Method::GET, "/documents/{kind}", "listDocuments", documents)
            .large_read()
            .summary("Lists the newest version of each document of a kind.")
            .library("documents")
            .response::<Vec<Document>>(200),
        Operation::new(Method::GET, DOCUMENT, "getDocument", document)
            .large_read()
            .summary("Returns the newest version of a document.")
            .library("document")
            .response::<Document>(200),
        Operation::new(Method::PUT, DOCUMENT, "putDocument", put_document)
            .access(KeyScope::Manage)
            .summary("Writes the next version of a document.")
            .library("put_document")
            .body::<NewDocument>()
            .response::<Versioned>(200),
        Operation::new(Method::DELETE, DOCUMENT, "removeDocument", remove_document)
            .access(KeyScope::Manage)
            .summary("Removes a document; its versions are kept.")
            .library("remove_document"),
        Operation::new(Method::GET, "/documents/{kind}/{name}/versions", "listDocumentVersions", versions)
            .large_read()
            .summary("Lists all versions of a document, oldest first.")
            .library("document_versions")
            .response::<Vec<Document>>(200),
        Operation::new(Method::GET, "/memories", "listMemories", memories)
            .large_read()
            .summary("Lists memories, oldest first.")
            .library("memories")
            .query::<MemoryParameters>()
            .response::<Vec<Memory>>(200),
        Operation::new(Method::POST, "/memories", "putMemory", put_memory)
            .access(KeyScope::Append)
            .summary("Stores a memory, or replaces the one with this id.")
            .library("put_memory")
            .body::<MemoryDraft>()
            .response::<Remembered>(201),
        Operation::new(Method::DELETE, "/memories/{memory}", "removeMemory", remove_memory)
            .access(KeyScope::Manage)
            .summary("Removes a memory.")
            .library("remove_memory"),
        Operation::new(Method::GET, "/sources", "listSources", sources)
            .summary("Lists all imported files.")
            .library("sources")
            .response::<Vec<Source>>(200),
        Operation::new(Method::GET, "/sources/{source}/origins", "listOrigins", origins)
            .large_read()
            .summary("Lists the origins of the objects of an imported file.")
            .library("origins")
            .response::<Vec<Origin>>(200),
        Operation::new(Method::GET, "/sources/{source}/quarantined", "listQuarantined", quarantined)
            .large_read()
            .summary("Returns the quarantined bytes of an imported file.")
            .library("quarantined")
            .response::<Vec<Quarantined>>(200),
        Operation::new(Method::POST, "/commits", "commit", commit)
            .access(KeyScope::Append)
            .summary("Applies a list of changes atomically. For clients that generate their own ids.")
            .library("commit")
            .library("change")
            .body::<Commit>()
            .response::<Committed>(201),
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

async fn documents(
    CallerDatabase(database): CallerDatabase,
    PathKind(kind): PathKind,
) -> ApiResult<axum::Json<Vec<Document>>> {
    Ok(axum::Json(database.documents(&kind).await?))
}

async fn document(
    CallerDatabase(database): CallerDatabase,
    PathKind(kind): PathKind,
    PathName(name): PathName,
) -> ApiResult<axum::Json<Document>> {
    Ok(axum::Json(database.document(&kind, &name).await?))
}

async fn put_document(
    WriteDatabase(database): WriteDatabase,
    PathKind(kind): PathKind,
    PathName(name): PathName,
    Json(new): Json<NewDocument>,
) -> ApiResult<axum::Json<Versioned>> {
    let version = database.put_document(&kind, &name, new.project, new.body).await?;
    Ok(axum::Json(Versioned { version }))
}

async fn remove_document(
    WriteDatabase(database): WriteDatabase,
    PathKind(kind): PathKind,
    PathName(name): PathName,
) -> ApiResult<StatusCode> {
    database.remove_document(&kind, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn versions(
    CallerDatabase(database): CallerDatabase,
    PathKind(kind): PathKind,
    PathName(name): PathName,
) -> ApiResult<axum::Json<Vec<Document>>> {
    Ok(axum::Json(database.document_versions(&kind, &name).await?))
}

async fn memories(
    CallerDatabase(database): CallerDatabase,
    Query(asked): Query<MemoryParameters>,
) -> ApiResult<axum::Json<Vec<Memory>>> {
    let MemoryParameters { collection, project, external, after, limit: wanted } = asked;
    let query = MemoriesQuery { collection, project, external, after, limit: limit(wanted)? };
    Ok(axum::Json(database.memories(query).await?))
}

async fn put_memory(
    WriteDatabase(database): WriteDatabase,
    Json(draft): Json<MemoryDraft>,
) -> ApiResult<(StatusCode, axum::Json<Remembered>)> {
    let id = database.put_memory(draft).await?;
    Ok((StatusCode::CREATED, axum::Json(Remembered { id })))
}

async fn remove_memory(
    WriteDatabase(database): WriteDatabase,
    PathId(memory): PathId<MemoryId>,
) -> ApiResult<StatusCode> {
    database.remove_memory(memory).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sources(CallerDatabase(database): CallerDatabase) -> ApiResult<axum::Json<Vec<Source>>> {
    Ok(axum::Json(database.sources().await?))
}

async fn origins(
    CallerDatabase(database): CallerDatabase,
    PathId(source): PathId<SourceId>,
) -> ApiResult<axum::Json<Vec<Origin>>> {
    Ok(axum::Json(database.origins(OriginsQuery::Source(source)).await?))
}

async fn quarantined(
    CallerDatabase(database): CallerDatabase,
    PathId(source): PathId<SourceId>,
) -> ApiResult<axum::Json<Vec<Quarantined>>> {
    Ok(axum::Json(database.quarantined(source).await?))
}

async fn commit(
    State(app): State<App>,
    Caller(asker): Caller,
    WriteDatabase(database): WriteDatabase,
    Json(wish): Json<Commit>,
) -> ApiResult<(StatusCode, axum::Json<Committed>)> {
    for change in &wish.changes {
        // A destructive change is recorded in the audit log before it is made, whichever endpoint it arrives through.
        let action = match change {
            Change::Erase { .. } => "erase",
            Change::Purge { .. } => "purge",
            _ => continue,
        };
        app.tenants.audit(NewAuditRecord::new(action, Some(asker.tenant), asker.audit_subject.clone())).await?;
    }
    let committed = database.commit(wish.changes, Vec::new()).await?;
    Ok((StatusCode::CREATED, axum::Json(committed)))
}
