//! Pending-document buffer of the index: a list ordered by time, in two halves. A segment is built from one while the
//! other collects new documents.

use super::Index;
use crate::engine::search::{DocKey, Entry};
use crate::engine::sql::connection::{DbResult, execute, query_all, query_one, query_optional};

impl Index {
    /// Returns the half that collects new documents.
    pub(super) fn open_lot(&self) -> DbResult<i64> {
        let made: Option<i64> =
            query_optional(&self.connection, "select 1 - lot from run where lot is not null", (), |row| row.get(0))?;
        match made {
            Some(other) => Ok(other),
            None => {
                Ok(query_optional(&self.connection, "select lot from listed limit 1", (), |row| row.get(0))?
                    .unwrap_or(0))
            }
        }
    }

    /// Counts the documents that are in no segment yet.
    pub(in crate::sqlite) fn pending_count(&self) -> DbResult<i64> {
        query_one(&self.connection, "select count(*) from todo", (), |row| row.get(0))
    }

    /// Says whether there is work: pending documents, or an unfinished segment whose documents were removed from the
    /// list.
    pub(in crate::sqlite) fn has_work(&self) -> DbResult<bool> {
        let listed = query_optional(&self.connection, "select 1 from listed limit 1", (), |_| Ok(()))?;
        Ok(listed.is_some() || self.is_compacting()?)
    }

    /// Says whether more than this many documents are pending.
    pub(in crate::sqlite) fn has_pending(&self, many: i64) -> DbResult<bool> {
        let sql = "select 1 from listed where lot = $1 limit 1 offset $2";
        Ok(query_optional(&self.connection, sql, (self.open_lot()?, many), |_| Ok(()))?.is_some())
    }

    /// Lets something wait.
    pub(in crate::sqlite) fn enqueue(&self, entries: &[Entry]) -> DbResult<()> {
        let lot = self.open_lot()?;
        let sql = "insert into listed (lot, at, arrival, key) values ($1, $2, $3, $4) on conflict do nothing";
        for entry in entries {
            execute(&self.connection, sql, (lot, entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Returns the oldest of a lot.
    pub(super) fn oldest_pending(&self, lot: i64, many: i64) -> DbResult<Vec<Entry>> {
        let sql = "select at, arrival, key from listed where lot = $1 order by at, arrival, key limit $2";
        query_all(&self.connection, sql, (lot, many), |row| {
            Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
        })
    }

    pub(super) fn mark_oldest_due(&self, lot: i64, entries: &[Entry]) -> DbResult<()> {
        let sql = "delete from listed where lot = $1 and at = $2 and arrival = $3 and key = $4";
        for entry in entries {
            execute(&self.connection, sql, (lot, entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Removes an entry from the list, in either half.
    pub(super) fn dequeue(&self, entry: Entry) -> DbResult<()> {
        self.mark_oldest_due(0, &[entry])?;
        self.mark_oldest_due(1, &[entry])
    }
}
