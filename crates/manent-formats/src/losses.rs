//! What a target cannot hold, counted so that it is said once.

use crate::out::Loss;
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

    /// Returns what was counted.
    pub fn told(self) -> Vec<Loss> {
        self.0
    }
}
