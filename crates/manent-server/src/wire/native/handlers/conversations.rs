//! Conversation endpoints: create, list, resolve, update, archive, restore, purge, erase.

use crate::app::App;
use crate::problem::{ApiResult, Problem};
use crate::wire::native::extract::{Caller, CallerDatabase, Json, PathId, Query, WriteDatabase};
use crate::wire::native::handlers::{Nothing, Tagged, limit};
use crate::wire::native::operation::{Access, Operation, group};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::model::{KeyScope, ProjectId, Timestamp};
use manent::store::system::NewAuditRecord;
use manent::store::{BoundedCount, EraseTarget};
use manent::{
    Conversation, ConversationDraft, ConversationId, ConversationKind, ConversationPatch, ConversationStatus,
    ErasedContent, ListQuery, MessageId, OldBackups,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn operations() -> Vec<Operation> {
    const ONE: &str = "/conversations/{conversation}";
    let operations = vec![
        Operation::new(Method::GET, "/conversations", "listConversations", list)
            .large_read()
            .summary("Lists conversations: pinned first, then most recently active.")
            .library("list")
            .library("conversation_by_external_id")
            .query::<ListParameters>()
            .response::<Conversations>(200),
        Operation::new(Method::POST, "/conversations", "createConversation", create)
            .access(KeyScope::Append)
            .summary(
                "Creates a conversation, or returns the one with the same external id. A key without `read` gets only the id and the fields it sent.",
            )
            .library("create")
            .body::<ConversationDraft>()
            .response::<Conversation>(201),
        Operation::new(Method::GET, "/conversations/count", "countConversations", count)
            .summary("Counts conversations, up to 10,000.")
            .library("count")
            .query::<ListParameters>()
            .response::<BoundedCount>(200),
        Operation::new(Method::GET, "/resolve", "resolve", resolve)
            .summary("Resolves an id, a unique prefix of an id, an external id, or @last.")
            .library("resolve_conversation")
            .library("resolve_message")
            .library("resolve_project")
            .query::<Name>()
            .response::<Resolved>(200),
        Operation::new(Method::GET, ONE, "getConversation", get)
            .summary("Returns a conversation.")
            .library("conversation")
            .response::<Conversation>(200),
        Operation::new(Method::PATCH, ONE, "editConversation", edit)
            .access(KeyScope::Manage)
            .summary("Changes the properties of a conversation. Omitted fields are kept.")
            .library("edit_conversation")
            .library("tag")
            .library("pin")
            .library("unpin")
            .library("archive")
            .library("set_project")
            .library("set_members")
            .library("set_metadata")
            .body::<ConversationPatch>()
            .response::<Conversation>(200),
        Operation::new(Method::DELETE, ONE, "trashConversation", trash)
            .access(KeyScope::Manage)
            .summary("Moves a conversation to the trash.")
            .library("trash")
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/rename", "renameConversation", rename)
            .access(KeyScope::Manage)
            .summary("Renames a conversation: 1 to 50 characters, not empty, without / \\ : * ? \" < > |.")
            .library("rename")
            .body::<NewName>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/restore", "restoreConversation", restore)
            .access(KeyScope::Manage)
            .summary("Restores a conversation from the trash or the archive.")
            .library("restore")
            .body::<Nothing>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/clear", "clearConversation", clear)
            .access(KeyScope::Manage)
            .summary("Starts with an empty path; the messages stay on their branch.")
            .library("clear")
            .body::<Nothing>()
            .response::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/purge", "purgeConversation", purge)
            .access(KeyScope::Admin)
            .audited("purge")
            .summary("Deletes a conversation in the trash for good.")
            .library("purge")
            .body::<Nothing>(),
        Operation::new(Method::POST, "/erase", "erase", erase)
            .access(KeyScope::Admin)
            .audited("erase")
            .summary(
                "Erases a message, a conversation or everything an author wrote, without a trace in the files. The response lists what is kept; `backups=replace` replaces the managed backups.",
            )
            .library("erase")
            .library("erase_content")
            .query::<EraseParameters>()
            .body::<ErasePlan>()
            .response::<ErasedContent>(200)
            .no_timeout(),
    ];
    group("Conversations", operations)
}

/// Filters and paging of the conversation list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// Statuses, comma-separated; `active` by default.
    status: Option<String>,
    /// Only this kind.
    kind: Option<ConversationKind>,
    /// Only this project.
    project: Option<ProjectId>,
    /// Only with this tag.
    tag: Option<String>,
    /// Only with a creator of this external id.
    creator: Option<String>,
    /// Only with this external id, as assigned by the creator's system.
    external_id: Option<String>,
    /// Active at or after this time.
    since: Option<Timestamp>,
    /// Active before this time.
    until: Option<Timestamp>,
    /// Only with this metadata key.
    metadata_key: Option<String>,
    /// Only with this value of `metadata_key`.
    metadata_value: Option<String>,
    /// Only with this text in the title; case-insensitive.
    title: Option<String>,
    /// Cursor: `next` of the previous page.
    after: Option<String>,
    /// Maximum number of conversations; 50 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

impl ListParameters {
    fn query(self) -> ApiResult<ListQuery> {
        let read = |word: &str| {
            serde_json::from_value::<ConversationStatus>(word.trim().into())
                .map_err(|_| Problem::invalid(format!("status: unknown status {word}")))
        };
        let statuses = self.status.iter().flat_map(|words| words.split(',')).map(read).collect::<ApiResult<_>>()?;
        let after = self.after.map(|cursor| cursor.parse()).transpose();
        Ok(ListQuery {
            statuses,
            kind: self.kind,
            project: self.project,
            tag: self.tag,
            creator: self.creator,
            since: self.since,
            until: self.until,
            metadata: self.metadata_key.map(|key| (key, self.metadata_value)),
            title: self.title,
            after: after.map_err(|_| Problem::invalid("after: invalid cursor"))?,
            limit: limit(self.limit)?,
            ..ListQuery::default()
        })
    }
}

/// A page of conversations.
#[derive(Debug, Serialize, JsonSchema)]
struct Conversations {
    /// The conversations.
    conversations: Vec<Conversation>,
    /// Cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A text to resolve to an id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Name {
    /// An id or the beginning of one.
    text: String,
    /// Kind of object; `conversation` by default.
    #[serde(default)]
    kind: Named,
}

/// Kinds of objects that can be resolved.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Named {
    /// A conversation.
    #[default]
    Conversation,
    /// A message.
    Message,
    /// A project.
    Project,
}

/// The resolved object.
#[derive(Debug, Serialize, JsonSchema)]
struct Resolved {
    /// The full id.
    id: String,
}

/// A new title.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewName {
    /// 1 to 50 characters, none of `/ \ : * ? " < > |`.
    title: String,
}

/// The target of an erasure; exactly one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ErasePlan {
    /// One message, on every path that reaches it.
    Message(MessageId),
    /// A conversation with all of its content.
    Conversation(ConversationId),
    /// Everything written by the author with this external id.
    Author(String),
}

/// How an erasure treats backups.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EraseParameters {
    /// `keep` existing managed backups, or `replace` them with a new one.
    #[serde(default)]
    backups: OldBackups,
}

async fn list(
    CallerDatabase(database): CallerDatabase,
    Query(mut asked): Query<ListParameters>,
) -> ApiResult<axum::Json<Conversations>> {
    if let Some(external_id) = asked.external_id.take() {
        let found = database.conversation_by_external_id(&external_id).await;
        let conversations = match found.map_err(Problem::from) {
            Ok(conversation) => vec![conversation],
            Err(problem) if problem.status == 404 => Vec::new(),
            Err(problem) => return Err(problem),
        };
        return Ok(axum::Json(Conversations { conversations, next: None }));
    }
    let page = database.list(asked.query()?).await?;
    let next = page.next.map(|cursor| cursor.to_string());
    Ok(axum::Json(Conversations { conversations: page.conversations, next }))
}

async fn count(
    CallerDatabase(database): CallerDatabase,
    Query(asked): Query<ListParameters>,
) -> ApiResult<axum::Json<BoundedCount>> {
    Ok(axum::Json(database.count(asked.query()?).await?))
}

async fn resolve(
    CallerDatabase(database): CallerDatabase,
    Query(name): Query<Name>,
) -> ApiResult<axum::Json<Resolved>> {
    let id = match name.kind {
        Named::Conversation => database.resolve_conversation(&name.text).await?.to_string(),
        Named::Message => database.resolve_message(&name.text).await?.to_string(),
        Named::Project => database.resolve_project(&name.text).await?.to_string(),
    };
    Ok(axum::Json(Resolved { id }))
}

async fn create(
    Caller(asker): Caller,
    WriteDatabase(database): WriteDatabase,
    Json(draft): Json<ConversationDraft>,
) -> ApiResult<(StatusCode, Tagged)> {
    let said = draft.clone();
    let mut conversation = database.create(draft).await?;
    if asker.credential.authorize(Access::Scope(KeyScope::Read)).is_err() {
        conversation = as_said(conversation, said);
    }
    Ok((StatusCode::CREATED, Tagged(conversation)))
}

/// Builds the response to a create request of a key that may not read: the id, and only the fields that the request
/// itself set. The conversation may have existed before, created by another caller.
fn as_said(conversation: Conversation, said: ConversationDraft) -> Conversation {
    let now = manent::store::now();
    Conversation {
        title: said.title,
        kind: said.kind,
        status: ConversationStatus::Active,
        pinned: false,
        project: said.project,
        creator: said.creator,
        members: said.members,
        tags: said.tags,
        metadata: said.metadata,
        continued_from: said.continued_from,
        forked_from: said.forked_from,
        trashed_at: None,
        head: None,
        messages: 0,
        words: 0,
        tokens: 0,
        created_at: now,
        active_at: now,
        version: 1,
        ..conversation
    }
}

async fn get(CallerDatabase(database): CallerDatabase, PathId(id): PathId<ConversationId>) -> ApiResult<Tagged> {
    Ok(Tagged(database.conversation(id).await?))
}

async fn edit(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(patch): Json<ConversationPatch>,
) -> ApiResult<Tagged> {
    Ok(Tagged(database.edit_conversation(id, patch, None).await?))
}

async fn rename(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    Json(name): Json<NewName>,
) -> ApiResult<Tagged> {
    database.rename(id, &name.title).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn trash(WriteDatabase(database): WriteDatabase, PathId(id): PathId<ConversationId>) -> ApiResult<Tagged> {
    database.trash(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn restore(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    _: Json<Nothing>,
) -> ApiResult<Tagged> {
    database.restore(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn clear(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    _: Json<Nothing>,
) -> ApiResult<Tagged> {
    database.clear(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn purge(
    WriteDatabase(database): WriteDatabase,
    PathId(id): PathId<ConversationId>,
    _: Json<Nothing>,
) -> ApiResult<StatusCode> {
    database.purge(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn erase(
    State(app): State<App>,
    Caller(asker): Caller,
    WriteDatabase(database): WriteDatabase,
    Query(asked): Query<EraseParameters>,
    Json(plan): Json<ErasePlan>,
) -> ApiResult<axum::Json<ErasedContent>> {
    if asked.backups == OldBackups::Replace {
        asker.credential.reaches_everything()?;
    }
    // The audit log must not record the id of an author whose content is being erased.
    let named = match &plan {
        ErasePlan::Message(id) => id.to_string(),
        ErasePlan::Conversation(id) => id.to_string(),
        ErasePlan::Author(_) => "an author".to_owned(),
    };
    let target = match plan {
        ErasePlan::Message(id) => EraseTarget::Message(id),
        ErasePlan::Conversation(id) => EraseTarget::Conversation(id),
        ErasePlan::Author(id) => EraseTarget::Person(id),
    };
    let folder = app.tenants.backups_of(asker.tenant);
    let erased = database.erase_content(target, folder.as_deref(), asked.backups).await?;
    let line = NewAuditRecord::new("erased", Some(asker.tenant), asker.audit_subject).detail((named, &erased));
    app.tenants.audit(line).await?;
    Ok(axum::Json(erased))
}
