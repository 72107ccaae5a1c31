//! The power is cut at thousands of moments: what was acknowledged is there, whole, and once.

use super::found::{ERASED, Found, Id, streaming};
use super::{body_of, close, fast_folder, number, put_older_rows, runtime, seed, text};
use crate::kit::*;
use fastrand::Rng;
use manent_model::*;
use manent_store::sqlite::{Durability, SqliteOptions, SqliteStore};
use manent_store::*;
use manent_testing::Recording;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const FILE: &str = "store.db";
const WORKLOADS: usize = 8;
const NEWEST: i64 = 10;
/// The whole store is opened, verified and written to at every n-th state, and at all states of a young file.
const OPENED_EVERY: usize = 5;

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let states = number("MANENT_STATES", 10_000);
    let seed = seed();
    let mut verdict = Verdict::default();
    for workload in 0..WORKLOADS {
        let recorded = record(seed.wrapping_add(workload as u64), Durability::Full);
        verdict.add(cut_power(&recorded, states / WORKLOADS, seed));
    }
    verdict.print();
    assert_eq!(verdict.corrupt, [""; 0]);
    assert_eq!(verdict.lossy, [""; 0]);
    assert!(verdict.states >= states / WORKLOADS * WORKLOADS);
}

#[test]
fn relaxed_durability_loses_acknowledged_commits_and_corrupts_nothing() {
    let seed = seed();
    let verdict = cut_power(&record(seed, Durability::Relaxed), 400, seed);
    verdict.print();
    assert_eq!(verdict.corrupt, [""; 0]);
    assert!(!verdict.lossy.is_empty(), "the harness must see what is lost when commits are not synced");
}

/// What one thing was, from the moment the change was sent.
struct Version {
    begun: usize,
    acknowledged: usize,
    value: Option<String>,
}

type History = HashMap<Id, Vec<Version>>;

/// A workload that ran, and what was promised when.
struct Recorded {
    recording: Arc<Recording>,
    history: History,
    _folder: TempDir,
}

/// A conversation as the workload knows it: its shown path, and the message that streams.
struct Talk {
    id: ConversationId,
    path: Vec<MessageId>,
    stream: Option<(MessageId, String)>,
}

struct Work {
    recording: Arc<Recording>,
    history: Arc<Mutex<History>>,
    store: Arc<SqliteStore>,
    rng: Rng,
    talks: Vec<Talk>,
}

/// Runs a workload. The file is closed and opened again a few times, by older programs first.
fn record(seed: u64, durability: Durability) -> Recorded {
    let folder = fast_folder();
    let recording = Recording::install();
    let history = Arc::new(Mutex::new(History::new()));
    let mut rng = Rng::with_seed(seed);
    let options = SqliteOptions {
        durability,
        vfs: Some(recording.name().to_owned()),
        readers: 1,
        checkpoint_pages: 4 + rng.u32(..40),
        ..SqliteOptions::new(folder.path().join(FILE))
    };
    let oldest = if rng.bool() { rng.i64(1..NEWEST) } else { NEWEST };
    runtime().block_on(async {
        let mut talks = Vec::new();
        if oldest < NEWEST {
            talks.push(older_rows(&options, oldest, &recording, &history).await);
        }
        for schema in (oldest..=NEWEST).chain([NEWEST]) {
            let store = Arc::new(SqliteStore::open_at(options.clone(), schema).expect("opens"));
            let mut work =
                Work { recording: recording.clone(), history: history.clone(), store, rng: rng.fork(), talks };
            // Only the newest schema has the columns that this program writes.
            let steps = if schema == NEWEST { 30 } else { 0 };
            for _ in 0..steps {
                work.step().await;
            }
            close(work.store).await;
            talks = work.talks;
        }
    });
    let history = std::mem::take(&mut *history.lock().expect("no thread panics"));
    Recorded { recording, history, _folder: folder }
}

/// Makes a file of an older schema with the rows of an older program.
async fn older_rows(options: &SqliteOptions, schema: i64, recording: &Recording, history: &Mutex<History>) -> Talk {
    close(Arc::new(SqliteStore::open_at(options.clone(), schema).expect("opens"))).await;
    let begun = recording.mark();
    let flags = rusqlite::OpenFlags::default();
    let connection =
        rusqlite::Connection::open_with_flags_and_vfs(&options.path, flags, recording.name()).expect("opens");
    let rows = put_older_rows(&connection);
    let acknowledged = recording.mark();
    let mut history = history.lock().expect("no thread panics");
    let mut put = |id: Id, value: String| {
        history.entry(id).or_default().push(Version { begun, acknowledged, value: Some(value) });
    };
    put(*rows.conversation.as_bytes(), "old".to_owned());
    for (message, text) in rows.messages.iter().zip(["one", "two"]) {
        put(*message.as_bytes(), body_of(text));
    }
    Talk { id: rows.conversation, path: rows.messages.to_vec(), stream: None }
}

impl Work {
    /// Sends a change and keeps what it promised, with the moments it was sent and answered.
    fn send(
        &self,
        change: Change,
        effects: Vec<(Id, Option<String>)>,
    ) -> impl Future<Output = Committed> + Send + 'static {
        let (recording, history, store) = (self.recording.clone(), self.history.clone(), self.store.clone());
        async move {
            let begun = recording.mark();
            let committed = store.commit(Transaction::of(at(1), change)).await.expect("the disk is sound");
            let acknowledged = recording.mark();
            let mut history = history.lock().expect("no thread panics");
            for (id, value) in effects {
                history.entry(id).or_default().push(Version { begun, acknowledged, value });
            }
            committed
        }
    }

    fn say(&mut self) -> (NewMessage, (Id, Option<String>)) {
        let id = id(MessageId::new);
        let text = text(&mut self.rng, id);
        let mut message = message("user", &text);
        message.id = id;
        (message, (*id.as_bytes(), Some(body_of(&text))))
    }

    async fn step(&mut self) {
        if self.talks.is_empty() {
            self.create().await;
        }
        let talk = self.rng.usize(..self.talks.len());
        match self.rng.u8(..20) {
            0 => self.create().await,
            1 => self.rename(talk).await,
            2..5 => self.stream(talk).await,
            5..7 => self.fork(talk).await,
            7..9 => self.splice(talk).await,
            9 => self.erase_message(talk).await,
            10 if self.talks.len() > 1 => self.erase_conversation(talk).await,
            11..14 => self.append_everywhere().await,
            _ => self.append(talk).await,
        }
    }

    async fn create(&mut self) {
        let conversation = id(ConversationId::new);
        let title = text(&mut self.rng, conversation);
        let draft = ConversationDraft { title: title.clone(), ..ConversationDraft::default() };
        let change =
            Change::CreateConversation { id: conversation, branch: id(BranchId::new), draft, importing: false };
        self.send(change, vec![(*conversation.as_bytes(), Some(title))]).await;
        self.talks.push(Talk { id: conversation, path: Vec::new(), stream: None });
    }

    async fn rename(&mut self, talk: usize) {
        let conversation = self.talks[talk].id;
        let title = text(&mut self.rng, format!("renamed {}", fastrand::u32(..)));
        let patch = ConversationPatch { title: Some(title.clone()), ..ConversationPatch::default() };
        let change = Change::EditConversation { id: conversation, patch };
        self.send(change, vec![(*conversation.as_bytes(), Some(title))]).await;
    }

    async fn append(&mut self, talk: usize) {
        let (messages, effects): (Vec<_>, Vec<_>) = (0..1 + self.rng.usize(..3)).map(|_| self.say()).unzip();
        self.talks[talk].path.extend(messages.iter().map(|message| message.id));
        self.send(append(self.talks[talk].id, messages), effects).await;
    }

    /// Commits that come together share a sync.
    async fn append_everywhere(&mut self) {
        let mut together = tokio::task::JoinSet::new();
        for talk in 0..self.talks.len() {
            let (message, effect) = self.say();
            self.talks[talk].path.push(message.id);
            together.spawn(self.send(append(self.talks[talk].id, vec![message]), vec![effect]));
        }
        together.join_all().await;
    }

    async fn stream(&mut self, talk: usize) {
        match self.talks[talk].stream.take() {
            None => {
                let (mut message, (id, _)) = self.say();
                message.content.status = MessageStatus::Streaming;
                message.content.body = Body::of(&[]);
                self.talks[talk].stream = Some((message.id, String::new()));
                self.talks[talk].path.push(message.id);
                self.send(append(self.talks[talk].id, vec![message]), vec![(id, Some(streaming("")))]).await;
            }
            Some((message, said)) if said.len() < 200 || self.rng.bool() => {
                let delta = text(&mut self.rng, said.len());
                let said = said + &delta;
                let effect = (*message.as_bytes(), Some(streaming(&said)));
                self.talks[talk].stream = Some((message, said));
                self.send(Change::AppendChunk { message, delta }, vec![effect]).await;
            }
            Some((message, said)) => {
                let body = Body::of(&[Part::text(said.as_str())]);
                let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: Some(3), usage: None };
                let effect = (*message.as_bytes(), Some(body_of(&said)));
                self.send(Change::FinishMessage { message, finish }, vec![effect]).await;
            }
        }
    }

    async fn fork(&mut self, talk: usize) {
        let (message, effect) = self.say();
        let conversation = self.talks[talk].id;
        let kept = self.rng.usize(..=self.talks[talk].path.len());
        let path = &mut self.talks[talk].path;
        path.truncate(kept);
        let at = MessageAt::After { message: path.last().copied(), branch: id(BranchId::new) };
        path.push(message.id);
        let (head, why) = (HeadMove::Follow, BranchReason::Fork);
        let change =
            Change::AppendMessages { conversation, at, head, why, messages: vec![message], origins: Vec::new() };
        self.send(change, vec![effect]).await;
    }

    async fn splice(&mut self, talk: usize) {
        let (message, effect) = self.say();
        let place = self.rng.usize(..=self.talks[talk].path.len());
        let path = &mut self.talks[talk].path;
        let at = SplicePosition::After(place.checked_sub(1).map(|before| path[before]));
        path.insert(place, message.id);
        let conversation = self.talks[talk].id;
        let change = Change::Splice {
            conversation,
            branch: id(BranchId::new),
            at,
            messages: vec![message],
            origins: Vec::new(),
        };
        self.send(change, vec![effect]).await;
    }

    async fn erase_message(&mut self, talk: usize) {
        let talk = &self.talks[talk];
        let streams = talk.stream.as_ref().map(|(id, _)| *id);
        let Some(message) = self.rng.choice(&talk.path).copied().filter(|id| Some(*id) != streams) else { return };
        let effects = vec![(*message.as_bytes(), Some(ERASED.to_owned()))];
        self.erase(EraseTarget::Message(message), effects).await;
    }

    async fn erase_conversation(&mut self, talk: usize) {
        let talk = self.talks.swap_remove(talk);
        // Branches that are no longer shown go as well; their messages are found through the store.
        let mut effects = vec![(*talk.id.as_bytes(), None)];
        for branch in self.store.branches(talk.id).await.expect("readable") {
            let query = MessagesQuery::Branch { branch: branch.id, after: None, limit: PAGE_MAX };
            let messages = self.store.messages(query).await.expect("readable");
            effects.extend(messages.iter().map(|placed| (*placed.message.id.as_bytes(), None)));
        }
        self.erase(EraseTarget::Conversation(talk.id), effects).await;
    }

    async fn erase(&mut self, target: EraseTarget, effects: Vec<(Id, Option<String>)>) {
        let committed = self.send(Change::Erase { target }, effects).await;
        assert!(matches!(&committed.results[..], [ChangeResult::Erased(receipt)] if receipt.finished), "{committed:?}");
    }
}

/// What was found in many crash states; the complaints say where.
#[derive(Debug, Default)]
struct Verdict {
    states: usize,
    opened: usize,
    torn: usize,
    corrupt: Vec<String>,
    lossy: Vec<String>,
}

impl Verdict {
    fn print(&self) {
        let Verdict { states, opened, torn, corrupt, lossy } = self;
        let (corrupt, lossy) = (corrupt.len(), lossy.len());
        println!("{states} states, {opened} opened, {torn} torn writes, {corrupt} complaints, {lossy} rows lost");
    }

    fn add(&mut self, other: Verdict) {
        self.states += other.states;
        self.opened += other.opened;
        self.torn += other.torn;
        self.corrupt.extend(other.corrupt);
        self.lossy.extend(other.lossy);
    }
}

/// Lays out random crash states on two threads and reads each back.
fn cut_power(recorded: &Recorded, states: usize, seed: u64) -> Verdict {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Verdict::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let folder = fast_folder();
                let mut verdict = Verdict::default();
                loop {
                    let state = next.fetch_add(1, Ordering::Relaxed);
                    if state >= states {
                        break;
                    }
                    let mut rng = Rng::with_seed(seed ^ (state as u64) << 20);
                    look(recorded, state, &mut rng, folder.path(), &mut verdict);
                }
                total.lock().expect("no thread panics").add(verdict);
            });
        }
    });
    total.into_inner().expect("no thread panics")
}

fn look(recorded: &Recorded, state: usize, rng: &mut Rng, folder: &Path, verdict: &mut Verdict) {
    // The making of the file is short, but what it leaves half done is like nothing that comes later.
    let length = recorded.recording.log_len();
    let young = rng.u8(..10) == 0;
    let crash_point = rng.usize(..=if young { length.min(200) } else { length });
    let laid_out = recorded.recording.crash_state(crash_point, rng, folder).expect("lays out");
    verdict.states += 1;
    verdict.torn += laid_out.torn;
    let path = folder.join(FILE);
    let place = format!("at {crash_point} of {length}, {laid_out:?}");
    if young || state.is_multiple_of(OPENED_EVERY) {
        verdict.opened += 1;
        if let Err(complaint) = open_and_use(&path) {
            verdict.corrupt.push(format!("{place}: {complaint}"));
        }
    }
    match Found::read(&path) {
        Err(damage) => verdict.corrupt.push(format!("{place}: {damage}")),
        Ok(found) => {
            for (id, versions) in &recorded.history {
                judge(id, versions, crash_point, found.values.get(id), &place, verdict);
            }
        }
    }
}

/// The newest acknowledged version must be there, or one that was sent after it.
fn judge(
    id: &Id,
    versions: &[Version],
    crash_point: usize,
    value: Option<&String>,
    place: &str,
    verdict: &mut Verdict,
) {
    let promised = versions.iter().rposition(|version| version.acknowledged <= crash_point);
    let possible = |version: &&Version| version.begun < crash_point;
    let mut allowed = versions.iter().skip(promised.unwrap_or(0)).take_while(possible);
    if allowed.any(|version| version.value.as_ref() == value) || (promised.is_none() && value.is_none()) {
        return;
    }
    let older = value.is_none() || versions.iter().any(|version| version.value.as_ref() == value);
    let name = manent_model::hex::encode(id);
    let shown = value.map(|value| value.chars().take(60).collect::<String>());
    let complaints = if older { &mut verdict.lossy } else { &mut verdict.corrupt };
    complaints.push(format!("{place}: {name} is {shown:?}"));
}

/// Opens the store as a restart would: it verifies and can be written to.
fn open_and_use(path: &Path) -> std::result::Result<(), String> {
    let said = |error: StoreError| format!("{error:?}");
    let options = SqliteOptions { readers: 1, durability: Durability::Relaxed, ..SqliteOptions::new(path) };
    let store = SqliteStore::open(options).map_err(said)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let report = store.verify().await.map_err(said)?;
        if !report.is_sound() {
            return Err(format!("{:?}", report.problems));
        }
        let conversation = conversation(&store, "after the cut").await;
        say(&store, conversation, &["the store goes on"]).await;
        Ok(())
    })
}
