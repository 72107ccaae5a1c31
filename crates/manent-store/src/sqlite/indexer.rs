//! Indexer: fills the indexes from the journals, one batch per turn, at the lowest priority.

use super::index::{Index, Making, throw_away};
use super::member::Member;
use super::reads::Visit;
use super::room::Slot;
use crate::engine::cache::Caches;
use crate::engine::connection::{begin_reading, end_reading};
use crate::engine::fault::{Fault, Outcome};
use crate::engine::read::Reading;
use crate::engine::search::feed::{self, Cursor, Feed};
use crate::engine::search::indexing::Round;
use crate::engine::search::{Doc, DocKey, DocKind, Entry, docs};
use crate::engine::turns::Again;
use crate::error::StoreError;
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

/// A round with less than this was soon over: it pays to let more come together.
const SMALL: usize = 1_000;

/// Indexer state of a store between turns.
#[derive(Default)]
pub(super) struct Held {
    work: Option<Work>,
    /// Since when it is unused.
    idle_since: Option<Instant>,
}

impl Held {
    /// Since when the index is idle, if it is open.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.idle_since.filter(|_| self.work.is_some())
    }

    /// Gives the index away to be closed.
    pub(super) fn let_go(&mut self) -> Option<Work> {
        self.work.take()
    }
}

/// One round for a store; says when it wants another.
pub(super) fn turn(member: &Arc<Member>) -> Again {
    let mut held = member.index();
    let again = member.indexing.turn(|anew| {
        let options = &member.options;
        let mut work = held.work.take().filter(|work| work.index.is_current(options));
        // Like any reader it can be kept away.
        let visited = member.visit(Visit::Stays, |file| {
            let mut now = match work.take() {
                Some(work) => work,
                // A destroyed file may still be open here; its content must not be indexed again.
                None if !options.path.exists() => return Err(StoreError::Closed),
                None => {
                    let slot = member.slot();
                    let index = Index::open(options)?;
                    // A deletion removes the store first and then the files beside it; the index may have been created
                    // after that.
                    if !options.path.exists() {
                        drop(index);
                        throw_away(options);
                        return Err(StoreError::Closed);
                    }
                    Work { index, caches: Caches::default(), key: member.key.clone(), _slot: slot }
                }
            };
            match now.round(file.connection()?, anew, member) {
                Ok(round) => {
                    work = Some(now);
                    Ok(round)
                }
                // Reopening a damaged file does not help; the index is rebuilt instead.
                Err(Fault::Engine(error)) if error.is_damage() => {
                    drop(now);
                    throw_away(options);
                    Err(error.said("indexing"))
                }
                Err(fault) => Err(fault.said("indexing")),
            }
        });
        held.work = work;
        visited.transpose()
    });
    held.idle_since = Some(Instant::now());
    drop(held);
    member.go_on();
    again
}

/// Lowers the priority of the thread, where the platform supports it.
pub(super) fn stand_back() {
    #[cfg(target_os = "linux")]
    {
        // Without it the index is filled all the same.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}

/// An index that is being filled.
pub(super) struct Work {
    index: Index,
    caches: Caches,
    key: DigestKey,
    _slot: Slot,
}

impl Work {
    fn round(&mut self, file: &Connection, anew: bool, member: &Member) -> Outcome<Round> {
        let outcome = self.work(file, anew, member);
        end_reading(file.into());
        if outcome.is_err() {
            self.index.roll_back();
        }
        outcome
    }

    fn work(&mut self, file: &Connection, anew: bool, member: &Member) -> Outcome<Round> {
        let index = &self.index;
        let mut reading =
            Reading { connection: file.into(), caches: &mut self.caches, key: &self.key, index: None, damaged: None };
        begin_reading(file.into())?;
        let looked = Seen::look(&reading, index, anew)?;
        end_reading(file.into());
        let is_idle = looked.is_idle();
        if let (Some(cursor), true) = (looked.cursor, is_idle && !index.is_scattered()?) {
            index.tidy(true);
            return Ok(Round::Idle(cursor.position));
        }
        // Lock first, then read: a deletion removes its rows from the index first, and a document that was read before
        // that would be added again.
        index.begin()?;
        begin_reading(file.into())?;
        let Seen { cursor, mut feed, unsure, stays_empty, .. } = Seen::look(&reading, index, anew)?;
        if stays_empty {
            index.roll_back();
            return Ok(Round::More { position: 0, waiting: 0, rest: true });
        }
        if cursor.is_none() {
            index.empty()?;
        }
        make_sure(&mut reading, index, unsure)?;
        let (mut came, mut listed) = (0, 0);
        match &mut feed {
            Some(feed) => {
                (came, listed) = (feed.len(), take_in(&mut reading, index, feed)?);
                index.count(&mut reading, std::mem::take(&mut feed.counts))?;
            }
            None if is_idle => index.gather()?,
            None => {}
        }
        if listed <= IMPORTED || index.is_making()? || index.has_gathered(LISTED_MAX)? {
            let many = if feed.is_none() { BATCH_ALONE } else { BATCH };
            catch_up(&mut reading, index, many)?;
        }
        let (position, waiting) = (index.cursor()?.unwrap_or_default().position, index.waiting()?);
        let in_haste = came >= SMALL || index.has_work()?;
        index.commit()?;
        index.tidy(false);
        // Where a little comes all the time, it is taken in together.
        let rest = !in_haste && member.position.last() > position;
        Ok(Round::More { position, waiting, rest })
    }
}

/// The pending work.
struct Seen {
    /// The cursor of the index; none if it has to be rebuilt.
    cursor: Option<Cursor>,
    feed: Option<Feed>,
    has_work: bool,
    unsure: Vec<DocKey>,
    /// It was emptied for a deletion that is not committed yet.
    stays_empty: bool,
}

impl Seen {
    fn look(reading: &Reading<'_>, index: &Index, anew: bool) -> Outcome<Self> {
        let cursor = match index.cursor()? {
            Some(cursor) if !anew && feed::is_ours(reading, cursor)? => Some(cursor),
            _ => None,
        };
        let feed = feed::after(reading, cursor.unwrap_or_default())?;
        let last = feed::last_position(reading)?;
        let (unsure, stays_empty) = (index.unsure(last)?, index.must_stay_empty(last)?);
        Ok(Self { cursor, feed, has_work: index.has_work()?, unsure, stays_empty })
    }

    fn is_idle(&self) -> bool {
        self.feed.is_none() && !self.has_work && self.unsure.is_empty()
    }
}

/// Indexes the changes of a batch: documents in order are appended to a segment at once, the rest are added to the
/// pending list. Returns how many are pending.
fn take_in(reading: &mut Reading<'_>, index: &Index, feed: &Feed) -> Outcome<usize> {
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
    index.put_off(&listed)?;
    index.set_cursor(feed.cursor)?;
    Ok(listed.len())
}

/// The sort key of a conversation or a fold; a deleted one sorts first, so that it leaves the list at once.
fn entry_of(reading: &mut Reading<'_>, key: DocKey) -> Outcome<Entry> {
    let doc = match key.kind() {
        DocKind::Conversation => docs::of_conversation(reading, key.no())?,
        _ => docs::fold(reading, key.no())?.map(|row| docs::of_fold(key.no(), &row)),
    };
    Ok(doc.map_or(Entry { at: i64::MIN, arrival: 0, key }, |doc| doc.entry))
}

/// Indexes the oldest pending documents.
fn catch_up(reading: &mut Reading<'_>, index: &Index, many: i64) -> Outcome<()> {
    let Making::Next { entries, again } = index.making(many)? else { return Ok(()) };
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
    Ok(index.make(&entries, all)?)
}

/// Returns the rows that are to be added for something; none if it is gone, or is there as it is.
fn docs_of(reading: &mut Reading<'_>, index: &Index, key: DocKey) -> Outcome<Vec<Doc>> {
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
fn make_sure(reading: &mut Reading<'_>, index: &Index, unsure: Vec<DocKey>) -> Outcome<()> {
    for key in unsure {
        index.be_sure(key)?;
        index.add(docs_of(reading, index, key)?)?;
    }
    Ok(())
}
