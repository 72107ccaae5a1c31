//! Attachments of conversations: notes, bookmarks, state, folds, model calls.

use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{ChangeResult, NewFold};
use crate::engine::codec::before_image::{BeforeImage, BookmarkImage, SoftDeletable};
use crate::engine::codec::disk_codes::{Kind, NameKind, fold_code, outcome_code};
use crate::engine::codec::{body_mac, row_mac};
use crate::engine::commit::tx::{ConversationRow, JournalDraft, Tx};
use crate::engine::sql::connection::{execute, insert_numbered, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, Call, ConversationId, FoldId, Head, Json, MessageId, MessageRange, NoteId, Range, path};
use serde::{Deserialize, Serialize};

fn withdrawn_at(table: SoftDeletable, key: i64) -> BeforeImage {
    BeforeImage::Flag { table, key, withdrawn: true }
}

fn refuse_taken(tx: &Tx<'_>, sql: &str, what: &'static str, id: &[u8; 16], name: String) -> TxResult<()> {
    match query_optional(tx.connection, sql, [id], |_| Ok(()))? {
        Some(()) => Err(Conflict::Exists { what, id: name }.into()),
        None => Ok(()),
    }
}

pub(crate) fn add_note(
    tx: &mut Tx<'_>,
    id: NoteId,
    message: MessageId,
    kind: &str,
    value: &Json,
) -> TxResult<ChangeResult> {
    let spot = tx.locate(message)?;
    let row = tx.owner(&spot, message)?;
    refuse_taken(tx, "select 1 from note where id = $1", "note", id.as_bytes(), id.to_string())?;
    let sealed =
        body_mac::authenticate(tx.key, "note", &note_id(id.as_bytes(), kind, tx.at.0), value.text().as_bytes());
    let sql = "insert into note (id, conversation_no, key, kind, actor_no, at, body, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let parameters = (id.as_bytes(), row.no, spot.address.0, kind, tx.actor_no, tx.at.0, sealed);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::NOTE, parameters))?;
    let images = [withdrawn_at(SoftDeletable::Note, no)];
    tx.journal(row.no, &JournalDraft { key: Some(spot.address.0), ..JournalDraft::of(Kind::NoteAdded, &images) })?;
    Ok(ChangeResult::Applied)
}

/// Names a note for its seal, with everything that is shown of it beside its value.
pub(crate) fn note_id(id: &[u8; 16], kind: &str, at: i64) -> Vec<u8> {
    [&id[..], &at.to_le_bytes(), kind.as_bytes()].concat()
}

pub(crate) fn remove_note(tx: &mut Tx<'_>, id: NoteId) -> TxResult<ChangeResult> {
    let sql = "select no, conversation_no, key from note where id = $1 and withdrawn = 0";
    let found: Option<(i64, i64, i64)> =
        query_optional(tx.connection, sql, [id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (no, conversation_no, key) = found.ok_or_else(|| StoreError::not_found("note", id))?;
    tx.seen_by_no(conversation_no)?.ok_or_else(|| StoreError::not_found("note", id))?;
    execute(tx.connection, "update note set withdrawn = 1 where no = $1", [no])?;
    let images = [BeforeImage::Flag { table: SoftDeletable::Note, key: no, withdrawn: false }];
    tx.journal(conversation_no, &JournalDraft { key: Some(key), ..JournalDraft::of(Kind::NoteRemoved, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn bookmark_row(tx: &Tx<'_>, conversation_no: i64, name: &str) -> TxResult<Option<BookmarkImage>> {
    let sql = "select branch_no, key, at, body from bookmark where conversation_no = $1 and name = $2";
    let found = query_optional(tx.connection, sql, (conversation_no, name), |row| {
        Ok(BookmarkImage { branch_no: row.get(0)?, key: row.get(1)?, at: row.get(2)?, body: row.get(3)? })
    })?;
    Ok(found)
}

pub(crate) fn write_bookmark(
    tx: &Tx<'_>,
    conversation_no: i64,
    name: &str,
    row: Option<&BookmarkImage>,
) -> TxResult<()> {
    execute(tx.connection, "delete from bookmark where conversation_no = $1 and name = $2", (conversation_no, name))?;
    if let Some(row) = row {
        let sql = "insert into bookmark (conversation_no, name, branch_no, key, at, body)
             values ($1, $2, $3, $4, $5, $6)";
        execute(tx.connection, sql, (conversation_no, name, row.branch_no, row.key, row.at, &row.body))?;
    }
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::CONVERSATION, conversation_no)?)
}

pub(crate) fn set_bookmark(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    name: &str,
    head: Option<MessageId>,
    metadata: Option<&Json>,
) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let head = match head {
        Some(message) => tx.head_at(&row, message)?,
        None => Head { branch: row.head.branch, at: Address::START },
    };
    let earlier = bookmark_row(tx, row.no, name)?;
    let body = metadata.map(|json| body_mac::authenticate(tx.key, "bookmark", name.as_bytes(), json.text().as_bytes()));
    let now = BookmarkImage { branch_no: head.branch.0, key: head.at.0, at: tx.at.0, body };
    write_bookmark(tx, row.no, name, Some(&now))?;
    let images = [BeforeImage::Bookmark { conversation_no: row.no, name: name.to_owned(), row: earlier }];
    tx.journal(row.no, &JournalDraft { key: Some(head.at.0), ..JournalDraft::of(Kind::BookmarkSet, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn remove_bookmark(tx: &mut Tx<'_>, conversation: ConversationId, name: &str) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let earlier = bookmark_row(tx, row.no, name)?.ok_or_else(|| StoreError::not_found("bookmark", name))?;
    write_bookmark(tx, row.no, name, None)?;
    let key = Some(earlier.key);
    let images = [BeforeImage::Bookmark { conversation_no: row.no, name: name.to_owned(), row: Some(earlier) }];
    tx.journal(row.no, &JournalDraft { key, ..JournalDraft::of(Kind::BookmarkRemoved, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn set_state(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    name: &str,
    after: Option<MessageId>,
    value: Option<&Json>,
) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let address = match after {
        Some(message) => tx.head_at(&row, message)?.at,
        None => start_of(tx, row.no)?,
    };
    let name_no = tx.intern(NameKind::State, name)?;
    let body =
        value.map(|json| body_mac::authenticate(tx.key, "state", &address.0.to_le_bytes(), json.text().as_bytes()));
    let sql = "insert into state (conversation_no, name_no, key, at, actor_no, body, mac)
         values ($1, $2, $3, $4, $5, $6, $7)";
    let parameters = (row.no, name_no, address.0, tx.at.0, tx.actor_no, body);
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::STATE, parameters))?;
    let images = [withdrawn_at(SoftDeletable::State, no)];
    tx.journal(row.no, &JournalDraft { key: Some(address.0), ..JournalDraft::of(Kind::StateSet, &images) })?;
    Ok(ChangeResult::Applied)
}

/// The start of every path of a conversation is slot 0 of its first branch.
pub(crate) fn start_of(tx: &Tx<'_>, conversation_no: i64) -> TxResult<Address> {
    super::super::read::path::start_of(tx.connection, conversation_no)
}

/// Turns stretches of the path into ranges of addresses; they must lie on the path that ends at `head`.
fn ranges_of(tx: &mut Tx<'_>, head: Head, covers: &[MessageRange]) -> TxResult<Vec<Range>> {
    let mut ranges = Vec::new();
    for stretch in covers {
        let (first, last) = (tx.locate(stretch.first)?.address, tx.locate(stretch.last)?.address);
        let off_path = || StoreError::Invalid("a range must be on the path before its place".to_owned());
        let tail = path::ranges_from(&mut tx.caches.branches(tx.connection), head, first)?.ok_or_else(off_path)?;
        let place = tail.iter().position(|range| range.contains(last)).ok_or_else(off_path)?;
        ranges.extend_from_slice(&tail[..place]);
        ranges.push(Range::new(tail[place].from, last));
    }
    Ok(ranges)
}

/// The fields of a fold that are only ever read as a whole. `covers` is the caller's input; the ranges are for reading
/// paths.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FoldBody {
    pub covers: Vec<MessageRange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, deserialize_with = "body_mac::present", skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Json>,
}

fn place_for(tx: &mut Tx<'_>, row: &ConversationRow, after: Option<MessageId>) -> TxResult<Head> {
    match after {
        Some(message) => tx.head_at(row, message),
        None => Ok(Head { branch: row.head.branch, at: Address::START }),
    }
}

pub(crate) fn add_fold(tx: &mut Tx<'_>, conversation: ConversationId, fold: &NewFold) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let head = place_for(tx, &row, Some(fold.after))?;
    let ranges = ranges_of(tx, head, &fold.covers)?;
    refuse_taken(tx, "select 1 from fold where id = $1", "fold", fold.id.as_bytes(), fold.id.to_string())?;
    let body = FoldBody { covers: fold.covers.clone(), summary: fold.summary.clone(), made_by: fold.made_by.clone() };
    let sealed = body_mac::authenticate_json(tx.key, "fold", fold.id.as_bytes(), &body);
    let sql = "insert into fold (id, conversation_no, branch_no, key, kind, active, parent, at, ranges, body, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let active = true;
    let parameters = (
        fold.id.as_bytes(),
        row.no,
        head.branch.0,
        head.at.0,
        fold_code(fold.kind),
        active,
        fold.parent.as_ref().map(|id| &id.as_bytes()[..]),
        tx.at.0,
        range_bytes(&ranges),
        sealed,
    );
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::FOLD, parameters))?;
    let images = [withdrawn_at(SoftDeletable::Fold, no)];
    tx.journal(row.no, &JournalDraft { key: Some(head.at.0), ..JournalDraft::of(Kind::FoldAdded, &images) })?;
    Ok(ChangeResult::Applied)
}

fn range_bytes(ranges: &[Range]) -> Vec<u8> {
    ranges.iter().flat_map(|range| [range.from.0.to_le_bytes(), range.to.0.to_le_bytes()].concat()).collect()
}

pub(crate) fn set_fold_active(tx: &mut Tx<'_>, id: FoldId, active: bool) -> TxResult<ChangeResult> {
    let sql = "select no, conversation_no, key, active from fold where id = $1 and withdrawn = 0";
    let found: Option<(i64, i64, i64, bool)> = query_optional(tx.connection, sql, [id.as_bytes()], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let (no, conversation_no, key, earlier) = found.ok_or_else(|| StoreError::not_found("fold", id))?;
    tx.seen_by_no(conversation_no)?.ok_or_else(|| StoreError::not_found("fold", id))?;
    write_fold_active(tx, no, active)?;
    let images = [BeforeImage::FoldActive { no, active: earlier }];
    tx.journal(conversation_no, &JournalDraft { key: Some(key), ..JournalDraft::of(Kind::FoldSwitched, &images) })?;
    Ok(ChangeResult::Applied)
}

pub(crate) fn write_fold_active(tx: &Tx<'_>, no: i64, active: bool) -> TxResult<()> {
    execute(tx.connection, "update fold set active = $1 where no = $2", (active, no))?;
    Ok(row_mac::refresh(tx.connection, tx.key, &row_mac::FOLD, no)?)
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallBody {
    pub sent: Vec<MessageRange>,
    #[serde(default, deserialize_with = "body_mac::present", skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
}

pub(crate) fn record_call(tx: &mut Tx<'_>, conversation: ConversationId, call: &Call) -> TxResult<ChangeResult> {
    let row = tx.conversation(conversation)?;
    let head = place_for(tx, &row, call.after)?;
    let ranges = ranges_of(tx, head, &call.sent)?;
    refuse_taken(tx, "select 1 from model_call where id = $1", "call", call.id.as_bytes(), call.id.to_string())?;
    let model_no = call.model.as_deref().map(|model| tx.intern(NameKind::Model, model)).transpose()?;
    let body = CallBody { sent: call.sent.clone(), manifest: call.manifest.clone() };
    let sealed = body_mac::authenticate_json(tx.key, "call", call.id.as_bytes(), &body);
    let sql = "insert into model_call
            (id, conversation_no, branch_no, key, model_no, outcome, tokens_in, tokens_out, cost_micros, at, ranges,
             body, mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let parameters = (
        call.id.as_bytes(),
        row.no,
        head.branch.0,
        head.at.0,
        model_no,
        outcome_code(call.outcome),
        call.tokens_in,
        call.tokens_out,
        call.cost_micros,
        call.at.0,
        range_bytes(&ranges),
        sealed,
    );
    let no = insert_numbered(tx.connection, sql, row_mac::row(tx.key, &row_mac::MODEL_CALL, parameters))?;
    let images = [withdrawn_at(SoftDeletable::ModelCall, no)];
    tx.journal(row.no, &JournalDraft { key: Some(head.at.0), ..JournalDraft::of(Kind::CallRecorded, &images) })?;
    Ok(ChangeResult::Applied)
}
