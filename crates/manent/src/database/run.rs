//! Agent run operations: tool calls, events, inputs, leases, model calls.

use crate::database::{Database, only, unexpected};
use crate::error::Result;
use manent_model::{
    Call, CallId, CallOutcome, ConversationId, Event, InputId, Json, MessageId, MessageRange, Timestamp, ToolCall,
    ToolState,
};
use manent_store::{Change, ChangeResult, Committed, EventsQuery, NewEvent, ToolCallTrail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model call to record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallDraft {
    /// The last message in its context; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageId>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Outcome of the call.
    pub outcome: CallOutcome,
    /// Tokens sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<i64>,
    /// Tokens received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<i64>,
    /// Cost in millionths of a currency unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<i64>,
    /// The messages that were sent.
    #[serde(default)]
    pub sent: Vec<MessageRange>,
    /// Context manifest and other details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
}

impl Database {
    /// Records a tool call; its trail begins with its initial state.
    pub async fn put_tool_call(&self, call: ToolCall, note: &str) -> Result<()> {
        self.change(Change::PutToolCall { call, note: note.to_owned() }).await.map(drop)
    }

    /// Moves a tool call along an allowed transition; without a record the old one is kept.
    pub async fn move_tool_call(
        &self,
        message: MessageId,
        part: u32,
        to: ToolState,
        record: Option<Json>,
        note: &str,
    ) -> Result<()> {
        self.change(Change::MoveToolCall { message, part, to, record, note: note.to_owned() }).await.map(drop)
    }

    /// Returns the tool calls of all conversations that are not in a final state, oldest first.
    pub async fn open_tool_calls(&self, limit: u32) -> Result<Vec<(ConversationId, ToolCallTrail)>> {
        Ok(self.store.open_tool_calls(limit).await?)
    }

    /// Logs events and returns the cursor of the last one.
    pub async fn log(&self, conversation: ConversationId, channel: &str, bodies: Vec<Json>) -> Result<i64> {
        let at = self.ids.now();
        let event = |body| NewEvent { channel: channel.to_owned(), at, body };
        let events = bodies.into_iter().map(event).collect();
        match only(self.change(Change::AppendEvents { conversation, events }).await?) {
            ChangeResult::Events(cursor) => Ok(cursor),
            done => Err(unexpected(&done)),
        }
    }

    /// Returns events after a cursor.
    pub async fn events(&self, query: EventsQuery) -> Result<Vec<Event>> {
        Ok(self.store.events(query).await?)
    }

    /// Queues an input for a run.
    pub async fn put_input(&self, conversation: ConversationId, body: Json) -> Result<InputId> {
        let id = self.ids.make(InputId::new);
        self.change(Change::PutInput { conversation, id, body }).await?;
        Ok(id)
    }

    /// Takes inputs from the queue, all or none; each can be taken once.
    pub async fn take_inputs(&self, conversation: ConversationId, ids: Vec<InputId>) -> Result<()> {
        self.change(Change::TakeInputs { conversation, ids }).await.map(drop)
    }

    /// Acquires the lease of a run if it is free or expired, and returns its fencing token.
    pub async fn take_lease(&self, conversation: ConversationId, owner: &str, until: Timestamp) -> Result<i64> {
        token_of(self.change(Change::TakeLease { conversation, owner: owner.to_owned(), until }).await?)
    }

    /// Extends a lease that the token still holds.
    pub async fn renew_lease(&self, conversation: ConversationId, token: i64, until: Timestamp) -> Result<()> {
        self.change(Change::RenewLease { conversation, token, until }).await.map(drop)
    }

    /// Releases a lease.
    pub async fn release_lease(&self, conversation: ConversationId, token: i64) -> Result<()> {
        self.change(Change::ReleaseLease { conversation, token }).await.map(drop)
    }

    /// Records a model call at the present time.
    pub async fn record_call(&self, conversation: ConversationId, draft: CallDraft) -> Result<CallId> {
        let id = self.ids.make(CallId::new);
        let CallDraft { after, model, outcome, tokens_in, tokens_out, cost_micros, sent, manifest } = draft;
        let at = self.ids.now();
        let call = Call { id, after, model, outcome, tokens_in, tokens_out, cost_micros, sent, manifest, at };
        self.change(Change::RecordCall { conversation, call }).await?;
        Ok(id)
    }
}

fn token_of(committed: Committed) -> Result<i64> {
    match only(committed) {
        ChangeResult::Lease(token) => Ok(token),
        done => Err(unexpected(&done)),
    }
}
