//! Purge and erase: the only changes that destroy data. Both run in bounded steps, so that none of them holds the lock
//! for long.

use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::{ChangeResult, EraseTarget, Receipt};
use crate::engine::apply::conversation::authenticated_body;
use crate::engine::apply::message::facts_at;
use crate::engine::apply::stream;
use crate::engine::codec::disk_codes::{Kind, STATUS_PURGED, status_code};
use crate::engine::codec::message_header::MessageHeader;
use crate::engine::codec::row_mac;
use crate::engine::commit::participants;
use crate::engine::commit::tx::{ConversationRow, JournalDraft, Tx};
use crate::engine::erase::erase_history::{
    delete_unused_names, delete_unused_tags, finish_erasures, schedule_erasure, sweep, sweep_workspace,
};
use crate::engine::erase::erase_person::erase_step;
use crate::engine::erase::index_delete;
use crate::engine::read::library::UPLOAD;
use crate::engine::sql::connection::{execute, execute_counted, next_page_start, query_all, query_one, query_optional};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::sql::value::Parameters;
use manent_model::{
    Address, BranchNo, ConversationId, ConversationStatus, FoldId, Head, MemoryId, MessageId, MessageStatus, Range,
    path,
};

/// How many rows one step may touch.
pub(crate) const STEP_ROWS: i64 = 500;

/// Remaining work budget of this step.
pub(crate) struct Budget {
    pub left: i64,
    pub receipt: Receipt,
}

impl Budget {
    fn new(tx: &Tx<'_>) -> Self {
        Self { left: STEP_ROWS, receipt: Receipt { at: tx.at, ..Receipt::default() } }
    }

    pub fn spend(&mut self, rows: usize) -> i64 {
        self.left -= rows as i64;
        rows as i64
    }
}

/// Prefix of the key in `meta` of a deletion in progress; the number of the conversation follows.
const DELETION_IN_PROGRESS: &str = "going:";

/// How much of a conversation is deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Messages on paths of other conversations stay readable there.
    Purge,
    /// The content is deleted everywhere.
    Erase,
}

pub(crate) fn purge(tx: &mut Tx<'_>, id: ConversationId) -> TxResult<ChangeResult> {
    let Some(row) = row_of(tx, id)? else { return Ok(ChangeResult::Purged(true)) };
    if row.status != STATUS_PURGED && row.status != status_code(ConversationStatus::Trashed) {
        return Err(Conflict::NotTrashed.into());
    }
    let mut budget = Budget::new(tx);
    let finished =
        continue_deletion(tx, Some(row.no), &mut budget)? && conversation_step(tx, &row, Depth::Purge, &mut budget)?;
    Ok(ChangeResult::Purged(finished))
}

pub(crate) fn erase(tx: &mut Tx<'_>, target: &EraseTarget) -> TxResult<ChangeResult> {
    let mut budget = Budget::new(tx);
    let finished = match target {
        EraseTarget::Conversation(id) => {
            let row = row_of(tx, *id)?.ok_or_else(|| StoreError::not_found("conversation", id))?;
            continue_deletion(tx, Some(row.no), &mut budget)? && conversation_step(tx, &row, Depth::Erase, &mut budget)?
        }
        EraseTarget::Message(id) => continue_deletion(tx, None, &mut budget)? && message_step(tx, *id, &mut budget)?,
        EraseTarget::Person(external_id) => {
            continue_deletion(tx, None, &mut budget)? && erase_step(tx, external_id, &mut budget)?
        }
    };
    budget.receipt.finished = finished;
    Ok(ChangeResult::Erased(budget.receipt))
}

/// Reads a conversation in any status.
fn row_of(tx: &mut Tx<'_>, id: ConversationId) -> TxResult<Option<ConversationRow>> {
    let sql = "select no from conversation where id = $1";
    match query_optional(tx.connection, sql, [id.as_bytes()], |row| row.get(0))? {
        Some(no) => tx.conversation_by_no(no).map(Some),
        None => Ok(None),
    }
}

/// Runs one step of the deletion of a conversation. An unfinished deletion is recorded, because the row no longer says
/// who owned it, and the caller who began may not come back.
pub(crate) fn conversation_step(
    tx: &mut Tx<'_>,
    row: &ConversationRow,
    depth: Depth,
    budget: &mut Budget,
) -> TxResult<bool> {
    let finished = finish_conversation(tx, row, depth, budget)?;
    let name = [DELETION_IN_PROGRESS, &row.no.to_string()].concat();
    match finished {
        true => execute(tx.connection, "delete from meta where name = $1", [name])?,
        false => {
            let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2";
            execute(tx.connection, sql, (name, [u8::from(depth == Depth::Erase)]))?;
        }
    }
    Ok(finished)
}

/// Resumes deletions in progress, except one; says whether all of them are done.
fn continue_deletion(tx: &mut Tx<'_>, but: Option<i64>, budget: &mut Budget) -> TxResult<bool> {
    let sql = "select cast(substr(name, 7) as bigint), value
         from meta
         where name >= 'going:' and name < 'going;'
         order by name";
    let going: Vec<(i64, [u8; 1])> = query_all(tx.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (no, [erased]) in going.into_iter().filter(|(no, _)| Some(*no) != but) {
        let depth = if erased == 1 { Depth::Erase } else { Depth::Purge };
        let row = tx.conversation_by_no(no)?;
        if !conversation_step(tx, &row, depth, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn finish_conversation(tx: &mut Tx<'_>, row: &ConversationRow, depth: Depth, budget: &mut Budget) -> TxResult<bool> {
    if row.status != STATUS_PURGED {
        hide(tx, row, depth)?;
        budget.receipt.conversations += 1;
    }
    delete_annotations(tx, row, depth, budget)?;
    let (needed, left_from) = needed_elsewhere(tx, row.no)?;
    delete_messages(tx, row.no, &needed, depth, budget)?;
    finish_erasures(tx, budget)?;
    if budget.left <= 0 {
        return Ok(false);
    }
    if depth == Depth::Erase {
        delete_unused_names(tx)?;
    }
    if needed.is_empty() && !left_from {
        remove_rows(tx, row)?;
    }
    Ok(true)
}

/// Removes a conversation from all lists at once and wipes the content of its row.
fn hide(tx: &mut Tx<'_>, row: &ConversationRow, depth: Depth) -> TxResult<()> {
    let kind = if depth == Depth::Erase { Kind::Erased } else { Kind::Purged };
    tx.journal(row.no, &JournalDraft::of(kind, &[]))?;
    index_delete::conversation(tx, row.no)?;
    let sealed = authenticated_body(tx.key, row.id.as_bytes(), None, "", None);
    let sql = "update conversation
         set status = $1, title = '', body = null, external_id = null, creator_no = null, project_no = null, seal = $2
         where no = $3";
    execute(tx.connection, sql, (STATUS_PURGED, sealed, row.no))?;
    let sql = "select name_no from tag where conversation_no = $1";
    let tags: Vec<i64> = query_all(tx.connection, sql, [row.no], |row| row.get(0))?;
    execute(tx.connection, "delete from tag where conversation_no = $1", [row.no])?;
    participants::forget(tx.connection, row.no)?;
    delete_unused_tags(tx, &tags)?;
    execute(tx.connection, "delete from bookmark where conversation_no = $1", [row.no])?;
    row_mac::refresh(tx.connection, tx.key, &row_mac::CONVERSATION, row.no)?;
    execute(tx.connection, "delete from lease where conversation_no = $1", [row.no])?;
    schedule_erasure(tx, row.no, Some(row.last_pos))?;
    Ok(())
}

fn delete_annotations(tx: &mut Tx<'_>, row: &ConversationRow, depth: Depth, budget: &mut Budget) -> TxResult<()> {
    const FOLDS: &str =
        "delete from fold where no in (select no from fold where conversation_no = $1 order by no limit $2)";
    const BY_CONVERSATION: [&str; 6] = [
        "delete from note where no in (select no from note where conversation_no = $1 limit $2)",
        "delete from state where no in (select no from state where conversation_no = $1 limit $2)",
        FOLDS,
        "delete from model_call where no in (select no from model_call where conversation_no = $1 limit $2)",
        "delete from input where no in (select no from input where conversation_no = $1 limit $2)",
        "delete from tool_call where (key, part) in
             (select key, part from tool_call where conversation_no = $1 limit $2)",
    ];
    for sql in BY_CONVERSATION {
        if budget.left > 0 {
            // The index loses the same number of folds.
            if sql == FOLDS {
                index_delete::folds(tx, row.no, budget.left)?;
            }
            let gone = execute_counted(tx.connection, sql, (row.no, budget.left))?;
            budget.receipt.annotations += budget.spend(gone);
        }
    }
    if budget.left > 0 {
        let sql = "delete from event where key in (select key from event where key between $1 and $2 limit $3)";
        let gone = execute_counted(tx.connection, sql, (row.no << 32, (row.no + 1) << 32, budget.left))?;
        budget.receipt.annotations += budget.spend(gone);
    }
    let branches: Vec<i64> = branch_numbers(tx, row.no)?;
    for no in branches.into_iter().map(BranchNo) {
        if budget.left > 0 {
            let sql = "delete from tool_step where no in
                 (select no from tool_step where key between $1 and $2 limit $3)";
            let gone = execute_counted(tx.connection, sql, (no.slot(0).0, no.end().0, budget.left))?;
            budget.receipt.annotations += budget.spend(gone);
        }
    }
    if budget.left <= 0 {
        return Ok(());
    }
    let id = row.id.to_string();
    budget.receipt.scratch += execute_counted(tx.connection, "delete from scratch where id = $1", [&id])? as i64;
    // A memory outlives a purge: it is a text of its own, and only loses where it came from.
    if depth == Depth::Erase {
        let sql = "select no, id from memory where conversation_no = $1 limit $2";
        delete_memories(tx, sql, (row.no, budget.left), budget)?;
        delete_origin(tx, "conversation", &id, budget)?;
    }
    Ok(())
}

fn branch_numbers(tx: &Tx<'_>, conversation_no: i64) -> TxResult<Vec<i64>> {
    let sql = "select no from branch where conversation_no = $1 order by no";
    Ok(query_all(tx.connection, sql, [conversation_no], |row| row.get(0))?)
}

/// Returns the runs of this conversation's messages that paths of other conversations reach, and whether any path
/// leaves from it: one that does may reach only messages that this conversation itself took from elsewhere.
fn needed_elsewhere(tx: &mut Tx<'_>, conversation_no: i64) -> TxResult<(Vec<Range>, bool)> {
    let own: Vec<i64> = branch_numbers(tx, conversation_no)?;
    let sql = "select o.parent_no, o.fork_key
         from branch b
         join branch o on o.parent_no = b.no
         where b.conversation_no = $1 and o.conversation_no <> $1 and o.fork_key <> 0";
    let forks: Vec<(i64, i64)> =
        query_all(tx.connection, sql, [conversation_no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut needed = Vec::new();
    let left_from = !forks.is_empty();
    for (parent, fork) in forks {
        let head = Head { branch: BranchNo(parent), at: Address(fork) };
        needed.extend(path::ranges(&mut tx.caches.branches(tx.connection), head)?);
    }
    for no in own.iter().copied().map(BranchNo) {
        let sql = "select p.from_key, p.to_key
             from piece p
             join branch o on o.no = p.branch_no
             where p.from_key between $1 and $2 and o.conversation_no <> $3";
        let pieces = query_all(tx.connection, sql, (no.slot(0).0, no.end().0, conversation_no), |row| {
            Ok(Range { from: Address(row.get(0)?), to: Address(row.get(1)?) })
        })?;
        needed.extend(pieces);
    }
    needed.retain(|range| own.contains(&range.from.branch().0));
    Ok((needed, left_from))
}

fn delete_messages(
    tx: &mut Tx<'_>,
    conversation_no: i64,
    needed: &[Range],
    depth: Depth,
    budget: &mut Budget,
) -> TxResult<()> {
    for no in branch_numbers(tx, conversation_no)?.into_iter().map(BranchNo) {
        let mut after = no.slot(0);
        while budget.left > 0 {
            // Slots that stay are skipped in blocks, so that a step always makes progress.
            let sql = "select key, facts, id from message where key > $1 and key <= $2 order by key limit $3";
            let parameters = (after.0, no.end().0, budget.left);
            let found: Vec<(i64, Vec<u8>, [u8; 16])> =
                query_all(tx.connection, sql, parameters, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let Some(last) = next_page_start(after.0, found.last().map(|(last, ..)| *last)) else { break };
            after = Address(last);
            for (key, facts, id) in found {
                let kept = needed.iter().any(|range| range.contains(Address(key)));
                // The counts of a range are the difference to the sums of the slot before it.
                let before_run = needed.iter().any(|range| range.from.0 == key + 1);
                match (kept, depth) {
                    (false, _) if before_run => {
                        if !is_erased(&facts) {
                            empty_message(tx, Address(key), budget)?;
                        }
                    }
                    (false, _) => {
                        index_delete::message(tx, Address(key))?;
                        delete_blob_uses(tx, key, budget)?;
                        if depth == Depth::Erase {
                            delete_named(tx, key, MessageId::from_bytes(id), budget)?;
                        }
                        stream::close(tx.connection, Address(key))?;
                        execute(tx.connection, "delete from message where key = $1", [key])?;
                        budget.receipt.messages += budget.spend(1);
                    }
                    (true, Depth::Erase) if !is_erased(&facts) => empty_message(tx, Address(key), budget)?,
                    (true, _) => {}
                }
            }
        }
    }
    Ok(())
}

/// A header that cannot be decoded counts as not erased: erasing it again does no harm.
fn is_erased(facts: &[u8]) -> bool {
    MessageHeader::decode(facts).is_some_and(|facts| facts.flags.erased)
}

/// Deletes the uses of blobs by a message, and the blobs that nothing uses any more.
fn delete_blob_uses(tx: &mut Tx<'_>, key: i64, budget: &mut Budget) -> TxResult<()> {
    let sql = "select blob_no from blob_use where key = $1";
    let blobs: Vec<i64> = query_all(tx.connection, sql, [key], |row| row.get(0))?;
    execute(tx.connection, "delete from blob_use where key = $1", [key])?;
    for no in blobs {
        let sql = "select 1 from blob_use where blob_no = $1";
        if query_optional(tx.connection, sql, [no], |_| Ok(()))?.is_none() {
            delete_uploads(tx, no)?;
            execute(tx.connection, "delete from blob where no = $1", [no])?;
            budget.receipt.blobs += budget.spend(1);
        }
    }
    Ok(())
}

/// Deletes the record of who uploaded a blob: its SHA-256 reveals something about its content.
fn delete_uploads(tx: &Tx<'_>, blob_no: i64) -> TxResult<()> {
    let sql = "select sha256 from blob where no = $1";
    let sha256: Option<[u8; 32]> = query_optional(tx.connection, sql, [blob_no], |row| row.get(0))?;
    if let Some(sha256) = sha256 {
        let sql = "delete from scratch where kind = $1 and id = $2";
        execute(tx.connection, sql, (UPLOAD, manent_model::hex::encode(&sha256)))?;
    }
    Ok(())
}

/// Deletes what belongs to one message alone: memories and the record of its origin.
fn delete_named(tx: &mut Tx<'_>, key: i64, id: MessageId, budget: &mut Budget) -> TxResult<()> {
    delete_memories(tx, "select no, id from memory where key = $1", [key], budget)?;
    delete_origin(tx, "message", &id.to_string(), budget)
}

/// Deletes memories and the records of their origins.
pub(crate) fn delete_memories(
    tx: &mut Tx<'_>,
    found: &str,
    parameters: impl Parameters,
    budget: &mut Budget,
) -> TxResult<()> {
    let gone: Vec<(i64, [u8; 16])> = query_all(tx.connection, found, parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (no, id) in &gone {
        execute(tx.connection, "delete from memory where no = $1", [no])?;
        delete_origin(tx, "memory", &MemoryId::from_bytes(*id).to_string(), budget)?;
    }
    budget.receipt.annotations += budget.spend(gone.len());
    sweep_workspace(tx, gone.len())
}

fn delete_origin(tx: &mut Tx<'_>, kind: &str, object: &str, budget: &mut Budget) -> TxResult<()> {
    let sql = "delete from origin where kind = $1 and object = $2";
    let gone = execute_counted(tx.connection, sql, (kind, object))?;
    budget.receipt.annotations += budget.spend(gone);
    sweep_workspace(tx, gone)
}

/// Removes the content of one message and its attachments; its address and its digest stay.
fn empty_message(tx: &mut Tx<'_>, address: Address, budget: &mut Budget) -> TxResult<()> {
    index_delete::message(tx, address)?;
    let sql = "select id from message where key = $1";
    let id = MessageId::from_bytes(query_one(tx.connection, sql, [address.0], |row| row.get(0))?);
    // No `..`: a new field does not compile until it is decided whether erasing a message clears it.
    let MessageHeader {
        mut flags,
        at,
        role_no,
        author_no: _,
        model_no,
        turn,
        tokens,
        reply_to,
        digest,
        usage: _,
        metadata: _,
    } = facts_at(tx, address)?;
    flags.erased = true;
    if flags.status == MessageStatus::Streaming {
        flags.status = MessageStatus::Incomplete;
    }
    // A message that still streams has no digest yet; the chain knows it by its id.
    let digest = digest.or_else(|| Some(crate::engine::commit::prepare::streaming_digest(tx.key, id)));
    let (author_no, usage, metadata) = (None, None, None);
    let header =
        MessageHeader { flags, at, role_no, author_no, model_no, turn, tokens, reply_to, digest, usage, metadata };
    let sql = "update message
         set facts = $1, author_no = null, source_no = null, ordinal = null, external = null, raw = null, mac = null,
             body = $2
         where key = $3";
    execute(tx.connection, sql, (header.encode(), &b"[]"[..], address.0))?;
    execute(tx.connection, "delete from stream where key = $1", [address.0])?;

    budget.receipt.messages += budget.spend(1);
    delete_named(tx, address.0, id, budget)?;
    let sql = "select distinct conversation_no from state where key = $1";
    for conversation_no in query_all(tx.connection, sql, [address.0], |row| row.get(0))? {
        sweep(tx, conversation_no)?;
    }
    const BY_KEY: [&str; 5] = [
        "delete from chunk where key = $1",
        "delete from note where key = $1",
        "delete from state where key = $1",
        "delete from tool_call where key = $1",
        "delete from tool_step where key = $1",
    ];
    for sql in BY_KEY {
        let gone = execute_counted(tx.connection, sql, [address.0])?;
        budget.receipt.annotations += budget.spend(gone);
    }
    delete_blob_uses(tx, address.0, budget)?;
    remove_derived(tx, address, budget)
}

/// Summaries and manifests that were made from a message may repeat it: those that cover it go as well, also those of
/// conversations that took it from here.
fn remove_derived(tx: &mut Tx<'_>, address: Address, budget: &mut Budget) -> TxResult<()> {
    let sql = "select conversation_no from branch where no = $1";
    let own: Option<i64> = query_optional(tx.connection, sql, [address.branch().0], |row| row.get(0))?;
    let mut reached: Vec<i64> = own.into_iter().collect();
    let forks = "select distinct o.conversation_no
         from branch b
         join branch o on o.parent_no = b.no
         where b.conversation_no = $1";
    let splices = "with b as materialized
             (select no << 24 as first, no << 24 | 16777215 as last from branch where conversation_no = $1)
         select distinct o.conversation_no
         from b
         join piece p on p.from_key between b.first and b.last
         join branch o on o.no = p.branch_no";
    let mut place = 0;
    while let Some(&conversation_no) = reached.get(place) {
        for sql in [forks, splices] {
            let found: Vec<i64> = query_all(tx.connection, sql, [conversation_no], |row| row.get(0))?;
            for no in found {
                if !reached.contains(&no) {
                    reached.push(no);
                }
            }
        }
        remove_derived_in(tx, conversation_no, address, budget)?;
        place += 1;
    }
    Ok(())
}

fn remove_derived_in(tx: &mut Tx<'_>, conversation_no: i64, address: Address, budget: &mut Budget) -> TxResult<()> {
    const FOLD: &str = "delete from fold where no = $1";
    const DERIVED: [(&str, &str); 2] = [
        ("select no, ranges, id from fold where conversation_no = $1", FOLD),
        ("select no, ranges, id from model_call where conversation_no = $1", "delete from model_call where no = $1"),
    ];
    for (find, delete) in DERIVED {
        let found: Vec<(i64, Vec<u8>, [u8; 16])> =
            query_all(tx.connection, find, [conversation_no], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for (no, _, id) in found.into_iter().filter(|(_, ranges, _)| covers(ranges, address)) {
            if delete == FOLD {
                index_delete::fold(tx, no)?;
            }
            budget.receipt.annotations += execute_counted(tx.connection, delete, [no])? as i64;
            delete_origin(tx, "fold", &FoldId::from_bytes(id).to_string(), budget)?;
            sweep(tx, conversation_no)?;
        }
    }
    Ok(())
}

fn covers(ranges: &[u8], address: Address) -> bool {
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("cut into eights"));
    ranges.chunks_exact(16).any(|pair| number(&pair[..8]) <= address.0 && address.0 <= number(&pair[8..]))
}

/// Nothing reaches this conversation any more: its rows go.
fn remove_rows(tx: &mut Tx<'_>, row: &ConversationRow) -> TxResult<()> {
    // Empty forks at the start of other conversations may still name a branch as their parent.
    let sql = "select no from branch
         where fork_key = 0 and conversation_no <> $1
           and parent_no in (select no from branch where conversation_no = $1)";
    let orphans: Vec<i64> = query_all(tx.connection, sql, [row.no], |row| row.get(0))?;
    for no in orphans {
        execute(tx.connection, "update branch set parent_no = null where no = $1", [no])?;
        row_mac::refresh(tx.connection, tx.key, &row_mac::BRANCH, no)?;
    }
    for no in branch_numbers(tx, row.no)?.into_iter().rev() {
        execute(tx.connection, "delete from branch where no = $1", [no])?;
    }
    // The foreign key would do so as well, but not work out the MAC again.
    let sql = "select no from memory where conversation_no = $1";
    let outliving: Vec<i64> = query_all(tx.connection, sql, [row.no], |row| row.get(0))?;
    for no in outliving {
        execute(tx.connection, "update memory set conversation_no = null where no = $1", [no])?;
        row_mac::refresh(tx.connection, tx.key, &row_mac::MEMORY, no)?;
    }
    execute(tx.connection, "delete from conversation where no = $1", [row.no])?;
    tx.caches.clear();
    tx.untrack(row.no);
    Ok(())
}

fn message_step(tx: &mut Tx<'_>, id: MessageId, budget: &mut Budget) -> TxResult<bool> {
    erase_message(tx, id, budget)?;
    finish_erasures(tx, budget)?;
    Ok(budget.left > 0)
}

/// Empties a message and marks the journal of its conversation to be scrubbed.
pub(crate) fn erase_message(tx: &mut Tx<'_>, id: MessageId, budget: &mut Budget) -> TxResult<()> {
    let spot = tx.locate(id)?;
    let row = tx.conversation_by_no(spot.conversation_no)?;
    if !facts_at(tx, spot.address)?.flags.erased {
        empty_message(tx, spot.address, budget)?;
        let entry = JournalDraft { key: Some(spot.address.0), ..JournalDraft::of(Kind::Erased, &[]) };
        tx.journal(row.no, &entry)?;
        schedule_erasure(tx, row.no, Some(row.last_pos))?;
    }
    Ok(())
}
