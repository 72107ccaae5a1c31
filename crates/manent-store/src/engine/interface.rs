//! The [`Engine`] trait: the part of a store that differs between SQLite and PostgreSQL.

use super::access::access_check::AccessChecks;
use super::commit::commit_queue::{CommitQueue, Job};
use super::commit::prepare::prepare;
use super::read::Reading;
use super::search::indexing::IndexingMonitor;
use super::sql::tx_error::TxResult;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::store::ImportLock;
use crate::api::transaction::{Committed, Position, Transaction};
use manent_model::DigestKey;
use std::path::Path;
use tokio::sync::{Semaphore, oneshot, watch};

/// How many bytes of commits may wait; more callers wait outside.
pub(crate) const WAITING_BYTES: usize = 64 << 20;

/// A database engine with one open store. It checks no permissions: only
/// [`StoreView`](crate::StoreView) calls it.
pub(crate) trait Engine: Send + Sync + 'static {
    /// The key of the digests.
    fn key(&self) -> &DigestKey;
    /// The transactions that wait for the writer.
    fn queue(&self) -> &CommitQueue;
    /// The free bytes of the commit queue.
    fn waiting(&self) -> &Semaphore;
    /// The last committed position.
    fn position(&self) -> watch::Receiver<Position>;
    /// Runs a read on one of the reading threads. It may run again if the connection breaks.
    fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send;
    /// The thread that fills the index; none where there is no index.
    fn indexing(&self) -> Option<&IndexingMonitor>;
    /// See [`Store::acquire_import_lock`](crate::Store::acquire_import_lock).
    fn acquire_import_lock(&self) -> impl Future<Output = Result<ImportLock>> + Send;
    /// See [`Store::backup`](crate::Store::backup).
    fn backup(&self, to: &Path) -> impl Future<Output = Result<BackupReport>> + Send;
    /// See [`Store::verify`](crate::Store::verify).
    fn verify(&self) -> impl Future<Output = Result<VerifyReport>> + Send;
    /// See [`Store::doctor`](crate::Store::doctor).
    fn doctor(&self) -> impl Future<Output = Result<DoctorReport>> + Send;
    /// See [`Store::close`](crate::Store::close).
    fn close(&self) -> impl Future<Output = Result<()>> + Send;
}

/// Queues a transaction for the writer, and waits until it is on disk. The access checks run inside the transaction.
pub(crate) async fn commit<E: Engine>(
    engine: &E,
    transaction: Transaction,
    access: Option<AccessChecks>,
) -> Result<Committed> {
    let prepared = prepare(engine.key(), transaction, access)?;
    let permits = u32::try_from(prepared.bytes).unwrap_or(u32::MAX).max(1);
    let _permit = engine.waiting().acquire_many(permits).await.map_err(|_| StoreError::Closed)?;
    let (reply, replied) = oneshot::channel();
    if engine.queue().push(Job { prepared, reply }).is_some() {
        return Err(StoreError::Closed);
    }
    // The writer answers every job it takes; only a panic in it could drop one, and then the outcome is unknown.
    replied.await.unwrap_or(Err(StoreError::OutcomeUnknown))
}

/// Runs blocking work on a thread of its own, so that the caller's async runtime is not blocked.
pub(crate) async fn run_blocking<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (reply, replied) = oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || drop(reply.send(work())))
        .map_err(|error| StoreError::engine("starting a thread", error))?;
    replied.await.map_err(|_| StoreError::Closed)?
}
