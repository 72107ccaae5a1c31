//! A program that stores through outages: it sends the same transaction until it is answered, and keeps a ledger.

use crate::kit::{append, at, id, json, message, path, sound};
use manent_model::*;
use manent_store::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a program insists before the test says that it was never answered.
const INSISTS: Duration = Duration::from_secs(120);
/// Between two tries.
const BREATH: Duration = Duration::from_millis(10);

/// What is known of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It was answered: it is there.
    Stored,
    /// It was refused in a way that promises that nothing was changed.
    Not,
    /// The outcome is unknown.
    Perhaps,
}

/// What was asked for, by a text that nothing else has, and what is known of it.
#[derive(Debug, Default)]
pub struct Ledger {
    messages: HashMap<String, Known>,
    documents: HashMap<String, Known>,
    conversations: HashMap<String, Known>,
    events: HashMap<String, Known>,
    /// How often a request was answered with this.
    pub answers: BTreeMap<&'static str, usize>,
}

impl Ledger {
    /// Returns how many requests are known to be stored.
    pub fn stored(&self) -> usize {
        let all = [&self.messages, &self.documents, &self.conversations, &self.events];
        all.iter().flat_map(|known| known.values()).filter(|known| **known == Known::Stored).count()
    }
}

/// A program that writes to one conversation.
pub struct Client {
    store: Arc<dyn Store>,
    name: String,
    talk: ConversationId,
    sent: usize,
    /// Where in the order of requests it begins, so that clients do not all ask for the same.
    phase: usize,
    ledger: Arc<Mutex<Ledger>>,
}

/// The documents that clients write.
const KIND: &str = "kept";

impl Client {
    /// Begins a conversation of its own.
    pub async fn start(store: Arc<dyn Store>, name: String, ledger: Arc<Mutex<Ledger>>) -> Self {
        let phase = ledger.lock().expect("no client panics").conversations.len();
        let mut client = Self { store, name: name.clone(), talk: id(ConversationId::new), sent: 0, phase, ledger };
        client.talk = client.converse(name).await;
        client
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no client panics")
    }

    /// Sends the next request and returns what is known of it when it is answered.
    pub async fn next(&mut self) -> Known {
        self.sent += 1;
        let name = format!("{} {}", self.name, self.sent);
        let mut known = Known::Stored;
        match (self.sent + self.phase) % 8 {
            // A retry of this one would be a second version, if its key were forgotten.
            1 => {
                let change = Change::PutDocument {
                    kind: KIND.to_owned(),
                    id: name.clone(),
                    project: None,
                    body: Some(json("1")),
                };
                let key = Some(name.clone().into_bytes());
                self.insist(Transaction { key, ..Transaction::of(at(1), change) }).await;
                self.ledger().documents.insert(name, known);
            }
            2 => {
                self.converse(name).await;
            }
            // Nothing tells a retry of this one from another request, so it is sent once.
            3 => {
                let body = json(&format!("{name:?}"));
                let events = vec![NewEvent { channel: "progress".to_owned(), at: at(1), body }];
                let change = Change::AppendEvents { conversation: self.talk, events };
                known = self.try_once(Transaction::of(at(1), change)).await;
                self.ledger().events.insert(name, known);
            }
            // A caller that gives up at once.
            4 => {
                let change = append(self.talk, vec![message("user", &name)]);
                known = self.try_once(Transaction::of(at(1), change)).await;
                self.ledger().messages.insert(name, known);
            }
            _ => {
                self.insist(Transaction::of(at(1), append(self.talk, vec![message("user", &name)]))).await;
                self.ledger().messages.insert(name, known);
            }
        }
        known
    }

    /// Appends a message, and sometimes once more, like a client that retries before the answer.
    pub async fn say(&mut self, again: bool) {
        self.sent += 1;
        let name = format!("{} {}", self.name, self.sent);
        let transaction = Transaction::of(at(1), append(self.talk, vec![message("user", &name)]));
        let first = self.insist(transaction.clone()).await;
        self.ledger().messages.insert(name, Known::Stored);
        if again {
            let second = self.insist(transaction).await;
            assert!(second.is_replay, "{second:?}");
            assert_eq!(second.position, first.position);
        }
    }

    /// Makes a conversation that its external id tells from others.
    async fn converse(&self, name: String) -> ConversationId {
        let draft = ConversationDraft { external_id: Some(name.clone()), title: name.clone(), ..Default::default() };
        let (new, branch) = (id(ConversationId::new), id(BranchId::new));
        let change = Change::CreateConversation { id: new, branch, draft, importing: false };
        let committed = self.insist(Transaction::of(at(1), change)).await;
        assert_eq!(committed.results, [ChangeResult::Conversation(new)]);
        self.ledger().conversations.insert(name, Known::Stored);
        new
    }

    async fn try_once(&self, transaction: Transaction) -> Known {
        match self.send(transaction).await {
            Ok(_) => Known::Stored,
            Err(StoreError::OutcomeUnknown) => Known::Perhaps,
            Err(_) => Known::Not,
        }
    }

    async fn insist(&self, transaction: Transaction) -> Committed {
        let until = Instant::now() + INSISTS;
        loop {
            match self.send(transaction.clone()).await {
                Ok(committed) => return committed,
                Err(error) => assert!(Instant::now() < until, "{} was never answered: {error:?}", self.name),
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Sends a request, and counts how it was answered. Nothing that a client sends may be refused for what it says.
    async fn send(&self, transaction: Transaction) -> Result<Committed> {
        let answer = self.store.commit(transaction).await;
        let code = answer.as_ref().map_or_else(StoreError::code, |_| "stored");
        *self.ledger().answers.entry(code).or_default() += 1;
        if let Err(error) = &answer {
            assert!(["busy", "outcome_unknown", "engine"].contains(&code), "{error:?}");
        }
        answer
    }
}

/// Checks that what was answered is there once, that what was refused is not there, and that nothing is there twice.
pub async fn check(store: &dyn Store, ledger: &Ledger) {
    let talks = conversations(store).await;
    let titles: Vec<String> = talks.iter().map(|talk| talk.title.clone()).collect();
    compare("conversations", titles, &ledger.conversations);
    let (mut messages, mut ids, mut events) = (Vec::new(), HashSet::new(), Vec::new());
    for talk in &talks {
        for message in path(store, talk.id, None).await {
            assert!(ids.insert(message.id), "{} is there twice", message.id);
            messages.push(message.content.body.words());
        }
        events.extend(logged(store, talk.id).await);
    }
    compare("messages", messages, &ledger.messages);
    compare("events", events, &ledger.events);
    let documents = store.documents(DocumentsQuery::All).await.expect("readable");
    compare("documents", documents.into_iter().map(|document| document.id).collect(), &ledger.documents);
    dense(store).await;
    sound(store).await;
}

fn compare(what: &str, found: Vec<String>, known: &HashMap<String, Known>) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for one in found {
        *times.entry(one).or_default() += 1;
    }
    for (name, known) in known {
        let there = times.remove(name).unwrap_or(0);
        let right = match known {
            Known::Stored => there == 1,
            Known::Not => there == 0,
            Known::Perhaps => there <= 1,
        };
        assert!(right, "{what}: {name} is there {there} times, and what is known of it is {known:?}");
    }
    assert!(times.is_empty(), "{what}: unrequested rows {times:?}");
}

async fn conversations(store: &dyn Store) -> Vec<Conversation> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.conversation_ids(after, PAGE_MAX).await.expect("readable");
        for id in &page {
            all.extend(store.conversation(ConversationRef::Id(*id)).await.expect("readable"));
        }
        after = page.last().copied();
        if page.is_empty() {
            return all;
        }
    }
}

async fn logged(store: &dyn Store, conversation: ConversationId) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let query = EventsQuery { conversation, channels: Vec::new(), after, limit: PAGE_MAX };
        let page = store.events(query).await.expect("readable");
        let Some(last) = page.last() else { return all };
        after = last.cursor;
        all.extend(page.into_iter().map(|event| event.body.text().trim_matches('"').to_owned()));
    }
}

/// Checks that every position of the journal belongs to one row, and returns the last.
pub async fn dense(store: &dyn Store) -> Position {
    let mut reached = 0;
    loop {
        let query = JournalQuery { after: reached, conversation: None, limit: PAGE_MAX };
        let page = store.journal(query).await.expect("readable");
        for entry in &page.entries {
            assert_eq!(entry.position, reached + 1, "a position is missing or there twice");
            reached += entry.count;
        }
        if page.entries.is_empty() && !page.more {
            return reached;
        }
    }
}
