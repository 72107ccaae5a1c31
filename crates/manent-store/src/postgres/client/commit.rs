//! Pipelined commits: sent before their result is needed, and awaited later.

use super::Client;
use super::pipeline::{InFlight, await_all};
use crate::engine::sql::connection::{DbResult, EngineError};

/// A pipelined commit, with the statements that were sent before it.
pub(in crate::postgres) struct SentCommit {
    sent: Vec<InFlight>,
}

/// Whether the server itself refused a commit, so that nothing is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum CommitFailure {
    RolledBack,
    Ambiguous,
}

impl Client {
    /// Sends the batched statements and the commit. Until [`Self::await_result`] no rows can be requested; statements can
    /// only be sent.
    pub(in crate::postgres) fn send_commit(&self) -> DbResult<SentCommit> {
        let numbers = self.numbers();
        for (table, (next, given)) in numbers {
            if given {
                self.execute("update counter set next = $1 where name = $2", (next, table))?;
                self.numbers.borrow_mut().insert(table, (next, false));
            }
        }
        self.send_plain("commit")?;
        self.push();
        self.under_way.set(self.under_way.get() + 1);
        Ok(SentCommit { sent: std::mem::take(&mut *self.sent.borrow_mut()) })
    }

    /// Waits for a commit, the first one that was sent. An error says as well whether the server itself refused, and so
    /// whether nothing is stored.
    pub(in crate::postgres) fn await_result(&self, commit: SentCommit) -> Result<(), (EngineError, CommitFailure)> {
        let under_way = self.under_way.replace(0);
        let outcome = self.wait(async {
            let mut sent = commit.sent;
            let last = sent.pop().expect("a commit was sent");
            let settled = await_all(sent).await;
            Ok((settled, last.await))
        });
        self.under_way.set(under_way.saturating_sub(1));
        match outcome {
            Ok((Ok(()), Ok(()))) => Ok(()),
            // A server that fails a statement before the commit does not run the commit.
            Ok((Err(error), _)) if error.code().is_some() => Err((error.into(), CommitFailure::RolledBack)),
            // Others were first, or a rule does not hold; any other error may come behind the commit.
            Ok((_, Err(error))) if error.code().is_some_and(|code| ["40", "23"].contains(&&code.code()[..2])) => {
                Err((error.into(), CommitFailure::RolledBack))
            }
            Ok((Err(error), _) | (_, Err(error))) => Err((error.into(), CommitFailure::Ambiguous)),
            Err(error) => Err((error, CommitFailure::Ambiguous)),
        }
    }

    /// Rolls back the statements that were sent since the transaction began.
    pub(in crate::postgres) fn roll_back(&self) {
        self.clear_prefetched();
        self.forget_numbers();
        self.batch.borrow_mut().clear();
        self.sent.borrow_mut().clear();
        // A connection that is gone has rolled back by itself.
        let _ = self.run("rollback");
    }
}
