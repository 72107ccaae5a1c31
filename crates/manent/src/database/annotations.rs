//! Annotations of a conversation: notes, bookmarks, state, folds.

use crate::database::Database;
use crate::error::Result;
use manent_model::{ConversationId, FoldId, FoldKind, Json, MessageId, MessageRange, NoteId};
use manent_store::{Annotations, AnnotationsQuery, Change, NewFold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fold to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoldDraft {
    /// The message after which the fold holds; paths that fork before it do not see the fold.
    pub after: MessageId,
    /// Kind of the fold.
    pub kind: FoldKind,
    /// The covered messages.
    pub covers: Vec<MessageRange>,
    /// The summary, for folds of that kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The fold that this one extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<FoldId>,
    /// Free-form record of how it was made: model, prompt, usage, cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Json>,
}

impl FoldDraft {
    /// Creates a fold of one range that holds after the end of the range.
    pub fn new(kind: FoldKind, covers: MessageRange) -> Self {
        let after = covers.last;
        Self { after, kind, covers: vec![covers], summary: None, parent: None, made_by: None }
    }

    /// Creates a fold that replaces a range with a summary.
    pub fn summary(covers: MessageRange, summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..Self::new(FoldKind::Summary, covers) }
    }
}

impl Database {
    /// Returns everything attached to a conversation: all pages of [`Self::annotations_page`].
    pub async fn annotations(&self, conversation: ConversationId) -> Result<Annotations> {
        let mut all = Annotations::default();
        let mut query = AnnotationsQuery::from(conversation);
        loop {
            let page = self.annotations_page(query.clone()).await?;
            all.append(page);
            match all.next.take() {
                Some(next) => query.after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Returns a page of what is attached to a conversation, cut by bytes as well.
    pub async fn annotations_page(&self, query: AnnotationsQuery) -> Result<Annotations> {
        Ok(self.store.annotations(query).await?)
    }

    /// Adds a note to a message: a rating, a pin, a label.
    pub async fn add_note(&self, message: MessageId, kind: &str, value: Json) -> Result<NoteId> {
        let id = self.ids.make(NoteId::new);
        self.change(Change::AddNote { id, message, kind: kind.to_owned(), value }).await?;
        Ok(id)
    }

    /// Removes a note.
    pub async fn remove_note(&self, id: NoteId) -> Result<()> {
        self.change(Change::RemoveNote { id }).await.map(drop)
    }

    /// Bookmarks the path up to a message, `None` for the empty path; setting the same name again moves the bookmark.
    pub async fn set_bookmark(
        &self,
        conversation: ConversationId,
        name: &str,
        head: Option<MessageId>,
        metadata: Option<Json>,
    ) -> Result<()> {
        let change = Change::SetBookmark { conversation, name: name.to_owned(), head, metadata };
        self.change(change).await.map(drop)
    }

    /// Removes a bookmark.
    pub async fn remove_bookmark(&self, conversation: ConversationId, name: &str) -> Result<()> {
        self.change(Change::RemoveBookmark { conversation, name: name.to_owned() }).await.map(drop)
    }

    /// Sets a named value after a message, `None` for the start of the conversation; no value unsets it there.
    pub async fn set_state(
        &self,
        conversation: ConversationId,
        name: &str,
        after: Option<MessageId>,
        value: Option<Json>,
    ) -> Result<()> {
        self.change(Change::SetState { conversation, name: name.to_owned(), after, value }).await.map(drop)
    }

    /// Returns a named value at a message, `None` for the head; `None` if it was never set there, or was unset.
    pub async fn state(&self, conversation: ConversationId, name: &str, at: Option<MessageId>) -> Result<Option<Json>> {
        Ok(self.store.state(conversation, name.to_owned(), at).await?)
    }

    /// Adds a fold: the model sees its summary, or nothing, in place of the covered messages.
    pub async fn add_fold(&self, conversation: ConversationId, draft: FoldDraft) -> Result<FoldId> {
        let id = self.ids.make(FoldId::new);
        let FoldDraft { after, kind, covers, summary, parent, made_by } = draft;
        let fold = NewFold { id, after, kind, covers, summary, parent, made_by };
        self.change(Change::AddFold { conversation, fold }).await?;
        Ok(id)
    }

    /// Hides messages from the model; users still see them. Returns the fold that hides them.
    pub async fn hide(&self, conversation: ConversationId, stretch: MessageRange) -> Result<FoldId> {
        self.add_fold(conversation, FoldDraft::new(FoldKind::Drop, stretch)).await
    }

    /// Deactivates a fold, so that the model sees the covered messages again.
    pub async fn unfold(&self, fold: FoldId) -> Result<()> {
        self.change(Change::SetFoldActive { fold, active: false }).await.map(drop)
    }

    /// Reactivates a fold.
    pub async fn refold(&self, fold: FoldId) -> Result<()> {
        self.change(Change::SetFoldActive { fold, active: true }).await.map(drop)
    }
}
