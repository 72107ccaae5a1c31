//! Authorization of every store method: a new method does not compile until its rule is decided.

use super::claim::Claims;
use super::{Grant, GrantedStore, fit, names, scope};
use crate::damage::DamageLog;
use crate::engine::read::library::UPLOAD;
use crate::engine::view::whole;
use crate::error::{Result, StoreError};
use crate::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::query::*;
use crate::search::{Found, Indexed, Search};
use crate::store::{Store, Turn};
use crate::transaction::{Change, Committed, Done, Erase, Expect, MessageOrigin, Position, Receipt, Transaction};
use manent_model::{
    Conversation, ConversationId, Json, MessageId, Micros, Origin, Project, ProjectId, Quarantined, Realm, Scratch,
    Source, SourceId, Stats, hex,
};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Searches of limited callers are answered at multiples of this time, so that their duration reveals nothing.
const SEARCH_BEAT: Duration = Duration::from_millis(20);

impl GrantedStore {
    /// Commits a transaction of a limited grant after its checks.
    async fn commit_limited(&self, mut transaction: Transaction) -> Result<Committed> {
        let many = transaction.changes.len();
        fit::fit(&self.grant, &mut transaction)?;
        let come = {
            let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
            uploads.proven(&self.grant.id, &mut transaction)?
        };
        let Grant { id: grant, realm, .. } = self.grant.clone();
        let claims = names::claims_of(&realm, &transaction);
        transaction.expect.insert(0, Expect::Within(Box::new(Claims { realm, grant, claims })));
        let mut committed = match transaction.changes.as_slice() {
            [Change::Purge { .. } | Change::Erase { target: Erase::Conversation(_) }] => {
                self.destroy(transaction).await?
            }
            _ => self.whole.commit(transaction).await?,
        };
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).add(come);
        // Changes that were added here are not part of the answer.
        committed.done.truncate(many);
        Ok(committed)
    }

    /// Destroys a conversation to its end. Its first step takes away whose it was, so the others could not be claimed.
    async fn destroy(&self, transaction: Transaction) -> Result<Committed> {
        let next = Transaction { key: None, expect: Vec::new(), ..transaction.clone() };
        let mut committed = self.whole.commit(transaction).await?;
        let mut total = Receipt::default();
        loop {
            let is_finished = match committed.done.first_mut() {
                Some(Done::Erased(step)) => {
                    add(&mut total, step);
                    *step = total.clone();
                    step.finished
                }
                Some(Done::Purged(is_finished)) => *is_finished,
                _ => true,
            };
            if is_finished {
                return Ok(committed);
            }
            let first = committed.first;
            committed = Committed { first, ..self.whole.commit(next.clone()).await? };
        }
    }

    /// Says whether this grant brought a blob.
    async fn has_brought(&self, sha256: &[u8; 32]) -> Result<bool> {
        if !self.grant.realm.is_limited() {
            return Ok(false);
        }
        let (kind, id, actor) = (UPLOAD.to_owned(), hex::encode(sha256), self.grant.id.clone());
        let query = ScratchQuery { kind: Some(kind), id: Some(id), actor: Some(actor) };
        Ok(!self.whole.scratch(query).await?.is_empty())
    }

    /// Requires an unrestricted grant.
    fn for_everything(&self) -> Result<()> {
        whole(&self.grant.realm)
    }
}

fn add(total: &mut Receipt, step: &Receipt) {
    let Receipt { at, finished, messages, conversations, attached, blobs, scratch, journal } = step;
    total.at = *at;
    total.finished = *finished;
    total.messages += messages;
    total.conversations += conversations;
    total.attached += attached;
    total.blobs += blobs;
    total.scratch += scratch;
    total.journal += journal;
}

#[async_trait::async_trait]
impl Store for GrantedStore {
    fn within(self: Arc<Self>, realm: Realm) -> Arc<dyn Store> {
        self.view.clone().within(realm)
    }

    fn skipping_damaged(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store> {
        self.view.clone().skipping_damaged(log)
    }

    async fn commit(&self, mut transaction: Transaction) -> Result<Committed> {
        for change in &transaction.changes {
            let takes = change.scope();
            if !self.grant.scopes.holds(takes) {
                return Err(StoreError::Forbidden { needs: scope::needs(takes) });
            }
            // A blob is readable for its uploader: that is recorded at the upload, and nowhere else.
            if let Change::PutScratch { scratch: Scratch { kind, .. } } | Change::RemoveScratch { kind, .. } = change
                && kind == UPLOAD
            {
                return Err(StoreError::Forbidden { needs: "the store itself" });
            }
        }
        if let Some(actor) = &self.grant.actor {
            transaction.actor = Some(actor.clone());
        }
        transaction.key = transaction.key.map(|key| self.own_key(&key)).transpose()?;
        match self.grant.realm.is_limited() {
            true => self.commit_limited(transaction).await,
            false => self.whole.commit(transaction).await,
        }
    }

    async fn request_at(&self, key: Vec<u8>) -> Result<Option<Micros>> {
        self.whole.request_at(self.own_key(&key)?).await
    }

    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>> {
        self.view.conversation(which).await
    }

    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage> {
        self.view.conversations(query).await
    }

    async fn count_conversations(&self, query: ListQuery) -> Result<Count> {
        self.view.count_conversations(query).await
    }

    async fn last_changed(&self) -> Result<Option<ConversationId>> {
        self.view.last_changed().await
    }

    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>> {
        self.view.conversation_ids(after, limit).await
    }

    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>> {
        self.view.ids_by_prefix(kind, prefix, limit).await
    }

    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        self.view.branches(conversation).await
    }

    async fn window(&self, query: WindowQuery) -> Result<Window> {
        self.view.window(query).await
    }

    async fn messages(&self, query: MessagesQuery) -> Result<Vec<Placed>> {
        self.view.messages(query).await
    }

    async fn related(&self, query: RelatedQuery) -> Result<PlacedPage> {
        self.view.related(query).await
    }

    async fn attached(&self, query: AttachedQuery) -> Result<Attached> {
        self.view.attached(query).await
    }

    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>> {
        self.view.state(conversation, name, at).await
    }

    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        self.view.open_tool_calls(limit).await
    }

    async fn idle_streams(&self, before: Micros, limit: u32) -> Result<Vec<OpenStream>> {
        self.for_everything()?;
        self.whole.idle_streams(before, limit).await
    }

    async fn events(&self, query: EventsQuery) -> Result<Events> {
        self.view.events(query).await
    }

    async fn documents(&self, query: DocumentsQuery) -> Result<Documents> {
        self.view.documents(query).await
    }

    async fn memories(&self, query: MemoriesQuery) -> Result<Memories> {
        self.view.memories(query).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<Project>> {
        self.view.project(id).await
    }

    async fn projects(&self) -> Result<Vec<Project>> {
        self.view.projects().await
    }

    async fn scratch(&self, mut query: ScratchQuery) -> Result<Vec<Scratch>> {
        // Scratch that a limited user stores without an actor is kept as that user's, and found in the same way.
        if let (Some(user), Some(actor)) = (&self.grant.realm.user, &mut query.actor)
            && actor.is_empty()
        {
            actor.clone_from(user);
        }
        self.view.scratch(query).await
    }

    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>> {
        match self.has_brought(&sha256).await? {
            true => self.whole.blob(sha256).await,
            false => self.view.blob(sha256).await,
        }
    }

    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>> {
        match self.has_brought(&sha256).await? {
            true => self.whole.blob_piece(sha256, from).await,
            false => self.view.blob_piece(sha256, from).await,
        }
    }

    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>> {
        self.view.blobs().await
    }

    async fn sources(&self) -> Result<Vec<Source>> {
        self.view.sources().await
    }

    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>> {
        self.view.origins(query).await
    }

    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>> {
        self.view.message_origins(messages).await
    }

    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>> {
        self.view.quarantined(source).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<JournalPage> {
        self.view.journal(query).await
    }

    async fn undo_target(&self, scope: Scope, step: Step) -> Result<Option<Position>> {
        self.view.undo_target(scope, step).await
    }

    async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        self.view.stats(query).await
    }

    async fn search(&self, search: Search) -> Result<Found> {
        let started = tokio::time::Instant::now();
        let mut found = self.view.search(search).await;
        if self.grant.realm.is_limited() {
            // The index covers all users and returns hits of others before they are filtered out: the duration reveals
            // something about their words.
            let beats = started.elapsed().as_nanos() / SEARCH_BEAT.as_nanos() + 1;
            let answered = SEARCH_BEAT * u32::try_from(beats).unwrap_or(u32::MAX);
            tokio::time::sleep_until(started + answered).await;
            if let Ok(found) = &mut found {
                found.micros = u64::try_from(answered.as_micros()).unwrap_or(u64::MAX);
            }
        }
        found
    }

    async fn reindex(&self) -> Result<()> {
        self.for_everything()?;
        self.whole.reindex().await
    }

    fn indexed(&self) -> watch::Receiver<Indexed> {
        self.whole.indexed()
    }

    fn position(&self) -> watch::Receiver<Position> {
        self.whole.position()
    }

    async fn import_turn(&self) -> Result<Turn> {
        self.for_everything()?;
        self.whole.import_turn().await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        self.for_everything()?;
        self.whole.backup(to).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        self.for_everything()?;
        self.whole.verify().await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        self.for_everything()?;
        self.whole.doctor().await
    }

    async fn close(&self) -> Result<()> {
        self.for_everything()?;
        self.whole.close().await
    }
}
