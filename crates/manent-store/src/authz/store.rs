//! Authorization of every store method: a new method does not compile until its rule is decided.

use super::access_check::AccessChecks;
use super::{AuthorizedStore, Permissions, constrain, references, required_scope};
use crate::api::damage::DamageLog;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::query::*;
use crate::api::search::{IndexStatus, Search, SearchPage};
use crate::api::store::{ImportLock, Store};
use crate::api::transaction::{
    Change, ChangeResult, Committed, EraseTarget, Expect, MessageOrigin, Position, Receipt, Transaction,
};
use crate::authz::filtered_store::require_unrestricted;
use crate::engine::read::library::UPLOAD;
use manent_model::{
    AccessScope, Conversation, ConversationId, Json, MessageId, Origin, Project, ProjectId, Quarantined, Scratch,
    Source, SourceId, Stats, Timestamp, hex,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Searches of limited callers are answered at multiples of this time, so that their duration reveals nothing.
const SEARCH_TIME_STEP: Duration = Duration::from_millis(20);

impl AuthorizedStore {
    /// Commits a transaction of a limited grant after its checks.
    async fn commit_limited(&self, mut transaction: Transaction) -> Result<Committed> {
        let many = transaction.changes.len();
        constrain::constrain(&self.permissions, &mut transaction)?;
        let come = {
            let uploads = self.uploads.lock();
            uploads.verify_possession(&self.permissions.id, &mut transaction)?
        };
        let Permissions { id: grant, realm, .. } = self.permissions.clone();
        let claims = references::required_checks(&realm, &transaction);
        transaction.expect.insert(0, Expect::Within(Box::new(AccessChecks { realm, grant, checks: claims })));
        let mut committed = match transaction.changes.as_slice() {
            [Change::Purge { .. } | Change::Erase { target: EraseTarget::Conversation(_) }] => {
                self.destroy(transaction).await?
            }
            _ => self.unrestricted.commit(transaction).await?,
        };
        self.uploads.lock().add(come);
        // Changes that were added here are not part of the answer.
        committed.results.truncate(many);
        Ok(committed)
    }

    /// Destroys a conversation to its end. Its first step takes away whose it was, so the others could not be claimed.
    async fn destroy(&self, transaction: Transaction) -> Result<Committed> {
        let next = Transaction { key: None, expect: Vec::new(), ..transaction.clone() };
        let mut committed = self.unrestricted.commit(transaction).await?;
        let mut total = Receipt::default();
        loop {
            let is_finished = match committed.results.first_mut() {
                Some(ChangeResult::Erased(step)) => {
                    add(&mut total, step);
                    *step = total.clone();
                    step.finished
                }
                Some(ChangeResult::Purged(is_finished)) => *is_finished,
                _ => true,
            };
            if is_finished {
                return Ok(committed);
            }
            let first = committed.first;
            committed = Committed { first, ..self.unrestricted.commit(next.clone()).await? };
        }
    }

    /// Says whether this grant brought a blob.
    async fn has_imported(&self, sha256: &[u8; 32]) -> Result<bool> {
        if !self.permissions.realm.is_limited() {
            return Ok(false);
        }
        let (kind, id, actor) = (UPLOAD.to_owned(), hex::encode(sha256), self.permissions.id.clone());
        let query = ScratchQuery { kind: Some(kind), id: Some(id), actor: Some(actor) };
        Ok(!self.unrestricted.scratch(query).await?.is_empty())
    }

    /// Requires an unrestricted grant.
    fn require_unrestricted(&self) -> Result<()> {
        require_unrestricted(&self.permissions.realm)
    }
}

fn add(total: &mut Receipt, step: &Receipt) {
    let Receipt { at, finished, messages, conversations, annotations, blobs, scratch, journal } = step;
    total.at = *at;
    total.finished = *finished;
    total.messages += messages;
    total.conversations += conversations;
    total.annotations += annotations;
    total.blobs += blobs;
    total.scratch += scratch;
    total.journal += journal;
}

#[async_trait::async_trait]
impl Store for AuthorizedStore {
    fn restricted_to(self: Arc<Self>, realm: AccessScope) -> Arc<dyn Store> {
        self.visible.clone().restricted_to(realm)
    }

    fn skipping_damaged(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store> {
        self.visible.clone().skipping_damaged(log)
    }

    async fn commit(&self, mut transaction: Transaction) -> Result<Committed> {
        for change in &transaction.changes {
            let takes = change.required_scope();
            if !self.permissions.scopes.holds(takes) {
                return Err(StoreError::Forbidden { needs: required_scope::needs(takes) });
            }
            // A blob is readable for its uploader: that is recorded at the upload, and nowhere else.
            if let Change::PutScratch { scratch: Scratch { kind, .. } } | Change::RemoveScratch { kind, .. } = change
                && kind == UPLOAD
            {
                return Err(StoreError::Forbidden { needs: "the store itself" });
            }
        }
        if let Some(actor) = &self.permissions.actor {
            transaction.actor = Some(actor.clone());
        }
        transaction.key = transaction.key.map(|key| self.own_key(&key)).transpose()?;
        match self.permissions.realm.is_limited() {
            true => self.commit_limited(transaction).await,
            false => self.unrestricted.commit(transaction).await,
        }
    }

    async fn idempotent_request_time(&self, key: Vec<u8>) -> Result<Option<Timestamp>> {
        self.unrestricted.idempotent_request_time(self.own_key(&key)?).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        self.visible.conversation(which).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        self.visible.conversations(query).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<BoundedCount> {
        self.visible.count_conversations(query).await
    }

    async fn last_changed(&self) -> Result<Option<ConversationId>> {
        self.visible.last_changed().await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        self.visible.conversation_ids(after, limit).await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        self.visible.ids_by_prefix(kind, prefix, limit).await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        self.visible.branches(conversation).await
    }

    async fn message_page(&self, query: MessagePageQuery) -> Result<MessagePage> {
        self.visible.message_page(query).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<LocatedMessage>> {
        self.visible.messages(query).await
    }

    async fn related(&self, query: RelatedQuery) -> Result<LocatedMessagePage> {
        self.visible.related(query).await
    }

    async fn annotations(&self, query: AnnotationsQuery) -> Result<Annotations> {
        self.visible.annotations(query).await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        self.visible.state(conversation, name, at).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        self.visible.open_tool_calls(limit).await
    }

    async fn idle_streams(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenStream>> {
        self.require_unrestricted()?;
        self.unrestricted.idle_streams(before, limit).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        self.visible.events(query).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        self.visible.documents(query).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        self.visible.memories(query).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        self.visible.project(id).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        self.visible.projects().await
    }

    async fn scratch(&self, mut query: ScratchQuery) -> Result<Vec<Scratch>> {
        // Scratch that a limited user stores without an actor is kept as that user's, and found in the same way.
        if let (Some(user), Some(actor)) = (&self.permissions.realm.user, &mut query.actor)
            && actor.is_empty()
        {
            actor.clone_from(user);
        }
        self.visible.scratch(query).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        match self.has_imported(&sha256).await? {
            true => self.unrestricted.blob(sha256).await,
            false => self.visible.blob(sha256).await,
        }
    }

    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        match self.has_imported(&sha256).await? {
            true => self.unrestricted.blob_piece(sha256, from).await,
            false => self.visible.blob_piece(sha256, from).await,
        }
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        self.visible.blobs().await
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        self.visible.sources().await
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        self.visible.origins(query).await
    }

    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>> {
        self.visible.message_origins(messages).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.visible.quarantined(source).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        self.visible.journal(query).await
    }

    async fn undo_target(&self, scope: UndoScope, step: UndoDirection) -> Result<Option<Position>> {
        self.visible.undo_target(scope, step).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        self.visible.stats(query).await
    }

    async fn search(&self, search: Search) -> Result<SearchPage> {
        let started = tokio::time::Instant::now();
        let mut found = self.visible.search(search).await;
        if self.permissions.realm.is_limited() {
            // The index covers all users and returns hits of others before they are filtered out: the duration reveals
            // something about their words.
            let beats = started.elapsed().as_nanos() / SEARCH_TIME_STEP.as_nanos() + 1;
            let answered = SEARCH_TIME_STEP * u32::try_from(beats).unwrap_or(u32::MAX);
            tokio::time::sleep_until(started + answered).await;
            if let Ok(found) = &mut found {
                found.micros = u64::try_from(answered.as_micros()).unwrap_or(u64::MAX);
            }
        }
        found
    }

    async fn reindex(&self) -> Result<()> {
        self.require_unrestricted()?;
        self.unrestricted.reindex().await
    }

    fn watch_index(&self) -> watch::Receiver<IndexStatus> {
        self.unrestricted.watch_index()
    }

    fn watch_position(&self) -> watch::Receiver<Position> {
        self.unrestricted.watch_position()
    }

    async fn acquire_import_lock(&self) -> Result<ImportLock> {
        self.require_unrestricted()?;
        self.unrestricted.acquire_import_lock().await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        self.require_unrestricted()?;
        self.unrestricted.backup(to).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        self.require_unrestricted()?;
        self.unrestricted.verify().await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        self.require_unrestricted()?;
        self.unrestricted.doctor().await
    }

    async fn close(&self) -> Result<()> {
        self.require_unrestricted()?;
        self.unrestricted.close().await
    }
}
