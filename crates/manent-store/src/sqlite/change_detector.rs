//! Change detector: notices commits of other processes.

use super::connection::failed;
use super::file_fingerprint::FileFingerprint;
use super::index::{Identity, identity};
use super::open_store::{OpenStore, last_position};
use crate::engine::search::indexing::DEBOUNCE;
use crate::runtime::scheduler::Reschedule;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Poll interval of a store that is in use; followers must see a change within one second.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Poll interval of a store without followers and open connections.
const POLL_INTERVAL_IDLE: Duration = Duration::from_millis(700);

/// How long a change of an unused store may stay undetected.
const NEWS_DELAY_MAX: Duration = Duration::from_secs(1);

/// The last seen state of a store.
#[derive(Default)]
pub(super) struct ChangeDetector {
    /// None if it may have been written since.
    fingerprint: Option<FileFingerprint>,
    /// When a write was first detected that has not been read yet.
    news_since: Option<Instant>,
    index: Identity,
}

impl ChangeDetector {
    /// Closing a file writes it. If no caller waits for changes, one check is enough, once the file is quiet.
    fn can_wait(&mut self, stamp: Option<&FileFingerprint>, store: &OpenStore) -> bool {
        let since = *self.news_since.get_or_insert_with(Instant::now);
        !store.is_in_use() && since.elapsed() < NEWS_DELAY_MAX && stamp.is_some_and(|stamp| !stamp.is_settled())
    }
}

/// One look at a store; says when it wants another.
pub(super) fn run(store: &Arc<OpenStore>) -> Reschedule {
    let mut seen = store.last_change.lock();
    // Nothing is created again for a destroyed store.
    if store.options.has_index() && store.options.path.exists() {
        // Another process may have thrown it away, or have died before it was filled again.
        let index = identity(&store.options);
        if index != seen.index {
            seen.index = index;
            store.runtime.indexer.wake_after(store.number, DEBOUNCE);
        }
    }
    let stamp = FileFingerprint::of(&store.options);
    // An unchanged fingerprint shows without a connection that the file was not written.
    if (stamp.is_none() || stamp != seen.fingerprint) && !seen.can_wait(stamp.as_ref(), store) {
        seen.fingerprint = None;
        seen.news_since = None;
        // A failure is retried at the next poll; the writer reports errors that matter.
        let looked =
            store.check_for_changes(|file| last_position(file).map_err(|error| failed("looking at the file", error)));
        if let Some(Ok(position)) = looked {
            store.publish(position);
            seen.fingerprint = stamp.filter(FileFingerprint::is_settled);
        }
    }
    Reschedule::After(if store.is_in_use() { POLL_INTERVAL } else { POLL_INTERVAL_IDLE })
}
