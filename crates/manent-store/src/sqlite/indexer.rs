//! The indexer: a thread that fills the index from the journal, in batches, behind everybody else.

use super::connection::{SqliteOptions, open_reader};
use super::index::{Index, throw_away};
use super::shared::Shared;
use crate::engine::cache::Caches;
use crate::engine::connection::{begin_reading, end_reading};
use crate::engine::fault::{Fault, Outcome};
use crate::engine::read::Reading;
use crate::engine::search::feed::{self, Cursor, Feed};
use crate::engine::search::indexing::Round;
use crate::engine::search::{Doc, DocKey, DocKind, Entry, docs};
use crate::error::Result;
use manent_model::{Address, DigestKey, Range};
use rusqlite::Connection;

/// So many messages are indexed in one commit.
const BATCH: i64 = 1_000;

/// The life of the thread.
pub(super) fn serve(shared: &Shared, options: &SqliteOptions) {
    let mut work: Option<Work> = None;
    shared.indexing.serve(|anew| {
        // Like any reader it can be kept away, so its connection to the file does not outlive the visit.
        let visited = shared.readers.visit(|| -> Result<Round> {
            let file = open_reader(options)?;
            let mut now = match work.take().filter(|work| work.index.is_current(options)) {
                Some(work) => work,
                None => Work { index: Index::open(options)?, caches: Caches::default(), key: shared.key.clone() },
            };
            match now.round(&file, anew) {
                Ok(round) => {
                    work = Some(now);
                    Ok(round)
                }
                // Opening a damaged file again helps nobody; the index is made anew instead.
                Err(Fault::Engine(error)) if error.is_damage() => {
                    drop(now);
                    throw_away(options);
                    Err(error.said("indexing"))
                }
                Err(fault) => Err(fault.said("indexing")),
            }
        });
        visited.transpose()
    });
}

/// What the thread works with.
struct Work {
    index: Index,
    caches: Caches,
    key: DigestKey,
}

impl Work {
    fn round(&mut self, file: &Connection, anew: bool) -> Outcome<Round> {
        let outcome = self.work(file, anew);
        end_reading(file.into());
        if outcome.is_err() {
            self.index.roll_back();
        }
        outcome
    }

    fn work(&mut self, file: &Connection, anew: bool) -> Outcome<Round> {
        let index = &self.index;
        let mut reading = Reading { connection: file.into(), caches: &mut self.caches, key: &self.key, index: None };
        begin_reading(file.into())?;
        let looked = Seen::look(&reading, index, anew)?;
        end_reading(file.into());
        let is_idle = looked.is_idle();
        if let (Some(cursor), true) = (looked.cursor, is_idle && !index.is_scattered()?) {
            return Ok(Round::Idle(cursor.position));
        }
        // The lock first and the look after it: whoever destroys something takes it out of the index before, and what was
        // seen earlier than that would bring it back.
        index.begin()?;
        begin_reading(file.into())?;
        let Seen { cursor, feed, waiting, unsure } = Seen::look(&reading, index, anew)?;
        if cursor.is_none() {
            index.empty()?;
        }
        if is_idle {
            gather_again(&mut reading, index)?;
        }
        make_sure(&mut reading, index, unsure)?;
        if let Some(feed) = feed {
            take_in(&mut reading, index, &feed, waiting)?;
        }
        if index.waiting()? > 0 {
            catch_up(&mut reading, index)?;
        }
        let (position, waiting) = (index.cursor()?.unwrap_or_default().position, index.waiting()?);
        index.commit()?;
        index.tidy();
        Ok(Round::More { position, waiting })
    }
}

/// What there is to do.
struct Seen {
    /// Where the index stands; none if it has to be made anew.
    cursor: Option<Cursor>,
    feed: Option<Feed>,
    waiting: i64,
    unsure: Vec<DocKey>,
}

impl Seen {
    fn look(reading: &Reading<'_>, index: &Index, anew: bool) -> Outcome<Self> {
        let cursor = match index.cursor()? {
            Some(cursor) if !anew && feed::is_ours(reading, cursor)? => Some(cursor),
            _ => None,
        };
        let feed = feed::after(reading, cursor.unwrap_or_default())?;
        let unsure = index.unsure(feed::last_position(reading)?)?;
        Ok(Self { cursor, feed, waiting: index.waiting()?, unsure })
    }

    fn is_idle(&self) -> bool {
        self.feed.is_none() && self.waiting == 0 && self.unsure.is_empty()
    }
}

/// Takes in what came: a little at once, much by way of a list that is sorted by time.
fn take_in(reading: &mut Reading<'_>, index: &Index, feed: &Feed, waiting: i64) -> Outcome<()> {
    let mut others: Vec<DocKey> = feed.conversations.iter().map(|no| DocKey::new(DocKind::Conversation, *no)).collect();
    for conversation in &feed.folded {
        let folds = feed::folds_of(reading, *conversation)?;
        others.extend(folds.into_iter().map(|no| DocKey::new(DocKind::Fold, no)));
    }
    // A full feed has more behind it: an import, or an index that is made anew. Sorted first, it becomes one run.
    if waiting == 0 && (feed.len() as i64) < feed::MESSAGES_MAX {
        let mut all = feed::message_docs(reading, &feed.messages)?;
        for key in others {
            all.extend(docs_of(reading, index, key)?);
        }
        index.add(all)?;
    } else {
        let mut entries = feed::entries(reading, &feed.messages)?;
        for key in others {
            entries.push(entry_of(reading, key)?);
        }
        index.put_off(&entries)?;
    }
    Ok(index.set_cursor(feed.cursor)?)
}

/// What a conversation or a fold is sorted by; one that is gone leaves the list at its start.
fn entry_of(reading: &mut Reading<'_>, key: DocKey) -> Outcome<Entry> {
    let doc = match key.kind() {
        DocKind::Conversation => docs::of_conversation(reading, key.no())?,
        _ => docs::fold(reading, key.no())?.map(|row| docs::of_fold(key.no(), &row)),
    };
    Ok(doc.map_or(Entry { at: i64::MIN, arrival: 0, key }, |doc| doc.entry))
}

/// Indexes the oldest of what waits.
fn catch_up(reading: &mut Reading<'_>, index: &Index) -> Outcome<()> {
    let entries = index.oldest_waiting(BATCH)?;
    let mut all = Vec::new();
    for entry in &entries {
        all.extend(docs_of(reading, index, entry.key)?);
    }
    index.add(all)?;
    Ok(index.wait_no_longer(&entries)?)
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

/// Looks again at what was taken out for a deletion: where that did not come to pass, it comes back.
fn make_sure(reading: &mut Reading<'_>, index: &Index, unsure: Vec<DocKey>) -> Outcome<()> {
    for key in unsure {
        index.be_sure(key)?;
        index.add(docs_of(reading, index, key)?)?;
    }
    Ok(())
}

/// Takes out the rows of runs that are too many, and lets them come again in the order of their times.
fn gather_again(reading: &mut Reading<'_>, index: &Index) -> Outcome<()> {
    let mut again = Vec::new();
    for entry in index.scattered()? {
        if entry.key.kind() == DocKind::Conversation {
            // Nothing in its place takes it out, and it comes again as it is.
            index.replace(entry.key, None)?;
            again.push(entry);
            continue;
        }
        let found = docs_of(reading, index, entry.key)?.into_iter().find(|doc| doc.entry.key == entry.key);
        if let Some(doc) = found {
            index.remove(entry.key, &doc.tokens)?;
            again.push(entry);
        }
    }
    index.put_off(&again)?;
    Ok(index.forget_empty_runs()?)
}
