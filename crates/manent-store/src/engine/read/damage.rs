//! Reads that skip damaged records. Set [`Reading::damaged`] for that; otherwise damage ends the read.

use super::Reading;
use crate::api::damage::DamagedRecord;
use crate::api::error::StoreError;
use crate::engine::sql::connection::{Connection, DbResult, EngineError, Row, for_each_row, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::engine::sql::value::Parameters;
use manent_model::{Address, ConversationId};

/// The name of a damaged record whose own row does not tell its id.
const UNREADABLE: &str = "with an unreadable id";

/// The kind of records that a list holds, and the conversation they belong to.
#[derive(Clone, Copy)]
pub(crate) struct RecordKind {
    pub what: &'static str,
    pub conversation: Option<ConversationId>,
}

impl RecordKind {
    pub(crate) fn of(what: &'static str, conversation: Option<ConversationId>) -> Self {
        Self { what, conversation }
    }

    fn named(self, id: String) -> DamagedRecord {
        DamagedRecord { conversation: self.conversation, what: self.what.to_owned(), id }
    }
}

impl Reading<'_> {
    /// Turns a damaged record into none, if damaged records are left out.
    pub(crate) fn unless_damaged<T>(
        &mut self,
        kind: RecordKind,
        id: impl FnOnce() -> String,
        outcome: TxResult<T>,
    ) -> TxResult<Option<T>> {
        match (outcome, &mut self.damaged) {
            (Err(fault), Some(damaged)) if is_damage(&fault) => {
                damaged.push(kind.named(id()));
                Ok(None)
            }
            (outcome, _) => outcome.map(Some),
        }
    }
}

fn is_damage(fault: &TxError) -> bool {
    match fault {
        TxError::Rejected(error) => matches!(error, StoreError::Altered { .. }),
        TxError::Database(EngineError::Column(_) | EngineError::NoRow) => true,
        TxError::Database(error) => error.is_damage(),
    }
}

/// Reads a list of records: `id` names the record of a row, `row` takes the row, `decode` makes the record of it.
///
/// Where damaged records are left out, a damaged page of the file ends the list, which is named as well.
pub(crate) fn records<R, T>(
    reading: &mut Reading<'_>,
    kind: RecordKind,
    (sql, parameters): (&str, impl Parameters),
    id: impl Fn(&Row<'_>) -> DbResult<String>,
    row: impl Fn(&Row<'_>) -> DbResult<R>,
    mut decode: impl FnMut(&mut Reading<'_>, R) -> TxResult<T>,
) -> TxResult<Vec<T>> {
    let (skips, mut found) = (reading.damaged.is_some(), Vec::new());
    let read = for_each_row(reading.connection, sql, parameters, |line| {
        found.push(match skips {
            true => (id(line).unwrap_or_else(|_| UNREADABLE.to_owned()), row(line)),
            false => (String::new(), Ok(row(line)?)),
        });
        Ok(true)
    });
    reading.unless_damaged(kind, || "and all behind it in its list".to_owned(), read.map_err(TxError::from))?;
    let mut records = Vec::with_capacity(found.len());
    for (id, row) in found {
        let outcome = row.map_err(TxError::from).and_then(|row| decode(reading, row));
        records.extend(reading.unless_damaged(kind, || id, outcome)?);
    }
    Ok(records)
}

/// Returns the conversation that owns an address, for the name of a damaged record.
pub(crate) fn owner_of(connection: Connection<'_>, address: Address) -> Option<ConversationId> {
    let sql = "select c.id from branch b join conversation c on c.no = b.conversation_no where b.no = $1";
    query_optional(connection, sql, [address.branch().0], |row| row.get(0).map(ConversationId::from_bytes))
        .ok()
        .flatten()
}
