//! Change detection: which conversations a range of the journal changed, and how.

use super::super::read::Reading;
use crate::api::error::StoreError;
use crate::api::transaction::Position;
use crate::engine::codec::disk_codes::Kind;
use crate::engine::sql::connection::query_all;
use crate::engine::sql::tx_error::TxResult;
use std::collections::BTreeMap;

/// How the sums of a conversation may have changed. A later variant includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// Its head, status, project or tags: counts stay valid if the branch is the same.
    Extended,
    /// A stream on its path ended or is open. Nothing from an open stream on is counted, so this too adds at the end
    /// only.
    Streamed,
    /// Its counts may be wrong.
    Rewritten,
}

/// Changed conversations by number.
#[derive(Debug, Default)]
pub(crate) struct Changes(pub BTreeMap<i64, Change>);

impl Changes {
    /// Adds a row of the journal.
    pub(crate) fn add(&mut self, kind: Kind, conversation_no: Option<i64>) {
        use Kind::*;
        let change = match kind {
            ConversationCreated | ConversationEdited | MessagesAppended | BranchOpened | HeadMoved => Change::Extended,
            MessageFinished => Change::Streamed,
            Undone | Redone | Purged | Erased => Change::Rewritten,
            _ => return,
        };
        if let Some(no) = conversation_no {
            self.put(no, change);
        }
    }

    fn put(&mut self, no: i64, change: Change) -> bool {
        let known = self.0.get(&no).copied();
        let is_new = known < Some(change);
        if is_new {
            self.0.insert(no, change);
        }
        is_new
    }

    /// Adds the conversations whose paths begin inside changed ones: a fork shares the messages before it.
    pub(super) fn add_forks(&mut self, reading: &Reading<'_>) -> TxResult<()> {
        let sql = "select distinct b.conversation_no
             from branch p
             join branch b on b.parent_no = p.no
             where p.conversation_no = $1 and b.conversation_no <> $1";
        let mut open: Vec<(i64, Change)> =
            self.0.iter().map(|(no, change)| (*no, *change)).filter(|(_, change)| *change > Change::Extended).collect();
        while let Some((no, change)) = open.pop() {
            let forks: Vec<i64> = query_all(reading.connection, sql, [no], |row| row.get(0))?;
            open.extend(forks.into_iter().filter(|fork| self.put(*fork, change)).map(|fork| (fork, change)));
        }
        Ok(())
    }

    /// Returns the changes after a position of the journal, and those of open streams; none if there are too many to
    /// read.
    pub(super) fn since(reading: &Reading<'_>, position: Position) -> TxResult<Option<Self>> {
        /// Maximum number of journal rows, open streams and conversations that a reader scans.
        const ROWS_MAX: usize = 4_000;
        const STREAMS_MAX: usize = 1_000;
        const CHANGES_MAX: usize = 1_000;
        let sql = "select kind, conversation_no, pos from journal where pos > $1 order by pos limit $2";
        let found: Vec<(i64, Option<i64>, i64)> =
            query_all(reading.connection, sql, (position, ROWS_MAX as i64 + 1), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let sql = "select b.conversation_no from stream s join branch b on b.no = s.key >> 24 limit $1";
        let streams: Vec<i64> = query_all(reading.connection, sql, [STREAMS_MAX as i64 + 1], |row| row.get(0))?;
        if found.len() > ROWS_MAX || streams.len() > STREAMS_MAX {
            return Ok(None);
        }
        let mut changes = Self::default();
        for (kind, conversation_no, position) in found {
            let kind = Kind::of(kind).ok_or_else(|| StoreError::altered("journal", position))?;
            changes.add(kind, conversation_no);
        }
        for no in streams {
            changes.put(no, Change::Streamed);
        }
        changes.add_forks(reading)?;
        Ok((changes.0.len() <= CHANGES_MAX).then_some(changes))
    }
}
