//! Maintenance worker: checkpoints WALs, closes idle connections, and finishes the closing of stores, so that none of
//! this delays a writer or a reader.

use super::connection::failed;
use super::member::Member;
use super::reads::Visit;
use super::wal;
use crate::engine::turns::Again;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it looks for idle connections of a store that has any: within the time after which they are closed, but
/// not all the time.
const LOOK_MIN: Duration = Duration::from_millis(10);
const LOOK_MAX: Duration = Duration::from_secs(15);

/// One turn for a store; says when it wants another.
pub(super) fn turn(member: &Arc<Member>) -> Again {
    if member.takes_copy() {
        // A failure is retried when the WAL has grown; the writer reports errors that matter.
        let _ = member.visit(Visit::Ends, |reader| {
            wal::copy(reader.connection()?).map_err(|error| failed("copying the WAL", error))
        });
        member.queue.nudge();
    }
    if let Some(again) = member.leave() {
        return again;
    }
    let idle_max = member.crew.idle_max;
    if let Some(before) = Instant::now().checked_sub(idle_max) {
        member.close_idle(before);
    }
    match member.has_connections() && idle_max < Duration::MAX {
        true => Again::After((idle_max / 4).clamp(LOOK_MIN, LOOK_MAX)),
        false => Again::WhenAsked,
    }
}
