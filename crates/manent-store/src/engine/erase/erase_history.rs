//! Scrubbing: removes before-images, and interned words without any use, after a purge or an erasure.

use crate::engine::apply::undo::flag_read;
use crate::engine::codec::before_image::{BeforeImage, SoftDeletable};
use crate::engine::codec::disk_codes::NameKind;
use crate::engine::codec::{before_image, row_mac};
use crate::engine::commit::tx::{Tx, workspace_chain_end};
use crate::engine::erase::destroy::Budget;
use crate::engine::sql::connection::{execute, execute_counted, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;

/// The conversation number of the journal outside conversations; real numbers begin at 1.
const WORKSPACE: i64 = 0;

fn erasure_key(conversation_no: i64) -> String {
    format!("scrub:{conversation_no}")
}

/// Remembers how far back the journal of a conversation still has to be scrubbed.
pub(crate) fn schedule_erasure(tx: &Tx<'_>, conversation_no: i64, position: Option<i64>) -> TxResult<()> {
    let name = erasure_key(conversation_no);
    match position {
        Some(position) => {
            let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2";
            execute(tx.connection, sql, (name, &position.to_le_bytes()[..]))?;
        }
        None => {
            execute(tx.connection, "delete from meta where name = $1", [name])?;
        }
    }
    Ok(())
}

/// Schedules the scrub of the journal outside conversations, which holds before-images of what was deleted.
pub(crate) fn sweep_workspace(tx: &Tx<'_>, gone: usize) -> TxResult<()> {
    if gone == 0 {
        return Ok(());
    }
    let (last, _) = workspace_chain_end(tx.connection)?;
    schedule_erasure(tx, WORKSPACE, Some(last))
}

/// Schedules a scrub of the journal of a conversation that lost content but stays: before-images of what was deleted
/// are emptied. They name rows by number, and later rows may get the same number.
pub(crate) fn sweep(tx: &mut Tx<'_>, conversation_no: i64) -> TxResult<()> {
    let last = tx.conversation_by_no(conversation_no)?.last_pos;
    schedule_erasure(tx, -conversation_no, Some(last))
}

/// Empties the before-images in the journal of a conversation; their digests stay, so the chain still verifies.
///
/// With a negative number, and for the journal outside conversations, only before-images of what was deleted are
/// emptied.
fn erase_journal_images(tx: &mut Tx<'_>, conversation_no: i64, budget: &mut Budget) -> TxResult<()> {
    let sql = "select value from meta where name = $1";
    let found: Option<[u8; 8]> = query_optional(tx.connection, sql, [erasure_key(conversation_no)], |row| row.get(0))?;
    let Some(mut at) = found.map(i64::from_le_bytes) else { return Ok(()) };
    while at > 0 && budget.left > 0 {
        let sql = "select prev, before from journal where pos = $1";
        let (prev, before): (i64, Option<Vec<u8>>) =
            query_one(tx.connection, sql, [at], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let images = before.as_deref().and_then(before_image::decode).unwrap_or_default();
        if !images.is_empty() && (conversation_no > WORKSPACE || is_of_deleted(tx, &images)?) {
            let left = before_image::erased(tx.key, before.as_deref().unwrap_or_default());
            execute(tx.connection, "update journal set before = $1 where pos = $2", (left, at))?;
            budget.receipt.journal += 1;
            for image in images {
                if let BeforeImage::Conversation(image) = image {
                    delete_unused_tags(tx, &image.tags)?;
                }
            }
        }
        budget.spend(1);
        at = prev;
    }
    schedule_erasure(tx, conversation_no, (at > 0).then_some(at))
}

fn is_of_deleted(tx: &Tx<'_>, images: &[BeforeImage]) -> TxResult<bool> {
    for image in images {
        let (table, no) = match image {
            BeforeImage::Memory { no, .. } | BeforeImage::MemoryBy { no, .. } => (SoftDeletable::Memory, no),
            BeforeImage::FoldActive { no, .. } => (SoftDeletable::Fold, no),
            BeforeImage::InputTaken { no, .. } => (SoftDeletable::Input, no),
            BeforeImage::Flag { table, key, .. } => (*table, key),
            _ => continue,
        };
        if query_optional(tx.connection, &flag_read(table), [no], |_| Ok(()))?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a random word that cannot be guessed, so that no row can contain it already.
pub(crate) fn random_bytes() -> String {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    manent_model::hex::encode(&bytes)
}

/// Tags are user content. A tag that no conversation has any more is erased; its number stays, since before-images of
/// other conversations may reference it.
pub(crate) fn delete_unused_tags(tx: &mut Tx<'_>, tags: &[i64]) -> TxResult<()> {
    let sql = "update name set value = 'erased:' || no || ':' || $1
         where no = $2 and kind = $3 and not exists (select 1 from tag where name_no = $2)";
    let mut forgotten = 0;
    for no in tags {
        forgotten += execute_counted(tx.connection, sql, (random_bytes(), no, NameKind::Tag as i64))?;
        row_mac::refresh(tx.connection, tx.key, &row_mac::NAME, *no)?;
    }
    if forgotten > 0 {
        tx.caches.clear();
    }
    Ok(())
}

/// Names of states, channels and collections are user content as well. An unused one is erased; its number is not
/// reused, since readers cache it.
pub(crate) fn delete_unused_names(tx: &mut Tx<'_>) -> TxResult<()> {
    const UNUSED: [(NameKind, &str); 3] = [
        (NameKind::State, "not exists (select 1 from state s where s.name_no = name.no)"),
        (NameKind::Channel, "not exists (select 1 from event e where e.channel_no = name.no)"),
        (NameKind::Collection, "not exists (select 1 from memory m where m.collection_no = name.no)"),
    ];
    for (kind, unused) in UNUSED {
        let sql = ["select no from name where kind = $1 and value not like 'erased:%' and ", unused].concat();
        let found: Vec<i64> = query_all(tx.connection, &sql, [kind as i64], |row| row.get(0))?;
        for no in found {
            let sql = "update name set value = 'erased:' || no || ':' || $1 where no = $2";
            execute(tx.connection, sql, (random_bytes(), no))?;
            row_mac::refresh(tx.connection, tx.key, &row_mac::NAME, no)?;
        }
    }
    tx.caches.clear();
    Ok(())
}

/// Resumes all unfinished scrubs of journals.
pub(crate) fn finish_erasures(tx: &mut Tx<'_>, budget: &mut Budget) -> TxResult<()> {
    let sql = "select cast(substr(name, 7) as bigint)
         from meta
         where name >= 'scrub:' and name < 'scrub;'
         order by name";
    let pending: Vec<i64> = query_all(tx.connection, sql, (), |row| row.get(0))?;
    for no in pending {
        erase_journal_images(tx, no, budget)?;
    }
    Ok(())
}
