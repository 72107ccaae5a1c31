//! Conversation endpoints: create, list, resolve, update, archive, restore, purge, erase.

use super::{Nothing, Tagged, limit};
use crate::app::App;
use crate::extract::{Asked, Asker, Here, Id, Json, Write};
use crate::operation::{Need, Operation, group};
use crate::problem::{Answer, Problem};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use manent::model::{KeyScope, Micros, ProjectId};
use manent::store::system::AuditDraft;
use manent::store::{Count, Erase};
use manent::{
    Conversation, ConversationDraft, ConversationId, ConversationKind, ConversationPatch, ConversationStatus,
    ErasedContent, ListQuery, MessageId, OldBackups,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/conversations/{conversation}";
    let operations = vec![
        Operation::new(Method::GET, "/conversations", "listConversations", list)
            .reads_much()
            .says("Lists conversations: pinned first, then most recently active.")
            .library("list")
            .library("conversation_by_external_id")
            .query::<ListParameters>()
            .answers::<Conversations>(200),
        Operation::new(Method::POST, "/conversations", "createConversation", create)
            .needs(KeyScope::Append)
            .says(
                "Creates a conversation, or returns the one with the same external id. A key without `read` gets only the id and the fields it sent.",
            )
            .library("create")
            .body::<ConversationDraft>()
            .answers::<Conversation>(201),
        Operation::new(Method::GET, "/conversations/count", "countConversations", count)
            .says("Counts conversations, up to 10,000.")
            .library("count")
            .query::<ListParameters>()
            .answers::<Count>(200),
        Operation::new(Method::GET, "/resolve", "resolve", resolve)
            .says("Resolves an id, a unique prefix of an id, an external id, or @last.")
            .library("resolve_conversation")
            .library("resolve_message")
            .library("resolve_project")
            .query::<Name>()
            .answers::<Resolved>(200),
        Operation::new(Method::GET, ONE, "getConversation", get)
            .says("Returns a conversation.")
            .library("conversation")
            .answers::<Conversation>(200),
        Operation::new(Method::PATCH, ONE, "editConversation", edit)
            .needs(KeyScope::Manage)
            .says("Changes the properties of a conversation. Omitted fields are kept.")
            .library("edit_conversation")
            .library("tag")
            .library("pin")
            .library("unpin")
            .library("archive")
            .library("set_project")
            .library("set_members")
            .library("set_metadata")
            .body::<ConversationPatch>()
            .answers::<Conversation>(200),
        Operation::new(Method::DELETE, ONE, "trashConversation", trash)
            .needs(KeyScope::Manage)
            .says("Moves a conversation to the trash.")
            .library("trash")
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/rename", "renameConversation", rename)
            .needs(KeyScope::Manage)
            .says("Renames a conversation: 1 to 50 characters, not empty, without / \\ : * ? \" < > |.")
            .library("rename")
            .body::<NewName>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/restore", "restoreConversation", restore)
            .needs(KeyScope::Manage)
            .says("Restores a conversation from the trash or the archive.")
            .library("restore")
            .body::<Nothing>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/clear", "clearConversation", clear)
            .needs(KeyScope::Manage)
            .says("Starts with an empty path; the messages stay on their branch.")
            .library("clear")
            .body::<Nothing>()
            .answers::<Conversation>(200),
        Operation::new(Method::POST, "/conversations/{conversation}/purge", "purgeConversation", purge)
            .needs(KeyScope::Admin)
            .audited("purge")
            .says("Deletes a conversation in the trash for good.")
            .library("purge")
            .body::<Nothing>(),
        Operation::new(Method::POST, "/erase", "erase", erase)
            .needs(KeyScope::Admin)
            .audited("erase")
            .says(
                "Erases a message, a conversation or everything an author wrote, without a trace in the files. The response lists what is kept; `backups=replace` replaces the managed backups.",
            )
            .library("erase")
            .library("erase_content")
            .query::<EraseParameters>()
            .body::<ErasePlan>()
            .answers::<ErasedContent>(200)
            .may_take_long(),
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
    since: Option<Micros>,
    /// Active before this time.
    until: Option<Micros>,
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
    fn query(self) -> Answer<ListQuery> {
        let read = |word: &str| {
            serde_json::from_value::<ConversationStatus>(word.trim().into())
                .map_err(|_| Problem::invalid(format!("status: unknown status {word}")))
        };
        let statuses = self.status.iter().flat_map(|words| words.split(',')).map(read).collect::<Answer<_>>()?;
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

async fn list(Here(database): Here, Asked(mut asked): Asked<ListParameters>) -> Answer<axum::Json<Conversations>> {
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

async fn count(Here(database): Here, Asked(asked): Asked<ListParameters>) -> Answer<axum::Json<Count>> {
    Ok(axum::Json(database.count(asked.query()?).await?))
}

async fn resolve(Here(database): Here, Asked(name): Asked<Name>) -> Answer<axum::Json<Resolved>> {
    let id = match name.kind {
        Named::Conversation => database.resolve_conversation(&name.text).await?.to_string(),
        Named::Message => database.resolve_message(&name.text).await?.to_string(),
        Named::Project => database.resolve_project(&name.text).await?.to_string(),
    };
    Ok(axum::Json(Resolved { id }))
}

async fn create(
    Asker(asker): Asker,
    Write(database): Write,
    Json(draft): Json<ConversationDraft>,
) -> Answer<(StatusCode, Tagged)> {
    let said = draft.clone();
    let mut conversation = database.create(draft).await?;
    if asker.who.may(Need::Scope(KeyScope::Read)).is_err() {
        conversation = as_said(conversation, said);
    }
    Ok((StatusCode::CREATED, Tagged(conversation)))
}

/// Builds the response to a create request of a key that may not read: the id, and only the fields that the request
/// itself set. The conversation may have existed before, created by another caller.
fn as_said(conversation: Conversation, said: ConversationDraft) -> Conversation {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = manent::Micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX));
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

async fn get(Here(database): Here, Id(id): Id<ConversationId>) -> Answer<Tagged> {
    Ok(Tagged(database.conversation(id).await?))
}

async fn edit(
    Write(database): Write,
    Id(id): Id<ConversationId>,
    Json(patch): Json<ConversationPatch>,
) -> Answer<Tagged> {
    Ok(Tagged(database.edit_conversation(id, patch, None).await?))
}

async fn rename(Write(database): Write, Id(id): Id<ConversationId>, Json(name): Json<NewName>) -> Answer<Tagged> {
    database.rename(id, &name.title).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn trash(Write(database): Write, Id(id): Id<ConversationId>) -> Answer<Tagged> {
    database.trash(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn restore(Write(database): Write, Id(id): Id<ConversationId>, _: Json<Nothing>) -> Answer<Tagged> {
    database.restore(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn clear(Write(database): Write, Id(id): Id<ConversationId>, _: Json<Nothing>) -> Answer<Tagged> {
    database.clear(id).await?;
    Ok(Tagged(database.conversation(id).await?))
}

async fn purge(Write(database): Write, Id(id): Id<ConversationId>, _: Json<Nothing>) -> Answer<StatusCode> {
    database.purge(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn erase(
    State(app): State<App>,
    Asker(asker): Asker,
    Write(database): Write,
    Asked(asked): Asked<EraseParameters>,
    Json(plan): Json<ErasePlan>,
) -> Answer<axum::Json<ErasedContent>> {
    if asked.backups == OldBackups::Replace {
        asker.who.reaches_everything()?;
    }
    // The audit log must not record the id of an author whose content is being erased.
    let named = match &plan {
        ErasePlan::Message(id) => id.to_string(),
        ErasePlan::Conversation(id) => id.to_string(),
        ErasePlan::Author(_) => "an author".to_owned(),
    };
    let target = match plan {
        ErasePlan::Message(id) => Erase::Message(id),
        ErasePlan::Conversation(id) => Erase::Conversation(id),
        ErasePlan::Author(id) => Erase::Author(id),
    };
    let folder = app.tenants.backups_of(asker.tenant);
    let erased = database.erase_content(target, folder.as_deref(), asked.backups).await?;
    let line = AuditDraft::new("erased", Some(asker.tenant), asker.by).detail((named, &erased));
    app.tenants.audit(line).await?;
    Ok(axum::Json(erased))
}
