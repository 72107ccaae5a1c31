//! Losses: content that a target format cannot represent, counted for the report.

use crate::core::export::{ExportSource, ExportedMessage, Loss, WriteError};
use manent_model::ConversationId;

/// Counts the messages of the file behind the end of the shown path, in a format that cannot mark them as removed.
#[derive(Debug, Default)]
pub(crate) struct LeftTail(usize);

impl LeftTail {
    /// Looks at the next message of a conversation.
    pub(crate) fn look(&mut self, message: &ExportedMessage) {
        match (message.is_removed, &message.record) {
            (true, _) => self.0 += 1,
            // Messages removed from the middle were removed on purpose.
            (false, Some(_)) => self.0 = 0,
            (false, None) => {}
        }
    }

    /// Adds what was counted to the losses.
    pub(crate) fn tell(self, losses: &mut Losses, conversation: ConversationId) {
        losses.add(conversation, "messages behind the end of the shown path", self.0);
    }
}

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
        library: &mut dyn ExportSource,
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
