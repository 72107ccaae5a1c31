//! Required scope of each kind of change.

use crate::api::transaction::Change;
use manent_model::KeyScope;

impl Change {
    /// Returns the scope that this change requires.
    ///
    /// Changes that add data and leave everything else unchanged require `append`, also where an append opens a branch
    /// because the head is not at an end. Imported data requires `manage`, and deletions require `admin`.
    pub fn required_scope(&self) -> KeyScope {
        match self {
            Self::AppendMessages { origins, .. } if !origins.is_empty() => KeyScope::Manage,
            Self::CreateConversation { .. }
            | Self::AppendMessages { .. }
            | Self::AppendChunk { .. }
            | Self::FinishMessage { .. }
            | Self::AddNote { .. }
            | Self::SetBookmark { .. }
            | Self::SetState { .. }
            | Self::PutToolCall { .. }
            | Self::PutToolTrail { .. }
            | Self::MoveToolCall { .. }
            | Self::AppendEvents { .. }
            | Self::PutInput { .. }
            | Self::TakeInputs { .. }
            | Self::TakeLease { .. }
            | Self::RenewLease { .. }
            | Self::ReleaseLease { .. }
            | Self::RecordCall { .. }
            | Self::PutBlobPiece { .. }
            | Self::PutMemory { .. }
            | Self::PutScratch { .. }
            | Self::RemoveScratch { .. } => KeyScope::Append,
            Self::EditConversation { .. }
            | Self::OpenBranch { .. }
            | Self::Splice { .. }
            | Self::MoveHead { .. }
            | Self::RemoveNote { .. }
            | Self::RemoveBookmark { .. }
            | Self::AddFold { .. }
            | Self::SetFoldActive { .. }
            | Self::PutDocument { .. }
            | Self::PutSource { .. }
            | Self::PutOrigin { .. }
            | Self::Quarantine { .. }
            | Self::RemoveMemory { .. }
            | Self::CreateProject { .. }
            | Self::EditProject { .. }
            | Self::RemoveProject { .. }
            | Self::Undo { .. }
            | Self::Step { .. } => KeyScope::Manage,
            Self::Purge { .. } | Self::Erase { .. } => KeyScope::Admin,
        }
    }
}

/// Returns the permission that an error names for a missing scope.
pub(super) fn needs(scope: KeyScope) -> &'static str {
    match scope {
        KeyScope::Read => "the scope read",
        KeyScope::Append => "the scope append",
        KeyScope::Manage => "the scope manage",
        KeyScope::Admin => "the scope admin",
    }
}
