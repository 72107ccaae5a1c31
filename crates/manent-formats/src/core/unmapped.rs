//! Unmapped fields: counted by record type and field, for the import report.

use crate::core::item::{Item, Sink};
use crate::core::json::Members;
use crate::core::problem::ReadError;
use std::collections::BTreeMap;

/// Members that are kept with their records.
#[derive(Debug, Default)]
pub struct UnmappedFields(BTreeMap<(&'static str, String), u64>);

impl UnmappedFields {
    /// Counts the members of a record that its noun does not hold.
    pub fn scan(&mut self, text: &str, record: &'static str, mapped: &[&str]) {
        if let Some(members) = Members::parse(text) {
            self.members(&members, record, mapped);
        }
    }

    /// Counts members that were read already.
    pub fn members(&mut self, members: &Members<'_>, record: &'static str, mapped: &[&str]) {
        for (key, _) in &members.0 {
            if !mapped.contains(&key.as_ref()) {
                self.add(record, key);
            }
        }
    }

    /// Counts one member.
    pub fn add(&mut self, record: &'static str, key: &str) {
        // Field names are untrusted: after 1,000 different ones, all further ones are counted as `…`.
        let known = self.0.len() < 1_000 || self.0.contains_key(&(record, key.to_owned()));
        *self.0.entry((record, if known { key } else { "…" }.to_owned())).or_default() += 1;
    }

    /// Hands on what was counted.
    pub fn emit(self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        for ((record, key), count) in self.0 {
            sink.take(Item::Unmapped { record, key: Some(key), count })?;
        }
        Ok(())
    }
}
