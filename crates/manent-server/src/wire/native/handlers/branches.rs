//! Path endpoints: fork, rewind, switch, edit, hide, undo.

use crate::problem::ApiResult;
use crate::wire::native::dto::{MessageInput, drafts};
use crate::wire::native::extract::{CallerDatabase, Json, PathId, WriteDatabase};
use crate::wire::native::handlers::messages::Appended;
use crate::wire::native::handlers::{Nothing, Tagged};
use crate::wire::native::operation::{Operation, group};
use axum::http::{Method, StatusCode};
use manent::model::{BranchId, FoldId, KeyScope};
use manent::store::{BranchInfo, UndoScope};
use manent::{
    Conversation, ConversationDraft, ConversationId, Database, FollowUps, MessageId, MessageRange, UndoSteps,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/conversations/{conversation}/branches", "listBranches", branches)
            .summary("Lists the branches of a conversation.")
            .library("branches")
            .response::<Vec<BranchInfo>>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/branches", "fork", fork)
            .access(KeyScope::Append)
            .summary("Creates a branch after a message with a new message, and switches to it.")
            .library("fork")
            .body::<NewBranch>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/rewind", "rewind", rewind)
            .access(KeyScope::Manage)
            .summary("Moves the head back to a message; the next append creates a branch there.")
            .library("rewind")
            .body::<ToMessage>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/switch", "switch", switch)
            .access(KeyScope::Manage)
            .summary("Switches to the end of another branch.")
            .library("switch")
            .library("switch_branch")
            .body::<SwitchTo>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/fork", "forkToNew", fork_to_new)
            .access(KeyScope::Manage)
            .summary("Creates a conversation that continues from a message. Nothing is copied.")
            .library("fork_to_new")
            .body::<Fork>()
            .response::<Conversation>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/edit", "editMessage", edit)
            .access(KeyScope::Manage)
            .summary("Replaces a message; the old one stays as an alternative.")
            .library("edit")
            .body::<Edit>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/regenerate", "regenerate", regenerate)
            .access(KeyScope::Append)
            .summary("Stores another answer as the current alternative.")
            .library("regenerate")
            .body::<Regenerate>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/insert", "insertMessages", insert)
            .access(KeyScope::Manage)
            .summary("Inserts messages into the current path; the following messages come after them.")
            .library("insert")
            .body::<Insert>()
            .response::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/remove", "removeMessages", remove)
            .access(KeyScope::Manage)
            .summary("Removes messages from the current path; they stay on their previous branch.")
            .library("remove")
            .body::<MessageRange>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/hide", "hideMessages", hide)
            .access(KeyScope::Manage)
            .summary("Hides messages from the model; readers still see them.")
            .library("hide")
            .body::<MessageRange>()
            .response::<Hidden>(201),
        Operation::new(Method::GET, "/conversations/{conversation}/undo", "getUndoSteps", undo_steps)
            .summary("Returns the changes that undo and redo would apply to.")
            .library("undo_steps")
            .response::<UndoSteps>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/undo", "undoInConversation", undo)
            .access(KeyScope::Manage)
            .summary("Undoes the last change of a conversation.")
            .library("undo")
            .body::<Nothing>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/redo", "redoInConversation", redo)
            .access(KeyScope::Manage)
            .summary("Redoes the last undone change of a conversation.")
            .library("redo")
            .body::<Nothing>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/undo", "undo", undo_any)
            .access(KeyScope::Manage)
            .summary("Undoes the last change of the store.")
            .library("undo")
            .body::<UndoParameters>()
            .response::<Stepped>(200),
        Operation::new(Method::POST, "/redo", "redo", redo_any)
            .access(KeyScope::Manage)
            .summary("Redoes the last undone change.")
            .library("redo")
            .body::<UndoParameters>()
            .response::<Stepped>(200),
    ];
    group("Paths", operations)
}

/// A position given by its message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToMessage {
    /// The new last message of the current path.
    message: MessageId,
}

/// Target of a switch; exactly one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SwitchTo {
    /// The branch that this message belongs to.
    Message(MessageId),
    /// This branch.
    Branch(BranchId),
}

/// A new branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    /// The last message that both branches share.
    after: MessageId,
    /// The first message of the new branch.
    message: MessageInput,
}

/// A fork into a new conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fork {
    /// The last message that both conversations share.
    after: MessageId,
    /// The new conversation.
    #[serde(default)]
    conversation: ConversationDraft,
}

/// An edit of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The message to edit.
    message: MessageId,
    /// Its new content.
    with: MessageInput,
    /// What happens to the messages after it.
    #[serde(default)]
    tail: FollowUpsInput,
}

/// Treatment of the messages after an edited one.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FollowUpsInput {
    /// The path ends at the edited message.
    #[default]
    Cut,
    /// They follow the edited message.
    Keep,
}

/// A regenerated answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Regenerate {
    /// The existing answer.
    answer: MessageId,
    /// The new answer.
    with: MessageInput,
}

/// Messages to insert into a path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Insert {
    /// The message before them; absent for the start.
    after: Option<MessageId>,
    /// The messages.
    messages: Vec<MessageInput>,
}

/// The created fold that hides the messages.
#[derive(Debug, Serialize, JsonSchema)]
struct Hidden {
    /// Its id.
    fold: FoldId,
}

/// The scope of an undo or redo.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoParameters {
    /// Only changes outside conversations: projects, documents, memories.
    #[serde(default)]
    workspace: bool,
}

impl UndoParameters {
    fn scope(&self) -> UndoScope {
        match self.workspace {
            true => UndoScope::Workspace,
            false => UndoScope::Everything,
        }
    }
}

/// The change that was undone or redone.
#[derive(Debug, Serialize, JsonSchema)]
struct Stepped {
    /// Journal position of the undo or redo.
    position: i64,
}

async fn shown(database: &Database, conversation: ConversationId) -> ApiResult<Tagged> {
    Ok(Tagged(database.conversation(conversation).await?))
}

fn added(ids: Vec<MessageId>) -> (StatusCode, axum::Json<Appended>) {
    (StatusCode::CREATED, axum::Json(Appended { ids }))
}

async fn branches(
    CallerDatabase(database): CallerDatabase,
    PathId(id): PathId<ConversationId>,
) -> ApiResult<axum::Json<Vec<BranchInfo>>> {
    Ok(axum::Json(database.branches(id).await?))
}

async fn rewind(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(to): Json<ToMessage>,
) -> ApiResult<Tagged> {
    database.rewind(id, to.message).await?;
    shown(&database, id).await
}

async fn switch(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(to): Json<SwitchTo>,
) -> ApiResult<Tagged> {
    match to {
        SwitchTo::Message(message) => database.switch(id, message).await?,
        SwitchTo::Branch(branch) => database.switch_branch(id, branch).await?,
    }
    shown(&database, id).await
}

async fn fork(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(branch): Json<NewBranch>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    Ok(added(vec![database.fork(id, branch.after, branch.message.draft()?).await?]))
}

async fn fork_to_new(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(fork): Json<Fork>,
) -> ApiResult<(StatusCode, Tagged)> {
    let new = database.fork_to_new(id, fork.after, fork.conversation).await?;
    Ok((StatusCode::CREATED, shown(&database, new).await?))
}

async fn edit(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(edit): Json<Edit>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    let tail = match edit.tail {
        FollowUpsInput::Cut => FollowUps::Detach,
        FollowUpsInput::Keep => FollowUps::Keep,
    };
    Ok(added(vec![database.edit(id, edit.message, edit.with.draft()?, tail).await?]))
}

async fn regenerate(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(wish): Json<Regenerate>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    Ok(added(vec![database.regenerate(id, wish.answer, wish.with.draft()?).await?]))
}

async fn insert(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(insert): Json<Insert>,
) -> ApiResult<(StatusCode, axum::Json<Appended>)> {
    Ok(added(database.insert(id, insert.after, drafts(insert.messages)?).await?))
}

async fn remove(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(stretch): Json<MessageRange>,
) -> ApiResult<Tagged> {
    database.remove(id, stretch).await?;
    shown(&database, id).await
}

async fn hide(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(stretch): Json<MessageRange>,
) -> ApiResult<(StatusCode, axum::Json<Hidden>)> {
    let fold = database.hide(id, stretch).await?;
    Ok((StatusCode::CREATED, axum::Json(Hidden { fold })))
}

async fn undo_steps(
    CallerDatabase(database): CallerDatabase,
    PathId(id): PathId<ConversationId>,
) -> ApiResult<axum::Json<UndoSteps>> {
    Ok(axum::Json(database.undo_steps(UndoScope::Conversation(id)).await?))
}

async fn undo(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    _: Json<Nothing>,
) -> ApiResult<Tagged> {
    database.undo(UndoScope::Conversation(id)).await?;
    shown(&database, id).await
}

async fn redo(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    _: Json<Nothing>,
) -> ApiResult<Tagged> {
    database.redo(UndoScope::Conversation(id)).await?;
    shown(&database, id).await
}

async fn undo_any(
    WriteDatabase(database): WriteDatabase,
    Json(scope): Json<UndoParameters>,
) -> ApiResult<axum::Json<Stepped>> {
    let committed = database.undo(scope.scope()).await?;
    Ok(axum::Json(Stepped { position: committed.position }))
}

async fn redo_any(
    WriteDatabase(database): WriteDatabase,
    Json(scope): Json<UndoParameters>,
) -> ApiResult<axum::Json<Stepped>> {
    let committed = database.redo(scope.scope()).await?;
    Ok(axum::Json(Stepped { position: committed.position }))
}
