//! The database: a store with names for what people do.

use crate::error::{Error, Result};
use crate::ids::{Ids, fresh_key};
use manent_model::{Author, Micros};
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{Change, Committed, Done, Expect, Lane, Store, StoreError, Transaction};
use std::path::Path;
use std::sync::Arc;

/// An open database. Cloning it is cheap and gives another handle to the same store.
#[derive(Clone)]
pub struct Database {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ids: Arc<Ids>,
    actor: Option<Author>,
}

/// How often a commit whose outcome is unknown is sent again; the store then answers with the truth.
const TRIES: usize = 4;

impl Database {
    /// Opens a file, or makes it. Everything acknowledged is on disk.
    ///
    /// This reads the file before it returns and may migrate it; in an async program call it where waiting is allowed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let store = SqliteStore::open(SqliteOptions::new(path.as_ref()))?;
        Ok(Self::over(Arc::new(store)))
    }

    /// Puts a database over any store.
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self { store, ids: Arc::new(Ids::default()), actor: None }
    }

    /// Returns a handle whose changes are recorded as somebody's.
    pub fn acting_as(&self, actor: Author) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// Returns the store, for what has no name here.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Makes an id for a change that needs one: `database.new_id(NoteId::new)`. Ids of one process only ever grow.
    pub fn new_id<T>(&self, new: fn(u64, [u8; 10]) -> T) -> T {
        self.ids.make(new)
    }

    /// Finishes what was accepted and closes; other handles then answer that the store is closed.
    pub async fn close(&self) -> Result<()> {
        Ok(self.store.close().await?)
    }

    /// Does one thing.
    pub async fn change(&self, change: Change) -> Result<Committed> {
        self.commit(vec![change], Vec::new()).await
    }

    /// Does several things together, or none of them.
    pub async fn commit(&self, changes: Vec<Change>, expect: Vec<Expect>) -> Result<Committed> {
        let transaction = Transaction {
            // An append is its own key, and so is the making of a conversation; other changes get one.
            key: (!changes.iter().all(is_own_key)).then(fresh_key),
            at: self.ids.now(),
            actor: self.actor.clone(),
            expect,
            changes,
            lane: Lane::Normal,
        };
        self.send(transaction).await
    }

    /// Does something between what is more urgent, at a given time: imports and maintenance.
    pub(crate) async fn change_low(&self, at: Micros, actor: Option<Author>, change: Change) -> Result<Committed> {
        let key = (!is_own_key(&change)).then(fresh_key);
        self.send(Transaction { key, at, actor, expect: Vec::new(), changes: vec![change], lane: Lane::Low }).await
    }

    /// Sends a transaction until its outcome is known.
    pub async fn send(&self, transaction: Transaction) -> Result<Committed> {
        for _ in 1..TRIES {
            match self.store.commit(transaction.clone()).await {
                Err(StoreError::OutcomeUnknown) => {}
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.store.commit(transaction).await?)
    }
}

/// Says whether sending a change twice does no harm.
fn is_own_key(change: &Change) -> bool {
    matches!(
        change,
        Change::CreateConversation { .. }
            | Change::AppendMessages { .. }
            | Change::FinishMessage { .. }
            | Change::PutScratch { .. }
            | Change::RemoveScratch { .. }
            | Change::PutBlobPiece { .. }
            | Change::Purge { .. }
            | Change::Erase { .. }
    )
}

/// Returns what the only change of a commit did.
pub(crate) fn only(committed: Committed) -> Done {
    committed.done.into_iter().next().unwrap_or(Done::Plain)
}

/// An answer of another kind than the change promises is a defect of the engine.
pub(crate) fn unexpected(done: &Done) -> Error {
    StoreError::Invalid(format!("the store answered {done:?}")).into()
}
