//! Streams: a message that is stored while it is being written. Events and drafts, which grow the same way.

use super::messages::Appended;
use crate::extract::{Asked, Asker, Id, Json, Write};
use crate::operation::{Operation, group};
use crate::principal::Principal;
use crate::problem::Answer;
use crate::view::{MessageInput, body};
use axum::http::{Method, StatusCode};
use manent::model::KeyScope;
use manent::{Body, ConversationId, Finish, MessageId, MessageStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    const DRAFT: &str = "/conversations/{conversation}/draft";
    let operations = vec![
        Operation::new(Method::POST, "/conversations/{conversation}/streams", "beginStream", begin)
            .needs(KeyScope::Append)
            .says("Starts a streaming message.")
            .library("begin_stream")
            .body::<MessageInput>()
            .answers::<Appended>(201),
        Operation::new(Method::POST, "/messages/{message}/chunks", "appendChunk", chunk)
            .needs(KeyScope::Append)
            .says("Appends a chunk to a streaming message.")
            .library("stream")
            .body::<Chunk>(),
        Operation::new(Method::POST, "/messages/{message}/finish", "finishStream", finish)
            .needs(KeyScope::Append)
            .says("Finishes a streaming message.")
            .library("finish_stream")
            .body::<FinishWish>(),
        Operation::new(Method::GET, DRAFT, "getDraft", draft)
            .says("Returns a draft.")
            .library("draft")
            .query::<Whose>()
            .answers::<Draft>(200),
        Operation::new(Method::PUT, DRAFT, "saveDraft", save_draft)
            .needs(KeyScope::Append)
            .says("Saves a draft.")
            .library("save_draft")
            .query::<Whose>()
            .body::<Draft>(),
        Operation::new(Method::DELETE, DRAFT, "clearDraft", clear_draft)
            .needs(KeyScope::Append)
            .says("Deletes a draft.")
            .library("clear_draft")
            .query::<Whose>(),
    ];
    group("Streams and drafts", operations)
}

/// Some more words.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Chunk {
    /// The words.
    delta: String,
}

/// How a streaming message ends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FinishWish {
    /// `complete`, `incomplete` or `failed`.
    status: MessageStatus,
    /// What it says, in words. Without `text` and `parts` the chunks that were stored are kept.
    text: Option<String>,
    /// What it says, in parts.
    parts: Option<Body>,
    /// Its tokens, if counted.
    tokens: Option<u32>,
    /// The provider's usage record.
    usage: Option<manent::Json>,
}

/// Whose draft.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Whose {
    /// Whose it is; if it is not given, that of the user that one acts for, or nobody's.
    actor: Option<String>,
}

impl Whose {
    fn of(self, asker: &Principal) -> String {
        self.actor.or_else(|| asker.user().map(str::to_owned)).unwrap_or_default()
    }
}

/// What somebody was typing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Draft {
    /// The text; empty if there is none.
    text: String,
}

async fn begin(
    Write(database): Write,
    Id(conversation): Id<ConversationId>,
    Json(message): Json<MessageInput>,
) -> Answer<(StatusCode, axum::Json<Appended>)> {
    let id = database.begin_stream(conversation, message.draft_of_stream()?).await?;
    Ok((StatusCode::CREATED, axum::Json(Appended { ids: vec![id] })))
}

async fn chunk(Write(database): Write, Id(id): Id<MessageId>, Json(chunk): Json<Chunk>) -> Answer<StatusCode> {
    database.stream(id, chunk.delta).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn finish(Write(database): Write, Id(id): Id<MessageId>, Json(wish): Json<FinishWish>) -> Answer<StatusCode> {
    let body = body(wish.text, wish.parts)?;
    database.finish_stream(id, Finish { status: wish.status, body, tokens: wish.tokens, usage: wish.usage }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn draft(
    Asker(asker): Asker,
    Id(id): Id<ConversationId>,
    Asked(whose): Asked<Whose>,
) -> Answer<axum::Json<Draft>> {
    // A draft is a scrap of paper: the store keeps it for whatever id it is told.
    asker.database.conversation(id).await?;
    let text = asker.database.draft(id, &whose.of(&asker)).await?;
    Ok(axum::Json(Draft { text: text.unwrap_or_default() }))
}

async fn save_draft(
    Write(database): Write,
    Asker(asker): Asker,
    Id(id): Id<ConversationId>,
    Asked(whose): Asked<Whose>,
    Json(draft): Json<Draft>,
) -> Answer<StatusCode> {
    asker.database.conversation(id).await?;
    database.save_draft(id, &whose.of(&asker), &draft.text).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn clear_draft(
    Write(database): Write,
    Asker(asker): Asker,
    Id(id): Id<ConversationId>,
    Asked(whose): Asked<Whose>,
) -> Answer<StatusCode> {
    asker.database.conversation(id).await?;
    database.clear_draft(id, &whose.of(&asker)).await?;
    Ok(StatusCode::NO_CONTENT)
}
