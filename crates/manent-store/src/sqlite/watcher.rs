//! The watcher: notices what other processes commit.

use super::connection::failed;
use super::index::{Identity, identity};
use super::member::{Member, last_position};
use super::stamp::Stamp;
use crate::engine::search::indexing::GATHER;
use crate::engine::turns::Again;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How often it looks at a store that is in use; a tail promises one second.
const LOOK: Duration = Duration::from_millis(200);

/// How often it looks at one that nobody follows: whoever comes to it is not told what is older than a second.
const LOOK_SELDOM: Duration = Duration::from_millis(700);

/// What a store looked like.
#[derive(Default)]
pub(super) struct Seen {
    /// None if it may have been written since.
    stamp: Option<Stamp>,
    index: Identity,
}

/// One look at a store; says when it wants another.
pub(super) fn turn(member: &Arc<Member>) -> Again {
    let mut seen = member.seen.lock().unwrap_or_else(PoisonError::into_inner);
    if member.options.has_index() {
        // Another process may have thrown it away, or have died before it was filled again.
        let index = identity(&member.options);
        if index != seen.index {
            seen.index = index;
            member.crew.indexer.ask_after(member.number, GATHER);
        }
    }
    let stamp = Stamp::of(&member.options);
    // Where nobody has written since, no connection is needed to know it.
    if stamp.is_none() || stamp != seen.stamp {
        seen.stamp = None;
        // What fails here is tried again at the next look; the writer reports what matters.
        let looked = member.look(|file| last_position(file).map_err(|error| failed("looking at the file", error)));
        if let Some(Ok(position)) = looked {
            member.publish(position);
            seen.stamp = stamp.filter(Stamp::is_settled);
        }
    }
    Again::After(if member.is_in_use() { LOOK } else { LOOK_SELDOM })
}
