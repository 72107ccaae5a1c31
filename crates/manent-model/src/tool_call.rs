//! Tool calls: a state machine with an audit trail.

use crate::id::MessageId;
use crate::json::Json;
use crate::message::Author;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolState {
    /// Asked for by the model.
    Pending,
    /// A person or a policy must decide.
    ApprovalRequired,
    /// Allowed, not begun.
    Approved,
    /// Running.
    Executing,
    /// Done.
    Completed,
    /// Went wrong.
    Failed,
    /// Not allowed.
    Denied,
    /// Interrupted and closed, so that the conversation stays valid.
    Sealed,
}

impl ToolState {
    /// All states, in the order of the life of a call.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::ApprovalRequired,
        Self::Approved,
        Self::Executing,
        Self::Completed,
        Self::Failed,
        Self::Denied,
        Self::Sealed,
    ];

    /// Returns whether the state is final.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Denied | Self::Sealed)
    }

    /// Returns whether a transition to another state is allowed.
    pub const fn may_become(self, next: Self) -> bool {
        use ToolState::{ApprovalRequired, Approved, Completed, Denied, Executing, Failed, Pending, Sealed};
        match (self, next) {
            // A policy may deny, a missing tool fails, a hook may bring the result, all before anything ran.
            (Pending, ApprovalRequired | Approved | Executing | Completed | Failed | Denied | Sealed) => true,
            (ApprovalRequired, Approved | Denied | Sealed) => true,
            (Approved, Executing | Failed | Denied | Sealed) => true,
            (Executing, Completed | Failed | Sealed) => true,
            _ => false,
        }
    }
}

/// The record of a tool call; keyed by the part of the message that asked, since providers' ids repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The message that asked.
    pub message: MessageId,
    /// Zero-based index of the part in the message.
    pub part: u32,
    /// The provider's id.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Current state.
    pub state: ToolState,
    /// Input, approval, result, error and times, as the run keeps them.
    pub record: Json,
}

/// One step of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolStep {
    /// The state that was entered.
    pub state: ToolState,
    /// When.
    pub at: Timestamp,
    /// The actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Author>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_a_final_state_and_every_open_call_can_be_sealed() {
        for from in ToolState::ALL {
            for to in ToolState::ALL {
                assert!(!(from.is_final() && from.may_become(to)), "{from:?} -> {to:?}");
            }
            assert_eq!(from.may_become(ToolState::Sealed), !from.is_final());
            assert!(!from.may_become(from));
        }
    }

    #[test]
    fn nothing_runs_before_it_is_allowed() {
        assert!(!ToolState::ApprovalRequired.may_become(ToolState::Executing));
        assert!(!ToolState::ApprovalRequired.may_become(ToolState::Completed));
        assert!(ToolState::Approved.may_become(ToolState::Executing));
    }
}
