//! Conversation operations: create, list, edit, archive, restore, purge, erase.

use crate::database::{Database, only, unexpected};
use crate::error::{Error, Result};
use manent_model::{
    Author, BranchId, Conversation, ConversationDraft, ConversationId, ConversationPatch, ConversationStatus, Json,
    ProjectId, check_name,
};
use manent_store::{
    BoundedCount, Change, ChangeResult, ConversationPage, ConversationRef, EraseTarget, Expect, HeadTarget, ListQuery,
    Receipt, UndoDirection, UndoScope,
};

impl Database {
    /// Creates a conversation. With an existing external id, returns the existing one.
    pub async fn create(&self, draft: ConversationDraft) -> Result<Conversation> {
        let (id, branch) = (self.ids.make(ConversationId::new), self.ids.make(BranchId::new));
        let change = Change::CreateConversation { id, branch, draft, importing: false };
        match only(self.change(change).await?) {
            ChangeResult::Conversation(id) => self.conversation(id).await,
            done => Err(unexpected(&done)),
        }
    }

    /// Returns a conversation.
    pub async fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        let found = self.store.conversation(ConversationRef::Id(id)).await?;
        found.ok_or_else(|| Error::not_found("conversation", id))
    }

    /// Returns a conversation by the external id that its creator's system assigned.
    pub async fn conversation_by_external_id(&self, external_id: &str) -> Result<Conversation> {
        let found = self.store.conversation(ConversationRef::External(external_id.to_owned())).await?;
        found.ok_or_else(|| Error::not_found("conversation", external_id))
    }

    /// Lists conversations: pinned first, then by latest activity; archived and trashed ones only on request.
    pub async fn list(&self, query: ListQuery) -> Result<ConversationPage> {
        Ok(self.store.conversations(query).await?)
    }

    /// Counts the conversations of a list, regardless of paging, up to ten thousand.
    pub async fn count(&self, query: ListQuery) -> Result<BoundedCount> {
        Ok(self.store.count_conversations(query).await?)
    }

    /// Changes the properties of a conversation, if it still has the expected version.
    pub async fn edit_conversation(
        &self,
        id: ConversationId,
        patch: ConversationPatch,
        version: Option<i64>,
    ) -> Result<Conversation> {
        let expect = version.map(|version| Expect::Version { conversation: id, version }).into_iter().collect();
        self.commit(vec![Change::EditConversation { id, patch }], expect).await?;
        self.conversation(id).await
    }

    async fn patch(&self, id: ConversationId, patch: ConversationPatch) -> Result<()> {
        self.change(Change::EditConversation { id, patch }).await.map(drop)
    }

    /// Renames a conversation to a user-entered title. Forbidden characters are accepted if the present title already
    /// has them.
    pub async fn rename(&self, id: ConversationId, name: &str) -> Result<()> {
        let current = self.conversation(id).await?.title;
        let title = Some(check_name(name, &current)?.to_owned());
        self.patch(id, ConversationPatch { title, ..ConversationPatch::default() }).await
    }

    /// Adds and removes tags.
    pub async fn tag(&self, id: ConversationId, add: &[&str], remove: &[&str]) -> Result<()> {
        let set = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect();
        let patch = ConversationPatch { add_tags: set(add), remove_tags: set(remove), ..ConversationPatch::default() };
        self.patch(id, patch).await
    }

    /// Pins a conversation to the top of the list.
    pub async fn pin(&self, id: ConversationId) -> Result<()> {
        self.patch(id, ConversationPatch { pinned: Some(true), ..ConversationPatch::default() }).await
    }

    /// Unpins a conversation.
    pub async fn unpin(&self, id: ConversationId) -> Result<()> {
        self.patch(id, ConversationPatch { pinned: Some(false), ..ConversationPatch::default() }).await
    }

    async fn set_status(&self, id: ConversationId, status: ConversationStatus) -> Result<()> {
        self.patch(id, ConversationPatch { status: Some(status), ..ConversationPatch::default() }).await
    }

    /// Archives a conversation.
    pub async fn archive(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Archived).await
    }

    /// Moves a conversation to the trash.
    pub async fn trash(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Trashed).await
    }

    /// Restores a conversation from the archive or the trash.
    pub async fn restore(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Active).await
    }

    /// Adds a conversation to a project, or removes it from its project.
    pub async fn set_project(&self, id: ConversationId, project: Option<ProjectId>) -> Result<()> {
        self.patch(id, ConversationPatch { project: Some(project), ..ConversationPatch::default() }).await
    }

    /// Sets the members of a conversation.
    pub async fn set_members(&self, id: ConversationId, members: Vec<Author>) -> Result<()> {
        self.patch(id, ConversationPatch { members: Some(members), ..ConversationPatch::default() }).await
    }

    /// Sets or removes the metadata of a conversation.
    pub async fn set_metadata(&self, id: ConversationId, metadata: Option<Json>) -> Result<()> {
        self.patch(id, ConversationPatch { metadata: Some(metadata), ..ConversationPatch::default() }).await
    }

    /// Shows an empty path; the messages are kept, and undo shows them again.
    pub async fn clear(&self, id: ConversationId) -> Result<()> {
        let to = HeadTarget::Empty(self.ids.make(BranchId::new));
        self.change(Change::MoveHead { conversation: id, to }).await.map(drop)
    }

    /// Permanently deletes a conversation in the trash. Conversations forked from it stay complete.
    pub async fn purge(&self, id: ConversationId) -> Result<()> {
        // The journal knows a conversation until its last row is deleted; a partly purged conversation is hidden from
        // readers.
        self.store.undo_target(UndoScope::Conversation(id), UndoDirection::Undo).await?;
        let mut handle = self.clone();
        loop {
            match only(handle.commit_background(self.ids.now(), None, Change::Purge { conversation: id }).await?) {
                ChangeResult::Purged(true) => return Ok(()),
                ChangeResult::Purged(false) => handle = self.detached(),
                done => return Err(unexpected(&done)),
            }
        }
    }

    /// Erases content everywhere: on every path, in the database files and their WAL. Returns what was removed.
    ///
    /// Backups are separate files: those made before still contain it.
    pub async fn erase(&self, target: EraseTarget) -> Result<Receipt> {
        let mut total = Receipt::default();
        let mut handle = self.clone();
        loop {
            match only(handle.commit_background(self.ids.now(), None, Change::Erase { target: target.clone() }).await?)
            {
                ChangeResult::Erased(step) => {
                    total.at = step.at;
                    total.finished = step.finished;
                    total.messages += step.messages;
                    total.conversations += step.conversations;
                    total.annotations += step.annotations;
                    total.blobs += step.blobs;
                    total.scratch += step.scratch;
                    total.journal += step.journal;
                }
                done => return Err(unexpected(&done)),
            }
            if total.finished {
                return Ok(total);
            }
            handle = self.detached();
        }
    }
}
