//! Agent run endpoints: tool calls, events, inputs, leases, model calls.

use crate::problem::ApiResult;
use crate::wire::native::extract::{CallerDatabase, Json, PathId, Query, WriteDatabase};
use crate::wire::native::handlers::limit;
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use manent::model::{CallId, Event, InputId, KeyScope, Timestamp, ToolCall, ToolState};
use manent::store::{EventsQuery, ToolCallTrail};
use manent::{CallDraft, ConversationId, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const EVENTS: &str = "/conversations/{conversation}/events";
    const LEASE: &str = "/conversations/{conversation}/lease";
    let operations = vec![
        Operation::new(Method::GET, "/tool-calls", "listOpenToolCalls", open_tool_calls)
            .large_read()
            .summary("Lists open tool calls of all conversations, oldest first.")
            .library("open_tool_calls")
            .query::<LimitParameters>()
            .response::<Vec<OpenCall>>(200),
        Operation::new(Method::POST, "/tool-calls", "putToolCall", put_tool_call)
            .access(KeyScope::Append)
            .summary("Records a tool call with its first state.")
            .library("put_tool_call")
            .body::<ToolCallInput>(),
        Operation::new(Method::POST, "/tool-calls/move", "moveToolCall", move_tool_call)
            .access(KeyScope::Append)
            .summary("Moves a tool call to another state.")
            .library("move_tool_call")
            .body::<ToolMove>(),
        Operation::new(Method::GET, EVENTS, "listEvents", events)
            .large_read()
            .summary("Returns events after a cursor.")
            .library("events")
            .query::<EventParameters>()
            .response::<Vec<Event>>(200),
        Operation::new(Method::POST, EVENTS, "logEvents", log)
            .access(KeyScope::Append)
            .summary("Logs events and returns the cursor of the last one.")
            .library("log")
            .body::<NewEvents>()
            .response::<Logged>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/inputs", "putInput", put_input)
            .access(KeyScope::Append)
            .summary("Queues an input for a run.")
            .library("put_input")
            .body::<NewInput>()
            .response::<Queued>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/inputs/take", "takeInputs", take_inputs)
            .access(KeyScope::Append)
            .summary("Takes inputs out of the queue.")
            .library("take_inputs")
            .body::<Taken>(),
        Operation::new(Method::POST, LEASE, "takeLease", take_lease)
            .access(KeyScope::Append)
            .summary("Acquires the lease of a run if it is free or expired.")
            .library("take_lease")
            .body::<NewLease>()
            .response::<TakenLease>(201),
        Operation::new(Method::PUT, LEASE, "renewLease", renew_lease)
            .access(KeyScope::Append)
            .summary("Extends a lease.")
            .library("renew_lease")
            .body::<LeaseRenewal>(),
        Operation::new(Method::DELETE, LEASE, "releaseLease", release_lease)
            .access(KeyScope::Append)
            .summary("Releases a lease.")
            .library("release_lease")
            .query::<LeaseToken>(),
        Operation::new(Method::POST, "/conversations/{conversation}/calls", "recordCall", record_call)
            .access(KeyScope::Append)
            .summary("Records a request to a model.")
            .library("record_call")
            .body::<CallDraft>()
            .response::<Recorded>(201),
    ];
    group("Runs", operations)
}

/// Page size.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LimitParameters {
    /// Maximum number of records; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A tool call with its conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenCall {
    /// The conversation.
    conversation: ConversationId,
    /// The call with its audit trail.
    tool_call: ToolCallTrail,
}

/// A tool call to record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolCallInput {
    /// The call.
    call: ToolCall,
    /// Note for the audit trail.
    #[serde(default)]
    note: String,
}

/// A state transition of a tool call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolMove {
    /// The message with the tool call.
    message: MessageId,
    /// Zero-based index of the part in the message.
    part: u32,
    /// The new state.
    to: ToolState,
    /// The new record of the run about the call; the old one is kept if absent.
    record: Option<manent::Json>,
    /// Note for the audit trail.
    #[serde(default)]
    note: String,
}

/// Filter and paging of the event log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventParameters {
    /// Only these channels, comma-separated; all by default.
    channels: Option<String>,
    /// Only events after this cursor.
    #[serde(default)]
    after: i64,
    /// Maximum number of events; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// Events to append to the log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewEvents {
    /// `progress`, `control`, `monitor`, or a custom channel.
    channel: String,
    /// The events.
    events: Vec<manent::Json>,
}

/// The end of the log.
#[derive(Debug, Serialize, JsonSchema)]
struct Logged {
    /// The cursor of the last event.
    cursor: i64,
}

/// An input to queue for a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewInput {
    /// Content of the input.
    body: manent::Json,
}

/// The queued input.
#[derive(Debug, Serialize, JsonSchema)]
struct Queued {
    /// Its id.
    id: InputId,
}

/// Inputs that a run has taken from its queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Taken {
    /// The inputs.
    ids: Vec<InputId>,
}

/// A lease request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewLease {
    /// The owner of the lease.
    owner: String,
    /// Expiry.
    until: Timestamp,
}

/// The granted lease.
#[derive(Debug, Serialize, JsonSchema)]
struct TakenLease {
    /// The fencing token.
    token: i64,
}

/// A lease renewal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeaseRenewal {
    /// The fencing token.
    token: i64,
    /// The new expiry.
    until: Timestamp,
}

/// The fencing token of a lease.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeaseToken {
    /// The fencing token.
    token: i64,
}

/// The recorded model call.
#[derive(Debug, Serialize, JsonSchema)]
struct Recorded {
    /// Its id.
    id: CallId,
}

async fn open_tool_calls(
    CallerDatabase(database): CallerDatabase,
    Query(asked): Query<LimitParameters>,
) -> ApiResult<axum::Json<Vec<OpenCall>>> {
    let found = database.open_tool_calls(limit(asked.limit)?).await?;
    let calls = found.into_iter().map(|(conversation, tool_call)| OpenCall { conversation, tool_call });
    Ok(axum::Json(calls.collect()))
}

async fn put_tool_call(
    WriteDatabase(database): WriteDatabase,
    Json(new): Json<ToolCallInput>,
) -> ApiResult<StatusCode> {
    database.put_tool_call(new.call, &new.note).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn move_tool_call(WriteDatabase(database): WriteDatabase, Json(to): Json<ToolMove>) -> ApiResult<StatusCode> {
    database.move_tool_call(to.message, to.part, to.to, to.record, &to.note).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn events(
    CallerDatabase(database): CallerDatabase,
    PathId(conversation): PathId<ConversationId>,
    Query(asked): Query<EventParameters>,
) -> ApiResult<axum::Json<Vec<Event>>> {
    let channels = asked.channels.iter().flat_map(|words| words.split(',')).map(str::to_owned).collect();
    let query = EventsQuery { conversation, channels, after: asked.after, limit: limit(asked.limit)? };
    Ok(axum::Json(database.events(query).await?))
}

async fn log(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(new): Json<NewEvents>,
) -> ApiResult<(StatusCode, axum::Json<Logged>)> {
    let cursor = database.log(id, &new.channel, new.events).await?;
    Ok((StatusCode::CREATED, axum::Json(Logged { cursor })))
}

async fn put_input(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(new): Json<NewInput>,
) -> ApiResult<(StatusCode, axum::Json<Queued>)> {
    let id = database.put_input(id, new.body).await?;
    Ok((StatusCode::CREATED, axum::Json(Queued { id })))
}

async fn take_inputs(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(taken): Json<Taken>,
) -> ApiResult<StatusCode> {
    database.take_inputs(id, taken.ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn take_lease(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(wish): Json<NewLease>,
) -> ApiResult<(StatusCode, axum::Json<TakenLease>)> {
    let token = database.take_lease(id, &wish.owner, wish.until).await?;
    Ok((StatusCode::CREATED, axum::Json(TakenLease { token })))
}

async fn renew_lease(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(renewal): Json<LeaseRenewal>,
) -> ApiResult<StatusCode> {
    database.renew_lease(id, renewal.token, renewal.until).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn release_lease(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Query(lease): Query<LeaseToken>,
) -> ApiResult<StatusCode> {
    database.release_lease(id, lease.token).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn record_call(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(draft): Json<CallDraft>,
) -> ApiResult<(StatusCode, axum::Json<Recorded>)> {
    let id = database.record_call(id, draft).await?;
    Ok((StatusCode::CREATED, axum::Json(Recorded { id })))
}
