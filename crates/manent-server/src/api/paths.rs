//! Path endpoints: fork, rewind, switch, edit, hide, undo.

use super::messages::Appended;
use super::{Nothing, Tagged};
use crate::extract::{Here, Id, Json, Write};
use crate::operation::{Operation, group};
use crate::problem::Answer;
use crate::view::{MessageInput, drafts};
use axum::http::{Method, StatusCode};
use manent::model::{BranchId, FoldId, KeyScope};
use manent::store::{BranchInfo, Scope};
use manent::{Conversation, ConversationDraft, ConversationId, Database, MessageId, Stretch, Tail, UndoSteps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    let operations = vec![
        Operation::new(Method::GET, "/conversations/{conversation}/branches", "listBranches", branches)
            .says("Lists the branches of a conversation.")
            .library("branches")
            .answers::<Vec<BranchInfo>>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/branches", "fork", fork)
            .needs(KeyScope::Append)
            .says("Creates a branch after a message with a new message, and switches to it.")
            .library("fork")
            .body::<NewBranch>()
            .answers::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/rewind", "rewind", rewind)
            .needs(KeyScope::Manage)
            .says("Moves the head back to a message; the next append creates a branch there.")
            .library("rewind")
            .body::<ToMessage>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/switch", "switch", switch)
            .needs(KeyScope::Manage)
            .says("Switches to the end of another branch.")
            .library("switch")
            .library("switch_branch")
            .body::<SwitchTo>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/fork", "forkToNew", fork_to_new)
            .needs(KeyScope::Manage)
            .says("Creates a conversation that continues from a message. Nothing is copied.")
            .library("fork_to_new")
            .body::<Fork>()
            .answers::<Conversation>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/edit", "editMessage", edit)
            .needs(KeyScope::Manage)
            .says("Replaces a message; the old one stays as an alternative.")
            .library("edit")
            .body::<Edit>()
            .answers::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/regenerate", "regenerate", regenerate)
            .needs(KeyScope::Append)
            .says("Stores another answer as the current alternative.")
            .library("regenerate")
            .body::<Regenerate>()
            .answers::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/insert", "insertMessages", insert)
            .needs(KeyScope::Manage)
            .says("Inserts messages into the current path; the following messages come after them.")
            .library("insert")
            .body::<Insert>()
            .answers::<Appended>(201),
        Operation::new(Method::POST, "/conversations/{conversation}/remove", "removeMessages", remove)
            .needs(KeyScope::Manage)
            .says("Removes messages from the current path; they stay on their previous branch.")
            .library("remove")
            .body::<Stretch>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/hide", "hideMessages", hide)
            .needs(KeyScope::Manage)
            .says("Hides messages from the model; readers still see them.")
            .library("hide")
            .body::<Stretch>()
            .answers::<Hidden>(201),
        Operation::new(Method::GET, "/conversations/{conversation}/undo", "getUndoSteps", undo_steps)
            .says("Returns the changes that undo and redo would apply to.")
            .library("undo_steps")
            .answers::<UndoSteps>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/undo", "undoInConversation", undo)
            .needs(KeyScope::Manage)
            .says("Undoes the last change of a conversation.")
            .library("undo")
            .body::<Nothing>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/redo", "redoInConversation", redo)
            .needs(KeyScope::Manage)
            .says("Redoes the last undone change of a conversation.")
            .library("redo")
            .body::<Nothing>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/undo", "undo", undo_any)
            .needs(KeyScope::Manage)
            .says("Undoes the last change of the store.")
            .library("undo")
            .body::<UndoScope>()
            .answers::<Stepped>(200),
        Operation::new(Method::POST, "/redo", "redo", redo_any)
            .needs(KeyScope::Manage)
            .says("Redoes the last undone change.")
            .library("redo")
            .body::<UndoScope>()
            .answers::<Stepped>(200),
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
    tail: TailWish,
}

/// What happens to the messages after an edited one.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TailWish {
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
struct UndoScope {
    /// Only changes outside conversations: projects, documents, memories.
    #[serde(default)]
    beside: bool,
}

impl UndoScope {
    fn scope(&self) -> Scope {
        match self.beside {
            true => Scope::Beside,
            false => Scope::Everything,
        }
    }
}

/// The change that was undone or redone.
#[derive(Debug, Serialize, JsonSchema)]
struct Stepped {
    /// Journal position of the undo or redo.
    position: i64,
}

async fn shown(database: &Database, conversation: ConversationId) -> Answer<Tagged> {
    Ok(Tagged(database.conversation(conversation).await?))
}

fn added(ids: Vec<MessageId>) -> (StatusCode, axum::Json<Appended>) {
    (StatusCode::CREATED, axum::Json(Appended { ids }))
}

async fn branches(Here(database): Here, Id(id): Id<ConversationId>) -> Answer<axum::Json<Vec<BranchInfo>>> {
    Ok(axum::Json(database.branches(id).await?))
}

async fn rewind(Write(database): Write, Id(id): Id<ConversationId>, Json(to): Json<ToMessage>) -> Answer<Tagged> {
    database.rewind(id, to.message).await?;
    shown(&database, id).await
}

async fn switch(Write(database): Write, Id(id): Id<ConversationId>, Json(to): Json<SwitchTo>) -> Answer<Tagged> {
    match to {
        SwitchTo::Message(message) => database.switch(id, message).await?,
        SwitchTo::Branch(branch) => database.switch_branch(id, branch).await?,
    }
    shown(&database, id).await
}

async fn fork(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(branch): Json<NewBranch>,
) -> Answer<(StatusCode, axum::Json<Appended>)> {
    Ok(added(vec![database.fork(id, branch.after, branch.message.draft()?).await?]))
}

async fn fork_to_new(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(fork): Json<Fork>,
) -> Answer<(StatusCode, Tagged)> {
    let new = database.fork_to_new(id, fork.after, fork.conversation).await?;
    Ok((StatusCode::CREATED, shown(&database, new).await?))
}

async fn edit(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(edit): Json<Edit>,
) -> Answer<(StatusCode, axum::Json<Appended>)> {
    let tail = match edit.tail {
        TailWish::Cut => Tail::Cut,
        TailWish::Keep => Tail::Keep,
    };
    Ok(added(vec![database.edit(id, edit.message, edit.with.draft()?, tail).await?]))
}

async fn regenerate(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(wish): Json<Regenerate>,
) -> Answer<(StatusCode, axum::Json<Appended>)> {
    Ok(added(vec![database.regenerate(id, wish.answer, wish.with.draft()?).await?]))
}

async fn insert(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(insert): Json<Insert>,
) -> Answer<(StatusCode, axum::Json<Appended>)> {
    Ok(added(database.insert(id, insert.after, drafts(insert.messages)?).await?))
}

async fn remove(Write(database): Write, Id(id): Id<ConversationId>, Json(stretch): Json<Stretch>) -> Answer<Tagged> {
    database.remove(id, stretch).await?;
    shown(&database, id).await
}

async fn hide(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(stretch): Json<Stretch>,
) -> Answer<(StatusCode, axum::Json<Hidden>)> {
    let fold = database.hide(id, stretch).await?;
    Ok((StatusCode::CREATED, axum::Json(Hidden { fold })))
}

async fn undo_steps(Here(database): Here, Id(id): Id<ConversationId>) -> Answer<axum::Json<UndoSteps>> {
    Ok(axum::Json(database.undo_steps(Scope::Conversation(id)).await?))
}

async fn undo(Write(database): Write, Id(id): Id<ConversationId>, _: Json<Nothing>) -> Answer<Tagged> {
    database.undo(Scope::Conversation(id)).await?;
    shown(&database, id).await
}

async fn redo(Write(database): Write, Id(id): Id<ConversationId>, _: Json<Nothing>) -> Answer<Tagged> {
    database.redo(Scope::Conversation(id)).await?;
    shown(&database, id).await
}

async fn undo_any(Write(database): Write, Json(scope): Json<UndoScope>) -> Answer<axum::Json<Stepped>> {
    let committed = database.undo(scope.scope()).await?;
    Ok(axum::Json(Stepped { position: committed.position }))
}

async fn redo_any(Write(database): Write, Json(scope): Json<UndoScope>) -> Answer<axum::Json<Stepped>> {
    let committed = database.redo(scope.scope()).await?;
    Ok(axum::Json(Stepped { position: committed.position }))
}
