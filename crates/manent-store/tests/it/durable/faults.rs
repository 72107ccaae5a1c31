//! Each write, sync and truncate fails in turn, in every way. No answer is ever false, and the store recovers by
//! itself.

use super::found::{ERASED, Found, Id, streaming};
use super::{body_of, fast_folder, number, put_older_rows, runtime, seed};
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{SqliteOptions, SqliteStore};
use manent_store::*;
use manent_testing::{Failure, Fault, Faults, Lasting, Operation};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FILE: &str = "store.db";
const TALKS: usize = 4;
/// How long a store may take to work again once the disk does.
const RECOVERY_MAX: Duration = Duration::from_secs(2);

#[test]
fn a_failing_disk_never_gets_a_false_answer() {
    let wanted = number("MANENT_FAULTS", 2_000) as u64;
    let mut rng = fastrand::Rng::with_seed(seed());
    let template = Template::make();
    let mut tally = (0, 0);
    while tally.0 < wanted {
        for (operation, failure, lasting) in sweeps() {
            let fault = |nth| Fault { operations: only(operation), nth, failure, lasting };
            let (fired, runs) = in_parallel(1, rng.u64(..), |nth, seed| template.run(fault(nth), seed));
            println!("{operation:?} {failure:?} {lasting:?}: {fired} of {runs} runs met the fault");
            tally = (tally.0 + fired, tally.1 + runs);
        }
    }
    println!("{} faults in {} runs", tally.0, tally.1);
}

#[test]
fn a_disk_that_fails_while_a_file_is_made_leaves_one_that_opens() {
    let mut rng = fastrand::Rng::with_seed(seed());
    let mut faults = 0;
    for (operation, failure, lasting) in sweeps() {
        let fault = |nth| Fault { operations: only(operation), nth, failure, lasting };
        faults += in_parallel(3, rng.u64(..), |nth, _| open_fresh(fault(nth))).0;
    }
    println!("{faults} faults");
    assert!(faults > 100, "the sweep reaches every step");
}

#[test]
fn a_disk_that_fails_during_a_migration_leaves_a_file_that_opens() {
    let template = older_file();
    let mut rng = fastrand::Rng::with_seed(seed());
    let mut faults = 0;
    for (operation, failure, lasting) in sweeps() {
        let fault = |nth| Fault { operations: only(operation), nth, failure, lasting };
        faults += in_parallel(3, rng.u64(..), |nth, _| open_older(&template, fault(nth))).0;
    }
    println!("{faults} faults");
    assert!(faults > 100, "the sweep reaches every step");
}

/// Every kind of operation with every way to fail that differs for it.
fn sweeps() -> impl Iterator<Item = (Operation, Failure, Lasting)> {
    let kinds = Operation::ALL.iter().flat_map(|operation| {
        let ways = Failure::ALL.iter().filter(|failure| {
            let short = matches!(failure, Failure::ShortThenIoError | Failure::ShortThenDiskFull);
            *operation == Operation::Write || !short
        });
        ways.map(|failure| (*operation, *failure))
    });
    kinds.flat_map(|(operation, failure)| {
        [Lasting::Once, Lasting::UntilHealed].map(|lasting| (operation, failure, lasting))
    })
}

fn only(operation: Operation) -> &'static [Operation] {
    match operation {
        Operation::Write => &[Operation::Write],
        Operation::Sync => &[Operation::Sync],
        Operation::Truncate => &[Operation::Truncate],
    }
}

/// Fault injection: fails the first, second, third operation, and so on, until several runs complete without the fault;
/// with a stride, only every n-th of them.
///
/// How many operations a run has differs a little, since the keeper works beside the writer. Returns how many faults
/// fired, and in how many runs.
fn in_parallel(stride: u64, seed: u64, run: impl Fn(u64, u64) -> u64 + Sync) -> (u64, u64) {
    let next = AtomicU64::new(1 + seed % stride);
    let (missed, met, runs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while missed.load(Ordering::Relaxed) < 4 {
                    let nth = next.fetch_add(stride, Ordering::Relaxed);
                    runs.fetch_add(1, Ordering::Relaxed);
                    match run(nth, seed.wrapping_add(nth)) {
                        0 => missed.fetch_add(1, Ordering::Relaxed),
                        _ => met.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
    });
    (met.into_inner(), runs.into_inner())
}

/// A transaction, and what it makes of one thing.
struct Plan {
    transaction: Transaction,
    thing: Id,
    before: Option<String>,
    after: Option<String>,
}

/// A file with some conversations, messages and streams, made once and copied for each run.
struct Template {
    bytes: Vec<u8>,
    talks: Vec<ConversationId>,
    messages: Vec<MessageId>,
    streams: Vec<MessageId>,
}

impl Template {
    fn make() -> Template {
        let folder = fast_folder();
        let path = folder.path().join(FILE);
        let store = SqliteStore::open(SqliteOptions::new(&path)).expect("opens");
        let (mut talks, mut messages, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        runtime().block_on(async {
            for _ in 0..TALKS {
                let talk = conversation(&store, "before").await;
                messages.extend(say(&store, talk, &["kept"; 2]).await);
                for _ in 0..2 {
                    let mut message = message("assistant", "");
                    message.content.status = MessageStatus::Streaming;
                    streams.push(message.id);
                    commit(&store, append(talk, vec![message])).await;
                }
                talks.push(talk);
            }
        });
        drop(store);
        Template { bytes: std::fs::read(path).expect("a file"), talks, messages, streams }
    }

    /// The batches of a run: transactions of one batch are sent at the same moment.
    fn plan(&self, rng: &mut fastrand::Rng) -> Vec<Vec<Plan>> {
        let mut streams = self.streams.iter();
        let mut stream = || *streams.next().expect("enough streams");
        let mut batches = Vec::new();
        for round in 0..3 {
            batches.push(vec![self.say(rng)]);
            batches.push(vec![self.say(rng), self.refused(rng), keyed(chunk(stream())), self.say(rng)]);
            batches.push(vec![keyed(self.rename(round))]);
            batches.push(vec![self.refused(rng), self.say(rng), self.say(rng)]);
            batches.push(vec![keyed(self.erase(round)), self.say(rng)]);
            batches.push(vec![self.say(rng), finish(stream())]);
        }
        batches
    }

    fn append(&self, rng: &mut fastrand::Rng) -> Plan {
        let text = super::text(rng, "said");
        let message = message("user", &text);
        let thing = *message.id.as_bytes();
        let talk = *rng.choice(&self.talks).expect("not empty");
        let transaction = Transaction::of(at(1), append(talk, vec![message]));
        Plan { transaction, thing, before: None, after: Some(body_of(&text)) }
    }

    fn say(&self, rng: &mut fastrand::Rng) -> Plan {
        self.append(rng)
    }

    /// An append that can never happen: it expects a version that the conversation will not have.
    fn refused(&self, rng: &mut fastrand::Rng) -> Plan {
        let mut plan = self.append(rng);
        let expect = Expect::Version { conversation: self.talks[0], version: 1_000_000 };
        plan.transaction.expect.push(expect);
        Plan { after: None, ..plan }
    }

    fn rename(&self, round: usize) -> Plan {
        let id = self.talks[round];
        let patch = ConversationPatch { title: Some("after".to_owned()), ..Default::default() };
        let transaction = Transaction::of(at(1), Change::EditConversation { id, patch });
        let [before, after] = ["before", "after"].map(|title| Some(title.to_owned()));
        Plan { transaction, thing: *id.as_bytes(), before, after }
    }

    fn erase(&self, round: usize) -> Plan {
        let message = self.messages[round * 2];
        let transaction = Transaction::of(at(1), Change::Erase { target: EraseTarget::Message(message) });
        let (before, after) = (Some(body_of("kept")), Some(ERASED.to_owned()));
        Plan { transaction, thing: *message.as_bytes(), before, after }
    }

    /// Runs the batches with a fault, heals the disk, and compares every answer with what is there. Returns how often
    /// the fault fired.
    fn run(&self, fault: Fault, seed: u64) -> u64 {
        let folder = fast_folder();
        let path = folder.path().join(FILE);
        std::fs::write(&path, &self.bytes).expect("a copy");
        let faults = Faults::install();
        let store = Arc::new(SqliteStore::open(options(&path, &faults)).expect("the disk is still sound"));
        let plan = self.plan(&mut fastrand::Rng::with_seed(seed));
        let runtime = runtime();
        faults.arm(fault);
        let mut sent = runtime.block_on(send_all(&store, plan));
        let fired = faults.fired();
        // As if the process had died now: what is in the files is all there is.
        // Only a sync that claims a full disk is left out: its commit is written, yet answered as one that was not. No
        // system does that to us; SQLite calls every failed sync an I/O error.
        let copy = fast_folder();
        copy_files(&path, copy.path());
        if !(fault.operations == [Operation::Sync] && fault.failure == Failure::DiskFull) {
            compare(&copy.path().join(FILE), &sent, fault);
        }
        faults.heal();
        runtime.block_on(async {
            recovers(&store, self.talks[0], fault).await;
            for (plan, outcome) in sent.iter_mut().filter(|(_, outcome)| is_unknown(outcome)) {
                *outcome = store.commit(plan.transaction.clone()).await;
                let refused = matches!(outcome, Err(StoreError::Conflict(_)));
                assert!(if plan.after.is_some() { outcome.is_ok() } else { refused }, "{fault:?}: again {outcome:?}");
            }
        });
        drop(store);
        compare(&path, &sent, fault);
        if seed.is_multiple_of(16) {
            verify(&path, &runtime);
        }
        fired
    }
}

fn keyed(mut plan: Plan) -> Plan {
    plan.transaction.key = Some(plan.thing.to_vec());
    plan
}

fn chunk(message: MessageId) -> Plan {
    let transaction = Transaction::of(at(1), Change::AppendChunk { message, delta: "delta".to_owned() });
    let (before, after) = (Some(streaming("")), Some(streaming("delta")));
    Plan { transaction, thing: *message.as_bytes(), before, after }
}

fn finish(message: MessageId) -> Plan {
    let body = Body::of(&[Part::text("finished")]);
    let after = Some(body.text().to_owned());
    let finish = Finish { status: MessageStatus::Complete, body: Some(body), tokens: None, usage: None };
    let transaction = Transaction::of(at(1), Change::FinishMessage { message, finish });
    Plan { transaction, thing: *message.as_bytes(), before: Some(streaming("")), after }
}

fn options(path: &Path, faults: &Faults) -> SqliteOptions {
    SqliteOptions { vfs: Some(faults.name().to_owned()), readers: 1, checkpoint_pages: 2, ..SqliteOptions::new(path) }
}

type Answer = Result<Committed>;

async fn send_all(store: &Arc<SqliteStore>, plan: Vec<Vec<Plan>>) -> Vec<(Plan, Answer)> {
    let mut sent = Vec::new();
    for batch in plan {
        let waiting: Vec<_> = batch
            .into_iter()
            .map(|plan| {
                let store = store.clone();
                tokio::spawn(async move {
                    let answer = store.commit(plan.transaction.clone()).await;
                    (plan, answer)
                })
            })
            .collect();
        for task in waiting {
            sent.push(task.await.expect("no task panics"));
        }
    }
    sent
}

fn is_unknown(answer: &Answer) -> bool {
    matches!(answer, Err(StoreError::OutcomeUnknown))
}

/// Compares every answer with what is in the file.
fn compare(path: &Path, sent: &[(Plan, Answer)], fault: Fault) {
    let found = Found::read(path).unwrap_or_else(|damage| panic!("{fault:?}: {damage}"));
    for (plan, answer) in sent {
        let value = found.values.get(&plan.thing);
        let change = &plan.transaction.changes[0];
        let told = format!("{fault:?}: {change:?} was answered {answer:?}, and there is {value:?}");
        match answer {
            Ok(_) => assert!(plan.after.is_some() && value == plan.after.as_ref(), "{told}"),
            Err(StoreError::OutcomeUnknown) => {
                assert!(value == plan.before.as_ref() || value == plan.after.as_ref(), "{told}");
            }
            Err(_) => assert!(value == plan.before.as_ref(), "{told}"),
        }
    }
}

/// The same open store reads and writes again.
async fn recovers(store: &SqliteStore, talk: ConversationId, fault: Fault) {
    let healed = Instant::now();
    let back = message("user", "back again");
    while let Err(error) = try_commit(store, append(talk, vec![back.clone()])).await {
        assert!(healed.elapsed() < RECOVERY_MAX, "{fault:?}: still {error:?}");
    }
    let texts = texts(store, talk).await;
    assert!(texts.contains(&"back again".to_owned()), "{fault:?}: {texts:?}");
}

/// Copies the files of one moment: they are read until they were the same twice.
fn copy_files(path: &Path, to: &Path) {
    let read = || ["", "-wal"].map(|suffix| std::fs::read(format!("{}{suffix}", path.display())).ok());
    let mut files = read();
    while files != read() {
        files = read();
    }
    for (suffix, bytes) in ["", "-wal"].iter().zip(files) {
        if let Some(bytes) = bytes {
            std::fs::write(to.join(format!("{FILE}{suffix}")), bytes).expect("a copy");
        }
    }
}

fn verify(path: &Path, runtime: &tokio::runtime::Runtime) {
    let store = SqliteStore::open(SqliteOptions { readers: 1, ..SqliteOptions::new(path) }).expect("opens");
    let report = runtime.block_on(store.verify()).expect("verify runs");
    assert!(report.is_sound(), "{:?}", report.problems);
}

/// Makes a file on a failing disk, and again once it works.
fn open_fresh(fault: Fault) -> u64 {
    let folder = fast_folder();
    let path = folder.path().join(FILE);
    let faults = Faults::install();
    faults.arm(fault);
    let opened = SqliteStore::open(options(&path, &faults));
    let fired = faults.fired();
    drop(opened);
    faults.heal();
    let runtime = runtime();
    let store = SqliteStore::open(options(&path, &faults)).unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    runtime.block_on(async {
        let talk = conversation(&store, "made").await;
        say(&store, talk, &["made"]).await;
        assert_eq!(texts(&store, talk).await, ["made"]);
    });
    drop(store);
    verify(&path, &runtime);
    fired
}

/// A file that an older program made.
fn older_file() -> (Vec<u8>, ConversationId) {
    let folder = fast_folder();
    let path = folder.path().join(FILE);
    drop(SqliteStore::open_at(SqliteOptions::new(&path), 2).expect("opens"));
    let connection = rusqlite::Connection::open(&path).expect("opens");
    let talk = put_older_rows(&connection).conversation;
    // Copies everything from the write-ahead log into the file.
    drop(connection);
    (std::fs::read(path).expect("a file"), talk)
}

/// Brings an older file up to date on a failing disk, and again once it works.
fn open_older((bytes, talk): &(Vec<u8>, ConversationId), fault: Fault) -> u64 {
    let folder = fast_folder();
    let path = folder.path().join(FILE);
    std::fs::write(&path, bytes).expect("a copy");
    let faults = Faults::install();
    faults.arm(fault);
    let opened = SqliteStore::open(options(&path, &faults));
    let fired = faults.fired();
    drop(opened);
    faults.heal();
    let runtime = runtime();
    let store = SqliteStore::open(options(&path, &faults)).unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    assert_eq!(runtime.block_on(texts(&store, *talk)), ["one", "two"]);
    drop(store);
    verify(&path, &runtime);
    let kept = SqliteOptions::new(folder.path().join(format!("{FILE}.before-3")));
    let store = SqliteStore::open_at(kept, 2).expect("the copy of before opens");
    assert_eq!(runtime.block_on(texts(&store, *talk)), ["one", "two"]);
    fired
}
