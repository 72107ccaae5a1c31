//! Documents, memories, and the sources and origins of imported objects.

use crate::database::{Database, only, unexpected};
use crate::error::{Error, Result};
use manent_model::{
    ConversationId, Document, Json, Memory, MemoryId, MessageId, Origin, ProjectId, Quarantined, Source, SourceId,
};
use manent_store::{Change, ChangeResult, DocumentsQuery, MemoriesQuery, OriginsQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory to store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDraft {
    /// Id of an existing memory to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MemoryId>,
    /// The collection it belongs to.
    pub collection: String,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The conversation it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The message it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The id in another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The text.
    pub text: String,
    /// Custom metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

impl Database {
    /// Writes the next version of a document and returns its number.
    pub async fn put_document(&self, kind: &str, id: &str, project: Option<ProjectId>, body: Json) -> Result<i64> {
        self.next_version(kind, id, project, Some(body)).await
    }

    /// Removes a document; its versions stay, and undo brings it back.
    pub async fn remove_document(&self, kind: &str, id: &str) -> Result<()> {
        let newest = self.newest(kind, id).await?;
        // A retried request finds what it removed before, and gets the same answer.
        let there = newest.filter(|newest| newest.body.is_some() || self.may_be_again());
        let project = there.ok_or_else(|| not_found(kind, id))?.project;
        self.next_version(kind, id, project, None).await.map(drop)
    }

    async fn next_version(&self, kind: &str, id: &str, project: Option<ProjectId>, body: Option<Json>) -> Result<i64> {
        let change = Change::PutDocument { kind: kind.to_owned(), id: id.to_owned(), project, body };
        match only(self.change(change).await?) {
            ChangeResult::Version(version) => Ok(version),
            done => Err(unexpected(&done)),
        }
    }

    async fn newest(&self, kind: &str, id: &str) -> Result<Option<Document>> {
        let query = DocumentsQuery::Newest { kind: kind.to_owned(), id: id.to_owned() };
        Ok(self.store.documents(query).await?.pop())
    }

    /// Returns the newest version of a document.
    pub async fn document(&self, kind: &str, id: &str) -> Result<Document> {
        let newest = self.newest(kind, id).await?;
        newest.filter(|document| document.body.is_some()).ok_or_else(|| not_found(kind, id))
    }

    /// Returns the newest version of each document of a kind, in order of id.
    pub async fn documents(&self, kind: &str) -> Result<Vec<Document>> {
        Ok(self.store.documents(DocumentsQuery::Kind(kind.to_owned())).await?)
    }

    /// Returns every version of a document, oldest first; a removal is a version without a body.
    pub async fn document_versions(&self, kind: &str, id: &str) -> Result<Vec<Document>> {
        let query = DocumentsQuery::Versions { kind: kind.to_owned(), id: id.to_owned() };
        Ok(self.store.documents(query).await?)
    }

    /// Stores a memory.
    pub async fn put_memory(&self, draft: MemoryDraft) -> Result<MemoryId> {
        let MemoryDraft { id, collection, project, conversation, message, external, text, metadata } = draft;
        let id = id.unwrap_or_else(|| self.ids.make(MemoryId::new));
        let memory = Memory { id, collection, project, conversation, message, external, text, metadata };
        self.change(Change::PutMemory { memory }).await?;
        Ok(id)
    }

    /// Removes a memory.
    pub async fn remove_memory(&self, id: MemoryId) -> Result<()> {
        self.change(Change::RemoveMemory { id }).await.map(drop)
    }

    /// Returns memories in the order they were stored.
    pub async fn memories(&self, query: MemoriesQuery) -> Result<Vec<Memory>> {
        Ok(self.store.memories(query).await?)
    }

    /// Returns all imported files.
    pub async fn sources(&self) -> Result<Vec<Source>> {
        Ok(self.store.sources().await?)
    }

    /// Returns origins of imported objects.
    pub async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        Ok(self.store.origins(query).await?)
    }

    /// Returns the unparsable bytes of an imported file.
    pub async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        Ok(self.store.quarantined(source).await?)
    }
}

fn not_found(kind: &str, id: &str) -> Error {
    Error::not_found("document", format!("{kind}/{id}"))
}
