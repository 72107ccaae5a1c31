//! Maintenance: statistics, verification, diagnostics.

use crate::database::Database;
use crate::error::Result;
use manent_model::Stats;
use manent_store::{DoctorReport, StatsQuery, VerifyReport};

impl Database {
    /// Counts messages, words, tokens and response times, by day, model and role.
    pub async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        Ok(self.store.stats(query).await?)
    }

    /// Verifies digests and chains, and reports the first message that was altered, lost or duplicated.
    pub async fn verify(&self) -> Result<VerifyReport> {
        Ok(self.store.verify().await?)
    }

    /// Reports versions, settings and sizes.
    pub async fn doctor(&self) -> Result<DoctorReport> {
        Ok(self.store.doctor().await?)
    }
}
