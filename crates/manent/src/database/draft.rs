//! Drafts: unsent text, stored as scratch data.

use crate::database::Database;
use crate::error::Result;
use manent_model::{ConversationId, Json, Scratch};
use manent_store::{Change, ScratchQuery};

const DRAFT: &str = "draft";

impl Database {
    /// Saves an unsent text. Overwritten each time, never journaled.
    pub async fn save_draft(&self, conversation: ConversationId, actor: &str, text: &str) -> Result<()> {
        let scratch = Scratch {
            kind: DRAFT.to_owned(),
            id: conversation.to_string(),
            actor: actor.to_owned(),
            body: Json::of(&text),
            at: self.ids.now(),
        };
        self.change(Change::PutScratch { scratch }).await.map(drop)
    }

    /// Returns an unsent text.
    pub async fn draft(&self, conversation: ConversationId, actor: &str) -> Result<Option<String>> {
        let query = ScratchQuery {
            kind: Some(DRAFT.to_owned()),
            id: Some(conversation.to_string()),
            actor: Some(actor.to_owned()),
        };
        let found = self.store.scratch(query).await?.pop();
        Ok(found.and_then(|scratch| scratch.body.read().ok()))
    }

    /// Removes a draft, after the message made of it is acknowledged.
    pub async fn clear_draft(&self, conversation: ConversationId, actor: &str) -> Result<()> {
        let change =
            Change::RemoveScratch { kind: DRAFT.to_owned(), id: conversation.to_string(), actor: actor.to_owned() };
        self.change(change).await.map(drop)
    }
}
