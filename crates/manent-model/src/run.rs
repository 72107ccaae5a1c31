//! Records of agent runs: model calls, events, inputs, leases.

use crate::annotation::MessageRange;
use crate::id::{CallId, InputId, MessageId};
use crate::json::Json;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one request to a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Answered.
    Answered,
    /// The provider or the way to it failed.
    Failed,
    /// Stopped by a user.
    Stopped,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The last message that it saw; none when it saw none.
    pub after: Option<MessageId>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<i64>,
    /// Tokens received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<i64>,
    /// Cost in millionths of the caller's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<i64>,
    /// The messages that were sent.
    pub sent: Vec<MessageRange>,
    /// The manifest and the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
    /// When.
    pub at: Timestamp,
}

/// An entry of a run's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number in the conversation, counted from 1.
    pub cursor: i64,
    /// `progress`, `control`, `monitor`, or a custom channel.
    pub channel: String,
    /// When.
    pub at: Timestamp,
    /// Content of the event.
    pub body: Json,
}

/// Something that waits for a run to take it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Its id.
    pub id: InputId,
    /// When it was queued.
    pub at: Timestamp,
    /// Content of the input.
    pub body: Json,
    /// A run has taken it.
    pub taken: bool,
}

/// The lease of a run: owner, expiry and fencing token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The owner.
    pub owner: String,
    /// Grows with every new owner.
    pub token: i64,
    /// Until when.
    pub until: Timestamp,
}
