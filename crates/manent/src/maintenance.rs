//! Maintenance: counting, checking, looking.

use crate::database::Database;
use crate::error::Result;
use manent_model::Stats;
use manent_store::{DoctorReport, StatsQuery, VerifyReport};

impl Database {
    /// Counts messages, words, tokens and response times, by day, model and role.
    pub async fn stats(&self, query: StatsQuery) -> Result<Stats> {
        Ok(self.store.stats(query).await?)
    }

    /// Walks digests and chains, and names the first message that was altered, lost or doubled.
    pub async fn verify(&self) -> Result<VerifyReport> {
        Ok(self.store.verify().await?)
    }

    /// Reports versions, settings and sizes.
    pub async fn doctor(&self) -> Result<DoctorReport> {
        Ok(self.store.doctor().await?)
    }
}
