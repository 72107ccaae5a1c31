//! Indexer: fills the indexes from the journals, one batch per turn, at the lowest priority.

use super::connection_budget::ConnectionPermit;
use super::index::{CompactionStep, Index, discard};
use super::open_store::OpenStore;
use super::reader_pool::OnReturn;
use crate::api::error::StoreError;
use crate::engine::commit::row_cache::RowCache;
use crate::engine::read::Reading;
use crate::engine::search::feed::{self, Feed, FeedCursor};
use crate::engine::search::indexing::IndexRound;
use crate::engine::search::{Doc, DocKey, DocKind, Entry, docs};
use crate::engine::sql::connection::{begin_reading, end_reading};
use crate::engine::sql::tx_error::{TxError, TxResult};
use crate::runtime::scheduler::Reschedule;
use manent_model::{Address, DigestKey, Range};
use rusqlite::Connection;
use std::sync::Arc;
use std::time::Instant;

/// Number of pending messages that are indexed in one commit: while new documents arrive, and while none do.
const BATCH: i64 = 500;
const BATCH_ALONE: i64 = 4_000;

/// More than this is listed at once when an import runs: it is sorted when that pauses.
const IMPORTED: usize = 100;

/// Number of pending documents from which a segment is built, even during an import.
const LISTED_MAX: i64 = 200_000;

/// Below this number of documents a round is cheap, so the next one waits for more changes.
const SMALL: usize = 1_000;

/// Indexer state of a store between turns.
#[derive(Default)]
pub(super) struct IndexerState {
    work: Option<IndexerConnection>,
    /// Since when it is unused.
    idle_since: Option<Instant>,
}

impl IndexerState {
    /// Since when the index is idle, if it is open.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.idle_since.filter(|_| self.work.is_some())
    }

    /// Gives the index away to be closed.
    pub(super) fn release(&mut self) -> Option<IndexerConnection> {
        self.work.take()
    }
}

/// One round for a store; says when it wants another.
pub(super) fn turn(store: &Arc<OpenStore>) -> Reschedule {
    let mut held = store.index();
    let again = store.indexing.next_round(|rebuild| {
        let options = &store.options;
        let mut work = held.work.take().filter(|work| work.index.is_current(options));
        // Like any reader it is refused while reads are paused.
        let visited = store.with_reader(OnReturn::Keep, |file| {
            let mut now = match work.take() {
                Some(work) => work,
                // A destroyed file may still be open here; its content must not be indexed again.
                None if !options.path.exists() => return Err(StoreError::Closed),
                None => {
                    let slot = store.connection_permit();
                    let index = Index::open(options)?;
                    // A deletion removes the store first and then the files beside it; the index may have been created
                    // after that.
                    if !options.path.exists() {
                        drop(index);
                        discard(options);
                        return Err(StoreError::Closed);
                    }
                    IndexerConnection { index, caches: RowCache::default(), key: store.key.clone(), _slot: slot }
                }
            };
            match now.round(file.connection()?, rebuild, store) {
                Ok(round) => {
                    work = Some(now);
                    Ok(round)
                }
                // Reopening a damaged file does not help; the index is rebuilt instead.
                Err(TxError::Database(error)) if error.is_damage() => {
                    drop(now);
                    discard(options);
                    Err(error.into_store_error("indexing"))
                }
                Err(fault) => Err(fault.into_store_error("indexing")),
            }
        });
        held.work = work;
        visited.transpose()
    });
    held.idle_since = Some(Instant::now());
    drop(held);
    store.resume_writer();
    again
}

/// Lowers the priority of the thread, where the platform supports it.
pub(super) fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // A failure is harmless: the index is filled at normal priority.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}

/// An index that is being filled.
pub(super) struct IndexerConnection {
    index: Index,
    caches: RowCache,
    key: DigestKey,
    _slot: ConnectionPermit,
}

impl IndexerConnection {
    fn round(&mut self, file: &Connection, rebuild: bool, store: &OpenStore) -> TxResult<IndexRound> {
        let outcome = self.work(file, rebuild, store);
        end_reading(file.into());
        if outcome.is_err() {
            self.index.roll_back();
        }
        outcome
    }

    fn work(&mut self, file: &Connection, rebuild: bool, store: &OpenStore) -> TxResult<IndexRound> {
        let index = &self.index;
        let mut reading =
            Reading { connection: file.into(), caches: &mut self.caches, key: &self.key, index: None, damaged: None };
        begin_reading(file.into())?;
        let looked = IndexerView::view(&reading, index, rebuild)?;
        end_reading(file.into());
        let is_idle = looked.is_idle();
        if let (Some(cursor), true) = (looked.cursor, is_idle && !index.is_fragmented()?) {
            index.tidy(true);
            return Ok(IndexRound::Idle(cursor.position));
        }
        // Lock first, then read: a deletion removes its rows from the index first, and a document that was read before
        // that would be added again.
        index.begin()?;
        begin_reading(file.into())?;
        let IndexerView { cursor, mut feed, pending_deletes, stays_empty, .. } =
            IndexerView::view(&reading, index, rebuild)?;
        if stays_empty {
            index.roll_back();
            return Ok(IndexRound::More { position: 0, waiting: 0, rest: true });
        }
        if cursor.is_none() {
            index.empty()?;
        }
        confirm_deletes(&mut reading, index, pending_deletes)?;
        let (mut came, mut listed) = (0, 0);
        match &mut feed {
            Some(feed) => {
                (came, listed) = (feed.len(), index_next(&mut reading, index, feed)?);
                index.count(&mut reading, std::mem::take(&mut feed.counts))?;
            }
            None if is_idle => index.gather()?,
            None => {}
        }
        if listed <= IMPORTED || index.is_compacting()? || index.has_pending(LISTED_MAX)? {
            let many = if feed.is_none() { BATCH_ALONE } else { BATCH };
            catch_up(&mut reading, index, many)?;
        }
        let (position, waiting) = (index.cursor()?.unwrap_or_default().position, index.pending_count()?);
        let in_haste = came >= SMALL || index.has_work()?;
        index.commit()?;
        index.tidy(false);
        // A steady trickle of changes is indexed in larger rounds.
        let rest = !in_haste && store.position.last() > position;
        Ok(IndexRound::More { position, waiting, rest })
    }
}

/// The pending work.
struct IndexerView {
    /// The cursor of the index; none if it has to be rebuilt.
    cursor: Option<FeedCursor>,
    feed: Option<Feed>,
    has_work: bool,
    pending_deletes: Vec<DocKey>,
    /// It was emptied for a deletion that is not committed yet.
    stays_empty: bool,
}

impl IndexerView {
    fn view(reading: &Reading<'_>, index: &Index, rebuild: bool) -> TxResult<Self> {
        let cursor = match index.cursor()? {
            Some(cursor) if !rebuild && feed::is_same_journal(reading, cursor)? => Some(cursor),
            _ => None,
        };
        let feed = feed::after(reading, cursor.unwrap_or_default())?;
        let last = feed::last_position(reading)?;
        let (pending_deletes, stays_empty) = (index.pending_deletes(last)?, index.delete_pending(last)?);
        Ok(Self { cursor, feed, has_work: index.has_work()?, pending_deletes, stays_empty })
    }

    fn is_idle(&self) -> bool {
        self.feed.is_none() && !self.has_work && self.pending_deletes.is_empty()
    }
}

/// Indexes the changes of a batch: documents in order are appended to a segment at once, the rest are added to the
/// pending list. Returns how many are pending.
fn index_next(reading: &mut Reading<'_>, index: &Index, feed: &Feed) -> TxResult<usize> {
    let mut entries = feed::entries(reading, &feed.messages)?;
    for no in &feed.conversations {
        entries.push(entry_of(reading, DocKey::new(DocKind::Conversation, *no))?);
    }
    for conversation in &feed.folded {
        for no in feed::folds_of(reading, *conversation)? {
            let key = DocKey::new(DocKind::Fold, no);
            if !index.has(key)? {
                entries.push(entry_of(reading, key)?);
            }
        }
    }
    let fit = index.fit(&entries)?;
    let (mut runs, mut all, mut listed): (Vec<Range>, Vec<Doc>, Vec<Entry>) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, fits) in entries.into_iter().zip(fit) {
        match (fits, entry.key.kind()) {
            (false, _) => listed.push(entry),
            (true, DocKind::Message) => match runs.last_mut() {
                Some(run) if run.to.0 + 1 == entry.key.no() => run.to = Address(entry.key.no()),
                _ => runs.push(Range::one(Address(entry.key.no()))),
            },
            (true, _) => all.extend(docs_of(reading, index, entry.key)?),
        }
    }
    all.extend(feed::message_docs(reading, &runs)?);
    index.add(all)?;
    index.enqueue(&listed)?;
    index.set_cursor(feed.cursor)?;
    Ok(listed.len())
}

/// The sort key of a conversation or a fold; a deleted one sorts first, so that it leaves the list at once.
fn entry_of(reading: &mut Reading<'_>, key: DocKey) -> TxResult<Entry> {
    let doc = match key.kind() {
        DocKind::Conversation => docs::of_conversation(reading, key.no())?,
        _ => docs::fold(reading, key.no())?.map(|row| docs::of_fold(key.no(), &row)),
    };
    Ok(doc.map_or(Entry { at: i64::MIN, arrival: 0, key }, |doc| doc.entry))
}

/// Indexes the oldest pending documents.
fn catch_up(reading: &mut Reading<'_>, index: &Index, many: i64) -> TxResult<()> {
    let CompactionStep::Next { entries, again } = index.compaction_step(many)? else { return Ok(()) };
    let mut all = Vec::new();
    for entry in &entries {
        match (again, entry.key.kind()) {
            (false, _) => all.extend(docs_of(reading, index, entry.key)?),
            // A changed object is added with the tokens that were indexed last; if it changed since, the change feed
            // brings it again.
            (true, DocKind::Conversation) => {
                all.extend(index.kept(entry.key)?.map(|tokens| Doc { entry: *entry, tokens }));
            }
            (true, _) => {
                all.extend(docs_of(reading, index, entry.key)?.into_iter().filter(|doc| doc.entry == *entry));
            }
        }
    }
    Ok(index.compact(&entries, all)?)
}

/// Returns the rows that are to be added for something; none if it is gone, or is there as it is.
fn docs_of(reading: &mut Reading<'_>, index: &Index, key: DocKey) -> TxResult<Vec<Doc>> {
    Ok(match key.kind() {
        DocKind::Message | DocKind::Reasoning => feed::message_docs(reading, &[Range::one(Address(key.no()))])?,
        DocKind::Conversation => {
            let doc = docs::of_conversation(reading, key.no())?;
            index.replace(key, doc)?.into_iter().collect()
        }
        DocKind::Fold => {
            let row = docs::fold(reading, key.no())?;
            row.map(|row| docs::of_fold(key.no(), &row)).into_iter().collect()
        }
    })
}

/// Rechecks the entries that were removed for a deletion: where it did not commit, they are indexed again.
fn confirm_deletes(reading: &mut Reading<'_>, index: &Index, pending_deletes: Vec<DocKey>) -> TxResult<()> {
    for key in pending_deletes {
        index.confirm_deletes(key)?;
        index.add(docs_of(reading, index, key)?)?;
    }
    Ok(())
}
