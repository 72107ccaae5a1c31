//! What the tests of the store are made with: ids, times, messages, and an open store.

use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store of its own in a folder of its own.
pub struct Opened {
    pub store: Box<dyn Store>,
    #[expect(dead_code, reason = "removes the folder when the test ends")]
    folder: Option<tempfile::TempDir>,
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
    Opened { store: Box::new(store), folder: Some(folder) }
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
pub fn at(seconds: i64) -> Micros {
    Micros(1_700_000_000_000_000 + seconds * 1_000_000)
}

/// A message of a role with one text.
pub fn message(role: &str, text: &str) -> NewMessage {
    let time = Time { at: at(0), known: Known::Exact };
    NewMessage { id: id(MessageId::new), content: Content::new(role, time, Body::of(&[Part::text(text)])) }
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
        at: At::Head { branch: id(BranchId::new) },
        head: HeadMove::Follow,
        why: Why::Fork,
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

/// Returns the texts of the shown path.
pub async fn texts(store: &dyn Store, conversation: ConversationId) -> Vec<String> {
    let query = WindowQuery { conversation, branch: None, from: None, direction: Direction::Forward, limit: 1_000 };
    let window = store.window(query).await.expect("the path can be read");
    window.messages.iter().map(|message| message.content.body.words()).collect()
}

/// Returns a conversation that exists.
pub async fn shown(store: &dyn Store, id: ConversationId) -> Conversation {
    store.conversation(ConversationRef::Id(id)).await.expect("it can be read").expect("it exists")
}
