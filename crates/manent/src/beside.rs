//! What stands beside conversations: drafts, projects, blobs, statistics, the journal.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::ids::now;
use manent_model::{ConversationId, Json, Project, ProjectId, ProjectPatch, Scratch, Stats, hex};
use manent_store::{Change, DoctorReport, JournalEntry, ListQuery, Position, StatsQuery, VerifyReport};
use sha2::{Digest, Sha256};

/// A blob travels in pieces of this size.
const PIECE: usize = 1 << 20;
const DRAFT: &str = "draft";

impl Database {
    /// Keeps what somebody has typed but not sent. Overwritten each time, never in the journal.
    pub async fn save_draft(&self, conversation: ConversationId, actor: &str, text: &str) -> Result<()> {
        let scratch = Scratch {
            kind: DRAFT.to_owned(),
            id: conversation.to_string(),
            actor: actor.to_owned(),
            body: Json::of(&text),
            at: now(),
        };
        self.change(Change::PutScratch { scratch }).await.map(drop)
    }

    /// Returns what somebody has typed but not sent.
    pub async fn draft(&self, conversation: ConversationId, actor: &str) -> Result<Option<String>> {
        let id = conversation.to_string();
        let all = self.store.scratch(DRAFT.to_owned()).await?;
        let found = all.into_iter().find(|scratch| scratch.id == id && scratch.actor == actor);
        Ok(found.and_then(|scratch| scratch.body.read().ok()))
    }

    /// Forgets a draft, once what it became is acknowledged.
    pub async fn clear_draft(&self, conversation: ConversationId, actor: &str) -> Result<()> {
        let change =
            Change::RemoveScratch { kind: DRAFT.to_owned(), id: conversation.to_string(), actor: actor.to_owned() };
        self.change(change).await.map(drop)
    }

    /// Makes a project.
    pub async fn create_project(&self, name: &str, instructions: &str) -> Result<Project> {
        let project = Project {
            id: self.ids.make(ProjectId::new),
            kind: "project".to_owned(),
            name: name.to_owned(),
            instructions: instructions.to_owned(),
            facts: Default::default(),
            metadata: None,
            version: 1,
        };
        self.change(Change::CreateProject { project: project.clone() }).await?;
        Ok(project)
    }

    /// Returns a project.
    pub async fn project(&self, id: ProjectId) -> Result<Project> {
        let all = self.store.projects().await?;
        all.into_iter().find(|project| project.id == id).ok_or_else(|| Error::not_found("project", id))
    }

    /// Returns all projects in the order they were made.
    pub async fn projects(&self) -> Result<Vec<Project>> {
        Ok(self.store.projects().await?)
    }

    /// Changes a project.
    pub async fn edit_project(&self, id: ProjectId, patch: ProjectPatch) -> Result<Project> {
        self.change(Change::EditProject { id, patch }).await?;
        self.project(id).await
    }

    /// Removes a project; its conversations stay. Undo brings it back.
    pub async fn remove_project(&self, id: ProjectId) -> Result<()> {
        self.change(Change::RemoveProject { id }).await.map(drop)
    }

    /// Returns the first page of the conversations of a project.
    pub async fn project_conversations(&self, id: ProjectId) -> Result<manent_store::ConversationPage> {
        self.list(ListQuery { project: Some(id), limit: 100, ..ListQuery::default() }).await
    }

    /// Keeps bytes once, however often they are given, and returns their SHA-256 in hexadecimal.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        let sha256: [u8; 32] = Sha256::digest(bytes).into();
        let pieces: Vec<&[u8]> = if bytes.is_empty() { vec![bytes] } else { bytes.chunks(PIECE).collect() };
        for (n, piece) in pieces.iter().enumerate() {
            let change = Change::PutBlobPiece {
                sha256,
                size: bytes.len() as i64,
                n: n as i64,
                last: n + 1 == pieces.len(),
                bytes: piece.to_vec(),
            };
            self.change(change).await?;
        }
        Ok(hex::encode(&sha256))
    }

    /// Returns the bytes of a blob.
    pub async fn blob(&self, sha256: &str) -> Result<Vec<u8>> {
        let missing = || Error::not_found("blob", sha256);
        let digest: [u8; 32] = hex::decode(sha256).and_then(|bytes| bytes.try_into().ok()).ok_or_else(missing)?;
        self.store.blob(digest).await?.ok_or_else(missing)
    }

    /// Counts messages, words, tokens and response times, by day, model and role.
    pub async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        Ok(self.store.stats(query).await?)
    }

    /// Returns changes after a position, oldest first.
    pub async fn journal(&self, after: Position, limit: u32) -> Result<Vec<JournalEntry>> {
        Ok(self.store.journal(after, limit).await?)
    }

    /// Waits until something comes after a position, whichever process commits it, and returns it.
    pub async fn tail(&self, after: Position, limit: u32) -> Result<Vec<JournalEntry>> {
        let mut position = self.store.position();
        // The sender lives as long as the store, so waiting cannot fail while this handle exists.
        let _ = position.wait_for(|known| *known > after).await;
        self.journal(after, limit).await
    }

    /// Walks digests and chains, and names the first message that was altered, lost or doubled.
    pub async fn verify(&self) -> Result<VerifyReport> {
        Ok(self.store.verify().await?)
    }

    /// Reports versions, settings and sizes.
    pub async fn doctor(&self) -> Result<DoctorReport> {
        Ok(self.store.doctor().await?)
    }
}
