//! Changes to branches: open, splice, and set the head that chooses between them.

use super::message::{already_there, insert, move_to};
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{BranchBase, BranchReason, ChangeResult, HeadTarget, MessageOrigin, SplicePosition};
use crate::engine::codec::disk_codes::{Kind, STATUS_PURGED, why_code};
use crate::engine::codec::row_mac;
use crate::engine::commit::prepare::MessageSummary;
use crate::engine::commit::tx::{JournalDraft, Tx};
use crate::engine::sql::connection::{execute, insert_numbered, query_all, query_optional};
use crate::engine::sql::tx_error::{TxError, TxResult};
use manent_model::path::{self, Cut};
use manent_model::{
    Address, Base, Branch, BranchId, BranchNo, ConversationId, Head, MessageRange, NewMessage, Piece, Range, Sums,
};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) struct BranchContents<'a> {
    pub id: BranchId,
    pub base: Option<&'a BranchBase>,
    pub own: &'a [NewMessage],
    pub pieces: &'a [MessageRange],
    pub reason: BranchReason,
    pub facts: &'a [MessageSummary],
    pub origins: &'a [MessageOrigin],
}

/// Inserts a branch row and returns its number.
pub(crate) fn insert_row(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    id: BranchId,
    base: Option<Base>,
    open_from: i64,
    before: Sums,
    reason: BranchReason,
) -> TxResult<BranchNo> {
    let sql = "insert into branch
            (id, conversation_no, parent_no, fork_key, open_from, before_depth, before_visible, before_words,
             before_tokens, why, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let taken = "select 1 from branch where id = $1";
    if crate::engine::sql::connection::query_optional(tx.connection, taken, [id.as_bytes()], |_| Ok(()))?.is_some() {
        return Err(Conflict::Exists { what: "branch", id: id.to_string() }.into());
    }
    let parameters = (
        id.as_bytes(),
        conversation_no,
        base.map(|base| base.parent.0),
        base.map_or(0, |base| base.fork.0),
        open_from,
        before.depth,
        before.visible,
        before.words,
        before.tokens,
        why_code(reason),
    );
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::BRANCH, parameters))?;
    Ok(BranchNo(no))
}

/// Opens a branch without pieces.
pub(crate) fn insert_plain(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    id: BranchId,
    base: Base,
    before: Sums,
    reason: BranchReason,
) -> TxResult<Arc<Branch>> {
    let no = insert_row(tx, conversation_no, id, Some(base), 1, before, reason)?;
    tx.branch(no)
}

fn insert_pieces(tx: &mut Tx<'_>, no: BranchNo, mut before: Sums, pieces: &[Range]) -> TxResult<()> {
    let sql = "insert into piece
            (branch_no, ordinal, from_key, to_key, before_depth, before_visible, before_words, before_tokens)
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    for (ordinal, range) in pieces.iter().enumerate() {
        execute(
            tx.connection,
            sql,
            (no.0, ordinal as i64, range.from.0, range.to.0, before.depth, before.visible, before.words, before.tokens),
        )?;
        before = before + sums_of(tx, *range)?;
    }
    let sql = "update branch
         set before_depth = $1, before_visible = $2, before_words = $3, before_tokens = $4
         where no = $5";
    execute(tx.connection, sql, (before.depth, before.visible, before.words, before.tokens, no.0))?;
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::BRANCH, no.0)?)
}

fn sums_of(tx: &Tx<'_>, range: Range) -> TxResult<Sums> {
    Ok(tx.sums_up_to(range.to)? - tx.sums_up_to(Address(range.from.0 - 1))?)
}

/// Opens a branch that is described whole, as an import knows it.
pub(crate) fn import_branch(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    open: &BranchContents<'_>,
) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    if !open.own.is_empty() && already_there(tx, row.no, open.own, open.facts)? {
        return Ok(ChangeResult::Messages(open.own.last().map(|message| message.id)));
    }
    let base = match open.base {
        Some(base) => {
            let parent = any_branch(tx, base.parent)?;
            let fork = match base.fork {
                Some(message) => tx.locate(message)?.address,
                None => Address::START,
            };
            let end = tx.end_of(&parent)?;
            if !path::reaches(&mut tx.caches.branches(tx.connection), end, fork)? {
                return Err(StoreError::Invalid(format!("branch {} does not reach its fork", base.parent)).into());
            }
            Some(Base { parent: parent.no, fork })
        }
        None => None,
    };
    let before = match base {
        Some(base) => tx.sums_at(Head { branch: base.parent, at: base.fork })?,
        None => Sums::default(),
    };
    // Own messages stand in the pieces only if the pieces name them; otherwise they are simply the first ones.
    let own_in_ranges = match open.pieces.is_empty() {
        true => 0,
        false => open.own.len() as i64,
    };
    let no = insert_row(tx, row.no, open.id, base, own_in_ranges + 1, before, open.reason)?;
    let added = insert(tx, no.slot(1), Sums::default(), open.own, open.facts, open.origins)?;
    let mut pieces = Vec::with_capacity(open.pieces.len());
    for stretch in open.pieces {
        let (first, last) = (tx.locate(stretch.first)?.address, tx.locate(stretch.last)?.address);
        if first.branch() != last.branch() || first > last {
            return Err(StoreError::Invalid("a piece must be inside one branch".to_owned()).into());
        }
        pieces.push(Range::new(first, last));
    }
    if !pieces.is_empty() {
        refuse_overlap(tx, base, &pieces)?;
        // A message that no piece names would belong to a branch whose path does not reach it.
        let named = |slot: i64| pieces.iter().any(|range| range.contains(no.slot(slot)));
        if !(1..=own_in_ranges).all(named) {
            return Err(StoreError::Invalid("the pieces of a branch hold its own messages".to_owned()).into());
        }
        insert_pieces(tx, no, before, &pieces)?;
    }
    journal_opened(tx, row.no, no, open.own.len(), added, None)?;
    Ok(ChangeResult::Messages(open.own.last().map(|message| message.id)))
}

/// A message that stood on a path twice would have two places there, and paging from it would never end.
fn refuse_overlap(tx: &mut Tx<'_>, base: Option<Base>, pieces: &[Range]) -> TxResult<()> {
    let mut all = pieces.to_vec();
    if let Some(base) = base {
        let head = Head { branch: base.parent, at: base.fork };
        all.extend(path::ranges(&mut tx.caches.branches(tx.connection), head)?);
    }
    all.sort_unstable_by_key(|range| range.from);
    match all.windows(2).any(|pair| pair[1].from <= pair[0].to) {
        true => Err(StoreError::Invalid("a path holds a message once".to_owned()).into()),
        false => Ok(()),
    }
}

/// A branch may fork from another conversation's branch: a fork into a new conversation does. Of a purged branch only
/// the ranges that others reference remain, and no branch can fork from it any more.
fn any_branch(tx: &mut Tx<'_>, id: BranchId) -> TxResult<Arc<Branch>> {
    let sql = "select b.no from branch b join conversation c on c.no = b.conversation_no
         where b.id = $1 and c.status <> $2";
    let found = query_optional(tx.connection, sql, (id.as_bytes(), STATUS_PURGED), |row| row.get(0))?;
    let no = BranchNo(found.ok_or_else(|| StoreError::not_found("branch", id))?);
    tx.branch(no)
}

fn journal_opened(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    no: BranchNo,
    own: usize,
    added: manent_model::Digest,
    moved: Option<(Head, crate::engine::codec::before_image::BeforeImage)>,
) -> TxResult<()> {
    let key = moved.as_ref().map(|(head, _)| head.at.0);
    let images: Vec<_> = moved.into_iter().map(|(_, before)| before).collect();
    let images = images.as_slice();
    let entry = match own {
        0 => JournalDraft { key, ..JournalDraft::of(Kind::HeadMoved, images) },
        own => JournalDraft {
            kind: Kind::BranchOpened,
            key: Some(no.slot(1).0),
            count: own as i64,
            added: Some(added),
            images,
            undoes: None,
        },
    };
    tx.journal(conversation_no, &entry)?;
    Ok(())
}

pub(crate) fn splice(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    id: BranchId,
    at: &SplicePosition,
    messages: &[NewMessage],
    facts: &[MessageSummary],
    origins: &[MessageOrigin],
) -> TxResult<ChangeResult> {
    let mut row = tx.conversation(conversation)?;
    if !messages.is_empty() && already_there(tx, row.no, messages, facts)? {
        return Ok(ChangeResult::Messages(messages.last().map(|message| message.id)));
    }
    let cut = cut_of(tx, row.head, at)?;
    let base = Base { parent: row.head.branch, fork: cut.after };
    let before = tx.sums_at(Head { branch: base.parent, at: base.fork })?;
    let before_image = row.head_image();
    let inserted = messages.len() as i64;
    let no = insert_row(tx, row.no, id, Some(base), inserted + 1, before, BranchReason::Edit)?;
    let pieces = path::splice(&mut tx.caches.branches(tx.connection), row.head, cut, no, inserted)?;
    let pieces = pieces.ok_or_else(|| StoreError::Invalid("the splice does not lie on the path".to_owned()))?;
    let added = insert(tx, no.slot(1), Sums::default(), messages, facts, origins)?;
    insert_pieces(tx, no, before, &pieces)?;
    let branch = tx.branch(no)?;
    let head = Head { branch: no, at: branch.tip_before_open() };
    let sums = tx.sums_at(head)?;
    move_to(&mut row, head, sums);
    tx.mark_changed(&row);
    journal_opened(tx, row.no, no, messages.len(), added, Some((head, before_image)))?;
    Ok(ChangeResult::Messages(messages.last().map(|message| message.id)))
}

fn cut_of(tx: &mut Tx<'_>, head: Head, at: &SplicePosition) -> TxResult<Cut> {
    let off_path = || StoreError::Invalid("the splice does not lie on the path".to_owned());
    let (after, last_removed) = match at {
        SplicePosition::After(None) => (Address::START, None),
        SplicePosition::After(Some(message)) => (tx.locate(*message)?.address, None),
        SplicePosition::Replace(MessageRange { first, last }) => {
            let (first, last) = (tx.locate(*first)?.address, tx.locate(*last)?.address);
            let before = path::before(&mut tx.caches.branches(tx.connection), head, first)?;
            (before.ok_or_else(off_path)?, Some((first, last)))
        }
    };
    let from = match last_removed {
        Some((_, last)) => last,
        None => after,
    };
    let mut branches = tx.caches.branches(tx.connection);
    if let Some((first, last)) = last_removed {
        let from_first = path::ranges_from(&mut branches, head, first)?.ok_or_else(off_path)?;
        if !from_first.iter().any(|range| range.contains(last)) {
            return Err(off_path().into());
        }
    }
    let tail = match from {
        Address::START => path::ranges(&mut branches, head)?.first().map(|range| range.from),
        from => {
            let ranges = path::ranges_from(&mut branches, head, from)?.ok_or_else(off_path)?;
            match (ranges.first(), ranges.get(1)) {
                (Some(range), _) if range.to > from => Some(Address(from.0 + 1)),
                (_, next) => next.map(|range| range.from),
            }
        }
    };
    Ok(Cut { after, tail })
}

pub(crate) fn move_head(tx: &mut Tx<'_>, conversation: ConversationId, to: &HeadTarget) -> TxResult<ChangeResult> {
    let mut row = tx.conversation(conversation)?;
    let before = row.head_image();
    let was = row.head;
    let head = match to {
        HeadTarget::Message(message) => tx.head_at(&row, *message)?,
        HeadTarget::End(branch) => {
            let branch = tx.branch_of(row.no, *branch)?;
            tx.end_of(&branch)?
        }
        HeadTarget::On { branch, message } => {
            let branch = tx.branch_of(row.no, *branch)?;
            let at = match message {
                Some(message) => tx.locate(*message)?.address,
                None => Address::START,
            };
            let end = tx.end_of(&branch)?;
            if !path::reaches(&mut tx.caches.branches(tx.connection), end, at)? {
                return Err(StoreError::Invalid("the branch does not reach the message".to_owned()).into());
            }
            Head { branch: branch.no, at }
        }
        HeadTarget::Empty(id) => {
            let base = Base { parent: row.head.branch, fork: Address::START };
            let branch = insert_plain(tx, row.no, *id, base, Sums::default(), BranchReason::Clear)?;
            Head { branch: branch.no, at: Address::START }
        }
    };
    let sums = tx.sums_at(head)?;
    move_to(&mut row, head, sums);
    tx.mark_changed(&row);
    // A head that stays where it is makes no undo step.
    let images = if head == was { Vec::new() } else { vec![before] };
    tx.journal(row.no, &JournalDraft { key: Some(head.at.0), ..JournalDraft::of(Kind::HeadMoved, &images) })?;
    Ok(ChangeResult::Applied)
}

/// Corrects the sums of branches that left behind a message whose count has grown.
///
/// Only a fork that was made behind a message while it streamed needs this, so the usual answer is one empty query.
pub(crate) fn extend_pieces(tx: &mut Tx<'_>, address: Address) -> TxResult<()> {
    let end = address.branch().end();
    let sql = "select no from branch where fork_key between $1 and $2
         union
         select branch_no from piece where from_key between $3 and $2 and to_key >= $1";
    let parameters = (address.0, end.0, address.branch().slot(1).0);
    let found: Vec<i64> = query_all(tx.connection, sql, parameters, |row| row.get(0))?;
    let mut affected: BTreeSet<i64> = found.into_iter().collect();
    let mut queue: Vec<i64> = affected.iter().copied().collect();
    while let Some(no) = queue.pop() {
        let children = query_all(tx.connection, "select no from branch where parent_no = $1", [no], |row| row.get(0))?;
        queue.extend(children.into_iter().filter(|child: &i64| affected.insert(*child)));
    }
    // A parent is older than its children, so in order of number every base is right before it is used.
    for no in &affected {
        let sql = "select c.status from branch b join conversation c on c.no = b.conversation_no where b.no = $1";
        let status: Option<i64> = query_optional(tx.connection, sql, [no], |row| row.get(0))?;
        match recount(tx, BranchNo(*no)) {
            Err(TxError::Rejected(StoreError::Altered { .. })) if status == Some(STATUS_PURGED) => {}
            counted => counted?,
        }
        row_mac::refresh(tx.connection, tx.key, &row_mac::BRANCH, *no)?;
    }
    for no in &affected {
        // Of a purged conversation only the ranges that others reference remain; it is not counted.
        let sql = "select no from conversation where head_branch_no = $1 and status <> $2";
        for conversation_no in query_all(tx.connection, sql, (no, STATUS_PURGED), |row| row.get(0))? {
            let mut row = tx.conversation_by_no(conversation_no)?;
            let sums = tx.sums_at(row.head)?;
            let head = row.head;
            move_to(&mut row, head, sums);
            tx.mark_changed(&row);
        }
    }
    Ok(())
}

fn recount(tx: &mut Tx<'_>, no: BranchNo) -> TxResult<()> {
    tx.caches.clear();
    let branch = tx.branch(no)?;
    let mut before = match branch.base {
        Some(base) => tx.sums_at(Head { branch: base.parent, at: base.fork })?,
        None => Sums::default(),
    };
    let sql = "update piece set before_depth = $1, before_visible = $2, before_words = $3, before_tokens = $4
         where branch_no = $5 and ordinal = $6";
    for (ordinal, Piece { range, .. }) in branch.pieces.iter().enumerate() {
        let parameters = (before.depth, before.visible, before.words, before.tokens, no.0, ordinal as i64);
        execute(tx.connection, sql, parameters)?;
        before = before + sums_of(tx, *range)?;
    }
    let sql = "update branch
         set before_depth = $1, before_visible = $2, before_words = $3, before_tokens = $4
         where no = $5";
    execute(tx.connection, sql, (before.depth, before.visible, before.words, before.tokens, no.0))?;
    tx.caches.clear();
    Ok(())
}
