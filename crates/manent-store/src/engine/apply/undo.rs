//! Undo: restores before-images from the journal, as a new commit. Redo is the undo of an undo.

use super::super::codes::Kind;
use super::super::connection::{Connection, execute, maybe, one, rows};
use super::super::fault::Outcome;
use super::super::tx::{Entry, Tx, beside};
use super::{attached, conversation, library, message, project, run};
use crate::error::{Conflict, StoreError};
use crate::image::{self, Flagged, Image, MemoryImage};
use crate::query::{Scope, Step};
use crate::transaction::{Done, Position};
use manent_model::{Address, BranchNo, Head};
use std::collections::HashSet;

/// How many commits are searched for an undo target; longer undo sequences do not occur in practice.
const WALK_MAX: usize = 10_000;

/// The scope of an undo, by row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeNo {
    Everything,
    Conversation(i64),
    Beside,
}

pub(crate) fn scope_no(connection: Connection<'_>, scope: &Scope) -> Outcome<ScopeNo> {
    Ok(match scope {
        Scope::Everything => ScopeNo::Everything,
        Scope::Beside => ScopeNo::Beside,
        Scope::Conversation(id) => {
            let sql = "select no from conversation where id = $1";
            let found = maybe(connection, sql, [id.as_bytes()], |row| row.get(0))?;
            ScopeNo::Conversation(found.ok_or_else(|| StoreError::not_found("conversation", id))?)
        }
    })
}

struct Row {
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
pub(crate) fn target(connection: Connection<'_>, scope: ScopeNo, step: Step) -> Outcome<Option<Position>> {
    let mut at = match scope {
        ScopeNo::Everything => {
            let sql = "select coalesce(max(pos), 0) from journal";
            one(connection, sql, (), |row| row.get(0))?
        }
        ScopeNo::Conversation(no) => {
            let sql = "select last_pos from conversation where no = $1";
            maybe(connection, sql, [no], |row| row.get(0))?.unwrap_or(0)
        }
        ScopeNo::Beside => beside(connection)?.0,
    };
    let mut cancelled: HashSet<Position> = HashSet::new();
    for _ in 0..WALK_MAX {
        let Some((commit, before)) = read_commit(connection, scope, at)? else { return Ok(None) };
        at = before;
        let kind = Kind::of(commit.kind);
        // A purge or an erasure leaves no before-images; nothing of the conversation from before it can be restored.
        if kind.is_none_or(Kind::is_barrier) && scope != ScopeNo::Everything {
            return Ok(None);
        }
        if cancelled.remove(&commit.first) {
            continue;
        }
        match (kind, commit.undoes, step) {
            (Some(Kind::Undone), Some(undone), Step::Undo) | (Some(Kind::Redone), Some(undone), Step::Redo) => {
                cancelled.insert(undone);
            }
            (Some(Kind::Undone), Some(_), Step::Redo) => return Ok(Some(commit.first)),
            (_, _, Step::Undo) if commit.images => return Ok(Some(commit.first)),
            (_, _, Step::Redo) if commit.images => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

/// Reads the rows of the commit that ends at a position of a scope, as one, and the position before it.
fn read_commit(connection: Connection<'_>, scope: ScopeNo, mut at: Position) -> Outcome<Option<(Row, Position)>> {
    let mut commit: Option<Row> = None;
    while at > 0 {
        let sql = match scope {
            // A row owns several positions: the newest row at or before this one.
            ScopeNo::Everything => {
                "select first, pos, kind, undoes, before from journal where pos <= $1 order by pos desc limit 1"
            }
            _ => "select first, prev, kind, undoes, before from journal where pos = $1",
        };
        let found = maybe(connection, sql, [at], |row| {
            let before: Option<Vec<u8>> = row.get(4)?;
            Ok(Row {
                first: row.get(0)?,
                prev: row.get(1)?,
                kind: row.get(2)?,
                undoes: row.get(3)?,
                images: before.is_some_and(|before| image::decode(&before).is_some_and(|images| !images.is_empty())),
            })
        })?;
        let Some(mut row) = found else { break };
        if scope == ScopeNo::Everything {
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
pub(crate) fn target_for_caller(connection: Connection<'_>, scope: &Scope, step: Step) -> Outcome<Option<Position>> {
    let scope = scope_no(connection, scope)?;
    let found = target(connection, scope, step)?;
    match (scope, found) {
        (ScopeNo::Conversation(no), Some(position)) if step == Step::Undo => {
            let sql = "select count(*)
                 from journal
                 where first = $1 and pos >= $1 and pos <= $1 + 5000 and conversation_no = $2 and kind = $3";
            let created = Kind::ConversationCreated as i64;
            let creates: i64 = one(connection, sql, (position, no, created), |row| row.get(0))?;
            Ok(found.filter(|_| creates == 0))
        }
        _ => Ok(found),
    }
}

/// Undoes or redoes the last change of a scope, in the same transaction that finds it.
pub(crate) fn step(tx: &mut Tx<'_>, scope: &Scope, step: Step) -> Outcome<Done> {
    let found = target_for_caller(tx.connection, scope, step)?;
    let nothing = match step {
        Step::Undo => Conflict::NothingToUndo,
        Step::Redo => Conflict::NothingToRedo,
    };
    undo(tx, found.ok_or(nothing)?)
}

pub(crate) fn undo(tx: &mut Tx<'_>, position: Position) -> Outcome<Done> {
    type Undone = (Option<i64>, i64, Option<Vec<u8>>, Option<i64>);
    let sql = "select conversation_no, kind, before, key
         from journal
         where first = $1 and pos >= $1 and pos <= $1 + 5000
         order by pos";
    let found: Vec<Undone> =
        rows(tx.connection, sql, [position], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
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
    let step = if is_undo { Step::Redo } else { Step::Undo };
    for scope in &scopes {
        let scope = scope.map_or(ScopeNo::Beside, ScopeNo::Conversation);
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
        for (_, _, before, _) in found.iter().rev().filter(|(conversation_no, ..)| *conversation_no == scope) {
            let images = before.as_deref().and_then(image::decode).unwrap_or_default();
            for image in images.iter().rev() {
                swapped.push(swap(tx, image)?);
            }
        }
        let entry = Entry { key: original, undoes: Some(position), ..Entry::of(kind, &swapped) };
        match scope {
            Some(no) => tx.journal(no, &entry)?,
            None => tx.journal_beside(&entry)?,
        };
    }
    Ok(Done::Plain)
}

/// Restores a before-image and returns the value that it replaced.
fn swap(tx: &mut Tx<'_>, image: &Image) -> Outcome<Image> {
    match image {
        Image::Head { conversation_no, branch_no, key, active_at } => {
            let mut row = tx.conversation_by_no(*conversation_no)?;
            let now = row.head_image();
            let head = Head { branch: BranchNo(*branch_no), at: Address(*key) };
            // Counted anew: a stream on this path may have ended since.
            let sums = tx.sums_at(head)?;
            message::move_to(&mut row, head, sums);
            row.active_at = *active_at;
            tx.keep(&row);
            Ok(now)
        }
        Image::Flag { table, key, withdrawn } => swap_flag(tx, *table, *key, *withdrawn),
        Image::Conversation(image) => {
            let row = tx.conversation_by_no(image.no)?;
            let now = conversation::image_of(tx, &row)?;
            conversation::put_image(tx, image)?;
            Ok(Image::Conversation(Box::new(now)))
        }
        Image::Bookmark { conversation_no, name, row } => {
            let now = attached::bookmark_row(tx, *conversation_no, name)?;
            attached::put_bookmark(tx, *conversation_no, name, row.as_ref())?;
            Ok(Image::Bookmark { conversation_no: *conversation_no, name: name.clone(), row: now })
        }
        Image::ToolCall { key, part, row } => {
            let now = run::tool_row(tx, *key, *part)?;
            run::put_tool_row(tx, *key, *part, row.as_ref())?;
            Ok(Image::ToolCall { key: *key, part: *part, row: now })
        }
        Image::FoldActive { no, active } => {
            let sql = "select active from fold where no = $1";
            let now = maybe(tx.connection, sql, [no], |row| row.get(0))?.unwrap_or(*active);
            attached::put_fold_active(tx, *no, *active)?;
            Ok(Image::FoldActive { no: *no, active: now })
        }
        Image::InputTaken { no, taken_pos } => {
            let sql = "select taken_pos from input where no = $1";
            let now = maybe(tx.connection, sql, [no], |row| row.get(0))?.unwrap_or(*taken_pos);
            run::put_taken(tx, *no, *taken_pos)?;
            Ok(Image::InputTaken { no: *no, taken_pos: now })
        }
        Image::Project { no, name, body } => {
            let sql = "select name, body from project where no = $1";
            let (now_name, now_body): (String, Vec<u8>) =
                one(tx.connection, sql, [no], |row| Ok((row.get(0)?, row.get(1)?)))?;
            project::put(tx, *no, name, body)?;
            Ok(Image::Project { no: *no, name: now_name, body: now_body })
        }
        Image::Memory { no, row } => swap_memory(tx, *no, row, None),
        Image::MemoryBy { no, row, actor_no } => swap_memory(tx, *no, row, *actor_no),
    }
}

fn swap_memory(tx: &mut Tx<'_>, no: i64, row: &MemoryImage, actor_no: Option<i64>) -> Outcome<Image> {
    // An erasure may have taken it; then there is nothing to put back.
    let gone = || Image::MemoryBy { no, row: row.clone(), actor_no };
    let now = library::memory_image(tx, no)?.unwrap_or_else(gone);
    let mut row = row.clone();
    if let Some(conversation_no) = row.conversation_no {
        // A purge may have taken the conversation.
        let sql = "select no from conversation where no = $1";
        row.conversation_no = maybe(tx.connection, sql, [conversation_no], |row| row.get(0))?;
    }
    library::put_memory_row(tx, no, &row, actor_no)?;
    Ok(now)
}

fn swap_flag(tx: &mut Tx<'_>, table: Flagged, key: i64, withdrawn: bool) -> Outcome<Image> {
    let (name, column) = flag_columns(table);
    // An erasure may have taken the row; then there is nothing to turn.
    let now: bool = maybe(tx.connection, &flag_read(table), [key], |row| row.get(0))?.unwrap_or(withdrawn);
    let write = ["update ", name, " set withdrawn = $1 where ", column, " = $2"].concat();
    execute(tx.connection, &write, (withdrawn, key))?;
    Ok(Image::Flag { table, key, withdrawn: now })
}

/// Returns the table of a flag and the column that numbers its rows.
pub(crate) fn flag_columns(table: Flagged) -> (&'static str, &'static str) {
    match table {
        Flagged::Conversation => ("conversation", "no"),
        Flagged::Project => ("project", "no"),
        Flagged::Note => ("note", "no"),
        Flagged::State => ("state", "no"),
        Flagged::Fold => ("fold", "no"),
        Flagged::ModelCall => ("model_call", "no"),
        Flagged::ToolStep => ("tool_step", "no"),
        Flagged::Event => ("event", "key"),
        Flagged::Input => ("input", "no"),
        Flagged::Document => ("document", "no"),
        Flagged::Memory => ("memory", "no"),
        Flagged::Source => ("source", "no"),
        Flagged::Origin => ("origin", "no"),
        Flagged::Quarantine => ("quarantine", "no"),
    }
}

/// Returns how the flag of a row is read.
pub(crate) fn flag_read(table: Flagged) -> String {
    let (name, key) = flag_columns(table);
    ["select withdrawn from ", name, " where ", key, " = $1"].concat()
}
