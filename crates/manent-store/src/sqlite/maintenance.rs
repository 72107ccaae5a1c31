//! Maintenance worker: checkpoints WALs, closes idle connections, and finishes the closing of stores, so that none of
//! this delays a writer or a reader.

use super::connection::failed;
use super::open_store::OpenStore;
use super::reader_pool::OnReturn;
use super::wal;
use crate::runtime::scheduler::Reschedule;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it looks for idle connections of a store that has any: within the time after which they are closed, but
/// not all the time.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
const INTERVAL_MAX: Duration = Duration::from_secs(15);

/// One turn for a store; says when it wants another.
pub(super) fn run(store: &Arc<OpenStore>) -> Reschedule {
    if store.take_checkpoint_request() {
        // A failure is retried when the WAL has grown; the writer reports errors that matter.
        let _ = store.with_reader(OnReturn::Close, |reader| {
            wal::checkpoint_passive(reader.connection()?).map_err(|error| failed("copying the WAL", error))
        });
        store.queue.wake_writer();
    }
    if let Some(again) = store.leave() {
        return again;
    }
    let idle_max = store.runtime.idle_max;
    if let Some(before) = Instant::now().checked_sub(idle_max) {
        store.close_idle(before);
    }
    match store.has_connections() && idle_max < Duration::MAX {
        true => Reschedule::After((idle_max / 4).clamp(INTERVAL_MIN, INTERVAL_MAX)),
        false => Reschedule::WhenWoken,
    }
}
