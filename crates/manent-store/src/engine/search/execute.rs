//! Search execution: evaluates candidates from the index and from the unindexed tail until a page is full.

use super::super::read::Reading;
use super::super::read::path::head_of;
use super::docs::owner_token;
use super::evaluate::{Candidate, MatchSource, evaluate};
use super::scan::IndexScan;
use super::unindexed::{UnindexedTail, read};
use super::visibility::ConversationResolver;
use super::{DocKey, Entry};
use crate::api::error::StoreError;
use crate::api::query::BoundedCount;
use crate::api::search::{
    CountMode, Grouping, HITS_MAX, Hit, RANKED_MAX, Search, SearchCursor, SearchOrder, SearchPage,
};
use crate::engine::access::access_filter::{AccessFilter, of_projects};
use crate::engine::sql::connection::{DbResult, Row, query_all};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{AccessScope, Address, BranchNo, ConversationId, Head, Timestamp, path};
use manent_text::IndexQuery;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::time::Instant;

/// How many hits are counted when all of them are asked for, and of each conversation.
const COUNTED_MAX: u32 = 1_000;
const COUNTED_IN_ONE: u32 = 20;

/// One search under way.
struct SearchExecution<'a, 'r> {
    reading: &'a mut Reading<'r>,
    search: &'a Search,
    owners: ConversationResolver,
    /// The only conversation that is searched.
    scope_tokens: Option<i64>,
    scan: IndexScan,
    /// The next candidate of the index, and how far its words can be trusted.
    next: Option<(Entry, MatchSource)>,
    /// The last entry that was evaluated.
    examined: Option<Entry>,
    unindexed: Rc<UnindexedTail>,
    /// How many entries of the tail are left.
    unindexed_left: usize,
    /// How far the index can be trusted on words.
    trust: MatchSource,
    deadline: Instant,
    timed_out: bool,
}

pub(crate) fn run(reading: &mut Reading<'_>, access: &AccessScope, search: &Search) -> TxResult<SearchPage> {
    let started = Instant::now();
    let within = Rc::new(AccessFilter::of(reading.connection, access)?);
    // Half of the time is reserved for the indexed part.
    let tail = Rc::new(read(reading, started + search.timeout / 2)?);
    let reach = tail.coverage;
    let as_begun;
    let (search, before) = match (search.order, search.after) {
        (SearchOrder::Newest, Some(cursor)) => (search, Some(entry_of(cursor))),
        // Ranked pages evaluate the same candidates again, with the same reference time; later changes are left out.
        (SearchOrder::Relevance, Some(cursor)) => {
            as_begun = Search { now: cursor.now, ..search.clone() };
            (&as_begun, Some(Entry { at: cursor.newest.0, arrival: i64::MAX, key: DocKey(i64::MAX) }))
        }
        (_, None) => (search, None),
    };
    let mut looker = SearchExecution::begin(reading, search, &within, tail.clone(), before, started + search.timeout)?;
    let (hits, mut total, next) = match search.order {
        SearchOrder::Newest => looker.newest()?,
        SearchOrder::Relevance => looker.best()?,
    };
    let cut_short = looker.timed_out || tail.timed_out;
    // A page by time knows only itself.
    let is_counted = !total.more && (search.order == SearchOrder::Relevance || search.after.is_none());
    if search.count == CountMode::Exact && !is_counted {
        let counting = Search { order: SearchOrder::Newest, neighbours: 0, after: None, ..search.clone() };
        let until = Instant::now() + search.timeout;
        total = SearchExecution::begin(reading, &counting, &within, tail, None, until)?.count(COUNTED_MAX)?;
    }
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(SearchPage { hits, total, next, coverage: reach, timed_out: cut_short, micros })
}

/// Applies the time range of the query as an upper bound of the scan.
fn bounded(search: &Search, before: Option<Entry>) -> Option<Entry> {
    let (_, until) = search.query.time_range();
    let bound = until.map(|until| Entry { at: until.0, arrival: i64::MIN, key: DocKey(i64::MIN) });
    match (before, bound) {
        (Some(before), Some(bound)) => Some(before.min(bound)),
        (before, bound) => before.or(bound),
    }
}

/// Restricts a query to one conversation, or to the few that the caller can see; `None` if nothing in the index can
/// match.
fn restricted(
    reading: &mut Reading<'_>,
    search: &Search,
    within: &AccessFilter,
) -> TxResult<(Option<i64>, Option<IndexQuery>)> {
    let candidates = search.query.candidates();
    let (within, conversations) = match search.conversations {
        Some(id) => {
            let (no, head) = head_of(reading.connection, id)?;
            if !within.has(reading.connection, no)? {
                return Err(StoreError::not_found("conversation", id).into());
            }
            (Some(no), Some(vec![(no, head)]))
        }
        None => (None, few_within(reading, within)?),
    };
    let Some(conversations) = conversations else { return Ok((None, Some(candidates))) };
    let owners = owners_of(reading, &conversations)?;
    let owners: Vec<IndexQuery> = owners.into_iter().map(|no| IndexQuery::Token(owner_token(no))).collect();
    let is_any = !owners.is_empty();
    Ok((within, is_any.then(|| IndexQuery::All(vec![candidates, IndexQuery::Any(owners)]))))
}

/// Returns all whose messages the paths of some conversations go through, and these themselves.
fn owners_of(reading: &mut Reading<'_>, conversations: &[(i64, Head)]) -> TxResult<BTreeSet<i64>> {
    let mut branches: BTreeSet<BranchNo> = BTreeSet::new();
    for (_, head) in conversations {
        for run in path::ranges(&mut reading.caches.branches(reading.connection), *head)? {
            branches.insert(run.from.branch());
        }
    }
    let mut owners: BTreeSet<i64> = conversations.iter().map(|(no, _)| *no).collect();
    for branch in branches {
        owners.extend(super::docs::owner_of(reading, branch.slot(0))?);
    }
    Ok(owners)
}

/// Maximum number of conversations in an index query; with more visible conversations, candidates are checked one by
/// one.
const NAMED_MAX: usize = 64;

/// Returns the conversations that the caller can see, if they are few or there are none: the index is then queried for
/// them alone, and does not return the texts of others.
fn few_within(reading: &Reading<'_>, within: &AccessFilter) -> TxResult<Option<Vec<(i64, Head)>>> {
    let of_user = concat!(
        "select c.no, c.head_branch_no, c.head_key
         from participant d
         cross join conversation c
         where d.person = $1 and c.no = d.conversation_no and c.withdrawn = 0 and c.status <> 4 and ",
        of_projects!("$2"),
        " limit $3"
    );
    let of_project = "select no, head_branch_no, head_key
         from conversation
         where project_no = $1 and withdrawn = 0 and status <> 4
         limit $2";
    let read = |row: &Row<'_>| -> DbResult<(i64, Head)> {
        Ok((row.get(0)?, Head { branch: BranchNo(row.get(1)?), at: Address(row.get(2)?) }))
    };
    let limit = NAMED_MAX as i64 + 1;
    let mut found = Vec::new();
    match (&within.user, within.project_numbers()) {
        (Some(user), _) => found = query_all(reading.connection, of_user, (user, &within.projects, limit), read)?,
        (None, Some(projects)) => {
            for no in projects {
                found.extend(query_all(reading.connection, of_project, (no, limit), read)?);
                if found.len() > NAMED_MAX {
                    break;
                }
            }
        }
        (None, None) => return Ok(None),
    }
    Ok((found.len() <= NAMED_MAX).then_some(found))
}

/// Number of rows to scan if all of them match: a page and one that says whether there is another.
fn wanted(search: &Search) -> i64 {
    match (search.order, search.grouping) {
        (SearchOrder::Newest, Grouping::Flat) => i64::from(search.limit.clamp(1, HITS_MAX)) + 1,
        (SearchOrder::Newest, Grouping::Conversations) => 64,
        (SearchOrder::Relevance, _) => RANKED_MAX as i64 + 1,
    }
}

fn entry_of(cursor: SearchCursor) -> Entry {
    Entry { at: cursor.at.0, arrival: cursor.arrival, key: DocKey(cursor.key) }
}

impl<'a, 'r> SearchExecution<'a, 'r> {
    fn begin(
        reading: &'a mut Reading<'r>,
        search: &'a Search,
        within: &Rc<AccessFilter>,
        unindexed: Rc<UnindexedTail>,
        before: Option<Entry>,
        deadline: Instant,
    ) -> TxResult<Self> {
        let (only, candidates) = restricted(reading, search, within)?;
        let before = bounded(search, before);
        let walk = match candidates {
            Some(candidates) if unindexed.is_same_journal => {
                IndexScan::new(reading, &candidates, before, wanted(search))?
            }
            _ => IndexScan::Nothing,
        };
        let tail_left = match before {
            Some(before) => unindexed.entries.partition_point(|entry| *entry < before),
            None => unindexed.entries.len(),
        };
        let trust = if search.query.index_is_exact() { MatchSource::Index } else { MatchSource::Unverified };
        let mut looker = Self {
            reading,
            search,
            owners: ConversationResolver::of(within.clone()),
            scope_tokens: only,
            scan: walk,
            next: None,
            examined: None,
            unindexed,
            unindexed_left: tail_left,
            trust,
            deadline,
            timed_out: false,
        };
        looker.advance()?;
        Ok(looker)
    }

    /// Takes the next row out of the index.
    fn advance(&mut self) -> TxResult<()> {
        self.next = loop {
            match self.scan.next(self.reading)? {
                // An entry that is in the tail as well has changed since, and is evaluated there.
                Some((entry, _)) if self.unindexed.keys.contains(&entry.key) => {}
                Some((entry, true)) => break Some((entry, self.trust)),
                Some((entry, false)) => break Some((entry, MatchSource::Unverified)),
                None => break None,
            }
        };
        Ok(())
    }

    /// Returns the newest candidate that was not evaluated yet.
    fn candidate(&mut self) -> TxResult<Option<(Entry, MatchSource)>> {
        let waiting = self.unindexed.entries[..self.unindexed_left].last().copied();
        match (waiting, self.next) {
            (Some(waiting), next) if next.is_none_or(|(next, _)| waiting >= next) => {
                self.unindexed_left -= 1;
                Ok(Some((waiting, MatchSource::Unverified)))
            }
            (_, Some(next)) => {
                self.advance()?;
                Ok(Some(next))
            }
            (_, None) => Ok(None),
        }
    }

    /// Returns the next match; none at the end, or where time ran out.
    fn matching(&mut self) -> TxResult<Option<Candidate>> {
        let (since, _) = self.search.query.time_range();
        loop {
            if Instant::now() > self.deadline {
                self.timed_out = true;
                return Ok(None);
            }
            let Some(candidate) = self.candidate()? else { return Ok(None) };
            self.examined = Some(candidate.0);
            if since.is_some_and(|since| candidate.0.at < since.0) {
                return Ok(None);
            }
            let judged = evaluate(self.reading, &mut self.owners, self.search, self.scope_tokens, candidate)?;
            if judged.is_some() {
                return Ok(judged);
            }
        }
    }

    fn newest(&mut self) -> TxResult<(Vec<Hit>, BoundedCount, Option<SearchCursor>)> {
        let limit = self.search.limit.clamp(1, HITS_MAX) as usize;
        let mut shown: Vec<Candidate> = Vec::with_capacity(limit);
        let mut known: HashSet<i64> = HashSet::new();
        let mut more = false;
        while let Some(judged) = self.matching()? {
            if self.search.grouping == Grouping::Conversations {
                let no = judged.owner.no;
                if known.contains(&no) || self.is_on_earlier_page(no)? {
                    known.insert(no);
                    continue;
                }
                known.insert(no);
            }
            if shown.len() == limit {
                more = true;
                break;
            }
            shown.push(judged);
        }
        more |= self.timed_out;
        // After a timeout the next page starts behind the last evaluated entry, match or not.
        let last = match self.timed_out {
            true => self.examined,
            false => shown.last().map(|last| last.entry),
        };
        let next = last.filter(|_| more).map(|last| self.cursor_behind(last, 0));
        let total = BoundedCount { n: shown.len() as u32, more };
        Ok((self.hits(shown)?, total, next))
    }

    fn best(&mut self) -> TxResult<(Vec<Hit>, BoundedCount, Option<SearchCursor>)> {
        let limit = self.search.limit.clamp(1, HITS_MAX) as usize;
        let mut found: Vec<Candidate> = Vec::new();
        while found.len() < RANKED_MAX
            && let Some(judged) = self.matching()?
        {
            found.push(judged);
        }
        let more_behind = found.len() == RANKED_MAX && self.matching()?.is_some();
        let newest = match self.search.after {
            Some(cursor) => cursor.newest,
            None => found.first().map_or(Timestamp(0), |newest| Timestamp(newest.entry.at)),
        };
        found.sort_by_key(|judged| std::cmp::Reverse((judged.score, judged.entry)));
        if self.search.grouping == Grouping::Conversations {
            let mut known = HashSet::new();
            found.retain(|judged| known.insert(judged.owner.no));
        }
        let total = BoundedCount { n: found.len() as u32, more: more_behind || self.timed_out };
        if let Some(cursor) = self.search.after {
            found.retain(|judged| (judged.score, judged.entry) < (cursor.score, entry_of(cursor)));
        }
        let next = match found.get(limit) {
            Some(_) => {
                found.get(limit - 1).map(|last| SearchCursor { newest, ..self.cursor_behind(last.entry, last.score) })
            }
            None => None,
        };
        found.truncate(limit);
        Ok((self.hits(found)?, total, next))
    }

    fn cursor_behind(&self, entry: Entry, score: i64) -> SearchCursor {
        let Entry { at, arrival, key } = entry;
        SearchCursor { score, at: Timestamp(at), arrival, key: key.0, newest: Timestamp(at), now: self.search.now }
    }

    /// Says whether a conversation has a hit that is newer than where this page begins.
    fn is_on_earlier_page(&mut self, no: i64) -> TxResult<bool> {
        let (Some(cursor), Some(owner)) = (self.search.after, self.owners.get(self.reading, no)?) else {
            return Ok(false);
        };
        let (inside, within) = (self.inside(owner.shown.id), self.owners.within());
        let mut looker =
            SearchExecution::begin(self.reading, &inside, &within, self.unindexed.clone(), None, self.deadline)?;
        Ok(looker.matching()?.is_some_and(|first| first.entry >= entry_of(cursor)))
    }

    /// The same search in one conversation, for its hits alone.
    fn inside(&self, conversation: ConversationId) -> Search {
        let (order, grouping) = (SearchOrder::Newest, Grouping::Flat);
        Search { conversations: Some(conversation), order, grouping, neighbours: 0, ..self.search.clone() }
    }

    fn hits(&mut self, shown: Vec<Candidate>) -> TxResult<Vec<Hit>> {
        let mut hits = Vec::with_capacity(shown.len());
        for judged in shown {
            let in_conversation = match self.search.grouping {
                Grouping::Conversations => Some(self.counted(judged.owner.shown.id)?),
                Grouping::Flat => None,
            };
            let hit = judged.hit(self.reading, &mut self.owners, self.search)?;
            hits.push(Hit { in_conversation, ..hit });
        }
        Ok(hits)
    }

    /// Counts the hits of a conversation, up to a bound.
    fn counted(&mut self, conversation: ConversationId) -> TxResult<BoundedCount> {
        let (inside, within) = (self.inside(conversation), self.owners.within());
        SearchExecution::begin(self.reading, &inside, &within, self.unindexed.clone(), None, self.deadline)?
            .count(COUNTED_IN_ONE)
    }

    /// Counts hits, or conversations that have one, as far as a bound and the time allow.
    fn count(&mut self, bound: u32) -> TxResult<BoundedCount> {
        let mut known: HashSet<i64> = HashSet::new();
        let mut n = 0;
        while let Some(judged) = self.matching()? {
            if self.search.grouping == Grouping::Conversations && !known.insert(judged.owner.no) {
                continue;
            }
            if n == bound {
                return Ok(BoundedCount { n, more: true });
            }
            n += 1;
        }
        Ok(BoundedCount { n, more: self.timed_out })
    }
}
