//! Constrains the transactions of limited keys: fills in defaults from the access scope, and refuses what such a key
//! may never do.

use super::Grant;
use crate::engine::view::WHOLE;
use crate::error::{Result, StoreError};
use crate::query::Scope;
use crate::transaction::{Change, Erase, Expect, MessageOrigin, Transaction};
use manent_model::{Author, ConversationDraft, ConversationId, ConversationPatch, Memory, NewMessage, ProjectId};

/// The permission that an error names for acting as another user.
const AS_ANOTHER: &str = "a key of that person";
/// The permission that an error names for objects of projects.
const OF_PROJECT: &str = "a key for everything, or for a project";

/// Roles of messages that no person writes; a message in any other role, of any program, is a person's.
const MACHINES: [&str; 6] = ["assistant", "system", "developer", "tool", "function", "model"];

fn forbidden<T>(needs: &'static str) -> Result<T> {
    Err(StoreError::Forbidden { needs })
}

/// Constrains a transaction to a limited grant, or refuses it.
pub(super) fn fit(grant: &Grant, transaction: &mut Transaction) -> Result<()> {
    transaction.changes.iter_mut().try_for_each(|change| fit_change(grant, change))?;
    for expect in &transaction.expect {
        match expect {
            Expect::Document { .. } if grant.realm.projects.is_none() => return forbidden(OF_PROJECT),
            Expect::Project { .. }
            | Expect::Document { .. }
            | Expect::Version { .. }
            | Expect::Head { .. }
            | Expect::Lease { .. }
            | Expect::Within(_) => {}
        }
    }
    Ok(())
}

fn fit_change(grant: &Grant, change: &mut Change) -> Result<()> {
    match change {
        Change::CreateConversation { draft, .. } => fit_draft(grant, draft),
        Change::EditConversation { patch, .. } => fit_patch(grant, patch),
        Change::AppendMessages { origins, messages, .. }
        | Change::OpenBranch { origins, own: messages, .. }
        | Change::Splice { origins, messages, .. } => {
            messages.iter_mut().try_for_each(|message| fit_author(grant, message))?;
            without_origins(origins)
        }
        Change::PutSource { .. } | Change::PutOrigin { .. } | Change::Quarantine { .. } => forbidden(WHOLE),
        Change::PutDocument { project, .. } => match grant.realm.projects {
            Some(_) => fit_project(grant, project, "a document"),
            None => forbidden(OF_PROJECT),
        },
        Change::PutMemory { memory } => fit_memory(grant, memory),
        Change::PutScratch { scratch } => fit_scratch(grant, &scratch.id, &mut scratch.actor),
        Change::RemoveScratch { id, actor, .. } => fit_scratch(grant, id, actor),
        // A new one would lie outside at once.
        Change::CreateProject { project } if !grant.realm.lists(project.id) => forbidden(WHOLE),
        Change::EditProject { .. } | Change::RemoveProject { .. } if grant.realm.projects.is_none() => {
            forbidden(OF_PROJECT)
        }
        Change::Step { scope: Scope::Everything | Scope::Beside, .. } => forbidden(WHOLE),
        Change::Erase { target: Erase::Author(_) } => forbidden(WHOLE),
        Change::CreateProject { .. }
        | Change::EditProject { .. }
        | Change::RemoveProject { .. }
        | Change::Step { scope: Scope::Conversation(_), .. }
        | Change::Erase { target: Erase::Message(_) | Erase::Conversation(_) }
        | Change::AppendChunk { .. }
        | Change::FinishMessage { .. }
        | Change::MoveHead { .. }
        | Change::AddNote { .. }
        | Change::RemoveNote { .. }
        | Change::SetBookmark { .. }
        | Change::RemoveBookmark { .. }
        | Change::SetState { .. }
        | Change::AddFold { .. }
        | Change::SetFoldActive { .. }
        | Change::PutToolCall { .. }
        | Change::PutToolTrail { .. }
        | Change::MoveToolCall { .. }
        | Change::AppendEvents { .. }
        | Change::PutInput { .. }
        | Change::TakeInputs { .. }
        | Change::TakeLease { .. }
        | Change::RenewLease { .. }
        | Change::ReleaseLease { .. }
        | Change::RecordCall { .. }
        | Change::PutBlobPiece { .. }
        | Change::RemoveMemory { .. }
        | Change::Undo { .. }
        | Change::Purge { .. } => Ok(()),
    }
}

/// The author of a person's message is the user that the key acts for.
fn fit_author(grant: &Grant, message: &mut NewMessage) -> Result<()> {
    let (Some(user), content) = (&grant.realm.user, &mut message.content) else { return Ok(()) };
    match &content.author {
        _ if MACHINES.contains(&content.role.as_str()) => Ok(()),
        Some(author) if author.id != *user => forbidden(AS_ANOTHER),
        Some(_) => Ok(()),
        None => {
            content.author = Some(own_author(grant, user));
            Ok(())
        }
    }
}

fn own_author(grant: &Grant, user: &str) -> Author {
    let name = grant.actor.as_ref().map(|actor| actor.name.clone()).unwrap_or_default();
    Author { id: user.to_owned(), name }
}

/// Sources and origins name files of all users.
fn without_origins(origins: &[MessageOrigin]) -> Result<()> {
    match origins.is_empty() {
        true => Ok(()),
        false => forbidden(WHOLE),
    }
}

fn fit_draft(grant: &Grant, draft: &mut ConversationDraft) -> Result<()> {
    if let Some(user) = &grant.realm.user {
        match &draft.creator {
            Some(creator) if creator.id != *user => return forbidden(AS_ANOTHER),
            Some(_) => {}
            None => draft.creator = Some(own_author(grant, user)),
        }
    }
    fit_project(grant, &mut draft.project, "a conversation")
}

fn fit_patch(grant: &Grant, patch: &ConversationPatch) -> Result<()> {
    match patch.project {
        // It would leave the access scope of the key.
        Some(None) if grant.realm.projects.is_some() => forbidden(WHOLE),
        Some(_) | None => Ok(()),
    }
}

/// Gives something the only project that a grant reaches, where there is one and none is named.
fn fit_project(grant: &Grant, project: &mut Option<ProjectId>, what: &str) -> Result<()> {
    let Some(projects) = &grant.realm.projects else { return Ok(()) };
    match (*project, projects.len(), projects.first()) {
        (Some(_), ..) => Ok(()),
        (None, 1, Some(only)) => {
            *project = Some(*only);
            Ok(())
        }
        (None, ..) => Err(StoreError::Invalid(format!("{what} of this key names one of its projects"))),
    }
}

fn fit_memory(grant: &Grant, memory: &mut Memory) -> Result<()> {
    match (memory.conversation, &grant.realm.projects) {
        // It belongs where its conversation does.
        (Some(_), _) => Ok(()),
        (None, Some(_)) => fit_project(grant, &mut memory.project, "a memory"),
        (None, None) => Err(StoreError::Invalid("a memory of this key names its conversation".to_owned())),
    }
}

fn fit_scratch(grant: &Grant, id: &str, actor: &mut String) -> Result<()> {
    match &grant.realm.user {
        Some(user) if actor.is_empty() => {
            actor.clone_from(user);
            Ok(())
        }
        Some(user) if actor != user => forbidden(AS_ANOTHER),
        Some(_) => Ok(()),
        None if id.parse::<ConversationId>().is_ok() => Ok(()),
        None => forbidden(WHOLE),
    }
}
