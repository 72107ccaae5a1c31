//! Message operations: append, page, fork, edit, hide, stream.

use crate::database::Database;

use crate::database::message_draft::MessageDraft;
use crate::error::{Error, Result};
use manent_model::{BranchId, ConversationDraft, ConversationId, MessageId, MessageRange, MessageStatus, NewMessage};
use manent_store::{
    BranchBase, BranchInfo, BranchReason, Change, Direction, Expect, HeadMove, HeadTarget, LocatedMessage,
    LocatedMessagePage, MessageAt, MessagePage, MessagePageQuery, MessagesQuery, Related, RelatedQuery, SplicePosition,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Treatment of the messages after an edited one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FollowUps {
    /// The path ends at the edited message; the old tail stays on its own branch.
    Detach,
    /// They follow the edited message.
    Keep,
}

impl Database {
    /// Appends a message at the head. When this returns, it is on disk.
    pub async fn append(&self, conversation: ConversationId, message: MessageDraft) -> Result<MessageId> {
        let ids = self.append_many(conversation, vec![message]).await?;
        Ok(ids[0])
    }

    /// Appends messages at the head, all or none.
    pub async fn append_many(
        &self,
        conversation: ConversationId,
        messages: Vec<MessageDraft>,
    ) -> Result<Vec<MessageId>> {
        self.append_where(conversation, messages, Vec::new()).await
    }

    /// Appends messages if the head is still where the caller saw it.
    pub async fn append_after(
        &self,
        conversation: ConversationId,
        head: Option<MessageId>,
        messages: Vec<MessageDraft>,
    ) -> Result<Vec<MessageId>> {
        self.append_where(conversation, messages, vec![Expect::Head { conversation, head }]).await
    }

    async fn append_where(
        &self,
        conversation: ConversationId,
        messages: Vec<MessageDraft>,
        expect: Vec<Expect>,
    ) -> Result<Vec<MessageId>> {
        let messages: Vec<NewMessage> =
            messages.into_iter().map(|draft| draft.finish(&self.ids)).collect::<Result<_>>()?;
        let ids = messages.iter().map(|message| message.id).collect();
        let at = MessageAt::Head { branch: self.ids.make(BranchId::new) };
        let change = Change::AppendMessages {
            conversation,
            at,
            head: HeadMove::Follow,
            why: BranchReason::Fork,
            messages,
            origins: Vec::new(),
        };
        self.commit(vec![change], expect).await?;
        Ok(ids)
    }

    /// Returns the last messages of the current path.
    pub async fn last(&self, conversation: ConversationId, limit: u32) -> Result<MessagePage> {
        self.page(conversation, None, Direction::Backward, limit).await
    }

    /// Returns a page of the current path before or after a message.
    ///
    /// A message off the current path is paged along its own branch.
    pub async fn page(
        &self,
        conversation: ConversationId,
        from: Option<MessageId>,
        direction: Direction,
        limit: u32,
    ) -> Result<MessagePage> {
        Ok(self.store.message_page(MessagePageQuery { conversation, branch: None, from, direction, limit }).await?)
    }

    /// Returns a page of the path of a branch.
    pub async fn page_of_branch(
        &self,
        conversation: ConversationId,
        branch: BranchId,
        from: Option<MessageId>,
        direction: Direction,
        limit: u32,
    ) -> Result<MessagePage> {
        let query = MessagePageQuery { conversation, branch: Some(branch), from, direction, limit };
        Ok(self.store.message_page(query).await?)
    }

    /// Returns one message with its address.
    pub async fn message(&self, id: MessageId) -> Result<LocatedMessage> {
        let found = self.store.messages(MessagesQuery::Ids(vec![id])).await?;
        found.into_iter().next().ok_or_else(|| Error::not_found("message", id))
    }

    /// Returns the branches of a conversation.
    pub async fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        Ok(self.store.branches(conversation).await?)
    }

    /// Returns the siblings of a message, itself included: all pages of [`Self::related`].
    pub async fn siblings(&self, id: MessageId) -> Result<Vec<LocatedMessage>> {
        self.all_related(id, Related::Siblings).await
    }

    /// Returns the thread of replies that a message belongs to: all pages of [`Self::related`].
    pub async fn thread(&self, id: MessageId) -> Result<Vec<LocatedMessage>> {
        self.all_related(id, Related::Thread).await
    }

    /// Returns a page of the siblings of a message, or of its thread of replies.
    pub async fn related(&self, query: RelatedQuery) -> Result<LocatedMessagePage> {
        Ok(self.store.related(query).await?)
    }

    async fn all_related(&self, message: MessageId, related: Related) -> Result<Vec<LocatedMessage>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.related(RelatedQuery { message, related, after }).await?;
            all.extend(page.messages);
            if !page.more {
                return Ok(all);
            }
            after = all.last().map(|placed: &LocatedMessage| placed.message.id);
        }
    }

    /// Appends a message after one of the path, on a new branch, and shows that; the old tail stays on its branch.
    pub async fn fork(
        &self,
        conversation: ConversationId,
        after: MessageId,
        message: MessageDraft,
    ) -> Result<MessageId> {
        let message = message.finish(&self.ids)?;
        let id = message.id;
        let change = Change::AppendMessages {
            conversation,
            at: MessageAt::After { message: Some(after), branch: self.ids.make(BranchId::new) },
            head: HeadMove::Follow,
            why: BranchReason::Fork,
            messages: vec![message],
            origins: Vec::new(),
        };
        self.change(change).await?;
        Ok(id)
    }

    /// Creates a conversation that begins with the path up to a message. Nothing is copied.
    pub async fn fork_to_new(
        &self,
        conversation: ConversationId,
        after: MessageId,
        mut draft: ConversationDraft,
    ) -> Result<ConversationId> {
        let branches = self.store.branches(conversation).await?;
        // Refuses a message that is neither on the current path nor owned by the conversation.
        self.page(conversation, Some(after), Direction::Backward, 1).await?;
        let placed = self.message(after).await?;
        let shown = placed.on_path || placed.conversation != conversation;
        let parent = match branches.iter().find(|branch| branch.is_head) {
            Some(head) if shown => head.id,
            _ => placed.branch,
        };
        draft.forked_from = Some(conversation);
        let (id, first, branch) =
            (self.ids.make(ConversationId::new), self.ids.make(BranchId::new), self.ids.make(BranchId::new));
        let changes = vec![
            Change::CreateConversation { id, branch: first, draft, importing: false },
            Change::OpenBranch {
                conversation: id,
                branch,
                base: Some(BranchBase { parent, fork: Some(after) }),
                own: Vec::new(),
                pieces: Vec::new(),
                why: BranchReason::Fork,
                origins: Vec::new(),
            },
            Change::MoveHead { conversation: id, to: HeadTarget::End(branch) },
        ];
        self.commit(changes, Vec::new()).await?;
        Ok(id)
    }

    /// Shows the path up to a message; the next append forks there.
    pub async fn rewind(&self, conversation: ConversationId, to: MessageId) -> Result<()> {
        self.change(Change::MoveHead { conversation, to: HeadTarget::Message(to) }).await.map(drop)
    }

    /// Shows the branch of a message, to its end.
    pub async fn switch(&self, conversation: ConversationId, message: MessageId) -> Result<()> {
        let branch = self.message(message).await?.branch;
        self.switch_branch(conversation, branch).await
    }

    /// Shows a branch to its end.
    pub async fn switch_branch(&self, conversation: ConversationId, branch: BranchId) -> Result<()> {
        self.change(Change::MoveHead { conversation, to: HeadTarget::End(branch) }).await.map(drop)
    }

    /// Replaces a message; the old one stays as an alternative.
    pub async fn edit(
        &self,
        conversation: ConversationId,
        message: MessageId,
        with: MessageDraft,
        tail: FollowUps,
    ) -> Result<MessageId> {
        let with = with.finish(&self.ids)?;
        let id = with.id;
        let change = match tail {
            FollowUps::Detach => self.alternative_to(conversation, message, with, BranchReason::Edit),
            FollowUps::Keep => Change::Splice {
                conversation,
                branch: self.ids.make(BranchId::new),
                at: SplicePosition::Replace(MessageRange { first: message, last: message }),
                messages: vec![with],
                origins: Vec::new(),
            },
        };
        self.change(change).await?;
        Ok(id)
    }

    /// Replaces an answer and shows the new one; the old answer stays as an alternative.
    pub async fn regenerate(
        &self,
        conversation: ConversationId,
        answer: MessageId,
        with: MessageDraft,
    ) -> Result<MessageId> {
        let with = with.finish(&self.ids)?;
        let id = with.id;
        self.change(self.alternative_to(conversation, answer, with, BranchReason::Retry)).await?;
        Ok(id)
    }

    fn alternative_to(
        &self,
        conversation: ConversationId,
        message: MessageId,
        with: NewMessage,
        why: BranchReason,
    ) -> Change {
        Change::AppendMessages {
            conversation,
            at: MessageAt::InsteadOf { message, branch: self.ids.make(BranchId::new) },
            head: HeadMove::Follow,
            why,
            messages: vec![with],
            origins: Vec::new(),
        }
    }

    /// Inserts messages into the current path after a message, `None` for its start. The tail follows them.
    pub async fn insert(
        &self,
        conversation: ConversationId,
        after: Option<MessageId>,
        messages: Vec<MessageDraft>,
    ) -> Result<Vec<MessageId>> {
        let messages: Vec<NewMessage> =
            messages.into_iter().map(|draft| draft.finish(&self.ids)).collect::<Result<_>>()?;
        let ids = messages.iter().map(|message| message.id).collect();
        let branch = self.ids.make(BranchId::new);
        self.change(Change::Splice {
            conversation,
            branch,
            at: SplicePosition::After(after),
            messages,
            origins: Vec::new(),
        })
        .await?;
        Ok(ids)
    }

    /// Removes messages from the current path; they stay on their branch.
    pub async fn remove(&self, conversation: ConversationId, stretch: MessageRange) -> Result<()> {
        let branch = self.ids.make(BranchId::new);
        let at = SplicePosition::Replace(stretch);
        self.change(Change::Splice { conversation, branch, at, messages: Vec::new(), origins: Vec::new() })
            .await
            .map(drop)
    }

    /// Stores a message that could not be sent off the path: not counted, not shown, not lost.
    pub async fn keep_failed(&self, conversation: ConversationId, message: MessageDraft) -> Result<MessageId> {
        let head = self.conversation(conversation).await?.head;
        let message = message.with_status(MessageStatus::Failed).finish(&self.ids)?;
        let id = message.id;
        let change = Change::AppendMessages {
            conversation,
            at: MessageAt::After { message: head, branch: self.ids.make(BranchId::new) },
            head: HeadMove::Stay,
            why: BranchReason::Withdrawal,
            messages: vec![message],
            origins: Vec::new(),
        };
        self.change(change).await?;
        Ok(id)
    }
}
