//! Pending-document buffer of the index: a list ordered by time, in two halves. A segment is built from one while the
//! other collects new documents.

use super::Index;
use crate::engine::connection::{Ran, execute, maybe, one, rows};
use crate::engine::search::{DocKey, Entry};

impl Index {
    /// Returns the half that collects new documents.
    pub(super) fn gathering(&self) -> Ran<i64> {
        let made: Option<i64> =
            maybe(&self.connection, "select 1 - lot from run where lot is not null", (), |row| row.get(0))?;
        match made {
            Some(other) => Ok(other),
            None => Ok(maybe(&self.connection, "select lot from listed limit 1", (), |row| row.get(0))?.unwrap_or(0)),
        }
    }

    /// Counts the documents that are in no segment yet.
    pub(in crate::sqlite) fn waiting(&self) -> Ran<i64> {
        one(&self.connection, "select count(*) from todo", (), |row| row.get(0))
    }

    /// Says whether there is work: pending documents, or an unfinished segment whose documents were removed from the
    /// list.
    pub(in crate::sqlite) fn has_work(&self) -> Ran<bool> {
        let listed = maybe(&self.connection, "select 1 from listed limit 1", (), |_| Ok(()))?;
        Ok(listed.is_some() || self.is_making()?)
    }

    /// Says whether more than this many documents are pending.
    pub(in crate::sqlite) fn has_gathered(&self, many: i64) -> Ran<bool> {
        let sql = "select 1 from listed where lot = $1 limit 1 offset $2";
        Ok(maybe(&self.connection, sql, (self.gathering()?, many), |_| Ok(()))?.is_some())
    }

    /// Lets something wait.
    pub(in crate::sqlite) fn put_off(&self, entries: &[Entry]) -> Ran<()> {
        let lot = self.gathering()?;
        let sql = "insert into listed (lot, at, arrival, key) values ($1, $2, $3, $4) on conflict do nothing";
        for entry in entries {
            execute(&self.connection, sql, (lot, entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Returns the oldest of a lot.
    pub(super) fn oldest_of(&self, lot: i64, many: i64) -> Ran<Vec<Entry>> {
        let sql = "select at, arrival, key from listed where lot = $1 order by at, arrival, key limit $2";
        rows(&self.connection, sql, (lot, many), |row| {
            Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
        })
    }

    pub(super) fn wait_no_longer(&self, lot: i64, entries: &[Entry]) -> Ran<()> {
        let sql = "delete from listed where lot = $1 and at = $2 and arrival = $3 and key = $4";
        for entry in entries {
            execute(&self.connection, sql, (lot, entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Removes an entry from the list, in either half.
    pub(super) fn unlist(&self, entry: Entry) -> Ran<()> {
        self.wait_no_longer(0, &[entry])?;
        self.wait_no_longer(1, &[entry])
    }
}
