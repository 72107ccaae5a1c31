//! The database: the public API over a store, with one method per user-level operation.

pub(crate) mod ulid;
pub(crate) mod message_draft;
pub(crate) mod conversation;
pub(crate) mod message;
pub(crate) mod stream;
pub(crate) mod annotations;
pub(crate) mod run;
pub(crate) mod undo;
pub(crate) mod resolve;
pub(crate) mod draft;
pub(crate) mod project;
pub(crate) mod library;
pub(crate) mod blob;
pub(crate) mod journal;
pub(crate) mod search;
pub(crate) mod maintenance;
pub(crate) mod erase;

use crate::database::ulid::{UlidGenerator, fresh_key, made_at};
use crate::error::{Error, Result};
use crate::location::Location;
use manent_model::{Author, Timestamp};
use manent_store::postgres::PostgresStore;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::{
    Change, ChangeResult, Committed, DamageLog, Expect, Permissions, Priority, Store, StoreError, Transaction,
};
use std::path::Path;
use std::sync::Arc;

/// An open database. Cloning is cheap and returns another handle to the same store.
#[derive(Clone)]
pub struct Database {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ids: Arc<UlidGenerator>,
    actor: Option<Author>,
    /// Preconditions of every commit of this handle.
    expect: Vec<Expect>,
    /// The idempotent request that this handle belongs to.
    request: Option<Request>,
    /// Name of the API key that this handle is limited to; separates the idempotency keys of different API keys.
    grant: Option<Arc<str>>,
}

/// A request that may be retried.
#[derive(Clone)]
struct Request {
    key: Vec<u8>,
    /// The key contains its creation time; see [`request_key`](crate::request_key).
    is_dated: bool,
}

/// Maximum attempts of a commit whose outcome is unknown; a retry gets the actual outcome from the store.
const ATTEMPTS: usize = 4;

impl Database {
    /// Opens or creates a database file, or a store on a server if the path is a URL: `postgres://…`.
    ///
    /// Acknowledged commits are on disk. This reads the store before it returns and may migrate it; in an async
    /// program call it on a blocking thread.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_at(&Location::of(path))
    }

    /// Opens or creates the store at a place.
    pub fn open_at(place: &Location) -> Result<Self> {
        Ok(Self::from_store(match place {
            Location::File(path) => Arc::new(SqliteStore::open(SqliteOptions::new(path))?),
            Location::Server(options) => Arc::new(PostgresStore::open(options.clone())?),
        }))
    }

    /// Wraps a store.
    pub fn from_store(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            ids: Arc::new(UlidGenerator::default()),
            actor: None,
            expect: Vec::new(),
            request: None,
            grant: None,
        }
    }

    /// Returns a handle with the permissions of a key: its access scope limits every read and every change.
    pub fn granted(&self, grant: Permissions) -> Self {
        let id = Some(Arc::from(grant.id.as_str()));
        Self { store: self.store.clone().authorized(grant), grant: id, ..self.clone() }
    }

    /// Returns a handle whose changes are recorded with this actor.
    pub fn with_actor(&self, actor: Author) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// Returns a handle whose commits have a precondition; reads ignore it.
    ///
    /// For operations with several commits, purge and erase, only the first commit checks it.
    pub fn with_precondition(&self, expect: Expect) -> Self {
        let mut handle = self.clone();
        handle.expect.push(expect);
        handle
    }

    /// Returns a handle for one idempotent request, which may be retried after a crash or a lost response.
    ///
    /// The same calls in the same order on a handle with the same key generate the same ids and time, so the store
    /// replays its answer and changes nothing. The same key with a different request is a conflict. A retry that runs
    /// concurrently with its first attempt may get that conflict too; asking for a new handle resolves it. Keys are
    /// remembered for a week; keys of [`request_key`](crate::request_key) need no storage for an append.
    pub async fn idempotent(&self, key: &str) -> Result<Self> {
        let bytes = key.as_bytes().to_vec();
        let made = made_at(key);
        let at = match made {
            Some(made) => made,
            None => self.store.idempotent_request_time(bytes.clone()).await?.unwrap_or_else(manent_store::now),
        };
        // The same key text under two API keys means two requests, which must not get the same ids.
        let ids = match &self.grant {
            Some(grant) => {
                let length = (grant.len() as u64).to_le_bytes();
                UlidGenerator::of_request(&[&length[..], grant.as_bytes(), &bytes].concat(), at)
            }
            None => UlidGenerator::of_request(&bytes, at),
        };
        let ids = Arc::new(ids);
        Ok(Self { ids, request: Some(Request { key: bytes, is_dated: made.is_some() }), ..self.clone() })
    }

    /// Returns whether this handle is for a request that may be a retry.
    pub(crate) fn may_be_again(&self) -> bool {
        self.request.is_some()
    }

    /// Returns a handle without preconditions and key, for operations with several commits.
    pub(crate) fn detached(&self) -> Self {
        let ids = match self.request {
            Some(_) => Arc::new(UlidGenerator::default()),
            None => self.ids.clone(),
        };
        Self { ids, expect: Vec::new(), request: None, ..self.clone() }
    }

    /// Returns a handle whose lists and pages skip damaged records, and the log of the skipped ones.
    pub(crate) fn skipping_damaged(&self) -> (Self, Arc<DamageLog>) {
        let damage = Arc::new(DamageLog::default());
        let store = self.store.clone().skipping_damaged(damage.clone());
        (Self { store, ..self.clone() }, damage)
    }

    /// Returns the underlying store, for operations that this type does not offer.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Generates an id for a change that needs one: `database.new_id(NoteId::new)`. Ids are monotonic within a
    /// process.
    pub fn new_id<T>(&self, new: fn(u64, [u8; 10]) -> T) -> T {
        self.ids.make(new)
    }

    /// Finishes accepted commits and closes the store; other handles then get `Closed`.
    pub async fn close(&self) -> Result<()> {
        Ok(self.store.close().await?)
    }

    /// Commits a single change.
    pub async fn change(&self, change: Change) -> Result<Committed> {
        self.commit(vec![change], Vec::new()).await
    }

    /// Commits several changes atomically.
    pub async fn commit(&self, changes: Vec<Change>, expect: Vec<Expect>) -> Result<Committed> {
        let (key, at, actor) = (self.key_for(&changes), self.ids.now(), self.actor.clone());
        self.send(Transaction { key, at, actor, expect, changes, priority: Priority::Normal }).await
    }

    fn key_for(&self, changes: &[Change]) -> Option<Vec<u8>> {
        match &self.request {
            // A step that is repeated until its operation is complete needs no idempotency key, and one key cannot
            // serve several commits.
            Some(_) if changes.iter().all(is_one_of_many) => None,
            // An append with a dated key gets the same ids on every attempt, and these act as its key.
            Some(Request { is_dated: true, .. }) if changes.iter().all(is_append) => None,
            Some(Request { key, .. }) => Some(key.clone()),
            // Appends and conversation creation are idempotent by their ids; other changes get a generated key.
            None => (!changes.iter().all(is_own_key)).then(fresh_key),
        }
    }

    /// Commits at low priority with an explicit timestamp. Used by imports and maintenance.
    pub(crate) async fn commit_background(
        &self,
        at: Timestamp,
        actor: Option<Author>,
        change: Change,
    ) -> Result<Committed> {
        let changes = vec![change];
        let key = self.key_for(&changes);
        self.send(Transaction { key, at, actor, expect: Vec::new(), changes, priority: Priority::Background }).await
    }

    /// Sends a transaction with this handle's preconditions, and retries until its outcome is known.
    pub async fn send(&self, mut transaction: Transaction) -> Result<Committed> {
        transaction.expect.extend_from_slice(&self.expect);
        for _ in 1..ATTEMPTS {
            match self.store.commit(transaction.clone()).await {
                Err(StoreError::OutcomeUnknown) => {}
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.store.commit(transaction).await?)
    }
}

/// Returns whether a change is one step of a multi-commit operation.
fn is_one_of_many(change: &Change) -> bool {
    matches!(change, Change::PutBlobPiece { .. } | Change::Purge { .. } | Change::Erase { .. })
}

fn is_append(change: &Change) -> bool {
    matches!(change, Change::AppendMessages { .. })
}

/// Returns whether a change is idempotent by itself.
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

/// Returns the result of a commit with a single change.
pub(crate) fn only(committed: Committed) -> ChangeResult {
    committed.results.into_iter().next().unwrap_or(ChangeResult::Applied)
}

/// The result does not match the type of the change: a defect of the engine.
pub(crate) fn unexpected(done: &ChangeResult) -> Error {
    StoreError::Internal(format!("unexpected result of a change: {done:?}")).into()
}
