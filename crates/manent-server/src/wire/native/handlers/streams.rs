//! Streaming endpoints: messages that are stored while they are generated, and their event streams; also drafts.

use crate::auth::principal::Principal;
use crate::problem::ApiResult;
use crate::wire::native::dto::{MessageInput, body};
use crate::wire::native::extract::{Caller, Json, PathId, Query, WriteDatabase};
use crate::wire::native::handlers::messages::Appended;
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use manent::model::KeyScope;
use manent::{Body, ConversationId, Finish, MessageId, MessageStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const DRAFT: &str = "/conversations/{conversation}/draft";
    let operations = vec![
        Operation::new(Method::POST, "/conversations/{conversation}/streams", "beginStream", begin)
            .access(KeyScope::Append)
            .summary("Starts a streaming message.")
            .library("begin_stream")
            .body::<MessageInput>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/messages/{message}/chunks", "appendChunk", chunk)
            .access(KeyScope::Append)
            .summary("Appends a chunk to a streaming message.")
            .library("stream")
            .body::<Chunk>(),
        Operation::new(Method::POST, "/messages/{message}/finish", "finishStream", finish)
            .access(KeyScope::Append)
            .summary("Finishes a streaming message.")
            .library("finish_stream")
            .body::<FinishStream>(),
        Operation::new(Method::GET, DRAFT, "getDraft", draft)
            .summary("Returns a draft.")
            .library("draft")
            .query::<DraftParameters>()
            .response::<Draft>(200),
        Operation::new(Method::PUT, DRAFT, "saveDraft", save_draft)
            .access(KeyScope::Append)
            .summary("Saves a draft.")
            .library("save_draft")
            .query::<DraftParameters>()
            .body::<Draft>(),
        Operation::new(Method::DELETE, DRAFT, "clearDraft", clear_draft)
            .access(KeyScope::Append)
            .summary("Deletes a draft.")
            .library("clear_draft")
            .query::<DraftParameters>(),
    ];
    group("Streams and drafts", operations)
}

/// A chunk of a streaming message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Chunk {
    /// The text to append.
    delta: String,
}

/// Completion of a streaming message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FinishStream {
    /// `complete`, `incomplete` or `failed`.
    status: MessageStatus,
    /// Final text. Without `text` and `parts` the stored chunks are kept.
    text: Option<String>,
    /// Final content as parts.
    parts: Option<Body>,
    /// Token count.
    tokens: Option<u32>,
    /// The provider's usage record.
    usage: Option<manent::Json>,
}

/// Owner of a draft.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DraftParameters {
    /// External id of the owner; defaults to the user of the key, or to a shared draft without an owner.
    actor: Option<String>,
}

impl DraftParameters {
    fn of(self, asker: &Principal) -> String {
        self.actor.or_else(|| asker.user().map(str::to_owned)).unwrap_or_default()
    }
}

/// An unsent draft.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Draft {
    /// The text; empty if there is no draft.
    text: String,
}

async fn begin(
    WriteDatabase(database): WriteDatabase,
    PathId(conversation): PathId<ConversationId>,
    Json(message): Json<MessageInput>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    let id = database.begin_stream(conversation, message.draft_of_stream()?).await?;
    Ok((StatusCode::CREATED, axum::Json(Appended { ids: vec![id] })))
}

async fn chunk(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<MessageId>,
    Json(chunk): Json<Chunk>,
) -> ApiResult<StatusCode> {
    database.stream(id, chunk.delta).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn finish(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<MessageId>,
    Json(wish): Json<FinishStream>,
) -> ApiResult<StatusCode> {
    let body = body(wish.text, wish.parts)?;
    database.finish_stream(id, Finish { status: wish.status, body, tokens: wish.tokens, usage: wish.usage }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn draft(
    Caller(asker): Caller,
    PathId(id): PathId<ConversationId>,
    Query(whose): Query<DraftParameters>,
) -> ApiResult<axum::Json<Draft>> {
    // Drafts are scratch data: the store would accept a conversation id that does not exist.
    asker.database.conversation(id).await?;
    let text = asker.database.draft(id, &whose.of(&asker)).await?;
    Ok(axum::Json(Draft { text: text.unwrap_or_default() }))
}

async fn save_draft(
    WriteDatabase(database): WriteDatabase,
    Caller(asker): Caller,
    PathId(id): PathId<ConversationId>,
    Query(whose): Query<DraftParameters>,
    Json(draft): Json<Draft>,
) -> ApiResult<StatusCode> {
    asker.database.conversation(id).await?;
    database.save_draft(id, &whose.of(&asker), &draft.text).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn clear_draft(
    WriteDatabase(database): WriteDatabase,
    Caller(asker): Caller,
    PathId(id): PathId<ConversationId>,
    Query(whose): Query<DraftParameters>,
) -> ApiResult<StatusCode> {
    asker.database.conversation(id).await?;
    database.clear_draft(id, &whose.of(&asker)).await?;
    Ok(StatusCode::NO_CONTENT)
}
