//! Pipelined commits: conversations that were submitted to the store, while the next one is read.

use crate::error::Result;
use crate::transfer::import::conversation_import::ConversationImport;
use manent_formats::MessageIndex;
use manent_store::Committed;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::Poll;

/// Maximum number of pending commits; each holds at most about 2 MiB.
const IN_FLIGHT_MAX: usize = 16;

type Sent<'a> = Pin<Box<dyn Future<Output = Result<Committed>> + Send + 'a>>;

/// A submitted conversation whose outcome is not known yet.
pub(crate) struct PendingCommit<'a> {
    import: ConversationImport,
    /// The message that is shown last, if the file says which.
    head: Option<MessageIndex>,
    /// The outcome. The lock makes the type `Sync` and is never contended.
    sent: Mutex<Sent<'a>>,
}

impl PendingCommit<'_> {
    /// Waits for the outcome.
    pub(crate) async fn result(self) -> (ConversationImport, Option<MessageIndex>, Result<Committed>) {
        let sent = self.sent.into_inner();
        (self.import, self.head, sent.await)
    }
}

/// Pending commits, oldest first.
#[derive(Default)]
pub(crate) struct InFlight<'a>(VecDeque<PendingCommit<'a>>);

impl<'a> InFlight<'a> {
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= IN_FLIGHT_MAX
    }

    /// Returns whether a conversation with this external id is pending.
    pub(crate) fn has(&self, external: &str) -> bool {
        self.0.iter().any(|flight| flight.import.item.external == external)
    }

    /// Adds a commit. Polling it once puts it into the queue of the writer, behind the earlier ones.
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
