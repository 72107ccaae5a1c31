//! What a target cannot hold, counted so that it is said once.

use crate::out::{Library, Loss, WriteError};
use manent_model::ConversationId;

/// Losses of a writer.
#[derive(Debug, Default)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Counts what is lost of a conversation.
    pub fn add(&mut self, conversation: ConversationId, what: &'static str, count: usize) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().rev().find(|loss| loss.conversation == conversation && loss.what == what) {
            Some(loss) => loss.count += count as u64,
            None => self.0.push(Loss { conversation, what, count: count as u64 }),
        }
    }

    /// Counts the events of a conversation, for formats that have no log.
    pub fn events(
        &mut self,
        library: &mut dyn Library,
        place: usize,
        conversation: ConversationId,
    ) -> Result<(), WriteError> {
        let mut after = 0;
        loop {
            let page = library.events(place, after)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.cursor;
            self.add(conversation, "events", page.len());
        }
    }

    /// Returns what was counted.
    pub fn told(self) -> Vec<Loss> {
        self.0
    }
}
