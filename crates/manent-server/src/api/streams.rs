//! Streaming endpoints: messages that are stored while they are generated, and their event streams; also drafts.

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
struct FinishWish {
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
struct Whose {
    /// External id of the owner; defaults to the user of the key, or to a shared draft without an owner.
    actor: Option<String>,
}

impl Whose {
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
    // Drafts are scratch data: the store would accept a conversation id that does not exist.
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
