//! Reads that skip damaged records. Set [`Reading::damaged`] for that; otherwise damage ends the read.

use super::super::cell::Parameters;
use super::super::connection::{Connection, EngineError, Found, Ran, each, maybe};
use super::super::fault::{Fault, Outcome};
use super::Reading;
use crate::damage::DamagedRecord;
use crate::error::StoreError;
use manent_model::{Address, ConversationId};

/// The name of a damaged record whose own row does not tell its id.
const UNREADABLE: &str = "with an unreadable id";

/// The kind of records that a list holds, and the conversation they belong to.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub what: &'static str,
    pub conversation: Option<ConversationId>,
}

impl Kind {
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
        kind: Kind,
        id: impl FnOnce() -> String,
        outcome: Outcome<T>,
    ) -> Outcome<Option<T>> {
        match (outcome, &mut self.damaged) {
            (Err(fault), Some(damaged)) if is_damage(&fault) => {
                damaged.push(kind.named(id()));
                Ok(None)
            }
            (outcome, _) => outcome.map(Some),
        }
    }
}

fn is_damage(fault: &Fault) -> bool {
    match fault {
        Fault::Refused(error) => matches!(error, StoreError::Altered { .. }),
        Fault::Engine(EngineError::Column(_) | EngineError::NoRow) => true,
        Fault::Engine(error) => error.is_damage(),
    }
}

/// Reads a list of records: `id` names the record of a row, `row` takes the row, `decode` makes the record of it.
///
/// Where damaged records are left out, a damaged page of the file ends the list, which is named as well.
pub(crate) fn records<R, T>(
    reading: &mut Reading<'_>,
    kind: Kind,
    (sql, parameters): (&str, impl Parameters),
    id: impl Fn(&Found<'_>) -> Ran<String>,
    row: impl Fn(&Found<'_>) -> Ran<R>,
    mut decode: impl FnMut(&mut Reading<'_>, R) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let (skips, mut found) = (reading.damaged.is_some(), Vec::new());
    let read = each(reading.connection, sql, parameters, |line| {
        found.push(match skips {
            true => (id(line).unwrap_or_else(|_| UNREADABLE.to_owned()), row(line)),
            false => (String::new(), Ok(row(line)?)),
        });
        Ok(true)
    });
    reading.unless_damaged(kind, || "and all behind it in its list".to_owned(), read.map_err(Fault::from))?;
    let mut records = Vec::with_capacity(found.len());
    for (id, row) in found {
        let outcome = row.map_err(Fault::from).and_then(|row| decode(reading, row));
        records.extend(reading.unless_damaged(kind, || id, outcome)?);
    }
    Ok(records)
}

/// Returns the conversation that owns an address, for the name of a damaged record.
pub(crate) fn owner_of(connection: Connection<'_>, address: Address) -> Option<ConversationId> {
    let sql = "select c.id from branch b join conversation c on c.no = b.conversation_no where b.no = $1";
    maybe(connection, sql, [address.branch().0], |row| row.get(0).map(ConversationId::from_bytes)).ok().flatten()
}
