//! Resolves which conversation shows a message, and where in it.

use super::super::read::Reading;
use super::super::read::conversation::{self, Searched};
use crate::api::search::Include;
use crate::engine::access::access_filter::{AccessFilter, within};
use crate::engine::sql::connection::{query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use manent_model::{Address, BranchId, Conversation, ConversationStatus, Head, Range, path};
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
    pub(crate) fn of(reading: &mut Reading<'_>, head: Head) -> TxResult<Self> {
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
pub(crate) struct Location {
    pub owner: Rc<Owner>,
    pub on_path: bool,
}

/// Conversations and branches that were read for one search.
pub(crate) struct ConversationResolver {
    /// Others are not checked.
    within: Rc<AccessFilter>,
    conversations: HashMap<i64, Option<Rc<Owner>>>,
    branches: HashMap<i64, Option<(i64, BranchId)>>,
}

impl ConversationResolver {
    pub(crate) fn of(within: Rc<AccessFilter>) -> Self {
        Self { within, conversations: HashMap::new(), branches: HashMap::new() }
    }

    pub(crate) fn within(&self) -> Rc<AccessFilter> {
        self.within.clone()
    }

    /// Reads a conversation; none if it is not there, or not yet, or not within.
    pub(crate) fn get(&mut self, reading: &mut Reading<'_>, no: i64) -> TxResult<Option<Rc<Owner>>> {
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
    pub(crate) fn branch(&mut self, reading: &Reading<'_>, address: Address) -> TxResult<Option<(i64, BranchId)>> {
        let no = address.branch().0;
        if let Some(known) = self.branches.get(&no) {
            return Ok(*known);
        }
        let sql = "select conversation_no, id from branch where no = $1";
        let found =
            query_optional(reading.connection, sql, [no], |row| Ok((row.get(0)?, BranchId::from_bytes(row.get(1)?))))?;
        self.branches.insert(no, found);
        Ok(found)
    }

    /// Finds a conversation in which a message may be shown: its own, else one that took it from there.
    pub(crate) fn place(
        &mut self,
        reading: &mut Reading<'_>,
        address: Address,
        within: Option<i64>,
        also: Include,
    ) -> TxResult<Option<Location>> {
        let own = self.branch(reading, address)?.map(|(no, _)| no);
        for no in own.into_iter().filter(|no| within.is_none_or(|within| within == *no)) {
            if let Some(place) = self.resolve_branch(reading, no, address, also, also.branches)? {
                return Ok(Some(place));
            }
        }
        let others = match within {
            Some(within) => vec![within],
            None => users_of_message(reading, &self.within, address)?,
        };
        for no in others {
            if Some(no) == own {
                continue;
            }
            if let Some(place) = self.resolve_branch(reading, no, address, also, false)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn resolve_branch(
        &mut self,
        reading: &mut Reading<'_>,
        no: i64,
        address: Address,
        also: Include,
        anywhere: bool,
    ) -> TxResult<Option<Location>> {
        let Some(owner) = self.get(reading, no)? else { return Ok(None) };
        if owner.shown.status == ConversationStatus::Trashed && !also.trashed {
            return Ok(None);
        }
        let on_path = owner.path.position(address).is_some();
        Ok((on_path || anywhere).then_some(Location { owner, on_path }))
    }
}

/// Conversations within whose branches left, directly or through others, from the branch of a message, or took it as a piece.
fn users_of_message(reading: &Reading<'_>, within: &AccessFilter, address: Address) -> TxResult<Vec<i64>> {
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
    Ok(query_all(reading.connection, sql, parameters, |row| row.get(0))?)
}
