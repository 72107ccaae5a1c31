//! Group commit over the preallocated log: many writers share one sync.

use parking_lot::{Condvar, Mutex};
use std::io;

use crate::raw_log::PrewrittenFile;

/// The queue between many writers and the one thread that owns the file.
///
/// Writers copy their record into the batch that is being gathered. The writing thread takes whatever has gathered,
/// writes it with one call, syncs once and answers everyone in it; meanwhile the next batch gathers.
pub struct GroupLog {
    state: Mutex<State>,
    queued: Condvar,
    // Batches alternate between the two, so that waking one batch does not wake the writers of the next.
    written: [Condvar; 2],
}

#[derive(Default)]
struct State {
    gathering: Vec<u8>,
    /// The number of the batch that is being gathered, from 1.
    batch: u64,
    /// The last batch that was written or failed.
    answered: u64,
    /// Why the log stopped; all later appends fail with it.
    failure: Option<io::ErrorKind>,
    closed: bool,
}

impl GroupLog {
    /// Runs `work` beside a writing thread and stops that thread afterwards.
    pub fn run<Answer>(file: &mut PrewrittenFile, work: impl FnOnce(&GroupLog) -> Answer) -> Answer {
        let log = GroupLog {
            state: Mutex::new(State { batch: 1, ..State::default() }),
            queued: Condvar::new(),
            written: [Condvar::new(), Condvar::new()],
        };
        std::thread::scope(|scope| {
            scope.spawn(|| log.write_batches(file));
            let _closing = CloseOnDrop(&log);
            work(&log)
        })
    }

    /// Queues a record and returns when it is on the disk.
    pub fn append(&self, record: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let batch = state.batch;
        let first = state.gathering.is_empty();
        state.gathering.extend_from_slice(record);
        if first {
            self.queued.notify_one();
        }
        self.written[(batch % 2) as usize].wait_while(&mut state, |state| state.answered < batch);
        state.failure.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn write_batches(&self, file: &mut PrewrittenFile) {
        let mut writing = Vec::new();
        loop {
            let mut state = self.state.lock();
            self.queued.wait_while(&mut state, |state| state.gathering.is_empty() && !state.closed);
            if state.gathering.is_empty() {
                return;
            }
            writing.clear();
            std::mem::swap(&mut writing, &mut state.gathering);
            let batch = state.batch;
            state.batch += 1;
            drop(state);

            let outcome = file.append_durably(&writing);

            let mut state = self.state.lock();
            state.answered = batch;
            if let Err(error) = outcome {
                state.failure = Some(error.kind());
            }
            drop(state);
            self.written[(batch % 2) as usize].notify_all();
        }
    }
}

/// Ends the writing thread also when the work panics; the scope would wait for it forever otherwise.
struct CloseOnDrop<'log>(&'log GroupLog);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.queued.notify_one();
    }
}
