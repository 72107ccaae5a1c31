//! Undo: restores before-images from the journal, as a new commit. Redo is the undo of an undo.

use super::{annotations, conversation, library, message, project, run};
use crate::api::error::{Conflict, StoreError};
use crate::api::query::{UndoDirection, UndoScope};
use crate::api::transaction::{ChangeResult, Position};
use crate::engine::codec::before_image;
use crate::engine::codec::before_image::{BeforeImage, MemoryImage, SoftDeletable};
use crate::engine::codec::disk_codes::Kind;
use crate::engine::commit::tx::{JournalDraft, Tx, workspace_chain_end};
use crate::engine::sql::connection::{Connection, execute, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, BranchNo, Head};
use std::collections::HashSet;

/// How many commits are searched for an undo target; longer undo sequences do not occur in practice.
const SCAN_MAX: usize = 10_000;

/// The scope of an undo, by row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolvedScope {
    Everything,
    Conversation(i64),
    Workspace,
}

pub(crate) fn scope_no(connection: Connection<'_>, scope: &UndoScope) -> TxResult<ResolvedScope> {
    Ok(match scope {
        UndoScope::Everything => ResolvedScope::Everything,
        UndoScope::Workspace => ResolvedScope::Workspace,
        UndoScope::Conversation(id) => {
            let sql = "select no from conversation where id = $1";
            let found = query_optional(connection, sql, [id.as_bytes()], |row| row.get(0))?;
            ResolvedScope::Conversation(found.ok_or_else(|| StoreError::not_found("conversation", id))?)
        }
    })
}

struct JournalRow {
    first: Position,
    prev: Position,
    kind: i64,
    undoes: Option<Position>,
    images: bool,
}

/// Finds the commit that an undo or redo of a scope would undo now.
///
/// Walks back from the newest. An undo that holds cancels the commit it names; a redo that holds cancels the undo it
/// names. The first commit that is left and has something to put back is the target.
pub(crate) fn target(
    connection: Connection<'_>,
    scope: ResolvedScope,
    step: UndoDirection,
) -> TxResult<Option<Position>> {
    let mut at = match scope {
        ResolvedScope::Everything => {
            let sql = "select coalesce(max(pos), 0) from journal";
            query_one(connection, sql, (), |row| row.get(0))?
        }
        ResolvedScope::Conversation(no) => {
            let sql = "select last_pos from conversation where no = $1";
            query_optional(connection, sql, [no], |row| row.get(0))?.unwrap_or(0)
        }
        ResolvedScope::Workspace => workspace_chain_end(connection)?.0,
    };
    // Commits whose undo or redo was met on the way back: they have no effect now, so they are no target.
    let mut cancelled: HashSet<Position> = HashSet::new();
    for _ in 0..SCAN_MAX {
        let Some((commit, before)) = read_commit(connection, scope, at)? else { return Ok(None) };
        at = before;
        let kind = Kind::of(commit.kind);
        // A purge or an erasure leaves no before-images; nothing of the conversation from before it can be restored.
        if kind.is_none_or(Kind::is_barrier) && scope != ResolvedScope::Everything {
            return Ok(None);
        }
        if cancelled.remove(&commit.first) {
            continue;
        }
        match (kind, commit.undoes, step) {
            (Some(Kind::Undone), Some(undone), UndoDirection::Undo)
            | (Some(Kind::Redone), Some(undone), UndoDirection::Redo) => {
                cancelled.insert(undone);
            }
            (Some(Kind::Undone), Some(_), UndoDirection::Redo) => return Ok(Some(commit.first)),
            (_, _, UndoDirection::Undo) if commit.images => return Ok(Some(commit.first)),
            (_, _, UndoDirection::Redo) if commit.images => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

/// Reads the rows of the commit that ends at a position of a scope, as one, and the position before it.
fn read_commit(
    connection: Connection<'_>,
    scope: ResolvedScope,
    mut at: Position,
) -> TxResult<Option<(JournalRow, Position)>> {
    let mut commit: Option<JournalRow> = None;
    while at > 0 {
        let sql = match scope {
            // A row owns several positions: the newest row at or before this one.
            ResolvedScope::Everything => {
                "select first, pos, kind, undoes, before from journal where pos <= $1 order by pos desc limit 1"
            }
            _ => "select first, prev, kind, undoes, before from journal where pos = $1",
        };
        let found = query_optional(connection, sql, [at], |row| {
            let before: Option<Vec<u8>> = row.get(4)?;
            Ok(JournalRow {
                first: row.get(0)?,
                prev: row.get(1)?,
                kind: row.get(2)?,
                undoes: row.get(3)?,
                images: before
                    .is_some_and(|before| before_image::decode(&before).is_some_and(|images| !images.is_empty())),
            })
        })?;
        let Some(mut row) = found else { break };
        if scope == ResolvedScope::Everything {
            row.prev -= 1;
        }
        match &mut commit {
            None => {
                at = row.prev;
                commit = Some(row);
            }
            Some(commit) if commit.first == row.first => {
                commit.images |= row.images;
                if Kind::of(row.kind).is_none_or(Kind::is_barrier) {
                    commit.kind = row.kind;
                }
                at = row.prev;
            }
            Some(_) => break,
        }
    }
    Ok(commit.map(|commit| (commit, at)))
}

/// Finds what a caller may undo or redo in a scope. Undo inside a conversation stops at the commit that created it: it
/// would remove the conversation that the caller is in.
pub(crate) fn target_for_caller(
    connection: Connection<'_>,
    scope: &UndoScope,
    step: UndoDirection,
) -> TxResult<Option<Position>> {
    let scope = scope_no(connection, scope)?;
    let found = target(connection, scope, step)?;
    match (scope, found) {
        (ResolvedScope::Conversation(no), Some(position)) if step == UndoDirection::Undo => {
            let sql = "select count(*)
                 from journal
                 where first = $1 and pos >= $1 and pos <= $1 + 5000 and conversation_no = $2 and kind = $3";
            let created = Kind::ConversationCreated as i64;
            let creates: i64 = query_one(connection, sql, (position, no, created), |row| row.get(0))?;
            Ok(found.filter(|_| creates == 0))
        }
        _ => Ok(found),
    }
}

/// Undoes or redoes the last change of a scope, in the same transaction that finds it.
pub(crate) fn apply_step(tx: &mut Tx<'_>, scope: &UndoScope, step: UndoDirection) -> TxResult<ChangeResult> {
    let found = target_for_caller(tx.connection, scope, step)?;
    let nothing = match step {
        UndoDirection::Undo => Conflict::NothingToUndo,
        UndoDirection::Redo => Conflict::NothingToRedo,
    };
    undo(tx, found.ok_or(nothing)?)
}

pub(crate) fn undo(tx: &mut Tx<'_>, position: Position) -> TxResult<ChangeResult> {
    type UndoResult = (Option<i64>, i64, Option<Vec<u8>>, Option<i64>);
    let sql = "select conversation_no, kind, before, key
         from journal
         where first = $1 and pos >= $1 and pos <= $1 + 5000
         order by pos";
    let found: Vec<UndoResult> =
        query_all(tx.connection, sql, [position], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let mut scopes: Vec<Option<i64>> = found.iter().map(|(conversation_no, ..)| *conversation_no).collect();
    scopes.sort_unstable();
    scopes.dedup();
    let is_undo = found.iter().any(|(_, kind, ..)| Kind::of(*kind) == Some(Kind::Undone));
    // The key of an undo is the commit that changed something first: an undo of a redo of an undo names the same
    // messages.
    let original = match found.first() {
        Some((_, kind, _, key)) if matches!(Kind::of(*kind), Some(Kind::Undone | Kind::Redone)) => *key,
        _ => Some(position),
    };
    let step = if is_undo { UndoDirection::Redo } else { UndoDirection::Undo };
    // The commit must be the next target in every scope that it touched: otherwise its before-images would overwrite a
    // later change.
    for scope in &scopes {
        let scope = scope.map_or(ResolvedScope::Workspace, ResolvedScope::Conversation);
        if target(tx.connection, scope, step)? != Some(position) {
            return Err(Conflict::Undo.into());
        }
    }
    if scopes.is_empty() {
        return Err(Conflict::Undo.into());
    }
    let kind = if is_undo { Kind::Redone } else { Kind::Undone };
    for scope in scopes {
        if let Some(no) = scope {
            tx.conversation_by_no(no)?;
        }
        let mut swapped = Vec::new();
        // Last image first: a row that the commit changed twice ends with its oldest value.
        for (_, _, before, _) in found.iter().rev().filter(|(conversation_no, ..)| *conversation_no == scope) {
            let images = before.as_deref().and_then(before_image::decode).unwrap_or_default();
            for image in images.iter().rev() {
                swapped.push(swap(tx, image)?);
            }
        }
        let entry = JournalDraft { key: original, undoes: Some(position), ..JournalDraft::of(kind, &swapped) };
        match scope {
            Some(no) => tx.journal(no, &entry)?,
            None => tx.journal_workspace(&entry)?,
        };
    }
    Ok(ChangeResult::Applied)
}

/// Restores a before-image and returns the value that it replaced.
fn swap(tx: &mut Tx<'_>, image: &BeforeImage) -> TxResult<BeforeImage> {
    match image {
        BeforeImage::Head { conversation_no, branch_no, key, active_at } => {
            let mut row = tx.conversation_by_no(*conversation_no)?;
            let now = row.head_image();
            let head = Head { branch: BranchNo(*branch_no), at: Address(*key) };
            // Counted again: a stream on this path may have ended since.
            let sums = tx.sums_at(head)?;
            message::move_to(&mut row, head, sums);
            row.active_at = *active_at;
            tx.mark_changed(&row);
            Ok(now)
        }
        BeforeImage::Flag { table, key, withdrawn } => swap_flag(tx, *table, *key, *withdrawn),
        BeforeImage::Conversation(image) => {
            let row = tx.conversation_by_no(image.no)?;
            let now = conversation::image_of(tx, &row)?;
            conversation::put_image(tx, image)?;
            Ok(BeforeImage::Conversation(Box::new(now)))
        }
        BeforeImage::Bookmark { conversation_no, name, row } => {
            let now = annotations::bookmark_row(tx, *conversation_no, name)?;
            annotations::write_bookmark(tx, *conversation_no, name, row.as_ref())?;
            Ok(BeforeImage::Bookmark { conversation_no: *conversation_no, name: name.clone(), row: now })
        }
        BeforeImage::ToolCall { key, part, row } => {
            let now = run::tool_row(tx, *key, *part)?;
            run::put_tool_row(tx, *key, *part, row.as_ref())?;
            Ok(BeforeImage::ToolCall { key: *key, part: *part, row: now })
        }
        BeforeImage::FoldActive { no, active } => {
            let sql = "select active from fold where no = $1";
            let now = query_optional(tx.connection, sql, [no], |row| row.get(0))?.unwrap_or(*active);
            annotations::write_fold_active(tx, *no, *active)?;
            Ok(BeforeImage::FoldActive { no: *no, active: now })
        }
        BeforeImage::InputTaken { no, taken_pos } => {
            let sql = "select taken_pos from input where no = $1";
            let now = query_optional(tx.connection, sql, [no], |row| row.get(0))?.unwrap_or(*taken_pos);
            run::put_taken(tx, *no, *taken_pos)?;
            Ok(BeforeImage::InputTaken { no: *no, taken_pos: now })
        }
        BeforeImage::Project { no, name, body } => {
            let sql = "select name, body from project where no = $1";
            let (now_name, now_body): (String, Vec<u8>) =
                query_one(tx.connection, sql, [no], |row| Ok((row.get(0)?, row.get(1)?)))?;
            project::put(tx, *no, name, body)?;
            Ok(BeforeImage::Project { no: *no, name: now_name, body: now_body })
        }
        BeforeImage::Memory { no, row } => swap_memory(tx, *no, row, None),
        BeforeImage::MemoryBy { no, row, actor_no } => swap_memory(tx, *no, row, *actor_no),
    }
}

fn swap_memory(tx: &mut Tx<'_>, no: i64, row: &MemoryImage, actor_no: Option<i64>) -> TxResult<BeforeImage> {
    // An erasure may have taken it; then there is nothing to put back.
    let gone = || BeforeImage::MemoryBy { no, row: row.clone(), actor_no };
    let now = library::memory_image(tx, no)?.unwrap_or_else(gone);
    let mut row = row.clone();
    if let Some(conversation_no) = row.conversation_no {
        // A purge may have taken the conversation.
        let sql = "select no from conversation where no = $1";
        row.conversation_no = query_optional(tx.connection, sql, [conversation_no], |row| row.get(0))?;
    }
    library::put_memory_row(tx, no, &row, actor_no)?;
    Ok(now)
}

fn swap_flag(tx: &mut Tx<'_>, table: SoftDeletable, key: i64, withdrawn: bool) -> TxResult<BeforeImage> {
    let (name, column) = flag_columns(table);
    // An erasure may have taken the row; then there is nothing to turn.
    let now: bool = query_optional(tx.connection, &flag_read(table), [key], |row| row.get(0))?.unwrap_or(withdrawn);
    let write = ["update ", name, " set withdrawn = $1 where ", column, " = $2"].concat();
    execute(tx.connection, &write, (withdrawn, key))?;
    Ok(BeforeImage::Flag { table, key, withdrawn: now })
}

/// Returns the table of a flag and the column that numbers its rows.
pub(crate) fn flag_columns(table: SoftDeletable) -> (&'static str, &'static str) {
    match table {
        SoftDeletable::Conversation => ("conversation", "no"),
        SoftDeletable::Project => ("project", "no"),
        SoftDeletable::Note => ("note", "no"),
        SoftDeletable::State => ("state", "no"),
        SoftDeletable::Fold => ("fold", "no"),
        SoftDeletable::ModelCall => ("model_call", "no"),
        SoftDeletable::ToolStep => ("tool_step", "no"),
        SoftDeletable::Event => ("event", "key"),
        SoftDeletable::Input => ("input", "no"),
        SoftDeletable::Document => ("document", "no"),
        SoftDeletable::Memory => ("memory", "no"),
        SoftDeletable::Source => ("source", "no"),
        SoftDeletable::Origin => ("origin", "no"),
        SoftDeletable::Quarantine => ("quarantine", "no"),
    }
}

/// Returns how the flag of a row is read.
pub(crate) fn flag_read(table: SoftDeletable) -> String {
    let (name, key) = flag_columns(table);
    ["select withdrawn from ", name, " where ", key, " = $1"].concat()
}
