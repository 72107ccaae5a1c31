//! Conversations that go on from others of the same root, also from ones that come later in it.

use super::importer::Importer;
use crate::error::Result;
use manent_model::{ConversationId, OriginObject};
use std::collections::HashMap;

/// The conversations of a root, by their ids there.
#[derive(Default)]
pub(super) struct Links {
    /// Those that have come.
    here: HashMap<String, ConversationId>,
    /// Those that others name already, and the ids that they will have here.
    promised: HashMap<String, ConversationId>,
}

impl Links {
    /// One has come.
    pub(super) fn came(&mut self, external: &str, id: ConversationId) {
        self.promised.remove(external);
        self.here.insert(external.to_owned(), id);
    }

    /// Returns the id that was promised to one.
    pub(super) fn take(&mut self, external: &str) -> Option<ConversationId> {
        self.promised.remove(external)
    }

    /// Keeps what an import promised that was cut off before the other came.
    pub(super) fn keep(&mut self, external: Option<&str>, id: Option<ConversationId>) {
        if let (Some(external), Some(id)) = (external, id)
            && !self.here.contains_key(external)
        {
            self.promised.entry(external.to_owned()).or_insert(id);
        }
    }
}

impl Importer<'_> {
    /// Returns the id of a conversation that another names. A reader names only what is in the same root, so one that is not
    /// here will come.
    pub(super) async fn linked(&mut self, external: Option<&str>) -> Result<Option<ConversationId>> {
        let Some(external) = external else { return Ok(None) };
        let known = self.links.here.get(external).or_else(|| self.links.promised.get(external)).copied();
        if known.is_some() {
            return Ok(known);
        }
        let earlier = self.earlier(external).await?;
        let id = earlier.unwrap_or_else(|| self.database.new_id(ConversationId::new));
        self.links.promised.insert(external.to_owned(), id);
        Ok(Some(id))
    }

    /// The conversation that an earlier import of the same file made of this one.
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
