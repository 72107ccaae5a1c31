//! Applies each kind of change. Every function reads and validates before it writes.

pub(crate) mod conversation;
pub(crate) mod message;
pub(crate) mod stream;
pub(crate) mod branch;
pub(crate) mod annotations;
pub(crate) mod run;
pub(crate) mod library;
pub(crate) mod project;
pub(crate) mod undo;

use crate::api::error::Conflict;
use crate::api::transaction::{Change, ChangeResult, Expect, Transaction};
use crate::engine::commit::prepare::MessageSummary;
use crate::engine::commit::tx::Tx;
use crate::engine::sql::tx_error::TxResult;

/// Checks the caller's preconditions, before the first write.
pub(crate) fn check(tx: &mut Tx<'_>, transaction: &Transaction) -> TxResult<()> {
    for expect in &transaction.expect {
        match expect {
            Expect::Version { conversation, version } => {
                same_version(*version, tx.conversation(*conversation)?.version)?;
            }
            Expect::Project { id, version } => same_version(*version, project::version(tx, *id)?)?,
            Expect::Document { kind, id, version } => same_version(*version, library::version(tx, kind, id)?)?,
            Expect::Head { conversation, head } => {
                let row = tx.conversation(*conversation)?;
                let expected = match head {
                    Some(id) => tx.locate(*id)?.address,
                    None => manent_model::Address::START,
                };
                if row.head.at != expected {
                    return Err(Conflict::Head.into());
                }
            }
            Expect::Lease { conversation, token } => {
                let row = tx.conversation(*conversation)?;
                run::held_lease(tx, row.no, *token)?;
            }
        }
    }
    Ok(())
}

fn same_version(expected: i64, actual: i64) -> TxResult<()> {
    match expected == actual {
        true => Ok(()),
        false => Err(Conflict::Version { expected, actual }.into()),
    }
}

/// Applies one change.
pub(crate) fn apply(tx: &mut Tx<'_>, change: &Change, facts: &[MessageSummary]) -> TxResult<ChangeResult> {
    match change {
        Change::CreateConversation { id, branch, draft, importing } => {
            conversation::create(tx, *id, *branch, draft, *importing)
        }
        Change::EditConversation { id, patch } => conversation::edit(tx, *id, patch),
        Change::AppendMessages { conversation, at, head, why, messages, origins } => {
            let append = message::Append { at, head: *head, why: *why, messages, origins, facts };
            message::append(tx, *conversation, &append)
        }
        Change::AppendChunk { message, delta } => stream::append_chunk(tx, *message, delta),
        Change::FinishMessage { message, finish } => stream::finish(tx, *message, finish),
        Change::OpenBranch { conversation, branch, base, own, pieces, why, origins } => {
            let open =
                branch::BranchContents { id: *branch, base: base.as_ref(), own, pieces, reason: *why, facts, origins };
            branch::import_branch(tx, *conversation, &open)
        }
        Change::Splice { conversation, branch, at, messages, origins } => {
            branch::splice(tx, *conversation, *branch, at, messages, facts, origins)
        }
        Change::MoveHead { conversation, to } => branch::move_head(tx, *conversation, to),
        Change::AddNote { id, message, kind, value } => annotations::add_note(tx, *id, *message, kind, value),
        Change::RemoveNote { id } => annotations::remove_note(tx, *id),
        Change::SetBookmark { conversation, name, head, metadata } => {
            annotations::set_bookmark(tx, *conversation, name, *head, metadata.as_ref())
        }
        Change::RemoveBookmark { conversation, name } => annotations::remove_bookmark(tx, *conversation, name),
        Change::SetState { conversation, name, after, value } => {
            annotations::set_state(tx, *conversation, name, *after, value.as_ref())
        }
        Change::AddFold { conversation, fold } => annotations::add_fold(tx, *conversation, fold),
        Change::SetFoldActive { fold, active } => annotations::set_fold_active(tx, *fold, *active),
        Change::RecordCall { conversation, call } => annotations::record_call(tx, *conversation, call),
        Change::PutToolCall { call, note } => run::put_tool_call(tx, call, note),
        Change::PutToolTrail { call, steps, instead_of } => run::put_tool_trail(tx, call, steps, *instead_of),
        Change::MoveToolCall { message, part, to, record, note } => {
            run::move_tool_call(tx, *message, *part, *to, record.as_ref(), note)
        }
        Change::AppendEvents { conversation, events } => run::append_events(tx, *conversation, events),
        Change::PutInput { conversation, id, body } => run::put_input(tx, *conversation, *id, body),
        Change::TakeInputs { conversation, ids } => run::take_inputs(tx, *conversation, ids),
        Change::TakeLease { conversation, owner, until } => run::take_lease(tx, *conversation, owner, *until),
        Change::RenewLease { conversation, token, until } => run::renew_lease(tx, *conversation, *token, *until),
        Change::ReleaseLease { conversation, token } => run::release_lease(tx, *conversation, *token),
        Change::PutDocument { kind, id, project, body } => library::put_document(tx, kind, id, *project, body.as_ref()),
        Change::PutBlobPiece { sha256, size, n, last, bytes } => {
            library::put_blob_piece(tx, sha256, *size, *n, *last, bytes)
        }
        Change::PutSource { source } => library::put_source(tx, source),
        Change::PutOrigin { origin } => library::put_origin(tx, origin),
        Change::Quarantine { quarantined } => library::quarantine(tx, quarantined),
        Change::PutMemory { memory } => library::put_memory(tx, memory),
        Change::RemoveMemory { id } => library::remove_memory(tx, *id),
        Change::PutScratch { scratch } => library::put_scratch(tx, scratch),
        Change::RemoveScratch { kind, id, actor } => library::remove_scratch(tx, kind, id, actor),
        Change::CreateProject { project } => project::create(tx, project),
        Change::EditProject { id, patch } => project::edit(tx, *id, patch),
        Change::RemoveProject { id } => project::remove(tx, *id),
        Change::Undo { position } => undo::undo(tx, *position),
        Change::Step { scope, step } => undo::apply_step(tx, scope, *step),
        Change::Purge { conversation } => crate::engine::erase::destroy::purge(tx, *conversation),
        Change::Erase { target } => crate::engine::erase::destroy::erase(tx, target),
    }
}
