//! Reply dispatcher: a thread that wakes callers, because waking many callers takes longer than applying their
//! transactions.

use crate::api::error::Result;
use crate::api::transaction::Committed;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// A waiting caller and its result.
pub(crate) type Reply = (oneshot::Sender<Result<Committed>>, Result<Committed>);

/// So few are answered at once: the way to another thread would cost more than it saves.
const INLINE_MAX: usize = 8;

pub(crate) struct ReplyDispatcher {
    sender: Option<mpsc::Sender<Vec<Reply>>>,
}

impl ReplyDispatcher {
    /// Starts the thread. Without one, every answer is given by the writer itself.
    pub(crate) fn start() -> Self {
        let (sender, receiver) = mpsc::channel::<Vec<Reply>>();
        let work = move || receiver.into_iter().for_each(send_now);
        let started = std::thread::Builder::new().name("manent-answers".to_owned()).spawn(work);
        Self { sender: started.is_ok().then_some(sender) }
    }

    /// Sends results to the waiting callers.
    pub(crate) fn send(&self, answers: Vec<Reply>) {
        let left = match &self.sender {
            Some(sender) if answers.len() > INLINE_MAX => sender.send(answers).err().map(|unsent| unsent.0),
            _ => Some(answers),
        };
        send_now(left.unwrap_or_default());
    }
}

fn send_now(answers: Vec<Reply>) {
    for (caller, answer) in answers {
        // The caller may have gone; what is stored stays stored.
        let _ = caller.send(answer);
    }
}
