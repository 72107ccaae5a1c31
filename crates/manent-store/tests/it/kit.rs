//! What the tests of the store are made with: ids, times, messages, and an open store.

use manent_model::*;
use manent_store::postgres::{PostgresOptions, PostgresStore};
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use manent_testing::not_run;
use manent_testing::postgres::Postgres;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

/// A store of its own in a folder of its own.
pub struct Opened {
    pub store: Arc<dyn Store>,
    #[expect(dead_code, reason = "removes the folder when the test ends")]
    folder: Option<tempfile::TempDir>,
    #[expect(dead_code, reason = "ends with the test")]
    server: Option<(Postgres, tempfile::TempDir)>,
}

impl std::ops::Deref for Opened {
    type Target = dyn Store;
    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

/// Opens an empty SQLite store.
pub fn sqlite() -> Opened {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions { readers: 2, ..SqliteOptions::new(folder.path().join("store.db")) };
    let store = SqliteStore::open(options).expect("an empty folder can hold a store");
    Opened { store: Arc::new(store), folder: Some(folder), server: None }
}

/// A server for this test: that of the test run, or one of its own that ends with what is returned beside it.
pub fn postgres_server() -> Option<(String, Option<(Postgres, tempfile::TempDir)>)> {
    if let Ok(server) = std::env::var("MANENT_TEST_POSTGRES") {
        return Some((server, None));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    match Postgres::start(folder.path(), &["fsync=off"]) {
        Ok(server) => Some((server.url(), Some((server, folder)))),
        Err(error) => {
            not_run(&format!("PostgreSQL: {error}"));
            None
        }
    }
}

/// Opens an empty store on PostgreSQL: a tenant of its own on the server of this test run, or a server of its own.
pub fn postgres() -> Option<Opened> {
    let (server, own) = postgres_server()?;
    let options = PostgresOptions { tenant: fastrand::i64(1_000..), readers: 2, ..PostgresOptions::new(server) };
    let store = PostgresStore::open(options).expect("an empty tenant can hold a store");
    Some(Opened { store: Arc::new(store), folder: None, server: own })
}

/// Numbers that are never given twice in a test run, so that ids never meet.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes ids of any kind: `id(MessageId::new)`.
pub fn id<T>(make: fn(u64, [u8; 10]) -> T) -> T {
    let mut chance = [0; 10];
    chance[2..].copy_from_slice(&next().to_be_bytes());
    make(1_700_000_000_000, chance)
}

/// A moment, in seconds after an arbitrary one.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp(1_700_000_000_000_000 + seconds * 1_000_000)
}

/// A message of a role with one text.
pub fn message(role: &str, text: &str) -> NewMessage {
    let time = Time { at: at(0), source: TimeSource::Exact };
    NewMessage { id: id(MessageId::new), content: Content::new(role, time, Body::of(&[Part::text(text)])) }
}

/// A memory that is tied to nothing.
pub fn memory(text: &str) -> Memory {
    Memory {
        id: id(MemoryId::new),
        collection: "c".to_owned(),
        project: None,
        conversation: None,
        message: None,
        external: None,
        text: text.to_owned(),
        metadata: None,
    }
}

/// A JSON value.
pub fn json(text: &str) -> Json {
    Json::parse(text).expect("a test writes JSON")
}

/// Commits one change.
pub async fn commit(store: &dyn Store, change: Change) -> Committed {
    try_commit(store, change).await.expect("the change is allowed")
}

/// Commits one change that may be refused.
pub async fn try_commit(store: &dyn Store, change: Change) -> Result<Committed> {
    store.commit(Transaction::of(at(1), change)).await
}

/// Reads all messages that belong together with one, page by page.
pub async fn related(store: &dyn Store, related: Related, message: MessageId) -> Result<Vec<LocatedMessage>> {
    let mut query = RelatedQuery { message, related, after: None };
    let mut all = Vec::new();
    loop {
        let page = store.related(query.clone()).await?;
        query.after = page.messages.last().map(|placed| placed.message.id);
        all.extend(page.messages);
        if !page.more {
            return Ok(all);
        }
    }
}

/// Makes a conversation.
pub async fn conversation(store: &dyn Store, title: &str) -> ConversationId {
    let conversation = id(ConversationId::new);
    let draft = ConversationDraft { title: title.to_owned(), ..ConversationDraft::default() };
    let change = Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false };
    commit(store, change).await;
    conversation
}

/// The change that appends messages at the head.
pub fn append(conversation: ConversationId, messages: Vec<NewMessage>) -> Change {
    Change::AppendMessages {
        conversation,
        at: MessageAt::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages,
        origins: Vec::new(),
    }
}

/// Appends texts as user messages and returns their ids.
pub async fn say(store: &dyn Store, conversation: ConversationId, texts: &[&str]) -> Vec<MessageId> {
    let messages: Vec<NewMessage> = texts.iter().map(|text| message("user", text)).collect();
    let ids = messages.iter().map(|message| message.id).collect();
    commit(store, append(conversation, messages)).await;
    ids
}

/// Appends one message on a new branch after another one, and returns its id.
pub async fn fork(
    store: &dyn Store,
    conversation: ConversationId,
    after: Option<MessageId>,
    text: &str,
) -> (BranchId, MessageId) {
    let (branch, message) = (id(BranchId::new), message("user", text));
    let id = message.id;
    let change = Change::AppendMessages {
        conversation,
        at: MessageAt::After { message: after, branch },
        head: HeadMove::Follow,
        why: BranchReason::Fork,
        messages: vec![message],
        origins: Vec::new(),
    };
    commit(store, change).await;
    (branch, id)
}

/// The change that moves the head to a message.
pub fn head_to(conversation: ConversationId, message: MessageId) -> Change {
    Change::MoveHead { conversation, to: HeadTarget::Message(message) }
}

/// The change that splices texts into the shown path.
pub fn splice(conversation: ConversationId, at: SplicePosition, texts: &[&str]) -> Change {
    let messages = texts.iter().map(|text| message("user", text)).collect();
    Change::Splice { conversation, branch: id(BranchId::new), at, messages, origins: Vec::new() }
}

/// What a splice replaces, both ends included.
pub fn instead_of(first: MessageId, last: MessageId) -> SplicePosition {
    SplicePosition::Replace(MessageRange { first, last })
}

/// Waits until everything is in the index.
pub async fn indexed(store: &dyn Store) {
    let last = *store.watch_position().borrow();
    store.watch_index().wait_for(|known| known.idle && known.position >= last).await.expect("the store is open");
}

/// Changes what is said about a conversation.
pub async fn patch(store: &dyn Store, id: ConversationId, patch: ConversationPatch) {
    commit(store, Change::EditConversation { id, patch }).await;
}

/// Commits a change that must be refused with this code.
pub async fn refused(store: &dyn Store, change: Change, code: &str) {
    refused_as(store.commit(Transaction::of(at(1), change)).await, code);
}

/// Checks that a commit was refused with this code.
pub fn refused_as(outcome: Result<Committed>, code: &str) {
    let error = outcome.expect_err("it must be refused");
    assert_eq!(error.code(), code, "{error:?}");
}

/// Undoes the last change of a scope.
pub async fn undo(store: &dyn Store, scope: UndoScope) {
    step(store, scope, UndoDirection::Undo).await;
}

/// Undoes the commit that created a conversation, which undo inside the conversation does not.
pub async fn uncreate(store: &dyn Store, conversation: ConversationId) {
    let query = JournalQuery { after: 0, conversation: Some(conversation), limit: 1 };
    let first = store.journal(query).await.expect("the journal can be read").entries[0].first;
    commit(store, Change::Undo { position: first }).await;
}

/// Redoes what was undone last in a scope.
pub async fn redo(store: &dyn Store, scope: UndoScope) {
    step(store, scope, UndoDirection::Redo).await;
}

async fn step(store: &dyn Store, scope: UndoScope, step: UndoDirection) {
    let target = store.undo_target(scope.clone(), step).await.expect("the journal can be read");
    match (target, scope) {
        (Some(position), _) => drop(commit(store, Change::Undo { position }).await),
        // Undo inside a conversation stops at its creation, which its position still undoes.
        (None, UndoScope::Conversation(id)) if step == UndoDirection::Undo => uncreate(store, id).await,
        _ => panic!("there is nothing to {step:?}"),
    }
}

/// Reads the whole shown path, or that of a branch, page by page.
pub async fn path(store: &dyn Store, conversation: ConversationId, branch: Option<BranchId>) -> Vec<Message> {
    let mut query = MessagePageQuery { conversation, branch, from: None, direction: Direction::Forward, limit: 1_000 };
    let mut messages: Vec<Message> = Vec::new();
    loop {
        let window = store.message_page(query.clone()).await.expect("the path can be read");
        messages.extend(window.messages);
        if !window.more {
            return messages;
        }
        query.from = messages.last().map(|message| message.id);
    }
}

/// Returns the texts of messages.
pub fn words_of(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.content.body.words()).collect()
}

/// Returns the texts of the shown path.
pub async fn texts(store: &dyn Store, conversation: ConversationId) -> Vec<String> {
    words_of(&path(store, conversation, None).await)
}

/// Checks that what a conversation counts is what its path shows, and what statistics say.
pub async fn counts_hold(store: &dyn Store, conversation: ConversationId) {
    let path = path(store, conversation, None).await;
    let sums = path.iter().fold(Sums::default(), |sum, message| sum + message.content.sums());
    let shown = shown(store, conversation).await;
    assert_eq!((shown.messages, shown.words, shown.tokens), (sums.visible, sums.words, sums.tokens));
    let stats = store.stats(StatsQuery::conversation(conversation)).await.expect("it can be counted");
    let total = stats.total;
    assert_eq!((total.messages, total.words, total.tokens), (sums.visible, sums.words, sums.tokens));
}

/// Checks that everything is as it was written.
pub async fn sound(store: &dyn Store) -> VerifyReport {
    let report = store.verify().await.expect("verify runs");
    assert!(report.is_sound(), "{report:?}");
    report
}

/// Reads a page of the journal.
pub async fn journal(store: &dyn Store, after: Position, limit: u32) -> Vec<JournalEntry> {
    store.journal(JournalQuery { after, conversation: None, limit }).await.expect("readable").entries
}

/// Returns a conversation that exists.
pub async fn shown(store: &dyn Store, id: ConversationId) -> Conversation {
    store.conversation(ConversationRef::Id(id)).await.expect("it can be read").expect("it exists")
}

/// Waits for all of them at once; the answers are in their order.
pub async fn together<T>(all: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (one, answer) in waiting.iter_mut().filter(|(_, answer)| answer.is_none()) {
            if let Poll::Ready(answered) = one.as_mut().poll(context) {
                *answer = Some(answered);
            }
        }
        match waiting.iter().all(|(_, answer)| answer.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    waiting.into_iter().map(|(_, answer)| answer.expect("all are done")).collect()
}
