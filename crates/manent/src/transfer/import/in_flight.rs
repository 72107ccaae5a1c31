//! Conversations under way: handed to the store, while the next one is read and put together.

use crate::error::Result;
use crate::transfer::import::conversation_import::ConversationImport;
use manent_formats::MessageIndex;
use manent_store::Committed;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Poll;

/// So many may be under way; each holds a MiB or two at most.
const IN_FLIGHT_MAX: usize = 16;

type Sent<'a> = Pin<Box<dyn Future<Output = Result<Committed>> + Send + 'a>>;

/// A conversation under way.
pub(crate) struct PendingCommit<'a> {
    import: ConversationImport,
    /// The message that is shown last, if the file says which.
    head: Option<MessageIndex>,
    /// The answer; only its owner waits for it, so the lock is never waited for.
    sent: Mutex<Sent<'a>>,
}

impl PendingCommit<'_> {
    /// Waits for the answer.
    pub(crate) async fn result(self) -> (ConversationImport, Option<MessageIndex>, Result<Committed>) {
        let sent = self.sent.into_inner();
        (self.import, self.head, sent.await)
    }
}

/// Conversations under way, the oldest first.
#[derive(Default)]
pub(crate) struct InFlight<'a>(VecDeque<PendingCommit<'a>>);

impl<'a> InFlight<'a> {
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= IN_FLIGHT_MAX
    }

    /// Says whether one with this name is under way.
    pub(crate) fn has(&self, external: &str) -> bool {
        self.0.iter().any(|flight| flight.import.item.external == external)
    }

    /// Lets one go. Asked once, it stands in the queue of the writer, behind those before it.
    pub(crate) async fn begin(&mut self, filling: ConversationImport, head: Option<MessageIndex>, mut sent: Sent<'a>) {
        let outcome = std::future::poll_fn(|context| match sent.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => Poll::Ready(None),
        });
        if let Some(outcome) = outcome.await {
            sent = Box::pin(std::future::ready(outcome));
        }
        self.0.push_back(PendingCommit { import: filling, head, sent: Mutex::new(sent) });
    }

    pub(crate) fn oldest(&mut self) -> Option<PendingCommit<'a>> {
        self.0.pop_front()
    }
}
