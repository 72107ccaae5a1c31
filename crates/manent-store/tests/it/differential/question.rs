//! Every way to read a store as data, and what it answers.
//!
//! A new way to read is one variant of [`Question`], one of [`Answer`], one line of [`Question::ask`], one of the
//! model's `answer`, and one place in `generate`.

use manent_model::*;
use manent_store::*;

/// A question to a store.
#[derive(Debug, Clone)]
pub enum Question {
    RequestAt(Vec<u8>),
    Conversation(ConversationRef),
    List(ListQuery),
    Count(ListQuery),
    Ids { after: Option<ConversationId>, limit: u32 },
    Prefix { kind: IdKind, prefix: String, limit: u32 },
    Branches(ConversationId),
    Window(MessagePageQuery),
    Messages(MessagesQuery),
    Related(RelatedQuery),
    Annotations(ConversationId),
    State { conversation: ConversationId, name: String, at: Option<MessageId> },
    LastChanged,
    OpenToolCalls(u32),
    Events(EventsQuery),
    Documents(DocumentsQuery),
    Memories(MemoriesQuery),
    Project(ProjectId),
    Projects,
    Scratch(ScratchQuery),
    Blob([u8; 32]),
    Blobs,
    Sources,
    Origins(OriginsQuery),
    MessageOrigins(Vec<MessageId>),
    Quarantined(SourceId),
    Journal(JournalQuery),
    UndoTarget(UndoScope, UndoDirection),
    Stats(StatsQuery),
}

/// What a store answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Committed(Committed),
    Time(Option<Timestamp>),
    Conversation(Option<Conversation>),
    List(ConversationPage),
    Count(BoundedCount),
    Ids(Vec<ConversationId>),
    Prefix(Vec<[u8; 16]>),
    Branches(Vec<BranchInfo>),
    Window(MessagePage),
    Messages(Vec<LocatedMessage>),
    Annotations(Annotations),
    State(Option<Json>),
    ToolCalls(Vec<(ConversationId, ToolCallTrail)>),
    Events(Events),
    Documents(Documents),
    Memories(Memories),
    Project(Option<Project>),
    Projects(Vec<Project>),
    Scratch(Vec<Scratch>),
    Blob(Option<Vec<u8>>),
    Blobs(Vec<([u8; 32], i64)>),
    Sources(Vec<Source>),
    Origins(Vec<Origin>),
    MessageOrigins(Vec<MessageOrigin>),
    Quarantined(Vec<Quarantined>),
    Journal(JournalPage),
    Position(Option<Position>),
    Stats(Stats),
}

/// A refusal: its kind and its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: &'static str,
    pub words: String,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self { code: error.code(), words: error.to_string() }
    }
}

/// An answer or a refusal, without what only an engine can know.
pub type Said = std::result::Result<Answer, Refusal>;

/// Takes out of an answer what depends on the engine, and turns an error into what can be compared.
pub fn said(outcome: Result<Answer>) -> Said {
    outcome.map(Answer::plain).map_err(Refusal::from)
}

impl Question {
    /// Asks a store.
    pub async fn ask(&self, store: &dyn Store) -> Said {
        said(match self.clone() {
            Self::RequestAt(key) => store.idempotent_request_time(key).await.map(Answer::Time),
            Self::Conversation(which) => store.conversation(which).await.map(Answer::Conversation),
            Self::List(query) => store.conversations(query).await.map(Answer::List),
            Self::Count(query) => store.count_conversations(query).await.map(Answer::Count),
            Self::Ids { after, limit } => store.conversation_ids(after, limit).await.map(Answer::Ids),
            Self::Prefix { kind, prefix, limit } => store.ids_by_prefix(kind, prefix, limit).await.map(Answer::Prefix),
            Self::Branches(conversation) => store.branches(conversation).await.map(Answer::Branches),
            Self::Window(query) => store.message_page(query).await.map(Answer::Window),
            Self::Messages(query) => store.messages(query).await.map(Answer::Messages),
            Self::Related(query) => store.related(query).await.map(|page| Answer::Messages(page.messages)),
            Self::Annotations(conversation) => store.annotations(conversation.into()).await.map(Answer::Annotations),
            Self::State { conversation, name, at } => store.state(conversation, name, at).await.map(Answer::State),
            Self::LastChanged => store.last_changed().await.map(|last| Answer::Ids(last.into_iter().collect())),
            Self::OpenToolCalls(limit) => store.open_tool_calls(limit).await.map(Answer::ToolCalls),
            Self::Events(query) => store.events(query).await.map(Answer::Events),
            Self::Documents(query) => store.documents(query).await.map(Answer::Documents),
            Self::Memories(query) => store.memories(query).await.map(Answer::Memories),
            Self::Project(id) => store.project(id).await.map(Answer::Project),
            Self::Projects => store.projects().await.map(Answer::Projects),
            Self::Scratch(query) => store.scratch(query).await.map(Answer::Scratch),
            Self::Blob(sha256) => store.blob(sha256).await.map(Answer::Blob),
            Self::Blobs => store.blobs().await.map(Answer::Blobs),
            Self::Sources => store.sources().await.map(Answer::Sources),
            Self::Origins(query) => store.origins(query).await.map(Answer::Origins),
            Self::MessageOrigins(messages) => store.message_origins(messages).await.map(Answer::MessageOrigins),
            Self::Quarantined(source) => store.quarantined(source).await.map(Answer::Quarantined),
            Self::Journal(query) => store.journal(query).await.map(Answer::Journal),
            Self::UndoTarget(scope, step) => store.undo_target(scope, step).await.map(Answer::Position),
            Self::Stats(query) => store.stats(query).await.map(Answer::Stats),
        })
    }

    /// Returns the conversation that it is about, if it is about one.
    pub fn conversation(&self) -> Option<ConversationId> {
        match self {
            Self::Conversation(ConversationRef::Id(id)) | Self::Branches(id) | Self::Annotations(id) => Some(*id),
            Self::State { conversation, .. } => Some(*conversation),
            Self::Window(query) => Some(query.conversation),
            Self::Events(query) => Some(query.conversation),
            Self::UndoTarget(UndoScope::Conversation(id), _) => Some(*id),
            Self::Stats(query) => query.conversation,
            _ => None,
        }
    }
}

/// What is left of a word that an erasure took: each engine puts its own chance behind this.
pub const ERASED: &str = "erased";

fn is_erased(word: &str) -> bool {
    word.starts_with("erased:")
}

fn plain_author(author: &mut Option<Author>) {
    if author.as_ref().is_some_and(|author| is_erased(&author.id)) {
        *author = Some(Author { id: ERASED.to_owned(), name: String::new() });
    }
}

fn plain_conversation(conversation: &mut Conversation) {
    plain_author(&mut conversation.creator);
    if conversation.tags.iter().any(|tag| is_erased(tag)) {
        conversation.tags.retain(|tag| !is_erased(tag));
        conversation.tags.insert(ERASED.to_owned());
    }
}

fn plain_message(message: &mut Message) {
    message.address = Address(message.address.slot());
}

fn plain_trail(trail: &mut ToolCallTrail) {
    trail.steps.iter_mut().for_each(|step| plain_author(&mut step.actor));
}

impl Answer {
    /// Takes out the numbers of branches and the chance in erased words.
    fn plain(mut self) -> Self {
        match &mut self {
            Self::Conversation(Some(conversation)) => plain_conversation(conversation),
            Self::List(page) => page.conversations.iter_mut().for_each(plain_conversation),
            Self::Window(window) => window.messages.iter_mut().for_each(plain_message),
            Self::Messages(messages) => messages.iter_mut().for_each(|placed| plain_message(&mut placed.message)),
            Self::Annotations(annotations) => annotations.tool_calls.iter_mut().for_each(plain_trail),
            Self::ToolCalls(calls) => calls.iter_mut().for_each(|(_, trail)| plain_trail(trail)),
            Self::Journal(page) => page.entries.iter_mut().for_each(|entry| plain_author(&mut entry.actor)),
            Self::Memories(memories) => {
                for memory in memories.iter_mut().filter(|memory| is_erased(&memory.collection)) {
                    memory.collection = ERASED.to_owned();
                }
            }
            _ => {}
        }
        self
    }
}
