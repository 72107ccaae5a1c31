//! Worker thread of the system store: one connection, one request at a time, because requests are few.

use super::{SystemLocation, create_rows, current_change};
use crate::api::error::{Result, StoreError};
use crate::engine::sql::connection::{Connection, DbResult, EngineError, begin_reading, end_reading};
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::{postgres, sqlite};
use manent_model::Timestamp;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Poll interval for changes of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Attempts of a request that met a serialization conflict or a lost connection.
const ATTEMPTS: usize = 5;

type Job = Box<dyn FnOnce(&mut WorkerState) + Send>;

pub(super) struct SystemWorker {
    jobs: Mutex<Option<Sender<Job>>>,
    changes: watch::Receiver<i64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Whether a write may use the disk reserve of the system store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiskSpace {
    /// Only the free space of the disk.
    Ordinary,
    /// The reserve too: it belongs to a deletion.
    UseReserve,
}

/// Whether overwritten data must be wiped from the files as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wipe {
    No,
    Yes,
}

impl SystemWorker {
    pub(super) fn open(place: SystemLocation, now: Timestamp) -> Result<Self> {
        let (sender, receiver) = channel::<Job>();
        let (changed, changes) = watch::channel(0);
        let (opened, opening) = channel();
        let work = move || {
            let state = WorkerState::open(place, now, changed);
            match state {
                Ok(state) => {
                    let _ = opened.send(Ok(()));
                    state.serve(&receiver);
                }
                Err(error) => drop(opened.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new().name("manent-system".to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::engine("starting a thread", error))?;
        opening.recv().unwrap_or(Err(StoreError::Closed))?;
        Ok(Self { jobs: Mutex::new(Some(sender)), changes, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn changes(&self) -> watch::Receiver<i64> {
        self.changes.clone()
    }

    /// Reads inside one transaction.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        read: impl Fn(Connection<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |state| state.read(doing, &read)).await
    }

    /// Writes inside one transaction, which is on disk when this returns.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        write: impl Fn(Connection<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |state| state.write(doing, Wipe::No, DiskSpace::Ordinary, &write)).await
    }

    /// The same for a deletion: on a full disk it uses the disk reserve.
    pub(super) async fn write_for_deletion<T: Send + 'static>(
        &self,
        doing: &'static str,
        write: impl Fn(Connection<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |state| state.write(doing, Wipe::No, DiskSpace::UseReserve, &write)).await
    }

    /// The same, and wipes the previous data from the files.
    pub(super) async fn write_and_wipe<T: Send + 'static>(
        &self,
        doing: &'static str,
        write: impl Fn(Connection<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.run(move |state| state.write(doing, Wipe::Yes, DiskSpace::UseReserve, &write)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WorkerState) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |state| drop(answer.send(work(state))));
        let jobs = self.jobs.lock().clone();
        jobs.and_then(|jobs| jobs.send(job).ok()).ok_or(StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::OutcomeUnknown)?
    }

    pub(super) async fn close(&self) -> Result<()> {
        drop(self.jobs.lock().take());
        let thread = self.thread.lock().take();
        crate::engine::interface::run_blocking("manent-close", move || {
            thread.map(JoinHandle::join);
            Ok(())
        })
        .await
    }
}

/// A connection to either engine.
pub(super) enum SystemConnection {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::SystemClient>),
}

impl SystemConnection {
    pub(super) fn open(place: &SystemLocation) -> Result<Self> {
        Ok(match place {
            SystemLocation::File(path) => Self::Sqlite(sqlite::open_system(path)?),
            SystemLocation::Server(options) => Self::Postgres(Box::new(postgres::open_system(options)?)),
        })
    }

    pub(super) fn connection(&self) -> Connection<'_> {
        match self {
            Self::Sqlite(connection) => connection.into(),
            Self::Postgres(client) => client.connection(),
        }
    }

    fn begin(&self) -> DbResult<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch("begin immediate")?),
            Self::Postgres(client) => client.begin(),
        }
    }

    fn commit(&self) -> DbResult<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch("commit")?),
            Self::Postgres(client) => client.commit(),
        }
    }

    fn roll_back(&self) {
        // A closed connection has rolled back by itself.
        match self {
            Self::Sqlite(connection) => drop(connection.execute_batch("rollback")),
            Self::Postgres(client) => client.roll_back(),
        }
    }

    /// Says whether the same may be tried again: others were in the way, or the connection broke before the commit.
    fn may_try_again(&self, error: &EngineError) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(_) => postgres::may_try_again(error),
        }
    }
}

/// The state of the thread.
struct WorkerState {
    location: SystemLocation,
    /// None after a failure; opened again for the next request.
    connection: Option<SystemConnection>,
    changed: watch::Sender<i64>,
    /// None on a server: its administrator keeps space free.
    reserve: Option<sqlite::Reserve>,
}

impl WorkerState {
    fn open(place: SystemLocation, now: Timestamp, changed: watch::Sender<i64>) -> Result<Self> {
        let link = SystemConnection::open(&place)?;
        let reserve = match &place {
            SystemLocation::File(path) => Some(sqlite::Reserve::of(path)),
            SystemLocation::Server(_) => None,
        };
        let mut state = Self { location: place, connection: Some(link), changed, reserve };
        let begin = |connection: Connection<'_>| Ok(create_rows(connection, now.0)?);
        state.write("making the system store", Wipe::No, DiskSpace::Ordinary, &begin)?;
        Ok(state)
    }

    fn serve(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(POLL_INTERVAL) {
                Ok(job) => {
                    if catch_unwind(AssertUnwindSafe(|| job(&mut self))).is_err() {
                        self.connection = None;
                    }
                }
                // The next request notices a failure here.
                Err(RecvTimeoutError::Timeout) => drop(self.poll()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn poll(&mut self) -> Result<()> {
        let change = self.read("looking for changes", &|connection| Ok(current_change(connection)?))?;
        self.publish(change);
        Ok(())
    }

    fn publish(&self, change: i64) {
        self.changed.send_if_modified(|known| {
            let is_new = *known != change;
            *known = change;
            is_new
        });
    }

    fn connection(&mut self) -> Result<&SystemConnection> {
        let link = match self.connection.take() {
            Some(link) => link,
            None => SystemConnection::open(&self.location)?,
        };
        Ok(self.connection.insert(link))
    }

    fn read<T>(&mut self, doing: &'static str, read: &impl Fn(Connection<'_>) -> TxResult<T>) -> Result<T> {
        self.retry(doing, &|link| {
            begin_reading(link.connection())?;
            let outcome = read(link.connection());
            end_reading(link.connection());
            outcome
        })
    }

    fn write<T>(
        &mut self,
        doing: &'static str,
        traces: Wipe,
        room: DiskSpace,
        write: &impl Fn(Connection<'_>) -> TxResult<T>,
    ) -> Result<T> {
        let mut written = self.write_once(doing, traces, write);
        let may_release = room == DiskSpace::UseReserve && matches!(written, Err(StoreError::DiskFull));
        if may_release && self.reserve.as_ref().is_some_and(sqlite::Reserve::release) {
            written = self.write_once(doing, traces, write);
            if let Some(SystemConnection::Sqlite(connection)) = &self.connection {
                // The space of the WAL is available for the next deletion.
                let _ = sqlite::shrink_system(connection);
            }
        }
        if let (Ok(_), Some(reserve), Some(SystemConnection::Sqlite(connection))) =
            (&written, &self.reserve, &self.connection)
        {
            reserve.top_up(sqlite::grown_system_bytes(connection));
        }
        written
    }

    fn write_once<T>(
        &mut self,
        doing: &'static str,
        traces: Wipe,
        write: &impl Fn(Connection<'_>) -> TxResult<T>,
    ) -> Result<T> {
        let (value, change) = self.retry(doing, &|link| {
            link.begin()?;
            // The final read also reports failures of the pipelined writes before it.
            let done = write(link.connection()).and_then(|value| Ok((value, current_change(link.connection())?)));
            done.inspect_err(|_| link.roll_back())
        })?;
        // The outcome of a failed commit is unknown; the next request finds out with a new connection.
        let committed = self.connection.as_ref().map(SystemConnection::commit);
        if let Some(Err(error)) = committed {
            let told = match error.into_store_error(doing) {
                StoreError::DiskFull => StoreError::DiskFull,
                _ => StoreError::OutcomeUnknown,
            };
            self.connection = None;
            return Err(told);
        }
        self.publish(change);
        if traces == Wipe::Yes
            && let Some(SystemConnection::Sqlite(connection)) = &self.connection
        {
            sqlite::wipe_system(connection)?;
        }
        Ok(value)
    }

    /// Runs a request; again after a serialization conflict or a lost connection.
    fn retry<T>(&mut self, doing: &'static str, work: &impl Fn(&SystemConnection) -> TxResult<T>) -> Result<T> {
        for _ in 1..ATTEMPTS {
            let link = self.connection()?;
            match work(link) {
                Err(TxError::Database(error)) if link.may_try_again(&error) => self.connection = None,
                Err(TxError::Database(error)) => {
                    self.connection = None;
                    return Err(error.into_store_error(doing));
                }
                outcome => return outcome.map_err(|fault| fault.into_store_error(doing)),
            }
        }
        work(self.connection()?).map_err(|fault| fault.into_store_error(doing))
    }
}
