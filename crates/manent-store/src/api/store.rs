//! The [`Store`] trait that every engine implements: one way to write, few ways to read.

use crate::api::damage::DamageLog;
use crate::api::error::Result;
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::permissions::Permissions;
use crate::api::query::*;
use crate::api::search::{IndexStatus, Search, SearchPage};
use crate::api::transaction::{Committed, MessageOrigin, Position, Transaction};
use manent_model::{
    Conversation, ConversationId, Json, MessageId, Origin, Project, ProjectId, Quarantined, Scratch, Source, SourceId,
    Stats, Timestamp,
};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// The turn of one import. It ends when it is dropped, and with the process that holds it.
pub struct ImportLock {
    _held: Box<dyn Send + Sync>,
}

impl ImportLock {
    pub(crate) fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// A store of one tenant.
///
/// A commit that was acknowledged is on disk. Reads see every commit that was acknowledged before they began.
#[async_trait::async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns a view of this store with the permissions of a key. Objects outside its access scope do not exist there,
    /// operations on everything are forbidden to a limited key, and every change is checked. A view of a view is limited
    /// by both.
    fn authorized(self: Arc<Self>, permissions: Permissions) -> Arc<dyn Store>;
    /// Returns the same store whose lists and pages leave damaged records out and name them in a log, instead of
    /// failing. A damaged conversation is not left out: what cannot be trusted of it reads as not set.
    fn skipping_damaged(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store>;
    /// Does everything in the transaction, or nothing.
    async fn commit(&self, transaction: Transaction) -> Result<Committed>;
    /// Returns the time of the transaction that used an idempotency key first, as long as the key is remembered.
    async fn idempotent_request_time(&self, key: Vec<u8>) -> Result<Option<Timestamp>>;

    /// Returns a conversation.
    async fn conversation(&self, which: ConversationRef) -> Result<Option<Conversation>>;
    /// Lists conversations, pinned first, then the latest active, or as the query says.
    async fn conversations(&self, query: ListQuery) -> Result<ConversationPage>;
    /// Counts the conversations of a list, ignoring its page, up to a bound.
    async fn count_conversations(&self, query: ListQuery) -> Result<BoundedCount>;
    /// Returns the conversation that was changed last, in any status; none if that is too long ago to find.
    async fn last_changed(&self) -> Result<Option<ConversationId>>;
    /// Returns all conversations' ids in the order they were made, trash and all, for copying.
    async fn conversation_ids(&self, after: Option<ConversationId>, limit: u32) -> Result<Vec<ConversationId>>;
    /// Returns the bytes of ids whose text begins like this, with or without its prefix, in order.
    async fn ids_by_prefix(&self, kind: IdKind, prefix: String, limit: u32) -> Result<Vec<[u8; 16]>>;
    /// Returns the branches of a conversation in the order they were opened.
    async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>>;
    /// Returns a page of a path.
    async fn message_page(&self, query: MessagePageQuery) -> Result<MessagePage>;
    /// Returns messages that are not asked for as a page of a path.
    async fn messages(&self, query: MessagesQuery) -> Result<Vec<LocatedMessage>>;
    /// Returns a page of the messages that belong together with one.
    async fn related(&self, query: RelatedQuery) -> Result<LocatedMessagePage>;
    /// Returns a page of the attachments of a conversation.
    async fn annotations(&self, query: AnnotationsQuery) -> Result<Annotations>;
    /// Returns the value that a name has at a message (`None`: the head); none where it was never set, or was unset.
    async fn state(&self, conversation: ConversationId, name: String, at: Option<MessageId>) -> Result<Option<Json>>;
    /// Returns the tool calls of all conversations that are not in a final state, oldest first.
    async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>>;
    /// Returns the streams of the whole store whose last chunk came before a time, the longest silent first.
    async fn idle_streams(&self, before: Timestamp, limit: u32) -> Result<Vec<OpenStream>>;
    /// Returns events after a cursor.
    async fn events(&self, query: EventsQuery) -> Result<Events>;
    /// Returns documents.
    async fn documents(&self, query: DocumentsQuery) -> Result<Documents>;
    /// Returns memories.
    async fn memories(&self, query: MemoriesQuery) -> Result<Memories>;
    /// Returns a project.
    async fn project(&self, id: ProjectId) -> Result<Option<Project>>;
    /// Returns all projects in the order they were made.
    async fn projects(&self) -> Result<Vec<Project>>;
    /// Returns scratch in order of kind, id and actor.
    async fn scratch(&self, query: ScratchQuery) -> Result<Vec<Scratch>>;
    /// Returns a blob that is complete.
    async fn blob(&self, sha256: [u8; 32]) -> Result<Option<Vec<u8>>>;
    /// Returns the first piece, from a number on, of a blob that is complete, at most 1 MiB, with its number; none
    /// after the last. The caller that joins the pieces compares the SHA-256 of all of them.
    async fn blob_piece(&self, sha256: [u8; 32], from: i64) -> Result<Option<(i64, Vec<u8>)>>;
    /// Returns the digests and sizes of all complete blobs.
    async fn blobs(&self) -> Result<Vec<([u8; 32], i64)>>;
    /// Returns all imported files.
    async fn sources(&self) -> Result<Vec<Source>>;
    /// Returns where objects came from.
    async fn origins(&self, query: OriginsQuery) -> Result<Vec<Origin>>;
    /// Returns where messages came from, in their order; those that were made here are left out.
    async fn message_origins(&self, messages: Vec<MessageId>) -> Result<Vec<MessageOrigin>>;
    /// Returns the quarantined bytes of a file: those that could not be parsed.
    async fn quarantined(&self, source: SourceId) -> Result<Vec<Quarantined>>;
    /// Returns rows of the journal after a position. A page may hold fewer rows than requested, or none, and still say
    /// that there is more: the number of scanned rows is bounded.
    async fn journal(&self, query: JournalQuery) -> Result<JournalPage>;
    /// Returns the commit that an undo or redo would undo now.
    async fn undo_target(&self, scope: UndoScope, step: UndoDirection) -> Result<Option<Position>>;
    /// Counts messages.
    async fn stats(&self, query: StatsQuery) -> Result<Stats>;

    /// Finds messages and conversations.
    async fn search(&self, search: Search) -> Result<SearchPage>;
    /// Rebuilds the index; [`Store::watch_index`] reports its progress.
    async fn reindex(&self) -> Result<()>;
    /// Returns a watch on the progress of the index. It ends when the store is closed, or has no index.
    fn watch_index(&self) -> watch::Receiver<IndexStatus>;

    /// Returns a watch on the last position, for tails; commits of other processes show within a second. It ends when
    /// the store is closed.
    fn watch_position(&self) -> watch::Receiver<Position>;
    /// Acquires the import lock: waits until no other import runs, in this process or another; it is held until the
    /// returned value is dropped.
    ///
    /// An import checks which objects exist before it adds the others. Two at once would both find none.
    async fn acquire_import_lock(&self) -> Result<ImportLock>;
    /// Writes a copy that was restored, checked and compared before this returns.
    async fn backup(&self, to: &Path) -> Result<BackupReport>;
    /// Walks digests and chains, and names the first message that was altered, lost or doubled.
    async fn verify(&self) -> Result<VerifyReport>;
    /// Reports versions, settings, sizes.
    async fn doctor(&self) -> Result<DoctorReport>;
    /// Finishes the accepted operations and closes the store.
    async fn close(&self) -> Result<()>;
}
