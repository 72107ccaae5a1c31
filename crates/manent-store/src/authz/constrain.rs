//! Constrains the transactions of limited keys: fills in defaults from the access scope, and refuses what such a key
//! may never do.

use super::store::WHOLE;
use crate::api::error::{Result, StoreError};
use crate::api::permissions::Permissions;
use crate::api::query::UndoScope;
use crate::api::transaction::{Change, EraseTarget, Expect, MessageOrigin, Transaction};
use manent_model::{Author, ConversationDraft, ConversationId, ConversationPatch, Memory, NewMessage, ProjectId};

/// The permission that an error names for acting as another user.
const AS_ANOTHER_PERSON: &str = "a key of that person";
/// The permission that an error names for objects of projects.
const OF_PROJECT: &str = "a key for everything, or for a project";

/// Roles of messages that no person writes; a message in any other role, of any program, is a person's.
const NON_HUMAN_ROLES: [&str; 6] = ["assistant", "system", "developer", "tool", "function", "model"];

fn forbidden<T>(needs: &'static str) -> Result<T> {
    Err(StoreError::Forbidden { needs })
}

/// Constrains a transaction to the permissions of a limited key, or refuses it.
pub(super) fn constrain(permissions: &Permissions, transaction: &mut Transaction) -> Result<()> {
    transaction.changes.iter_mut().try_for_each(|change| constrain_change(permissions, change))?;
    for expect in &transaction.expect {
        match expect {
            Expect::Document { .. } if permissions.access.projects.is_none() => return forbidden(OF_PROJECT),
            Expect::Project { .. }
            | Expect::Document { .. }
            | Expect::Version { .. }
            | Expect::Head { .. }
            | Expect::Lease { .. } => {}
        }
    }
    Ok(())
}

fn constrain_change(permissions: &Permissions, change: &mut Change) -> Result<()> {
    match change {
        Change::CreateConversation { draft, .. } => constrain_draft(permissions, draft),
        Change::EditConversation { patch, .. } => constrain_patch(permissions, patch),
        Change::AppendMessages { origins, messages, .. }
        | Change::OpenBranch { origins, own: messages, .. }
        | Change::Splice { origins, messages, .. } => {
            messages.iter_mut().try_for_each(|message| constrain_author(permissions, message))?;
            without_origins(origins)
        }
        Change::PutSource { .. } | Change::PutOrigin { .. } | Change::Quarantine { .. } => forbidden(WHOLE),
        Change::PutDocument { project, .. } => match permissions.access.projects {
            Some(_) => constrain_project(permissions, project, "a document"),
            None => forbidden(OF_PROJECT),
        },
        Change::PutMemory { memory } => constrain_memory(permissions, memory),
        Change::PutScratch { scratch } => constrain_scratch(permissions, &scratch.id, &mut scratch.actor),
        Change::RemoveScratch { id, actor, .. } => constrain_scratch(permissions, id, actor),
        // A new project would be outside the scope at once.
        Change::CreateProject { project } if !permissions.access.lists(project.id) => forbidden(WHOLE),
        Change::EditProject { .. } | Change::RemoveProject { .. } if permissions.access.projects.is_none() => {
            forbidden(OF_PROJECT)
        }
        Change::Step { scope: UndoScope::Everything | UndoScope::Workspace, .. } => forbidden(WHOLE),
        Change::Erase { target: EraseTarget::Person(_) } => forbidden(WHOLE),
        Change::CreateProject { .. }
        | Change::EditProject { .. }
        | Change::RemoveProject { .. }
        | Change::Step { scope: UndoScope::Conversation(_), .. }
        | Change::Erase { target: EraseTarget::Message(_) | EraseTarget::Conversation(_) }
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
fn constrain_author(permissions: &Permissions, message: &mut NewMessage) -> Result<()> {
    let (Some(user), content) = (&permissions.access.user, &mut message.content) else { return Ok(()) };
    match &content.author {
        _ if NON_HUMAN_ROLES.contains(&content.role.as_str()) => Ok(()),
        Some(author) if author.id != *user => forbidden(AS_ANOTHER_PERSON),
        Some(_) => Ok(()),
        None => {
            content.author = Some(own_author(permissions, user));
            Ok(())
        }
    }
}

fn own_author(permissions: &Permissions, user: &str) -> Author {
    let name = permissions.actor.as_ref().map(|actor| actor.name.clone()).unwrap_or_default();
    Author { id: user.to_owned(), name }
}

/// Sources and origins name files of all users.
fn without_origins(origins: &[MessageOrigin]) -> Result<()> {
    match origins.is_empty() {
        true => Ok(()),
        false => forbidden(WHOLE),
    }
}

fn constrain_draft(permissions: &Permissions, draft: &mut ConversationDraft) -> Result<()> {
    if let Some(user) = &permissions.access.user {
        match &draft.creator {
            Some(creator) if creator.id != *user => return forbidden(AS_ANOTHER_PERSON),
            Some(_) => {}
            None => draft.creator = Some(own_author(permissions, user)),
        }
    }
    constrain_project(permissions, &mut draft.project, "a conversation")
}

fn constrain_patch(permissions: &Permissions, patch: &ConversationPatch) -> Result<()> {
    match patch.project {
        // It would leave the access scope of the key.
        Some(None) if permissions.access.projects.is_some() => forbidden(WHOLE),
        Some(_) | None => Ok(()),
    }
}

/// Gives something the only project that a key reaches, where there is one and none is named.
fn constrain_project(permissions: &Permissions, project: &mut Option<ProjectId>, what: &str) -> Result<()> {
    let Some(projects) = &permissions.access.projects else { return Ok(()) };
    match (*project, projects.len(), projects.first()) {
        (Some(_), ..) => Ok(()),
        (None, 1, Some(only)) => {
            *project = Some(*only);
            Ok(())
        }
        (None, ..) => Err(StoreError::Invalid(format!("{what} of this key names one of its projects"))),
    }
}

fn constrain_memory(permissions: &Permissions, memory: &mut Memory) -> Result<()> {
    match (memory.conversation, &permissions.access.projects) {
        // It belongs where its conversation does.
        (Some(_), _) => Ok(()),
        (None, Some(_)) => constrain_project(permissions, &mut memory.project, "a memory"),
        (None, None) => Err(StoreError::Invalid("a memory of this key names its conversation".to_owned())),
    }
}

fn constrain_scratch(permissions: &Permissions, id: &str, actor: &mut String) -> Result<()> {
    match &permissions.access.user {
        Some(user) if actor.is_empty() => {
            actor.clone_from(user);
            Ok(())
        }
        Some(user) if actor != user => forbidden(AS_ANOTHER_PERSON),
        Some(_) => Ok(()),
        None if id.parse::<ConversationId>().is_ok() => Ok(()),
        None => forbidden(WHOLE),
    }
}
