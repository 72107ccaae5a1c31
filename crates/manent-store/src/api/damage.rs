//! Collector of damaged records: reads that skip damaged rows report them here.

use manent_model::ConversationId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A record that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DamagedRecord {
    /// The conversation it belongs to, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The kind of the record.
    pub what: String,
    /// Its id, or its place where that cannot be read.
    pub id: String,
}

/// The damaged records that reads left out, each once, in the order they were met.
#[derive(Debug, Default)]
pub struct DamageLog(Mutex<DamageSet>);

#[derive(Debug, Default)]
struct DamageSet {
    records: Vec<DamagedRecord>,
    seen: HashSet<DamagedRecord>,
}

impl DamageLog {
    /// Adds a record, unless it is there.
    pub fn add(&self, record: DamagedRecord) {
        let mut met = self.0.lock();
        if met.seen.insert(record.clone()) {
            met.records.push(record);
        }
    }

    /// Returns the records.
    pub fn records(&self) -> Vec<DamagedRecord> {
        self.0.lock().records.clone()
    }
}
