//! What is attached to conversations: notes, bookmarks, state, folds.

use crate::database::Database;
use crate::error::Result;
use manent_model::{ConversationId, FoldId, FoldKind, Json, MessageId, NoteId, Stretch};
use manent_store::{Attached, AttachedQuery, Change, NewFold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fold that is to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoldDraft {
    /// The message after which it holds; paths that fork before do not see it.
    pub after: MessageId,
    /// What it does.
    pub kind: FoldKind,
    /// The messages it covers.
    pub covers: Vec<Stretch>,
    /// The summary, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The fold that this one grew from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<FoldId>,
    /// Who or what made it: model, prompt, usage, cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Json>,
}

impl FoldDraft {
    /// Begins a fold of one stretch that holds behind it.
    pub fn new(kind: FoldKind, covers: Stretch) -> Self {
        let after = covers.last;
        Self { after, kind, covers: vec![covers], summary: None, parent: None, made_by: None }
    }

    /// Begins a fold in which a summary stands for a stretch.
    pub fn summary(covers: Stretch, summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..Self::new(FoldKind::Summary, covers) }
    }
}

impl Database {
    /// Returns everything attached to a conversation: all pages of [`Self::attached_page`].
    pub async fn attached(&self, conversation: ConversationId) -> Result<Attached> {
        let mut all = Attached::default();
        let mut query = AttachedQuery::from(conversation);
        loop {
            let page = self.attached_page(query.clone()).await?;
            all.append(page);
            match all.next.take() {
                Some(next) => query.after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Returns a page of what is attached to a conversation, cut by bytes as well.
    pub async fn attached_page(&self, query: AttachedQuery) -> Result<Attached> {
        Ok(self.store.attached(query).await?)
    }

    /// Says something about a message: a rating, a pin, a label.
    pub async fn add_note(&self, message: MessageId, kind: &str, value: Json) -> Result<NoteId> {
        let id = self.ids.make(NoteId::new);
        self.change(Change::AddNote { id, message, kind: kind.to_owned(), value }).await?;
        Ok(id)
    }

    /// Takes a note back.
    pub async fn remove_note(&self, id: NoteId) -> Result<()> {
        self.change(Change::RemoveNote { id }).await.map(drop)
    }

    /// Names the path up to a message, `None` for the empty one; the same name again moves it.
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

    /// Forgets a named place.
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

    /// Returns the value that a name has at a message, `None` for the head; none where it was never set, or was unset.
    pub async fn state(&self, conversation: ConversationId, name: &str, at: Option<MessageId>) -> Result<Option<Json>> {
        Ok(self.store.state(conversation, name.to_owned(), at).await?)
    }

    /// Folds messages: what stands for them, or what is left out of them, is up to the draft.
    pub async fn add_fold(&self, conversation: ConversationId, draft: FoldDraft) -> Result<FoldId> {
        let id = self.ids.make(FoldId::new);
        let FoldDraft { after, kind, covers, summary, parent, made_by } = draft;
        let fold = NewFold { id, after, kind, covers, summary, parent, made_by };
        self.change(Change::AddFold { conversation, fold }).await?;
        Ok(id)
    }

    /// Hides messages from the model; the reader still sees them. Returns the fold that does it.
    pub async fn hide(&self, conversation: ConversationId, stretch: Stretch) -> Result<FoldId> {
        self.add_fold(conversation, FoldDraft::new(FoldKind::Drop, stretch)).await
    }

    /// Shows the model again what a fold hid or summed up.
    pub async fn unfold(&self, fold: FoldId) -> Result<()> {
        self.change(Change::SetFoldActive { fold, active: false }).await.map(drop)
    }

    /// Puts a fold into force again.
    pub async fn refold(&self, fold: FoldId) -> Result<()> {
        self.change(Change::SetFoldActive { fold, active: true }).await.map(drop)
    }
}
