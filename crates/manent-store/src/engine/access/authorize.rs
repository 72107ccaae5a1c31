//! Access checks: does the access scope of a limited key contain the objects that a transaction names?
//!
//! An object outside the scope is refused with the error of an unknown id; an object to create is refused with the
//! error of an id that is taken.

use super::access_check::{AccessCheck, AccessChecks, PathOf};
use crate::api::error::{Conflict, StoreError};
use crate::api::transaction::Position;
use crate::engine::access::access_filter::{AccessFilter, project_no};
use crate::engine::apply::undo::{ResolvedScope, target};
use crate::engine::codec::document_name::{is_qualified, qualified};
use crate::engine::commit::tx::{Tx, locate};
use crate::engine::erase::erase_person;
use crate::engine::read::blob::{is_shown_within, is_uploaded_by};
use crate::engine::read::library::memory_within;
use crate::engine::sql::connection::{query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, BranchId, BranchNo, ConversationId, MemoryId, MessageId, ProjectId, hex, path};

/// Runs the access checks of a transaction in their order, and refuses at the first that fails.
pub(crate) fn check(tx: &mut Tx<'_>, checks: &AccessChecks) -> TxResult<()> {
    if erase_person::is_revoked(tx, &checks.key)? {
        return Err(StoreError::Forbidden { needs: "a key that was not ended" }.into());
    }
    let within = AccessFilter::of(tx.connection, &checks.access)?;
    for check in &checks.checks {
        match check {
            AccessCheck::Document { kind, id, project } => {
                let stored = document_name(tx, &within, &checks.access, (kind, id), *project)?;
                tx.document_names.push((kind.clone(), id.clone(), stored));
            }
            check => check_one(tx, &within, &checks.key, check)?,
        }
    }
    Ok(())
}

fn check_one(tx: &mut Tx<'_>, within: &AccessFilter, key: &str, check: &AccessCheck) -> TxResult<()> {
    let connection = tx.connection;
    let not_found = |what: &'static str, id: String| StoreError::NotFound { what, id };
    match check {
        AccessCheck::Conversation(id) => {
            let found = within.conversation(connection, *id)?;
            found.map(drop).ok_or_else(|| not_found("conversation", id.to_string()).into())
        }
        AccessCheck::Known(id) => {
            let found = within.known(connection, *id)?;
            found.map(drop).ok_or_else(|| not_found("conversation", id.to_string()).into())
        }
        AccessCheck::NewConversation { id, external } => free_conversation(tx, within, *id, external.as_deref()),
        AccessCheck::Message { id, on } => message(tx, within, *id, *on),
        AccessCheck::Branch(id) => match branch(tx, within, *id)? {
            Lookup::Visible(_) => Ok(()),
            Lookup::Hidden | Lookup::Missing => Err(not_found("branch", id.to_string()).into()),
        },
        AccessCheck::NewBranch(id) => match branch(tx, within, *id)? {
            Lookup::Visible(_) | Lookup::Missing => Ok(()),
            Lookup::Hidden => Err(require_free("branch", id.to_string())),
        },
        AccessCheck::Note(id) => {
            let sql = "select conversation_no from note where id = $1 and withdrawn = 0";
            owned(tx, within, sql, id.as_bytes(), || not_found("note", id.to_string()))
        }
        AccessCheck::Fold(id) => {
            let sql = "select conversation_no from fold where id = $1 and withdrawn = 0";
            owned(tx, within, sql, id.as_bytes(), || not_found("fold", id.to_string()))
        }
        AccessCheck::Memory(id) => {
            let found = memory_within(connection, within, *id)?;
            found.map(drop).ok_or_else(|| not_found("memory", id.to_string()).into())
        }
        AccessCheck::NewMemory(id) => free_memory(tx, within, *id),
        AccessCheck::Project(id) => match project_no(connection, *id)? {
            Some(no) if within.has_project(connection, no)? => Ok(()),
            _ => Err(not_found("project", id.to_string()).into()),
        },
        // Looked at before: its name may have to be another.
        AccessCheck::Document { .. } => Ok(()),
        AccessCheck::Blob(sha256) => {
            match is_uploaded_by(connection, key, sha256)? || is_shown_within(connection, within, sha256)? {
                true => Ok(()),
                false => Err(not_found("blob", hex::encode(sha256)).into()),
            }
        }
        AccessCheck::Commit(position) => commit(tx, within, *position),
        AccessCheck::Step { conversation, step } => {
            let found = within.known(connection, *conversation)?;
            let no = found.ok_or_else(|| not_found("conversation", conversation.to_string()))?;
            match target(connection, ResolvedScope::Conversation(no), *step)? {
                Some(position) => commit(tx, within, position),
                // There is nothing to undo; the undo itself reports that.
                None => Ok(()),
            }
        }
    }
}

fn require_free(what: &'static str, id: String) -> crate::engine::sql::tx_error::TxError {
    Conflict::Exists { what, id }.into()
}

/// A create that repeats an id returns the existing conversation; it must not belong to another user.
fn free_conversation(tx: &Tx<'_>, within: &AccessFilter, id: ConversationId, external: Option<&str>) -> TxResult<()> {
    let by_id = "select no from conversation where id = $1";
    let by_external = "select no from conversation where external_id = $1";
    let mut found: Vec<i64> = Vec::new();
    found.extend(query_optional(tx.connection, by_id, [id.as_bytes()], |row| row.get::<i64>(0))?);
    if let Some(external) = external {
        found.extend(query_optional(tx.connection, by_external, [external], |row| row.get::<i64>(0))?);
    }
    for no in found {
        if !within.has(tx.connection, no)? {
            return Err(require_free("conversation", id.to_string()));
        }
    }
    Ok(())
}

/// Where something with an id is.
enum Lookup {
    Visible(BranchNo),
    Hidden,
    Missing,
}

fn branch(tx: &Tx<'_>, within: &AccessFilter, id: BranchId) -> TxResult<Lookup> {
    let sql = "select no, conversation_no from branch where id = $1";
    let found: Option<(i64, i64)> =
        query_optional(tx.connection, sql, [id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match found {
        Some((no, owner)) if within.has(tx.connection, owner)? => Lookup::Visible(BranchNo(no)),
        Some(_) => Lookup::Hidden,
        None => Lookup::Missing,
    })
}

fn message(tx: &mut Tx<'_>, within: &AccessFilter, id: MessageId, on: PathOf) -> TxResult<()> {
    let not_found = || StoreError::not_found("message", id);
    let spot = locate(tx.connection, id)?.ok_or_else(not_found)?;
    if within.has(tx.connection, spot.conversation_no)? {
        return Ok(());
    }
    let head = match on {
        PathOf::Owner => None,
        PathOf::Path(conversation) => match within.conversation(tx.connection, conversation)? {
            Some(_) => Some(tx.conversation(conversation)?.head),
            None => None,
        },
        PathOf::Branch(id) => match branch(tx, within, id)? {
            Lookup::Visible(no) => {
                let branch = tx.branch(no)?;
                Some(tx.end_of(&branch)?)
            }
            Lookup::Hidden | Lookup::Missing => None,
        },
    };
    match head {
        Some(head) if path::reaches(&mut tx.caches.branches(tx.connection), head, spot.address)? => Ok(()),
        _ => Err(not_found().into()),
    }
}

fn owned(
    tx: &Tx<'_>,
    within: &AccessFilter,
    sql: &str,
    id: &[u8; 16],
    not_found: impl FnOnce() -> StoreError,
) -> TxResult<()> {
    let owner: Option<i64> = query_optional(tx.connection, sql, [id], |row| row.get(0))?;
    match owner {
        Some(owner) if within.has(tx.connection, owner)? => Ok(()),
        _ => Err(not_found().into()),
    }
}

fn free_memory(tx: &Tx<'_>, within: &AccessFilter, id: MemoryId) -> TxResult<()> {
    let sql = "select 1 from memory where id = $1";
    let is_there = query_optional(tx.connection, sql, [id.as_bytes()], |_| Ok(()))?.is_some();
    match is_there && memory_within(tx.connection, within, id)?.is_none() {
        true => Err(require_free("memory", id.to_string())),
        false => Ok(()),
    }
}

/// Returns the name under which a document of a limited key is stored: the one that was given, unless it is used
/// outside. A document is where its newest version is, even if that was withdrawn.
fn document_name(
    tx: &Tx<'_>,
    within: &AccessFilter,
    access: &AccessScope,
    (kind, given): (&str, &str),
    project: Option<ProjectId>,
) -> TxResult<String> {
    if is_qualified(given) {
        return Err(StoreError::Invalid("a document's name does not end with the id of a project".to_owned()).into());
    }
    // None if there is no such document, or whether it is within.
    let find = |name: &str| -> TxResult<Option<bool>> {
        let sql = "select project_no from document where kind = $1 and id = $2 order by version desc limit 1";
        let project: Option<Option<i64>> = query_optional(tx.connection, sql, (kind, name), |row| row.get(0))?;
        Ok(project.map(|no| no.is_some_and(|no| within.lists(no))))
    };
    if find(given)? != Some(false) {
        return Ok(given.to_owned());
    }
    let listed = access.projects.iter().flatten();
    for project in listed.clone() {
        let name = qualified(given, *project);
        if find(&name)? == Some(true) {
            return Ok(name);
        }
    }
    let Some(project) = project.or(listed.copied().next()) else { return Ok(given.to_owned()) };
    let name = qualified(given, project);
    match find(&name)? {
        // A key without limits has moved it away.
        Some(false) => Err(require_free("document", [kind, "/", given].concat())),
        Some(true) | None => Ok(name),
    }
}

/// Objects without a conversation have no owner, so a commit that touched one cannot be undone either.
fn commit(tx: &Tx<'_>, within: &AccessFilter, position: Position) -> TxResult<()> {
    let sql = "select distinct conversation_no from journal where first = $1 and pos >= $1 and pos <= $1 + 5000";
    let owners: Vec<Option<i64>> = query_all(tx.connection, sql, [position], |row| row.get(0))?;
    for owner in &owners {
        match owner {
            Some(no) if within.has(tx.connection, *no)? => {}
            _ => return Err(Conflict::Undo.into()),
        }
    }
    Ok(())
}
