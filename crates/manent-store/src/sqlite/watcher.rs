//! Change detector: notices commits of other processes.

use super::connection::failed;
use super::index::{Identity, identity};
use super::member::{Member, last_position};
use super::stamp::Stamp;
use crate::engine::search::indexing::GATHER;
use crate::engine::turns::Again;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Poll interval of a store that is in use; followers must see a change within one second.
const LOOK: Duration = Duration::from_millis(200);

/// Poll interval of a store without followers and open connections.
const LOOK_SELDOM: Duration = Duration::from_millis(700);

/// How long news of such a store may wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// The last seen state of a store.
#[derive(Default)]
pub(super) struct Seen {
    /// None if it may have been written since.
    stamp: Option<Stamp>,
    /// When a write was first detected that has not been read yet.
    news_since: Option<Instant>,
    index: Identity,
}

impl Seen {
    /// Closing a file writes it. If no caller waits for changes, one check is enough, once the file is quiet.
    fn can_wait(&mut self, stamp: Option<&Stamp>, member: &Member) -> bool {
        let since = *self.news_since.get_or_insert_with(Instant::now);
        !member.is_in_use() && since.elapsed() < PATIENCE && stamp.is_some_and(|stamp| !stamp.is_settled())
    }
}

/// One look at a store; says when it wants another.
pub(super) fn turn(member: &Arc<Member>) -> Again {
    let mut seen = member.seen.lock().unwrap_or_else(PoisonError::into_inner);
    // Nothing is created again for a destroyed store.
    if member.options.has_index() && member.options.path.exists() {
        // Another process may have thrown it away, or have died before it was filled again.
        let index = identity(&member.options);
        if index != seen.index {
            seen.index = index;
            member.crew.indexer.ask_after(member.number, GATHER);
        }
    }
    let stamp = Stamp::of(&member.options);
    // An unchanged fingerprint shows without a connection that the file was not written.
    if (stamp.is_none() || stamp != seen.stamp) && !seen.can_wait(stamp.as_ref(), member) {
        seen.stamp = None;
        seen.news_since = None;
        // A failure is retried at the next poll; the writer reports errors that matter.
        let looked = member.look(|file| last_position(file).map_err(|error| failed("looking at the file", error)));
        if let Some(Ok(position)) = looked {
            member.publish(position);
            seen.stamp = stamp.filter(Stamp::is_settled);
        }
    }
    Again::After(if member.is_in_use() { LOOK } else { LOOK_SELDOM })
}
