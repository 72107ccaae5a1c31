//! Runs: tool calls, the log, inputs, the lease, requests to models.

use super::limit;
use crate::extract::{Asked, Here, Id, Json, Write};
use crate::operation::{Operation, group};
use crate::problem::Answer;
use axum::http::{Method, StatusCode};
use manent::model::{CallId, CallOutcome, Event, InputId, KeyScope, Micros, ToolCall, ToolState};
use manent::store::{EventsQuery, ToolCallTrail};
use manent::{CallDraft, ConversationId, MessageId, Stretch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    const EVENTS: &str = "/conversations/{conversation}/events";
    const LEASE: &str = "/conversations/{conversation}/lease";
    let operations = vec![
        Operation::new(Method::GET, "/tool-calls", "listOpenToolCalls", open_tool_calls)
            .reads_much()
            .says("Lists open tool calls of all conversations, oldest first.")
            .library("open_tool_calls")
            .query::<HowMany>()
            .answers::<Vec<OpenCall>>(200),
        Operation::new(Method::POST, "/tool-calls", "putToolCall", put_tool_call)
            .needs(KeyScope::Append)
            .says("Records a tool call with its first state.")
            .library("put_tool_call")
            .body::<ToolCallInput>(),
        Operation::new(Method::POST, "/tool-calls/move", "moveToolCall", move_tool_call)
            .needs(KeyScope::Append)
            .says("Moves a tool call to another state.")
            .library("move_tool_call")
            .body::<ToolMove>(),
        Operation::new(Method::GET, EVENTS, "listEvents", events)
            .reads_much()
            .says("Returns events after a cursor.")
            .library("events")
            .query::<EventParameters>()
            .answers::<Vec<Event>>(200),
        Operation::new(Method::POST, EVENTS, "logEvents", log)
            .needs(KeyScope::Append)
            .says("Logs events and returns the cursor of the last one.")
            .library("log")
            .body::<NewEvents>()
            .answers::<Logged>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/inputs", "putInput", put_input)
            .needs(KeyScope::Append)
            .says("Queues an input for a run.")
            .library("put_input")
            .body::<NewInput>()
            .answers::<Queued>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/inputs/take", "takeInputs", take_inputs)
            .needs(KeyScope::Append)
            .says("Takes inputs out of the queue.")
            .library("take_inputs")
            .body::<Taken>(),
        Operation::new(Method::POST, LEASE, "takeLease", take_lease)
            .needs(KeyScope::Append)
            .says("Acquires the lease of a run if it is free or expired.")
            .library("take_lease")
            .body::<LeaseWish>()
            .answers::<Held>(201),
        Operation::new(Method::PUT, LEASE, "renewLease", renew_lease)
            .needs(KeyScope::Append)
            .says("Extends a lease.")
            .library("renew_lease")
            .body::<LeaseRenewal>(),
        Operation::new(Method::DELETE, LEASE, "releaseLease", release_lease)
            .needs(KeyScope::Append)
            .says("Releases a lease.")
            .library("release_lease")
            .query::<LeaseToken>(),
        Operation::new(Method::POST, "/conversations/{conversation}/calls", "recordCall", record_call)
            .needs(KeyScope::Append)
            .says("Records a request to a model.")
            .library("record_call")
            .body::<NewCall>()
            .answers::<Recorded>(201),
    ];
    group("Runs", operations)
}

/// How many.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HowMany {
    /// How many, 50 if nothing is given.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A tool call and the conversation it belongs to.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenCall {
    /// The conversation.
    conversation: ConversationId,
    /// The call with its trail.
    tool_call: ToolCallTrail,
}

/// A tool call that is to be recorded.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolCallInput {
    /// The call.
    call: ToolCall,
    /// What to write into its trail.
    #[serde(default)]
    note: String,
}

/// Where a tool call goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolMove {
    /// The message that asked.
    message: MessageId,
    /// The place of the part in the message, counted from 0.
    part: u32,
    /// The new state.
    to: ToolState,
    /// What the run keeps about it; the old record if it is not given.
    record: Option<manent::Json>,
    /// What to write into its trail.
    #[serde(default)]
    note: String,
}

/// Which events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventParameters {
    /// Only these channels, with commas between; all if nothing is given.
    channels: Option<String>,
    /// After this cursor.
    #[serde(default)]
    after: i64,
    /// How many, 50 if nothing is given.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// Events to log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewEvents {
    /// `progress`, `control`, `monitor`, or a word of the caller.
    channel: String,
    /// What happened.
    events: Vec<manent::Json>,
}

/// Where the log ends.
#[derive(Debug, Serialize, JsonSchema)]
struct Logged {
    /// The cursor of the last event.
    cursor: i64,
}

/// An input for a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewInput {
    /// What it is.
    body: manent::Json,
}

/// An input that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct Queued {
    /// Its id.
    id: InputId,
}

/// Inputs that a run takes in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Taken {
    /// The inputs.
    ids: Vec<InputId>,
}

/// Who wants a lease.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeaseWish {
    /// Who.
    owner: String,
    /// Until when.
    until: Micros,
}

/// A lease that is held.
#[derive(Debug, Serialize, JsonSchema)]
struct Held {
    /// The token that fences off an earlier owner.
    token: i64,
}

/// More time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeaseRenewal {
    /// The token.
    token: i64,
    /// Until when.
    until: Micros,
}

/// The token of a lease.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeaseToken {
    /// The token.
    token: i64,
}

/// A request to a model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewCall {
    /// The last message that it saw.
    after: Option<MessageId>,
    /// The model.
    model: Option<String>,
    /// How it ended.
    outcome: CallOutcome,
    /// Tokens sent.
    tokens_in: Option<i64>,
    /// Tokens received.
    tokens_out: Option<i64>,
    /// Cost in millionths of the caller's currency.
    cost_micros: Option<i64>,
    /// What was sent.
    #[serde(default)]
    sent: Vec<Stretch>,
    /// The manifest and the rest.
    manifest: Option<manent::Json>,
}

/// A request that was recorded.
#[derive(Debug, Serialize, JsonSchema)]
struct Recorded {
    /// Its id.
    id: CallId,
}

async fn open_tool_calls(Here(database): Here, Asked(asked): Asked<HowMany>) -> Answer<axum::Json<Vec<OpenCall>>> {
    let found = database.open_tool_calls(limit(asked.limit)?).await?;
    let calls = found.into_iter().map(|(conversation, tool_call)| OpenCall { conversation, tool_call });
    Ok(axum::Json(calls.collect()))
}

async fn put_tool_call(Write(database): Write, Json(new): Json<ToolCallInput>) -> Answer<StatusCode> {
    database.put_tool_call(new.call, &new.note).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn move_tool_call(Write(database): Write, Json(to): Json<ToolMove>) -> Answer<StatusCode> {
    database.move_tool_call(to.message, to.part, to.to, to.record, &to.note).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn events(
    Here(database): Here,
    Id(conversation): Id<ConversationId>,
    Asked(asked): Asked<EventParameters>,
) -> Answer<axum::Json<Vec<Event>>> {
    let channels = asked.channels.iter().flat_map(|words| words.split(',')).map(str::to_owned).collect();
    let query = EventsQuery { conversation, channels, after: asked.after, limit: limit(asked.limit)? };
    Ok(axum::Json(database.events(query).await?))
}

async fn log(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(new): Json<NewEvents>,
) -> Answer<(StatusCode, axum::Json<Logged>)> {
    let cursor = database.log(id, &new.channel, new.events).await?;
    Ok((StatusCode::CREATED, axum::Json(Logged { cursor })))
}

async fn put_input(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(new): Json<NewInput>,
) -> Answer<(StatusCode, axum::Json<Queued>)> {
    let id = database.put_input(id, new.body).await?;
    Ok((StatusCode::CREATED, axum::Json(Queued { id })))
}

async fn take_inputs(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(taken): Json<Taken>,
) -> Answer<StatusCode> {
    database.take_inputs(id, taken.ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn take_lease(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(wish): Json<LeaseWish>,
) -> Answer<(StatusCode, axum::Json<Held>)> {
    let token = database.take_lease(id, &wish.owner, wish.until).await?;
    Ok((StatusCode::CREATED, axum::Json(Held { token })))
}

async fn renew_lease(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(renewal): Json<LeaseRenewal>,
) -> Answer<StatusCode> {
    database.renew_lease(id, renewal.token, renewal.until).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn release_lease(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Asked(lease): Asked<LeaseToken>,
) -> Answer<StatusCode> {
    database.release_lease(id, lease.token).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn record_call(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(new): Json<NewCall>,
) -> Answer<(StatusCode, axum::Json<Recorded>)> {
    let NewCall { after, model, outcome, tokens_in, tokens_out, cost_micros, sent, manifest } = new;
    let draft = CallDraft { after, model, outcome, tokens_in, tokens_out, cost_micros, sent, manifest };
    let id = database.record_call(id, draft).await?;
    Ok((StatusCode::CREATED, axum::Json(Recorded { id })))
}
