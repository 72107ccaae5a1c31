//! Conversations: made, listed, named, put away, brought back, destroyed.

use crate::database::{Database, only, unexpected};
use crate::error::{Error, Result};
use manent_model::{
    Author, BranchId, Conversation, ConversationDraft, ConversationId, ConversationPatch, ConversationStatus, Json,
    ProjectId, check_name,
};
use manent_store::{
    Change, ConversationPage, ConversationRef, Count, Done, Erase, Expect, HeadTo, ListQuery, Receipt, Scope, Step,
};

impl Database {
    /// Makes a conversation. The same external id again returns the one that was made before.
    pub async fn create(&self, draft: ConversationDraft) -> Result<Conversation> {
        let (id, branch) = (self.ids.make(ConversationId::new), self.ids.make(BranchId::new));
        let change = Change::CreateConversation { id, branch, draft, importing: false };
        match only(self.change(change).await?) {
            Done::Conversation(id) => self.conversation(id).await,
            done => Err(unexpected(&done)),
        }
    }

    /// Returns a conversation.
    pub async fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        let found = self.store.conversation(ConversationRef::Id(id)).await?;
        found.ok_or_else(|| Error::not_found("conversation", id))
    }

    /// Returns a conversation by the id that its creator's system gave it.
    pub async fn conversation_by_external_id(&self, external_id: &str) -> Result<Conversation> {
        let found = self.store.conversation(ConversationRef::External(external_id.to_owned())).await?;
        found.ok_or_else(|| Error::not_found("conversation", external_id))
    }

    /// Lists conversations, pinned first, then the latest active; archived and trashed ones only when asked for.
    pub async fn list(&self, query: ListQuery) -> Result<ConversationPage> {
        Ok(self.store.conversations(query).await?)
    }

    /// Counts the conversations of a list, whatever its page, up to ten thousand.
    pub async fn count(&self, query: ListQuery) -> Result<Count> {
        Ok(self.store.count_conversations(query).await?)
    }

    /// Changes what is said about a conversation, if it still has the version that was read.
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

    /// Gives a conversation the name that a person typed. Characters that its name already has are allowed to stay.
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

    /// Keeps a conversation at the top of the list.
    pub async fn pin(&self, id: ConversationId) -> Result<()> {
        self.patch(id, ConversationPatch { pinned: Some(true), ..ConversationPatch::default() }).await
    }

    /// Lets a conversation go from the top of the list.
    pub async fn unpin(&self, id: ConversationId) -> Result<()> {
        self.patch(id, ConversationPatch { pinned: Some(false), ..ConversationPatch::default() }).await
    }

    async fn set_status(&self, id: ConversationId, status: ConversationStatus) -> Result<()> {
        self.patch(id, ConversationPatch { status: Some(status), ..ConversationPatch::default() }).await
    }

    /// Puts a conversation away.
    pub async fn archive(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Archived).await
    }

    /// Puts a conversation into the trash.
    pub async fn trash(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Trashed).await
    }

    /// Brings a conversation back from the archive or the trash.
    pub async fn restore(&self, id: ConversationId) -> Result<()> {
        self.set_status(id, ConversationStatus::Active).await
    }

    /// Puts a conversation into a project, or takes it out.
    pub async fn set_project(&self, id: ConversationId, project: Option<ProjectId>) -> Result<()> {
        self.patch(id, ConversationPatch { project: Some(project), ..ConversationPatch::default() }).await
    }

    /// Says who takes part.
    pub async fn set_members(&self, id: ConversationId, members: Vec<Author>) -> Result<()> {
        self.patch(id, ConversationPatch { members: Some(members), ..ConversationPatch::default() }).await
    }

    /// Keeps something with a conversation, or nothing.
    pub async fn set_metadata(&self, id: ConversationId, metadata: Option<Json>) -> Result<()> {
        self.patch(id, ConversationPatch { metadata: Some(metadata), ..ConversationPatch::default() }).await
    }

    /// Shows an empty path; the messages are still there, and undo shows them again.
    pub async fn clear(&self, id: ConversationId) -> Result<()> {
        let to = HeadTo::Empty(self.ids.make(BranchId::new));
        self.change(Change::MoveHead { conversation: id, to }).await.map(drop)
    }

    /// Removes a conversation in the trash for good. Conversations that fork from it stay whole.
    pub async fn purge(&self, id: ConversationId) -> Result<()> {
        // The journal knows a conversation until its last row is gone; readers do not see one whose purge was cut off.
        self.store.undo_target(Scope::Conversation(id), Step::Undo).await?;
        let mut handle = self.clone();
        loop {
            match only(handle.change_low(self.ids.now(), None, Change::Purge { conversation: id }).await?) {
                Done::Purged(true) => return Ok(()),
                Done::Purged(false) => handle = self.plain(),
                done => return Err(unexpected(&done)),
            }
        }
    }

    /// Destroys content everywhere: in every path, in the raw files and their WAL. Returns what went.
    ///
    /// Backups are files of their own: those made before still hold it.
    pub async fn erase(&self, target: Erase) -> Result<Receipt> {
        let mut total = Receipt::default();
        let mut handle = self.clone();
        loop {
            match only(handle.change_low(self.ids.now(), None, Change::Erase { target: target.clone() }).await?) {
                Done::Erased(step) => {
                    total.at = step.at;
                    total.finished = step.finished;
                    total.messages += step.messages;
                    total.conversations += step.conversations;
                    total.attached += step.attached;
                    total.blobs += step.blobs;
                    total.scratch += step.scratch;
                    total.journal += step.journal;
                }
                done => return Err(unexpected(&done)),
            }
            if total.finished {
                return Ok(total);
            }
            handle = self.plain();
        }
    }
}
