//! The keeper: a thread that copies the WAL into the file and notices what other processes commit.

use super::connection::{SqliteOptions, failed, open_again};
use super::shared::Shared;
use super::wal;
use crate::engine::connection::{Ran, maybe};
use rusqlite::Connection;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often other processes are looked for; a tail promises one second.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Default)]
struct State {
    wanted: bool,
    closed: bool,
}

#[derive(Default)]
pub(super) struct Keeper {
    state: Mutex<State>,
    changed: Condvar,
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the WAL to be copied.
    pub(super) fn wake(&self) {
        self.lock().wanted = true;
        self.changed.notify_all();
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The life of the thread. It opens a connection for each look, so that it can be kept away like any reader.
    pub(super) fn serve(&self, shared: &Shared, options: &SqliteOptions) {
        loop {
            let mut state = self.lock();
            if !state.wanted && !state.closed {
                (state, _) = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            }
            if state.closed {
                return;
            }
            let wanted = std::mem::take(&mut state.wanted);
            drop(state);
            // What fails here is tried again at the next look; the writer reports what matters.
            let _ = shared.readers.visit(|| {
                let connection = open_again(options)?;
                look(&connection, shared, wanted).map_err(|error| failed("looking at the file", error))
            });
            if wanted {
                shared.queue.nudge();
            }
        }
    }
}

fn look(connection: &Connection, shared: &Shared, copy: bool) -> Ran<()> {
    if copy {
        wal::copy(connection)?;
    }
    let sql = "select pos + count - 1 from journal order by pos desc limit 1";
    if let Some(position) = maybe(connection, sql, (), |row| row.get(0))? {
        shared.publish(position);
    }
    Ok(())
}
