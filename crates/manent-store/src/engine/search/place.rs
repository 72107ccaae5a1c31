//! Resolves which conversation shows a message, and where in it.

use super::super::connection::{maybe, rows};
use super::super::fault::Outcome;
use super::super::read::Reading;
use super::super::read::conversation::{self, Searched};
use super::super::within::{Within, within};
use crate::search::Also;
use manent_model::path;
use manent_model::{Address, BranchId, Conversation, ConversationStatus, Head, Range};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of conversations sharing a message that are checked.
const SHARED_MAX: i64 = 64;

/// A conversation with what search asks of it.
pub(crate) struct Owner {
    pub no: i64,
    pub shown: Conversation,
    /// The path that is shown.
    pub path: Path,
    /// The name of its project.
    pub project: Option<String>,
}

/// A path as runs of messages, from the start to its head.
pub(crate) struct Path(Vec<Range>);

impl Path {
    pub(crate) fn of(reading: &mut Reading<'_>, head: Head) -> Outcome<Self> {
        Ok(Self(path::ranges(&mut reading.caches.branches(reading.connection), head)?))
    }

    /// Counts how many messages stand before one, and itself; none if it is not on the path.
    pub(crate) fn position(&self, address: Address) -> Option<i64> {
        let mut before = 0;
        for run in &self.0 {
            if run.contains(address) {
                return Some(before + address.0 - run.from.0 + 1);
            }
            before += run.len() as i64;
        }
        None
    }

    /// Returns runs that begin with some messages before one, hold it, and end with some behind it.
    pub(crate) fn around(&self, address: Address, many: usize) -> Vec<Range> {
        let Some(place) = self.0.iter().position(|run| run.contains(address)) else { return Vec::new() };
        let own = self.0[place];
        let many = many as i64;
        let (from, to) = (own.from.0.max(address.0 - many), own.to.0.min(address.0 + many));
        let mut runs = vec![Range { from: Address(from), to: Address(to) }];
        let mut wanted = many - (address.0 - from);
        for run in self.0[..place].iter().rev().take_while(|_| many > 0) {
            if wanted <= 0 {
                break;
            }
            let taken = wanted.min(run.len() as i64);
            runs.insert(0, Range { from: Address(run.to.0 - taken + 1), to: run.to });
            wanted -= taken;
        }
        let mut wanted = many - (to - address.0);
        for run in &self.0[place + 1..] {
            if wanted <= 0 {
                break;
            }
            let taken = wanted.min(run.len() as i64);
            runs.push(Range { from: run.from, to: Address(run.from.0 + taken - 1) });
            wanted -= taken;
        }
        runs
    }
}

/// Where a message is shown.
pub(crate) struct Place {
    pub owner: Rc<Owner>,
    pub on_path: bool,
}

/// Conversations and branches that were read for one search.
pub(crate) struct Owners {
    /// Others are not checked.
    within: Rc<Within>,
    conversations: HashMap<i64, Option<Rc<Owner>>>,
    branches: HashMap<i64, Option<(i64, BranchId)>>,
}

impl Owners {
    pub(crate) fn of(within: Rc<Within>) -> Self {
        Self { within, conversations: HashMap::new(), branches: HashMap::new() }
    }

    pub(crate) fn within(&self) -> Rc<Within> {
        self.within.clone()
    }

    /// Reads a conversation; none if it is not there, or not yet, or not within.
    pub(crate) fn get(&mut self, reading: &mut Reading<'_>, no: i64) -> Outcome<Option<Rc<Owner>>> {
        if let Some(known) = self.conversations.get(&no) {
            return Ok(known.clone());
        }
        if !self.within.has(reading.connection, no)? {
            self.conversations.insert(no, None);
            return Ok(None);
        }
        let found = match conversation::searched(reading, no)? {
            Some(Searched { no, shown, head, project }) if shown.status != ConversationStatus::Importing => {
                let path = Path::of(reading, head)?;
                Some(Rc::new(Owner { no, shown, path, project }))
            }
            _ => None,
        };
        self.conversations.insert(no, found.clone());
        Ok(found)
    }

    /// Returns the number of the conversation that owns a branch, and the id of the branch.
    pub(crate) fn branch(&mut self, reading: &Reading<'_>, address: Address) -> Outcome<Option<(i64, BranchId)>> {
        let no = address.branch().0;
        if let Some(known) = self.branches.get(&no) {
            return Ok(*known);
        }
        let sql = "select conversation_no, id from branch where no = $1";
        let found = maybe(reading.connection, sql, [no], |row| Ok((row.get(0)?, BranchId::from_bytes(row.get(1)?))))?;
        self.branches.insert(no, found);
        Ok(found)
    }

    /// Finds a conversation in which a message may be shown: its own, else one that took it from there.
    pub(crate) fn place(
        &mut self,
        reading: &mut Reading<'_>,
        address: Address,
        within: Option<i64>,
        also: Also,
    ) -> Outcome<Option<Place>> {
        let own = self.branch(reading, address)?.map(|(no, _)| no);
        for no in own.into_iter().filter(|no| within.is_none_or(|within| within == *no)) {
            if let Some(place) = self.look(reading, no, address, also, also.branches)? {
                return Ok(Some(place));
            }
        }
        let others = match within {
            Some(within) => vec![within],
            None => takers(reading, &self.within, address)?,
        };
        for no in others {
            if Some(no) == own {
                continue;
            }
            if let Some(place) = self.look(reading, no, address, also, false)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn look(
        &mut self,
        reading: &mut Reading<'_>,
        no: i64,
        address: Address,
        also: Also,
        anywhere: bool,
    ) -> Outcome<Option<Place>> {
        let Some(owner) = self.get(reading, no)? else { return Ok(None) };
        if owner.shown.status == ConversationStatus::Trashed && !also.trashed {
            return Ok(None);
        }
        let on_path = owner.path.position(address).is_some();
        Ok((on_path || anywhere).then_some(Place { owner, on_path }))
    }
}

/// Conversations within whose branches left, at any remove, from the branch of a message, or took it as a piece.
fn takers(reading: &Reading<'_>, within: &Within, address: Address) -> Outcome<Vec<i64>> {
    let sql = concat!(
        "with recursive taker(no, conversation_no) as (
           select o.no, o.conversation_no from branch o where o.parent_no = $1 and o.fork_key >= $2
           union
           select p.branch_no, o.conversation_no
             from piece p
             join branch o on o.no = p.branch_no
             where p.from_key <= $2 and p.to_key >= $2 and p.from_key >= $3
           union
           select o.no, o.conversation_no
             from taker t
             join branch o on o.parent_no = t.no
         )
         select distinct t.conversation_no
         from taker t
         join conversation c on c.no = t.conversation_no
         where ",
        within!("$4", "$5"),
        " order by t.conversation_no
         limit $6"
    );
    let branch = address.branch();
    let parameters = (branch.0, address.0, branch.slot(0).0, &within.user, &within.projects, SHARED_MAX);
    Ok(rows(reading.connection, sql, parameters, |row| row.get(0))?)
}
