//! What a key reaches: exactly its own, and of the rest not even that it is there.

pub mod reads;
pub mod lists;
pub mod searches;
pub mod library;
pub mod scopes;
pub mod changes;
pub mod makes;
pub mod tricks;
pub mod blobs;
pub mod life;
pub mod random;

use crate::kit::*;
use manent_model::*;
use manent_store::*;
use std::sync::Arc;

/// The store that all grants of a test limit.
pub type Whole = Arc<dyn Store>;

pub fn author(id: &str) -> Author {
    Author { id: id.to_owned(), name: id.to_uppercase() }
}

pub fn user(id: &str) -> AccessScope {
    AccessScope { user: Some(id.to_owned()), projects: None }
}

pub fn projects(ids: &[ProjectId]) -> AccessScope {
    AccessScope { user: None, projects: Some(ids.iter().copied().collect()) }
}

/// Permissions that allow everything within an access scope.
pub fn grant(id: &str, access: AccessScope) -> Permissions {
    Permissions { id: id.to_owned(), scopes: [KeyScope::Admin].into_iter().collect(), access, actor: None }
}

/// The store as a grant has it.
pub fn granted(whole: &Whole, access: AccessScope) -> Arc<dyn Store> {
    whole.clone().authorized(grant("key", access))
}

pub async fn project(whole: &Whole, name: &str) -> ProjectId {
    let id = id(ProjectId::new);
    let project = Project {
        id,
        kind: "project".to_owned(),
        name: name.to_owned(),
        instructions: String::new(),
        facts: Default::default(),
        metadata: None,
        version: 1,
    };
    commit(&**whole, Change::CreateProject { project }).await;
    id
}

/// Creates a conversation of `creator`.
pub async fn talk(whole: &Whole, creator: &str, members: &[&str], project: Option<ProjectId>) -> ConversationId {
    let conversation = id(ConversationId::new);
    let draft = ConversationDraft {
        title: format!("of {creator}"),
        project,
        creator: Some(author(creator)).filter(|author| !author.id.is_empty()),
        members: members.iter().map(|member| author(member)).collect(),
        ..ConversationDraft::default()
    };
    let change = Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false };
    commit(&**whole, change).await;
    conversation
}

/// Changes the members.
pub async fn set_members(store: &dyn Store, conversation: ConversationId, members: &[&str]) {
    let members = Some(members.iter().map(|member| author(member)).collect());
    patch(store, conversation, ConversationPatch { members, ..ConversationPatch::default() }).await;
}

/// One of everything that an id can name.
#[derive(Debug, Clone)]
pub struct Things {
    pub conversation: ConversationId,
    /// The first branch, with four messages.
    pub branch: BranchId,
    pub first: MessageId,
    pub second: MessageId,
    /// The third asks for a tool.
    pub third: MessageId,
    /// The fourth streams.
    pub stream: MessageId,
    pub note: NoteId,
    pub fold: FoldId,
    pub input: InputId,
    pub memory: MemoryId,
    pub project: ProjectId,
    /// The kind and id of a document of the project.
    pub document: String,
    /// The last change of the conversation.
    pub position: Position,
}

impl Things {
    /// Names of what is nowhere.
    pub fn unknown() -> Self {
        Self {
            conversation: id(ConversationId::new),
            branch: id(BranchId::new),
            first: id(MessageId::new),
            second: id(MessageId::new),
            third: id(MessageId::new),
            stream: id(MessageId::new),
            note: id(NoteId::new),
            fold: id(FoldId::new),
            input: id(InputId::new),
            memory: id(MemoryId::new),
            project: id(ProjectId::new),
            document: id(InputId::new).to_string(),
            position: 1_000_000_000,
        }
    }

    /// Creates one object of each kind, in a conversation of `creator` in a project.
    pub async fn of(whole: &Whole, creator: &str, project: ProjectId) -> Self {
        let things = Self { project, ..Self::unknown() };
        let Self { conversation, branch, first, second, third, stream, note, fold, input, memory, .. } = things;
        let said = |id: MessageId, text: &str, status: MessageStatus| {
            let mut said = NewMessage { id, ..message("user", text) };
            said.content.status = status;
            said
        };
        let (complete, streaming) = (MessageStatus::Complete, MessageStatus::Streaming);
        let messages = vec![
            said(first, "the first word", complete),
            said(second, "the second word", complete),
            said(third, "the third word", complete),
            said(stream, "", streaming),
        ];
        let draft = ConversationDraft {
            title: format!("things of {creator}"),
            external_id: Some(format!("external {conversation}")),
            creator: Some(author(creator)),
            project: Some(project),
            ..ConversationDraft::default()
        };
        let new_fold = NewFold {
            id: fold,
            after: third,
            kind: FoldKind::Summary,
            covers: vec![MessageRange { first, last: second }],
            summary: Some("the summed word".to_owned()),
            parent: None,
            made_by: None,
        };
        let call = ToolCall {
            message: third,
            part: 0,
            call_id: "call".to_owned(),
            name: "tool".to_owned(),
            state: ToolState::Pending,
            record: json("{}"),
        };
        let changes = vec![
            Change::CreateConversation { id: conversation, branch, draft, importing: false },
            append(conversation, messages),
            Change::AddNote { id: note, message: first, kind: "pin".to_owned(), value: json("1") },
            Change::AddFold { conversation, fold: new_fold },
            Change::PutToolCall { call, note: String::new() },
            Change::PutInput { conversation, id: input, body: json("1") },
            Change::SetBookmark { conversation, name: "place".to_owned(), head: Some(second), metadata: None },
            Change::SetState { conversation, name: "plot".to_owned(), after: None, value: Some(json("1")) },
            Change::AppendEvents {
                conversation,
                events: vec![NewEvent { channel: "progress".to_owned(), at: at(1), body: json("1") }],
            },
        ];
        let made = Transaction { changes, ..Transaction::of(at(1), append(conversation, Vec::new())) };
        whole.commit(made).await.expect("all of it is new");
        let remembered = Memory {
            id: memory,
            collection: "facts".to_owned(),
            project: None,
            conversation: Some(conversation),
            message: Some(first),
            external: None,
            text: "remembered".to_owned(),
            metadata: None,
        };
        commit(&**whole, Change::PutMemory { memory: remembered }).await;
        let (kind, id) = ("kind".to_owned(), things.document.clone());
        commit(&**whole, Change::PutDocument { kind, id, project: Some(project), body: Some(json("1")) }).await;
        let patch = ConversationPatch { pinned: Some(true), ..ConversationPatch::default() };
        let edited = commit(&**whole, Change::EditConversation { id: conversation, patch }).await;
        Self { position: edited.first, ..things }
    }

    /// What was said, with every name replaced by what it names: two refusals are alike if they then say the same.
    pub fn masked(&self, text: &str) -> String {
        let names = [
            (self.conversation.to_string(), "CONVERSATION"),
            (self.branch.to_string(), "BRANCH"),
            (self.first.to_string(), "FIRST"),
            (self.second.to_string(), "SECOND"),
            (self.third.to_string(), "THIRD"),
            (self.stream.to_string(), "STREAM"),
            (self.note.to_string(), "NOTE"),
            (self.fold.to_string(), "FOLD"),
            (self.input.to_string(), "INPUT"),
            (self.memory.to_string(), "MEMORY"),
            (self.project.to_string(), "PROJECT"),
            (self.document.clone(), "DOCUMENT"),
        ];
        names.iter().fold(text.to_owned(), |text, (name, what)| text.replace(name, what))
    }

    /// Returns what a refusal says, masked, with its code.
    pub fn refusal<T: std::fmt::Debug>(&self, what: &str, outcome: Result<T>) -> String {
        let error = match outcome {
            Err(error) => error,
            Ok(answer) => panic!("{what} must be refused, and was answered {answer:?}"),
        };
        self.masked(&format!("{}: {error}", error.code()))
    }
}

/// Two people with a project each, what is theirs, and what they share.
pub struct World {
    pub own_project: ProjectId,
    pub other_project: ProjectId,
    /// Of ann, in her project.
    pub own: Things,
    /// Of bob, in his project.
    pub other: Things,
    /// Of bob, in his project, and ann takes part.
    pub shared: ConversationId,
    /// Without a creator, in no project.
    pub loose: ConversationId,
}

impl World {
    pub async fn new(whole: &Whole) -> Self {
        let (own_project, other_project) = (project(whole, "own").await, project(whole, "other").await);
        let own = Things::of(whole, "ann", own_project).await;
        let other = Things::of(whole, "bob", other_project).await;
        let shared = talk(whole, "bob", &["ann", "cleo"], Some(other_project)).await;
        let loose = talk(whole, "", &[], None).await;
        for conversation in [shared, loose] {
            say(&**whole, conversation, &["a common word"]).await;
        }
        Self { own_project, other_project, own, other, shared, loose }
    }

    /// Every access scope of the tests, with the conversations that it includes.
    pub fn access_scopes(&self) -> Vec<(AccessScope, Vec<ConversationId>)> {
        let (own, other, shared) = (self.own.conversation, self.other.conversation, self.shared);
        let both = |name: &str, project| AccessScope { projects: projects(&[project]).projects, ..user(name) };
        vec![
            (user("ann"), vec![own, shared]),
            (user("bob"), vec![other, shared]),
            (user("cleo"), vec![shared]),
            (user("nobody"), vec![]),
            (projects(&[self.own_project]), vec![own]),
            (projects(&[self.other_project]), vec![other, shared]),
            (projects(&[self.own_project, self.other_project]), vec![own, other, shared]),
            (projects(&[]), vec![]),
            (projects(&[id(ProjectId::new)]), vec![]),
            (both("ann", self.other_project), vec![shared]),
            (both("bob", self.own_project), vec![]),
            (AccessScope::default(), vec![own, other, shared, self.loose]),
        ]
    }

    pub fn conversations(&self) -> [ConversationId; 4] {
        [self.own.conversation, self.other.conversation, self.shared, self.loose]
    }
}
