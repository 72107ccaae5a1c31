//! Other processes: the test binary runs itself again, with a role.

use super::{body_of, runtime};
use crate::kit::{append, at, id, message};
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The name of the store in the folder that parent and child share.
pub const FILE: &str = "store.db";
/// How many conversations the children of `kill` write to.
const TALKS: u8 = 4;

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Appends on and on, and writes each acknowledgement to the ledger.
    AppendForEver,
    /// Appends a hundred messages.
    AppendHundred,
    /// Appends one message for each line it reads, and answers with the position.
    Echo,
    /// Makes one backup after the other.
    BackUpForEver,
}

const ROLES: [Role; 4] = [Role::AppendForEver, Role::AppendHundred, Role::Echo, Role::BackUpForEver];

/// A running child; it ends with its handle.
pub struct Child(pub std::process::Child);

impl Child {
    /// Starts this program again with a role.
    pub fn start(role: Role, folder: &Path, number: u64) -> Child {
        let child = Command::new(std::env::current_exe().expect("a program knows itself"))
            .args(["--exact", "durable::child::plays_its_role", "--nocapture", "--quiet"])
            .env("MANENT_CHILD", format!("{role:?}"))
            .env("MANENT_CHILD_FOLDER", folder)
            .env("MANENT_CHILD_NUMBER", number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(if role == Role::Echo { Stdio::piped() } else { Stdio::inherit() })
            .spawn();
        Child(child.expect("a process can be started"))
    }

    /// Kills it with no warning and waits until it is gone.
    pub fn kill(mut self) {
        self.0.kill().expect("a child can be killed");
        self.0.wait().expect("a child ends");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test of its own: without a role there is nothing to do.
#[test]
fn plays_its_role() {
    let Ok(name) = std::env::var("MANENT_CHILD") else { return };
    let role = ROLES.into_iter().find(|role| format!("{role:?}") == name).expect("a known role");
    let folder = PathBuf::from(std::env::var_os("MANENT_CHILD_FOLDER").expect("a folder"));
    let number = std::env::var("MANENT_CHILD_NUMBER").expect("a number").parse().expect("a number");
    match role {
        Role::AppendForEver => runtime().block_on(append_for_ever(&folder, number)),
        Role::AppendHundred => runtime().block_on(append_hundred(&folder, number)),
        Role::Echo => runtime().block_on(echo(&folder)),
        Role::BackUpForEver => runtime().block_on(back_up_for_ever(&folder)),
    }
}

fn open(folder: &Path) -> SqliteStore {
    let options = SqliteOptions { readers: 1, checkpoint_pages: 100, ..SqliteOptions::new(folder.join(FILE)) };
    SqliteStore::open(options).expect("the store opens")
}

/// What parent and child know of the appends: begun before the commit, acknowledged after it.
#[derive(Debug, Default)]
pub struct Ledger {
    pub begun: Vec<MessageId>,
    pub acknowledged: Vec<MessageId>,
}

impl Ledger {
    /// Reads the ledger of a folder.
    pub fn read(folder: &Path) -> Ledger {
        let text = std::fs::read_to_string(folder.join("ledger")).unwrap_or_default();
        let mut ledger = Ledger::default();
        for line in text.lines() {
            // A kill may cut a line off at a page of the file: a begin that is not whole was not followed by a commit.
            let whole = line
                .split_once(' ')
                .and_then(|(what, id)| Some((what, <[u8; 16]>::try_from(manent_model::hex::decode(id)?).ok()?)));
            match whole {
                Some(("begin", id)) => ledger.begun.push(MessageId::from_bytes(id)),
                Some(("ack", id)) => ledger.acknowledged.push(MessageId::from_bytes(id)),
                _ => {}
            }
        }
        ledger
    }

    fn file(folder: &Path) -> File {
        let path = folder.join("ledger");
        let is_cut = std::fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the ledger opens");
        if is_cut {
            file.write_all(b"\n").expect("the ledger can be written");
        }
        file
    }
}

fn note(ledger: &Mutex<File>, what: &str, id: MessageId) {
    let line = format!("{what} {}\n", manent_model::hex::encode(id.as_bytes()));
    ledger.lock().expect("no thread panics").write_all(line.as_bytes()).expect("the ledger can be written");
}

fn random_id<T>(make: fn(u64, [u8; 10]) -> T) -> T {
    let mut chance = [0; 10];
    fastrand::fill(&mut chance);
    make(1_700_000_000_000, chance)
}

/// Returns the text of a message, which follows from its id.
pub fn text_of(id: MessageId) -> String {
    let length = 1 + usize::from(id.as_bytes()[14]) % 12 * usize::from(id.as_bytes()[13] % 16);
    format!("{id} ").repeat(length)
}

/// Returns the body of a message as the file holds it.
pub fn stored(id: MessageId) -> String {
    body_of(&text_of(id))
}

fn message_of(id: MessageId) -> NewMessage {
    NewMessage { id, ..message("user", &text_of(id)) }
}

/// Returns the conversation of a name, made if needed.
async fn talk(store: &SqliteStore, name: String) -> ConversationId {
    let draft = ConversationDraft { external_id: Some(name), title: "talk".to_owned(), ..Default::default() };
    let branch = random_id(BranchId::new);
    let change = Change::CreateConversation { id: random_id(ConversationId::new), branch, draft, importing: false };
    let committed = store.commit(Transaction::of(at(1), change)).await.expect("the conversation is made");
    match committed.results[..] {
        [ChangeResult::Conversation(id)] => id,
        _ => panic!("{committed:?}"),
    }
}

async fn send(store: &SqliteStore, conversation: ConversationId, id: MessageId) -> Committed {
    let mut change = append(conversation, vec![message_of(id)]);
    if let Change::AppendMessages { at, .. } = &mut change {
        *at = MessageAt::Head { branch: random_id(BranchId::new) };
    }
    store.commit(Transaction::of(at(1), change)).await.expect("the message is stored")
}

async fn append_for_ever(folder: &Path, number: u64) {
    let earlier = Ledger::read(folder);
    let store = Arc::new(open(folder));
    let ledger = Arc::new(Mutex::new(Ledger::file(folder)));
    let mut talks = Vec::new();
    for name in 0..TALKS {
        talks.push(talk(&store, format!("talk {name}")).await);
    }
    let of = move |id: MessageId| talks[usize::from(id.as_bytes()[15] % TALKS)];
    // An append without an answer is retried with the same ids.
    let answered: std::collections::HashSet<MessageId> = earlier.acknowledged.into_iter().collect();
    for id in earlier.begun.into_iter().filter(|id| !answered.contains(id)) {
        send(&store, of(id), id).await;
        note(&ledger, "ack", id);
    }
    fastrand::seed(number);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TALKS {
        let (store, ledger, of) = (store.clone(), ledger.clone(), of.clone());
        tasks.spawn(async move {
            loop {
                let id = random_id(MessageId::new);
                note(&ledger, "begin", id);
                send(&store, of(id), id).await;
                note(&ledger, "ack", id);
            }
        });
    }
    tasks.join_all().await;
}

async fn append_hundred(folder: &Path, number: u64) {
    let store = open(folder);
    let conversation = talk(&store, format!("process {number}")).await;
    let ledger = Mutex::new(Ledger::file(folder));
    for _ in 0..100 {
        let id = random_id(MessageId::new);
        send(&store, conversation, id).await;
        note(&ledger, "ack", id);
    }
    store.close().await.expect("closes");
}

async fn echo(folder: &Path) {
    let store = open(folder);
    let conversation = talk(&store, "echo".to_owned()).await;
    for line in std::io::stdin().lock().lines() {
        line.expect("the parent writes lines");
        let committed = send(&store, conversation, random_id(MessageId::new)).await;
        eprintln!("{}", committed.position);
    }
}

async fn back_up_for_ever(folder: &Path) {
    let store = open(folder);
    loop {
        let name = format!("copy-{}.db", fastrand::u64(..));
        store.backup(&folder.join(name)).await.expect("a backup is made");
    }
}

/// Makes a store with some messages for the children to find.
pub async fn populate(store: &SqliteStore, messages: usize) -> Vec<MessageId> {
    let conversation = talk(store, "populated".to_owned()).await;
    let ids: Vec<MessageId> = (0..messages).map(|_| id(MessageId::new)).collect();
    for part in ids.chunks(100) {
        let change = append(conversation, part.iter().map(|id| message_of(*id)).collect());
        store.commit(Transaction::of(at(1), change)).await.expect("the messages are stored");
    }
    ids
}
