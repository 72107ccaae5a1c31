//! The database: a store with names for what people do.

use crate::error::{Error, Result};
use crate::ids::{Ids, fresh_key, made_at, now};
use crate::place::Place;
use manent_model::{Author, Micros};
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{
    Change, Committed, DamageLog, Done, Expect, Grant, GrantedStore, Lane, Store, StoreError, Transaction,
};
use std::path::Path;
use std::sync::Arc;

/// An open database. Cloning it is cheap and gives another handle to the same store.
#[derive(Clone)]
pub struct Database {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ids: Arc<Ids>,
    actor: Option<Author>,
    /// What every commit of this handle expects.
    expect: Vec<Expect>,
    /// The request that this handle is for.
    request: Option<Request>,
    /// The key that this handle is of.
    grant: Option<Arc<str>>,
}

/// A request that may be made again.
#[derive(Clone)]
struct Request {
    key: Vec<u8>,
    /// The key says when it was made; see [`request_key`](crate::request_key).
    is_dated: bool,
}

/// How often a commit whose outcome is unknown is sent again; the store then answers with the truth.
const TRIES: usize = 4;

impl Database {
    /// Opens a file, or makes it; or the store on a server, if that is what the path says: `postgres://…`.
    ///
    /// Everything acknowledged is on disk. This reads the store before it returns and may migrate it; in an async program
    /// call it where waiting is allowed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_at(&Place::of(path))
    }

    /// Opens the store at a place, or makes it.
    pub fn open_at(place: &Place) -> Result<Self> {
        Ok(Self::over(match place {
            Place::File(path) => Arc::new(SqliteStore::open(SqliteOptions::new(path))?),
            Place::Server(options) => Arc::new(PostgresStore::open(options.clone())?),
        }))
    }

    /// Puts a database over any store.
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self { store, ids: Arc::new(Ids::default()), actor: None, expect: Vec::new(), request: None, grant: None }
    }

    /// Returns a handle that does what a key allows: every read and every change is limited to what it reaches.
    pub fn granted(&self, grant: Grant) -> Self {
        let id = Some(Arc::from(grant.id.as_str()));
        Self { store: Arc::new(GrantedStore::new(self.store.clone(), grant)), grant: id, ..self.clone() }
    }

    /// Returns a handle whose changes are recorded as somebody's.
    pub fn acting_as(&self, actor: Author) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// Returns a handle whose commits happen only while something is true; reads do not ask.
    ///
    /// Of what takes many commits, purging and erasing, only the first one expects it.
    pub fn expecting(&self, expect: Expect) -> Self {
        let mut handle = self.clone();
        handle.expect.push(expect);
        handle
    }

    /// Returns a handle for exactly one request, which may be sent again: after a crash, or when its answer got lost.
    ///
    /// The same calls in the same order on a handle with the same key make the same ids at the same time, so the store
    /// answers what it answered before and changes nothing. The same key with another request is a conflict. A twin
    /// that is under way at the same moment may meet that conflict too; asking for a handle again settles it. Keys are
    /// remembered for a week; those of [`request_key`](crate::request_key) cost an append nothing to remember.
    pub async fn once(&self, key: &str) -> Result<Self> {
        let bytes = key.as_bytes().to_vec();
        let made = made_at(key);
        let at = match made {
            Some(made) => made,
            None => self.store.request_at(bytes.clone()).await?.unwrap_or_else(now),
        };
        // Two keys that ask under the same name ask for two things, which cannot have the same ids.
        let ids = match &self.grant {
            Some(grant) => {
                let length = (grant.len() as u64).to_le_bytes();
                Ids::of_request(&[&length[..], grant.as_bytes(), &bytes].concat(), at)
            }
            None => Ids::of_request(&bytes, at),
        };
        let ids = Arc::new(ids);
        Ok(Self { ids, request: Some(Request { key: bytes, is_dated: made.is_some() }), ..self.clone() })
    }

    /// Says whether this handle is for a request that may have been made before.
    pub(crate) fn may_be_again(&self) -> bool {
        self.request.is_some()
    }

    /// Returns a handle without expectations and key, for what takes many commits.
    pub(crate) fn plain(&self) -> Self {
        let ids = match self.request {
            Some(_) => Arc::new(Ids::default()),
            None => self.ids.clone(),
        };
        Self { ids, expect: Vec::new(), request: None, ..self.clone() }
    }

    /// Returns a handle whose lists and pages leave damaged records out, and the log in which it names them.
    pub(crate) fn skipping_damaged(&self) -> (Self, Arc<DamageLog>) {
        let damage = Arc::new(DamageLog::default());
        let store = self.store.clone().skipping_damaged(damage.clone());
        (Self { store, ..self.clone() }, damage)
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
        let (key, at, actor) = (self.key_for(&changes), self.ids.now(), self.actor.clone());
        self.send(Transaction { key, at, actor, expect, changes, lane: Lane::Normal }).await
    }

    fn key_for(&self, changes: &[Change]) -> Option<Vec<u8>> {
        match &self.request {
            // What is sent again and again until it is done needs no key, and one key cannot serve all its commits.
            Some(_) if changes.iter().all(is_one_of_many) => None,
            // An append with a key that says when it was made has the same ids every time, and these are its key.
            Some(Request { is_dated: true, .. }) if changes.iter().all(is_append) => None,
            Some(Request { key, .. }) => Some(key.clone()),
            // An append is its own key, and so is the making of a conversation; other changes get one.
            None => (!changes.iter().all(is_own_key)).then(fresh_key),
        }
    }

    /// Does something between what is more urgent, at a given time: imports and maintenance.
    pub(crate) async fn change_low(&self, at: Micros, actor: Option<Author>, change: Change) -> Result<Committed> {
        let changes = vec![change];
        let key = self.key_for(&changes);
        self.send(Transaction { key, at, actor, expect: Vec::new(), changes, lane: Lane::Low }).await
    }

    /// Sends a transaction until its outcome is known, with what this handle expects.
    pub async fn send(&self, mut transaction: Transaction) -> Result<Committed> {
        transaction.expect.extend_from_slice(&self.expect);
        for _ in 1..TRIES {
            match self.store.commit(transaction.clone()).await {
                Err(StoreError::OutcomeUnknown) => {}
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.store.commit(transaction).await?)
    }
}

/// Says whether a change is one step of a loop.
fn is_one_of_many(change: &Change) -> bool {
    matches!(change, Change::PutBlobPiece { .. } | Change::Purge { .. } | Change::Erase { .. })
}

fn is_append(change: &Change) -> bool {
    matches!(change, Change::AppendMessages { .. })
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

/// The result of a change has another type than the change: a defect of the engine.
pub(crate) fn unexpected(done: &Done) -> Error {
    StoreError::Internal(format!("unexpected result of a change: {done:?}")).into()
}
