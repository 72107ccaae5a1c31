//! Endpoints for what is attached to a conversation: notes, bookmarks, state, folds.

use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{CallerDatabase, Json, PathId, PathName, Query, WriteDatabase};
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use manent::model::{FoldId, FoldKind, KeyScope, NoteId};
use manent::store::{Annotations, AnnotationsCursor, AnnotationsQuery, PAGE_MAX};
use manent::{ConversationId, FoldDraft, MessageId, MessageRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const STATE: &str = "/conversations/{conversation}/state/{name}";
    const BOOKMARK: &str = "/conversations/{conversation}/bookmarks/{name}";
    let operations = vec![
        Operation::new(Method::GET, "/conversations/{conversation}/annotations", "getAnnotations", annotations)
            .large_read()
            .summary("Returns a page of the notes, bookmarks, state, folds, calls, inputs and streams of a conversation. Pages are limited in bytes too; `next` is the cursor of the following page.")
            .library("annotations")
            .library("annotations_page")
            .query::<AnnotationsParameters>()
            .response::<Annotations>(200),
        Operation::new(Method::POST, "/messages/{message}/notes", "addNote", add_note).access(KeyScope::Append)
            .summary("Adds a note to a message: a rating, a pin, a label.")
            .library("add_note")
            .body::<NewNote>()
            .response::<Noted>(201),
        Operation::new(Method::DELETE, "/notes/{note}", "removeNote", remove_note).access(KeyScope::Manage)
            .summary("Removes a note.")
            .library("remove_note"),
        Operation::new(Method::PUT, BOOKMARK, "setBookmark", set_bookmark).access(KeyScope::Append)
            .summary("Sets a bookmark, or moves it.")
            .library("set_bookmark")
            .body::<NewBookmark>(),
        Operation::new(Method::DELETE, BOOKMARK, "removeBookmark", remove_bookmark).access(KeyScope::Manage)
            .summary("Removes a bookmark.")
            .library("remove_bookmark"),
        Operation::new(Method::GET, STATE, "getState", state)
            .large_read()
            .summary("Returns the value of a state at the head, or at a message.")
            .library("state")
            .query::<At>()
            .response::<manent::Json>(200),
        Operation::new(Method::PUT, STATE, "setState", set_state).access(KeyScope::Append)
            .summary("Sets a state after a message; without a value it is unset. State belongs to the branch.")
            .library("set_state")
            .body::<NewState>(),
        Operation::new(Method::POST, "/conversations/{conversation}/folds", "addFold", add_fold).access(KeyScope::Manage)
            .summary("Adds a fold: the model sees a summary instead of the messages, or not the omitted parts.")
            .library("add_fold")
            .body::<FoldInput>()
            .response::<Folded>(201),
        Operation::new(Method::POST, "/folds/{fold}/unfold", "unfold", unfold).access(KeyScope::Manage)
            .summary("Disables a fold: the model sees its messages again.")
            .library("unfold")
            .body::<crate::wire::native::handlers::Nothing>(),
        Operation::new(Method::POST, "/folds/{fold}/refold", "refold", refold).access(KeyScope::Manage)
            .summary("Enables a fold again.")
            .library("refold")
            .body::<crate::wire::native::handlers::Nothing>(),
    ];
    group("Annotations", operations)
}

/// Query parameters of a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnnotationsParameters {
    /// Cursor: `next` of the previous page.
    after: Option<AnnotationsCursor>,
    /// Maximum number of records, all kinds together.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A note on a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewNote {
    /// `rating`, `pin`, `label`, or a custom kind.
    kind: String,
    /// The value of the note.
    value: manent::Json,
}

/// The created note.
#[derive(Debug, Serialize, JsonSchema)]
struct Noted {
    /// Its id.
    id: NoteId,
}

/// A bookmark: a named position.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewBookmark {
    /// The last message of the bookmarked path; absent for an empty path.
    head: Option<MessageId>,
    /// Custom metadata.
    metadata: Option<manent::Json>,
}

/// The position to read at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct At {
    /// Read at this message; defaults to the end of the current path.
    at: Option<MessageId>,
}

/// A named state value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewState {
    /// The message after which the value holds; absent for the start.
    after: Option<MessageId>,
    /// The value; absent to unset it.
    value: Option<manent::Json>,
}

/// A fold to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FoldInput {
    /// Kind of the fold.
    kind: FoldKind,
    /// The covered messages.
    covers: Vec<MessageRange>,
    /// The message after which the fold holds; defaults to the last covered one.
    after: Option<MessageId>,
    /// The summary, for folds of that kind.
    summary: Option<String>,
    /// The fold that this one extends.
    parent: Option<FoldId>,
    /// Free-form record of the author of the fold.
    made_by: Option<manent::Json>,
}

/// The created fold.
#[derive(Debug, Serialize, JsonSchema)]
struct Folded {
    /// Its id.
    fold: FoldId,
}

async fn annotations(
    CallerDatabase(database): CallerDatabase,
    PathId(conversation): PathId<ConversationId>,
    Query(AnnotationsParameters { after, limit }): Query<AnnotationsParameters>,
) -> ApiResult<axum::Json<Annotations>> {
    let limit = limit.unwrap_or(PAGE_MAX);
    Ok(axum::Json(database.annotations_page(AnnotationsQuery { conversation, after, limit }).await?))
}

async fn add_note(
    WriteDatabase(database): WriteDatabase,
    PathId(message): PathId<MessageId>,
    Json(note): Json<NewNote>,
) -> ApiResult<(StatusCode, axum::Json<Noted>)> {
    let id = database.add_note(message, &note.kind, note.value).await?;
    Ok((StatusCode::CREATED, axum::Json(Noted { id })))
}

async fn remove_note(WriteDatabase(database): WriteDatabase, PathId(note): PathId<NoteId>) -> ApiResult<StatusCode> {
    database.remove_note(note).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_bookmark(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    PathName(name): PathName,
    Json(bookmark): Json<NewBookmark>,
) -> ApiResult<StatusCode> {
    database.set_bookmark(id, &name, bookmark.head, bookmark.metadata).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_bookmark(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    PathName(name): PathName,
) -> ApiResult<StatusCode> {
    database.remove_bookmark(id, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn state(
    CallerDatabase(database): CallerDatabase,
    PathId(id): PathId<ConversationId>,
    PathName(name): PathName,
    Query(at): Query<At>,
) -> ApiResult<axum::Json<manent::Json>> {
    let value = database.state(id, &name, at.at).await?;
    value.map(axum::Json).ok_or_else(|| Problem::not_found("state", name))
}

async fn set_state(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    PathName(name): PathName,
    Json(state): Json<NewState>,
) -> ApiResult<StatusCode> {
    database.set_state(id, &name, state.after, state.value).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn add_fold(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(new): Json<FoldInput>,
) -> ApiResult<(StatusCode, axum::Json<Folded>)> {
    let last = new.covers.last().map(|stretch| stretch.last);
    let after = new.after.or(last).ok_or_else(|| Problem::invalid("covers: at least one stretch"))?;
    let FoldInput { kind, covers, summary, parent, made_by, .. } = new;
    let fold = database.add_fold(id, FoldDraft { after, kind, covers, summary, parent, made_by }).await?;
    Ok((StatusCode::CREATED, axum::Json(Folded { fold })))
}

async fn unfold(
    WriteDatabase(database): WriteDatabase,
    PathId(fold): PathId<FoldId>,
    _: Json<crate::wire::native::handlers::Nothing>,
) -> ApiResult<StatusCode> {
    database.unfold(fold).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn refold(
    WriteDatabase(database): WriteDatabase,
    PathId(fold): PathId<FoldId>,
    _: Json<crate::wire::native::handlers::Nothing>,
) -> ApiResult<StatusCode> {
    database.refold(fold).await?;
    Ok(StatusCode::NO_CONTENT)
}
