//! Access-filtered store: a store limited to an access scope, or one whose reads skip damaged records.

use crate::api::damage::DamageLog;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::{BackupReport, DoctorReport, VerifyReport};
use crate::api::store::{ImportLock, Store};
use crate::api::transaction::Position;
use crate::engine::commit::commit_queue::CommitQueue;
use crate::engine::read::Reading;
use crate::engine::search::indexing::IndexingMonitor;
use crate::engine::sql::tx_error::TxResult;
use crate::engine::store::Engine;
use manent_model::{AccessScope, DigestKey};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// An engine with a realm.
pub(crate) struct FilteredStore<E> {
    engine: Arc<E>,
    realm: AccessScope,
    /// Reads leave damaged records out and name them here; without it they fail.
    damage: Option<Arc<DamageLog>>,
}

impl<E> FilteredStore<E> {
    pub(crate) fn new(engine: Arc<E>, realm: AccessScope, damage: Option<Arc<DamageLog>>) -> Self {
        Self { engine, realm, damage }
    }
}

impl<E: Engine> Engine for FilteredStore<E> {
    fn key(&self) -> &DigestKey {
        self.engine.key()
    }

    fn queue(&self) -> &CommitQueue {
        self.engine.queue()
    }

    fn waiting(&self) -> &Semaphore {
        self.engine.waiting()
    }

    fn position(&self) -> watch::Receiver<Position> {
        Engine::position(&*self.engine)
    }

    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(&mut Reading<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let Some(log) = &self.damage else { return self.engine.read(doing, read).await };
        // A read may run again, so only the last run counts.
        let sound = move |reading: &mut Reading<'_>| {
            reading.damaged = Some(Vec::new());
            let found = read(reading)?;
            Ok((found, reading.damaged.take().unwrap_or_default()))
        };
        let (found, damaged) = self.engine.read(doing, sound).await?;
        damaged.into_iter().for_each(|record| log.add(record));
        Ok(found)
    }

    fn realm(&self) -> &AccessScope {
        &self.realm
    }

    fn limited(self: Arc<Self>, realm: AccessScope) -> Arc<dyn Store> {
        Arc::new(Self::new(self.engine.clone(), self.realm.and(&realm), self.damage.clone()))
    }

    fn skips_damage(self: Arc<Self>, log: Arc<DamageLog>) -> Arc<dyn Store> {
        Arc::new(Self::new(self.engine.clone(), self.realm.clone(), Some(log)))
    }

    fn indexing(&self) -> Option<&IndexingMonitor> {
        self.engine.indexing()
    }

    async fn import_turn(&self) -> Result<ImportLock> {
        self.require_unrestricted()?;
        Engine::import_turn(&*self.engine).await
    }

    async fn backup(&self, to: &Path) -> Result<BackupReport> {
        self.require_unrestricted()?;
        Engine::backup(&*self.engine, to).await
    }

    async fn verify(&self) -> Result<VerifyReport> {
        self.require_unrestricted()?;
        Engine::verify(&*self.engine).await
    }

    async fn doctor(&self) -> Result<DoctorReport> {
        self.require_unrestricted()?;
        Engine::doctor(&*self.engine).await
    }

    async fn close(&self) -> Result<()> {
        self.require_unrestricted()?;
        Engine::close(&*self.engine).await
    }
}

/// The permission that an error names for operations on everything.
pub(crate) const WHOLE: &str = "a key for everything";

/// Requires an unrestricted access scope.
pub(crate) fn require_unrestricted(realm: &AccessScope) -> Result<()> {
    match realm.is_limited() {
        true => Err(StoreError::Forbidden { needs: WHOLE }),
        false => Ok(()),
    }
}

impl<E> FilteredStore<E> {
    fn require_unrestricted(&self) -> Result<()> {
        require_unrestricted(&self.realm)
    }
}
