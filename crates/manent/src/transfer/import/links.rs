//! Links between conversations of one root, including references to ones that come later.

use crate::error::Result;
use crate::transfer::import::importer::Importer;
use manent_model::{ConversationId, OriginObject};
use std::collections::HashMap;

/// The conversations of a root, by external id.
#[derive(Default)]
pub(crate) struct Links {
    /// Conversations that were read.
    known: HashMap<String, ConversationId>,
    /// Conversations that were referred to before they were read, with the ids reserved for them.
    pending: HashMap<String, ConversationId>,
}

impl Links {
    /// Records that a conversation was read.
    pub(crate) fn resolve(&mut self, external: &str, id: ConversationId) {
        self.pending.remove(external);
        self.known.insert(external.to_owned(), id);
    }

    /// Takes the id reserved for a conversation.
    pub(crate) fn take(&mut self, external: &str) -> Option<ConversationId> {
        self.pending.remove(external)
    }

    /// Restores a reservation of an interrupted import.
    pub(crate) fn keep(&mut self, external: Option<&str>, id: Option<ConversationId>) {
        if let (Some(external), Some(id)) = (external, id)
            && !self.known.contains_key(external)
        {
            self.pending.entry(external.to_owned()).or_insert(id);
        }
    }
}

impl Importer<'_> {
    /// Returns the id of a linked conversation. Readers only link within one root, so a conversation that was not read
    /// yet will be, and gets a reserved id.
    pub(crate) async fn linked(&mut self, external: Option<&str>) -> Result<Option<ConversationId>> {
        let Some(external) = external else { return Ok(None) };
        let known = self.links.known.get(external).or_else(|| self.links.pending.get(external)).copied();
        if known.is_some() {
            return Ok(known);
        }
        let earlier = self.earlier(external).await?;
        let id = earlier.unwrap_or_else(|| self.database.new_id(ConversationId::new));
        self.links.pending.insert(external.to_owned(), id);
        Ok(Some(id))
    }

    /// The conversation that an earlier import of the same file created from this one.
    async fn earlier(&self, external: &str) -> Result<Option<ConversationId>> {
        let (Some(known), Some(source)) = (&self.known, &self.source) else { return Ok(None) };
        for origin in known.named(self.database, self.format.name, external).await? {
            match origin.object {
                OriginObject::Conversation(id) if known.same_place(&origin, &source.source) => return Ok(Some(id)),
                _ => {}
            }
        }
        Ok(None)
    }
}
