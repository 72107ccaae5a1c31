//! Incremental update of the sums: the indexer applies each batch of the journal that it reads.

use super::super::read::Reading;
use super::cells::{self, ActiveDays, Cells};
use super::changes::{Change, Changes};
use super::path::{self, Until};
use crate::engine::sql::connection::Connection;
use crate::engine::sql::tx_error::{TxError, TxResult};

/// Brings the sums of changed conversations up to date.
pub(crate) fn update(index: Connection<'_>, reading: &mut Reading<'_>, mut changes: Changes) -> TxResult<()> {
    changes.add_forks(reading)?;
    for (no, change) in changes.0 {
        match update_one(index, reading, no, change) {
            // A damaged message must not keep the others from being counted; readers and `verify` report it.
            Err(TxError::Rejected(_)) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

fn update_one(index: Connection<'_>, reading: &mut Reading<'_>, no: i64, change: Change) -> TxResult<()> {
    let before = cells::counted(index, no)?;
    let scopes_before = cells::scopes(index, no)?;
    let now = path::current(reading, no)?;
    let known = cells::of_conversation(index, no)?;
    let Some((head, scopes)) = now else {
        if before.is_some() {
            let mut gone = Cells::default();
            gone.subtract_all(&known);
            cells::add_to_conversation(index, no, &gone)?;
            for scope in scopes_before {
                cells::add_to_scope(index, scope, &gone)?;
                cells::add_active(index, scope, &changes_since(&known, &Cells::default()))?;
            }
            cells::set_scopes(index, no, &[])?;
            cells::remove(index, no)?;
        }
        return Ok(());
    };
    let tail = match before.filter(|_| change < Change::Rewritten) {
        Some(before) => path::tail(reading, head, before, Until::OpenStream)?,
        None => None,
    };
    let (added, counted) = match tail {
        Some(tail) => tail,
        None => {
            let (mut difference, counted) = path::whole(reading, head, Until::OpenStream)?;
            difference.subtract_all(&known);
            (difference, counted)
        }
    };
    // Scopes first: those that it leaves lose the previous counts, those that it joins gain all of them.
    if scopes_before != scopes {
        let mut lost = Cells::default();
        lost.subtract_all(&known);
        for scope in scopes_before.iter().filter(|scope| !scopes.contains(scope)) {
            cells::add_to_scope(index, *scope, &lost)?;
            cells::add_active(index, *scope, &changes_since(&known, &Cells::default()))?;
        }
        for scope in scopes.iter().filter(|scope| !scopes_before.contains(scope)) {
            cells::add_to_scope(index, *scope, &known)?;
            cells::add_active(index, *scope, &changes_since(&Cells::default(), &known))?;
        }
        cells::set_scopes(index, no, &scopes)?;
    }
    cells::add_to_conversation(index, no, &added)?;
    let mut all = known.clone();
    all.add_all(&added);
    let days = changes_since(&known, &all);
    for scope in scopes {
        cells::add_to_scope(index, scope, &added)?;
        cells::add_active(index, scope, &days)?;
    }
    if before != Some(counted) {
        cells::set_counted(index, no, counted)?;
    }
    Ok(())
}

/// How the active days of a conversation change when its cells do.
fn changes_since(before: &Cells, after: &Cells) -> ActiveDays {
    let mut days = after.active_days();
    days.add_all(&before.active_days(), -1);
    days
}
