//! Message endpoints: append, read one, read pages.

use crate::problem::{ApiResult, Problem};
use crate::wire::native::dto::{MessageInput, Towards, drafts};
use crate::wire::native::extract::{CallerDatabase, Json, PathId, Query, WriteDatabase};
use crate::wire::native::handlers::limit;
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use manent::model::{BranchId, KeyScope};
use manent::store::{LocatedMessage, LocatedMessagePage, MessagePage, Related, RelatedQuery};
use manent::{ConversationId, Database, Message, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Responses above this many bytes are serialized on a blocking thread.
const LARGE: usize = 64 << 10;

pub(crate) fn operations() -> Vec<Operation> {
    const ALL: &str = "/conversations/{conversation}/messages";
    let operations = vec![
        Operation::new(Method::GET, ALL, "listMessages", page)
            .large_read()
            .summary("Returns a page of messages of the current path, or of a branch, in reading order.")
            .library("page")
            .library("last")
            .library("page_of_branch")
            .query::<PageParameters>()
            .response::<MessagePage>(200),
        Operation::new(Method::POST, ALL, "appendMessages", append)
            .access(KeyScope::Append)
            .summary("Appends messages at the head, all or none. They are on disk when the response arrives.")
            .library("append")
            .library("append_many")
            .library("append_after")
            .body::<Append>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/failed", "keepFailedMessage", keep_failed)
            .access(KeyScope::Append)
            .summary("Stores an unsent message outside the current path.")
            .library("keep_failed")
            .body::<MessageInput>()
            .response::<Appended>(201),
        Operation::new(Method::GET, "/messages/{message}", "getMessage", get)
            .large_read()
            .summary("Returns a message with its location.")
            .library("message")
            .response::<LocatedMessage>(200),
        Operation::new(Method::GET, "/messages/{message}/siblings", "listSiblings", siblings)
            .large_read()
            .summary("Lists the alternatives of a message, including itself, in pages of at most 4 MiB.")
            .library("siblings")
            .library("related")
            .query::<RelatedParameters>()
            .response::<LocatedMessagePage>(200),
        Operation::new(Method::GET, "/messages/{message}/thread", "getThread", thread)
            .large_read()
            .summary("Lists the thread of replies that contains a message, in pages of at most 4 MiB.")
            .library("thread")
            .query::<RelatedParameters>()
            .response::<LocatedMessagePage>(200),
    ];
    group("Messages", operations)
}

/// Query parameters of a message page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageParameters {
    /// Read this branch to its end instead of the current path.
    branch: Option<BranchId>,
    /// Start at this message, exclusive; defaults to the end when reading backward and the start when reading forward.
    from: Option<MessageId>,
    /// Reading direction; backward by default.
    direction: Option<Towards>,
    /// Maximum number of messages; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// Query parameters of a page of related messages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RelatedParameters {
    /// Only messages after this one: the last message of the previous page.
    after: Option<MessageId>,
}

/// Messages to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Append {
    /// The messages.
    messages: Vec<MessageInput>,
    /// Precondition: this message is still the last one of the current path.
    after: Option<MessageId>,
}

/// The appended messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Appended {
    /// The ids of the messages.
    pub ids: Vec<MessageId>,
}

async fn page(
    CallerDatabase(database): CallerDatabase,
    PathId(conversation): PathId<ConversationId>,
    Query(asked): Query<PageParameters>,
) -> ApiResult<Response> {
    let (direction, limit) = (asked.direction.unwrap_or_default().into(), limit(asked.limit)?);
    let window = match asked.branch {
        Some(branch) => database.page_of_branch(conversation, branch, asked.from, direction, limit).await?,
        None => database.page(conversation, asked.from, direction, limit).await?,
    };
    let bytes = window.messages.iter().map(size).sum();
    written(window, bytes).await
}

async fn append(
    WriteDatabase(database): WriteDatabase,
    PathId(conversation): PathId<ConversationId>,
    Json(append): Json<Append>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    if append.messages.is_empty() {
        return Err(Problem::invalid("messages: at least one"));
    }
    let messages = drafts(append.messages)?;
    let ids = match append.after {
        Some(head) => database.append_after(conversation, Some(head), messages).await?,
        None => database.append_many(conversation, messages).await?,
    };
    Ok((StatusCode::CREATED, axum::Json(Appended { ids })))
}

async fn keep_failed(
    WriteDatabase(database): WriteDatabase,
    PathId(conversation): PathId<ConversationId>,
    Json(message): Json<MessageInput>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    let id = database.keep_failed(conversation, message.draft()?).await?;
    Ok((StatusCode::CREATED, axum::Json(Appended { ids: vec![id] })))
}

async fn get(CallerDatabase(database): CallerDatabase, PathId(id): PathId<MessageId>) -> ApiResult<Response> {
    let placed = database.message(id).await?;
    let bytes = size(&placed.message);
    written(placed, bytes).await
}

async fn siblings(
    CallerDatabase(database): CallerDatabase,
    PathId(message): PathId<MessageId>,
    Query(RelatedParameters { after }): Query<RelatedParameters>,
) -> ApiResult<Response> {
    related(database, RelatedQuery { message, related: Related::Siblings, after }).await
}

async fn thread(
    CallerDatabase(database): CallerDatabase,
    PathId(message): PathId<MessageId>,
    Query(RelatedParameters { after }): Query<RelatedParameters>,
) -> ApiResult<Response> {
    related(database, RelatedQuery { message, related: Related::Thread, after }).await
}

async fn related(database: Database, query: RelatedQuery) -> ApiResult<Response> {
    let page = database.related(query).await?;
    let bytes = page.messages.iter().map(|placed| size(&placed.message)).sum();
    written(page, bytes).await
}

/// Estimates the size of a message as JSON.
fn size(message: &Message) -> usize {
    message.content.body.text().len()
}

/// Serializes a response as JSON. A large one is serialized on a blocking thread: it takes milliseconds, during which
/// a runtime thread would serve no other request.
async fn written(answer: impl Serialize + Send + 'static, bytes: usize) -> ApiResult<Response> {
    if bytes < LARGE {
        return Ok(axum::Json(answer).into_response());
    }
    let writing = tokio::task::spawn_blocking(move || axum::Json(answer).into_response());
    writing.await.map_err(|_| Problem::internal())
}
