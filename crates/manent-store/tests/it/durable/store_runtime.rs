//! Many stores on one runtime: none loses anything, none keeps another waiting, and together they stay within their
//! bounds.

use super::{fast_folder, runtime, seed};
use crate::kit::*;
use manent_model::*;
use manent_store::sqlite::{RuntimeOptions, SqliteOptions, SqliteStore, StoreRuntime};
use manent_store::*;
use manent_testing::{Failure, Fault, Faults, Lasting, Operation};
use manent_text::{Clock, Query};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::task::unconstrained;

const STORES: usize = 300;
const TASKS: usize = 24;
const STEPS: usize = 60;

/// Some have an index; it takes longer to make than all else that happens to a store here.
fn options(folder: &Path, number: usize) -> SqliteOptions {
    let path = folder.join(format!("{number}.db"));
    SqliteOptions { readers: 2, index: number.is_multiple_of(6), ..SqliteOptions::new(path) }
}

fn open(store_runtime: &Arc<StoreRuntime>, folder: &Path, number: usize) -> SqliteStore {
    SqliteStore::open_in(store_runtime, options(folder, number)).expect("opens")
}

/// A small runtime that keeps nothing open for longer than it must.
fn hasty(writers: usize) -> Arc<StoreRuntime> {
    let options = RuntimeOptions { writers, readers: 2, idle_max: Duration::ZERO, ..RuntimeOptions::default() };
    StoreRuntime::start(options).expect("threads can be started")
}

/// Waits for what happens by itself.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let all = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Returns how many files this process has open whose paths begin so.
fn open_files(beginning: &Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("Linux shows them");
    let paths = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let beginning = beginning.to_string_lossy();
    paths.filter(|path| path.to_string_lossy().starts_with(&*beginning)).count()
}

/// Returns how many threads work for stores.
fn threads() -> usize {
    let all = std::fs::read_dir("/proc/self/task").expect("Linux shows them");
    let names = all.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("manent-")).count()
}

/// Threads can only be counted where no other test has any.
fn is_alone() -> bool {
    std::env::var_os("NEXTEST").is_some()
}

#[test]
fn three_hundred_stores_on_one_crew_lose_nothing_and_stay_within_their_bounds() {
    let folder = fast_folder();
    let seed = seed();
    let options = RuntimeOptions { writers: 3, readers: 3, connections_max: 40, ..RuntimeOptions::default() };
    // Beside those that write and read: the keeper, the watcher, the indexer, and one that answers.
    let threads_max = options.writers + options.readers + 4;
    // A connection has the file, its WAL and the memory that they share; SQLite closes a file for good when the last
    // one to it is closed.
    let files_max = options.connections_max * 4;
    let store_runtime = StoreRuntime::start(options).expect("threads can be started");
    let (most_threads, most_files, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let acknowledged = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most_threads.fetch_max(threads(), Ordering::Relaxed);
                most_files.fetch_max(open_files(folder.path()), Ordering::Relaxed);
            }
        });
        let acknowledged = runtime().block_on(busy_stores(&store_runtime, folder.path(), seed));
        is_over.store(true, Ordering::Relaxed);
        acknowledged
    });
    println!("at most {most_threads:?} threads of {threads_max} and {most_files:?} files of {files_max}");
    assert!(most_files.into_inner() <= files_max);
    assert!(most_threads.into_inner() <= threads_max || !is_alone());
    assert_eq!((store_runtime.connections(), open_files(folder.path())), (0, 0), "what is closed is closed");
    drop(store_runtime);
    runtime().block_on(async {
        for (number, expected) in acknowledged.into_iter().enumerate() {
            let store = SqliteStore::open(self::options(folder.path(), number)).expect("opens");
            for (talk, expected) in expected {
                let mut found = path(&store, talk, None).await.into_iter().map(|message| message.id);
                assert!(expected.into_iter().all(|id| found.any(|found| found == id)), "store {number} lost something");
            }
            sound(&store).await;
            store.close().await.expect("closes");
        }
    });
}

/// The conversation of each task in a store, with the messages that were acknowledged in it.
type Acknowledged = Vec<(ConversationId, Vec<MessageId>)>;

/// Lets many tasks write and read whichever store they come to; returns what was acknowledged for each.
async fn busy_stores(store_runtime: &Arc<StoreRuntime>, folder: &Path, seed: u64) -> Vec<Acknowledged> {
    let stores: Arc<Vec<SqliteStore>> =
        Arc::new((0..STORES).map(|number| open(store_runtime, folder, number)).collect());
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (stores, mut rng) = (stores.clone(), fastrand::Rng::with_seed(seed.wrapping_add(task as u64)));
        tasks.spawn(async move {
            let mut acknowledged: Vec<(usize, ConversationId, Vec<MessageId>)> = Vec::new();
            // Every store comes up, and some come up often.
            for step in 0..STEPS {
                let number = if step % 2 == 0 { (task * STEPS + step) / 2 % STORES } else { rng.usize(..8) };
                let store = &stores[number];
                let known = acknowledged.iter().position(|(known, ..)| *known == number);
                let place = match known {
                    Some(place) => place,
                    None => {
                        acknowledged.push((number, conversation(store, "talk").await, Vec::new()));
                        acknowledged.len() - 1
                    }
                };
                let (_, talk, messages) = &mut acknowledged[place];
                messages.extend(say(store, *talk, &["one", "two"]).await);
                let read = path(store, *talk, None).await;
                assert_eq!(read.len(), messages.len(), "a writer reads its own writes");
                if rng.u8(..8) == 0 {
                    assert!(hits(store, "two").await > 0);
                }
            }
            acknowledged
        });
    }
    let mut all: Vec<Acknowledged> = vec![Vec::new(); STORES];
    for (number, talk, messages) in tasks.join_all().await.into_iter().flatten() {
        all[number].push((talk, messages));
    }
    together(stores.iter().map(|store| store.close())).await.into_iter().for_each(|closed| closed.expect("closes"));
    all
}

async fn hits(store: &dyn Store, text: &str) -> usize {
    let clock = Clock { now: at(0), offset_seconds: 0 };
    let query = Query::parse(text, clock).expect("a test asks what can be read");
    store.search(Search { limit: 10, ..Search::new(query, clock.now) }).await.expect("readable").hits.len()
}

/// Reads the position of a store at the moment when another caller is answered, on the thread that answers.
struct Look {
    position: tokio::sync::watch::Receiver<Position>,
    seen: AtomicI64,
    answered: tokio::sync::Notify,
}

impl std::task::Wake for Look {
    fn wake(self: Arc<Self>) {
        self.seen.store(*self.position.borrow(), Ordering::SeqCst);
        self.answered.notify_one();
    }
}

#[test]
fn a_store_with_thousands_of_waiting_transactions_does_not_block_others() {
    const WAITING: usize = 5_000;
    /// Maximum number of transactions in a batch.
    const BATCH: i64 = 512;
    let folder = fast_folder();
    let store_runtime = hasty(1);
    runtime().block_on(async {
        let [gate, long, short] = [1, 2, 3].map(|number| Arc::new(open(&store_runtime, folder.path(), number)));
        let (talk, other) = (conversation(&*long, "long").await, conversation(&*short, "short").await);
        let begun = *long.watch_position().borrow();
        // No other store is written while the only thread waits for a lock.
        let lock = rusqlite::Connection::open(folder.path().join("1.db")).expect("opens");
        lock.execute_batch("begin immediate").expect("locked");
        let mut held = Box::pin(unconstrained(conversation(&*gate, "waits")));
        let asks = |waker: Waker, asked: Pin<&mut dyn Future<Output = _>>| {
            assert!(asked.poll(&mut Context::from_waker(&waker)).is_pending());
        };
        assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        // All of them are in the queue after one poll each: none is told to yield.
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(unconstrained(say(&*long, talk, &["one"])))).collect();
        waiting.iter_mut().for_each(|asked| asks(Waker::noop().clone(), asked.as_mut()));
        let (seen, answered) = (AtomicI64::new(-1), tokio::sync::Notify::new());
        let look = Arc::new(Look { position: long.watch_position(), seen, answered });
        let mut single = Box::pin(unconstrained(say(&*short, other, &["one"])));
        asks(look.clone().into(), single.as_mut());
        lock.execute_batch("rollback").expect("let go");
        look.answered.notified().await;
        let before = look.seen.load(Ordering::SeqCst) - begun;
        println!("{before} of {WAITING} were written before the other's one");
        assert!(before <= BATCH, "{before} came before it");
        single.await;
        held.await;
        together(waiting).await;
        assert_eq!(texts(&*long, talk).await.len(), WAITING);
    });
}

#[test]
fn a_store_whose_readers_are_paused_leaves_the_others_alone() {
    let folder = fast_folder();
    let store_runtime = hasty(2);
    runtime().block_on(async {
        let [erased, other] = [1, 2].map(|number| Arc::new(open(&store_runtime, folder.path(), number)));
        let (talk, goes) = (conversation(&*erased, "stays").await, conversation(&*erased, "goes").await);
        say(&*erased, talk, &["stays"]).await;
        say(&*erased, goes, &["xylomancy"]).await;
        let elsewhere = conversation(&*other, "elsewhere").await;
        // A reader of another program keeps the WAL from being emptied, so the erasure waits with its readers paused.
        let outside = rusqlite::Connection::open(folder.path().join("1.db")).expect("opens");
        outside.execute_batch("begin; select count(*) from message").expect("reads");
        let writer = erased.clone();
        let erasing = tokio::spawn(async move {
            commit(&*writer, Change::Erase { target: EraseTarget::Conversation(goes) }).await;
        });
        let mut said = 0;
        let reading = loop {
            let reader = erased.clone();
            let reading = tokio::spawn(async move { texts(&*reader, talk).await });
            // Longer than any read takes that does not have to wait.
            for _ in 0..70 {
                say(&*other, elsewhere, &["one"]).await;
                said += 1;
            }
            if !reading.is_finished() {
                break reading;
            }
        };
        assert_eq!(texts(&*other, elsewhere).await.len(), said);
        assert!(!erasing.is_finished(), "the WAL holds what was erased");
        assert!(!reading.is_finished(), "its own readers are paused");
        outside.execute_batch("rollback").expect("ends");
        erasing.await.expect("erased");
        assert_eq!(reading.await.expect("read"), ["stays"]);
        sound(&*erased).await;
    });
}

#[test]
fn a_store_that_is_closed_finishes_what_it_accepted_while_others_go_on() {
    const ACCEPTED: usize = 2_000;
    let folder = fast_folder();
    let store_runtime = hasty(2);
    let talk = runtime().block_on(async {
        let [closed, other] = [1, 2].map(|number| open(&store_runtime, folder.path(), number));
        let (talk, elsewhere) = (conversation(&closed, "talk").await, conversation(&other, "elsewhere").await);
        // Nothing is written while another connection has the lock.
        let lock = rusqlite::Connection::open(folder.path().join("1.db")).expect("opens");
        lock.execute_batch("begin immediate").expect("locked");
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting: Vec<_> =
            (0..ACCEPTED).map(|_| Box::pin(unconstrained(say(&closed, talk, &["accepted"])))).collect();
        waiting.iter_mut().for_each(|asked| assert!(asked.as_mut().poll(&mut context).is_pending()));
        let mut ending = Box::pin(unconstrained(closed.close()));
        assert!(ending.as_mut().poll(&mut context).is_pending());
        refused_as(try_commit(&closed, append(talk, vec![message("user", "late")])).await, "closed");
        for _ in 0..50 {
            say(&other, elsewhere, &["one"]).await;
        }
        lock.execute_batch("rollback").expect("let go");
        drop(lock);
        together(waiting).await;
        ending.await.expect("closes");
        assert_eq!(open_files(&folder.path().join("1.db")), 0, "nothing of it is open");
        assert!(matches!(closed.conversations(ListQuery::default()).await, Err(StoreError::Closed)));
        say(&other, elsewhere, &["goes on"]).await;
        assert_eq!(texts(&other, elsewhere).await.len(), 51);
        talk
    });
    let store = SqliteStore::open(options(folder.path(), 1)).expect("opens");
    runtime().block_on(async {
        assert_eq!(texts(&store, talk).await, ["accepted"; ACCEPTED]);
        sound(&store).await;
    });
}

#[test]
fn a_store_on_a_failing_disk_leaves_the_others_alone() {
    let folder = fast_folder();
    let store_runtime = hasty(1);
    let faults = Faults::install();
    let failing = SqliteOptions { vfs: Some(faults.name().to_owned()), ..options(folder.path(), 1) };
    let broken = SqliteStore::open_in(&store_runtime, failing).expect("the disk is still sound");
    let other = open(&store_runtime, folder.path(), 2);
    runtime().block_on(async {
        let (talk, elsewhere) = (conversation(&broken, "talk").await, conversation(&other, "elsewhere").await);
        say(&broken, talk, &["before"]).await;
        for failure in [Failure::DiskFull, Failure::IoError] {
            let (operations, lasting) = (&[Operation::Write, Operation::Sync][..], Lasting::UntilHealed);
            faults.arm(Fault { operations, nth: 1, failure, lasting });
            for _ in 0..20 {
                let (refused, _) = tokio::join!(
                    try_commit(&broken, append(talk, vec![message("user", "lost")])),
                    say(&other, elsewhere, &["one"])
                );
                let told =
                    matches!(refused, Err(StoreError::DiskFull | StoreError::OutcomeUnknown | StoreError::Busy(_)));
                assert!(told, "{refused:?}");
            }
            faults.heal();
            until("the store works again", || faults.fired() > 0).await;
            while try_commit(&broken, append(talk, vec![message("user", "after")])).await.is_err() {}
        }
        assert_eq!(texts(&other, elsewhere).await.len(), 40);
        let found = texts(&broken, talk).await;
        assert_eq!(found.first().map(String::as_str), Some("before"));
        assert_eq!(found.iter().filter(|text| *text == "after").count(), 2);
        sound(&broken).await;
        sound(&other).await;
    });
}

#[test]
fn idle_connections_are_closed_and_opened_again() {
    let folder = fast_folder();
    let store_runtime = hasty(2);
    runtime().block_on(async {
        // Store 0 has an index.
        let store = open(&store_runtime, folder.path(), 0);
        let talk = conversation(&store, "talk").await;
        for round in 1..=3 {
            say(&store, talk, &["word"]).await;
            indexed(&store).await;
            assert_eq!((texts(&store, talk).await.len(), hits(&store, "word").await), (round, round));
            until("nothing is open", || store_runtime.connections() == 0 && open_files(folder.path()) == 0).await;
            assert!(!folder.path().join("0.db-wal").exists(), "the last connection leaves no WAL");
        }
        sound(&store).await;
        // What others write is noticed all the same, and nothing stays open for it.
        let outside = SqliteStore::open(options(folder.path(), 0)).expect("opens");
        let ids = say(&outside, talk, &["from outside"]).await;
        let position = *outside.watch_position().borrow();
        outside.close().await.expect("closes");
        store.watch_position().wait_for(|seen| *seen >= position).await.expect("open");
        assert_eq!(path(&store, talk, None).await.last().map(|message| message.id), ids.first().copied());
        until("nothing is open", || store_runtime.connections() == 0 && open_files(folder.path()) == 0).await;
    });
}

#[test]
fn a_file_that_is_gone_or_another_one_is_neither_made_nor_written() {
    let folder = fast_folder();
    let store_runtime = hasty(1);
    runtime().block_on(async {
        let [store, other] = [1, 2].map(|number| open(&store_runtime, folder.path(), number));
        let (talk, elsewhere) = (conversation(&store, "talk").await, conversation(&other, "elsewhere").await);
        say(&store, talk, &["kept"]).await;
        say(&other, elsewhere, &["kept"]).await;
        let closed = || store_runtime.connections() == 0 && open_files(folder.path()) == 0;
        until("nothing is open", closed).await;
        let name = |name: &str| -> PathBuf { folder.path().join(name) };
        std::fs::rename(name("1.db"), name("away")).expect("renamed");
        let said = append(talk, vec![message("user", "again")]);
        refused_as(try_commit(&store, said.clone()).await, "busy");
        assert!(store.conversation(ConversationRef::Id(talk)).await.is_err());
        assert!(!name("1.db").exists(), "no empty file takes its place");
        say(&other, elsewhere, &["goes on"]).await;
        until("nothing is open", closed).await;
        let before = std::fs::read(name("2.db")).expect("a file");
        std::fs::copy(name("2.db"), name("1.db")).expect("copied");
        refused_as(try_commit(&store, said.clone()).await, "altered");
        until("nothing is open", closed).await;
        assert_eq!(std::fs::read(name("1.db")).expect("a file"), before, "it was not touched");
        std::fs::rename(name("away"), name("1.db")).expect("renamed");
        commit(&store, said).await;
        assert_eq!(texts(&store, talk).await, ["kept", "again"]);
        assert_eq!(texts(&other, elsewhere).await, ["kept", "goes on"]);
    });
}

#[test]
fn a_crew_ends_with_its_last_handle() {
    let folder = fast_folder();
    let store_runtime = StoreRuntime::start(RuntimeOptions::default()).expect("threads can be started");
    let store = open(&store_runtime, folder.path(), 1);
    drop(store_runtime);
    runtime().block_on(async {
        let talk = conversation(&store, "talk").await;
        assert_eq!(texts(&store, talk).await.len(), 0, "a store keeps its runtime");
    });
    drop(store);
    assert_eq!(open_files(folder.path()), 0);
    if is_alone() {
        runtime().block_on(until("the threads have ended", || threads() == 0));
    }
}
