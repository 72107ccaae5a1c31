//! Paths: the messages from the start of a conversation to a head, as ranges of addresses.
//!
//! Nothing is copied when a conversation forks or is edited in the middle. A branch is a *base* (another branch's
//! path, up to and including one message), then *pieces* taken by reference, then its own slots, which stay open for
//! appending. A plain branch has no pieces. Base and pieces never change, so a branch can be cached for ever.

use crate::address::{Address, BranchNo, Range};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Totals over the messages of a path, maintained incrementally so that reading them never scans the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sums {
    /// All messages.
    pub depth: i64,
    /// Messages that a reader sees.
    pub visible: i64,
    /// Word count.
    pub words: i64,
    /// Token count, where known.
    pub tokens: i64,
}

impl std::ops::Add for Sums {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            depth: self.depth + other.depth,
            visible: self.visible + other.visible,
            words: self.words + other.words,
            tokens: self.tokens + other.tokens,
        }
    }
}

impl std::ops::Sub for Sums {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            depth: self.depth - other.depth,
            visible: self.visible - other.visible,
            words: self.words - other.words,
            tokens: self.tokens - other.tokens,
        }
    }
}

/// A run taken by reference, with the sums of everything on the path before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The run.
    pub range: Range,
    /// Sums of the path before the run.
    pub before: Sums,
}

/// Where a branch leaves its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The branch whose path it continues.
    pub parent: BranchNo,
    /// The last message of it that is taken; `Address::START` takes none.
    pub fork: Address,
}

/// The part of a branch that never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its number.
    pub no: BranchNo,
    /// Where it forks from its parent; the first branch of a conversation has no parent.
    pub base: Option<Base>,
    /// Runs taken by reference after the base; empty for a plain branch.
    pub pieces: Vec<Piece>,
    /// The first slot that is open for appending; lower slots are in `pieces`.
    pub open_from: i64,
    /// Sums of base and pieces together.
    pub before_open: Sums,
}

impl Branch {
    /// Returns the first branch of a conversation.
    pub fn first(no: BranchNo) -> Self {
        Self { no, base: None, pieces: Vec::new(), open_from: 1, before_open: Sums::default() }
    }

    /// Returns the last message before the open slots, or `START`.
    pub fn tip_before_open(&self) -> Address {
        match (self.pieces.last(), self.base) {
            (Some(piece), _) => piece.range.to,
            (None, Some(base)) => base.fork,
            (None, None) => Address::START,
        }
    }

    /// Returns whether an append at a head continues this branch; otherwise it opens a new one.
    ///
    /// `last_own` is the last used own slot, 0 if there is none.
    pub fn ends_at(&self, head: Address, last_own: i64) -> bool {
        match last_own >= self.open_from {
            true => head == self.no.slot(last_own),
            false => head == self.tip_before_open(),
        }
    }

    fn owns_open(&self, address: Address) -> bool {
        address.branch() == self.no && address.slot() >= self.open_from
    }
}

/// The end of a path: a branch, and the last message of it that counts.
///
/// The message may belong to another branch: an empty fork ends at its fork point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Head {
    /// The branch that is followed.
    pub branch: BranchNo,
    /// The last message, or `START` for an empty path.
    pub at: Address,
}

/// Finds branches by number; an engine reads and caches them.
pub trait Branches {
    /// Error of reading a branch.
    type Error;
    /// Returns a branch that is known to exist.
    fn branch(&mut self, no: BranchNo) -> Result<Arc<Branch>, Self::Error>;
}

/// Walks a path from its end to its start, one range at a time.
pub struct Backward {
    next: Option<Step>,
}

enum Step {
    /// Cut the path of this branch at the address and go on from there.
    Cut(Head),
    /// Yield the pieces below this index, newest first, then the base.
    Pieces(Arc<Branch>, usize),
}

impl Backward {
    /// Starts at a head.
    pub fn from(head: Head) -> Self {
        Self { next: Some(Step::Cut(head)) }
    }

    /// Returns the next range towards the start.
    pub fn next<B: Branches>(&mut self, branches: &mut B) -> Result<Option<Range>, B::Error> {
        loop {
            let (branch, below) = match self.next.take() {
                None => return Ok(None),
                Some(Step::Cut(head)) if head.at == Address::START => return Ok(None),
                Some(Step::Cut(head)) => {
                    let branch = branches.branch(head.branch)?;
                    if branch.owns_open(head.at) {
                        let range = Range::new(branch.no.slot(branch.open_from), head.at);
                        let pieces = branch.pieces.len();
                        self.next = Some(Step::Pieces(branch, pieces));
                        return Ok(Some(range));
                    }
                    match branch.pieces.iter().rposition(|piece| piece.range.contains(head.at)) {
                        Some(place) => {
                            let range = Range::new(branch.pieces[place].range.from, head.at);
                            self.next = Some(Step::Pieces(branch, place));
                            return Ok(Some(range));
                        }
                        None => {
                            let base = branch.base.expect("an address on a path lies in its base or its own slots");
                            self.next = Some(Step::Cut(Head { branch: base.parent, at: head.at }));
                            continue;
                        }
                    }
                }
                Some(Step::Pieces(branch, below)) => (branch, below),
            };
            if below > 0 {
                let range = branch.pieces[below - 1].range;
                self.next = Some(Step::Pieces(branch, below - 1));
                return Ok(Some(range));
            }
            self.next = branch.base.map(|base| Step::Cut(Head { branch: base.parent, at: base.fork }));
        }
    }
}

/// Returns the ranges of a path from start to end.
pub fn ranges<B: Branches>(branches: &mut B, head: Head) -> Result<Vec<Range>, B::Error> {
    let mut walk = Backward::from(head);
    let mut found = Vec::new();
    while let Some(range) = walk.next(branches)? {
        found.push(range);
    }
    found.reverse();
    Ok(found)
}

/// Finds an address on a path: the ranges from that message to the head, the first one trimmed to begin there.
///
/// Returns `None` if the path does not contain the address.
pub fn ranges_from<B: Branches>(
    branches: &mut B,
    head: Head,
    address: Address,
) -> Result<Option<Vec<Range>>, B::Error> {
    let mut walk = Backward::from(head);
    let mut found = Vec::new();
    while let Some(range) = walk.next(branches)? {
        if range.contains(address) {
            found.push(Range::new(address, range.to));
            found.reverse();
            return Ok(Some(found));
        }
        found.push(range);
    }
    Ok(None)
}

/// Returns whether a path contains an address.
pub fn reaches<B: Branches>(branches: &mut B, head: Head, address: Address) -> Result<bool, B::Error> {
    Ok(address == Address::START || ranges_from(branches, head, address)?.is_some())
}

/// Returns the message before another one on a path, or `START`; `None` if the path does not contain it.
pub fn before<B: Branches>(branches: &mut B, head: Head, address: Address) -> Result<Option<Address>, B::Error> {
    let mut walk = Backward::from(head);
    while let Some(range) = walk.next(branches)? {
        if range.contains(address) {
            if range.from < address {
                return Ok(Some(Address(address.0 - 1)));
            }
            return Ok(Some(walk.next(branches)?.map_or(Address::START, |earlier| earlier.to)));
        }
    }
    Ok(None)
}

/// A splice: the range that is removed from a path, and the position of the insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The message after which the splice begins, or `START`.
    pub after: Address,
    /// The first message of the tail that is kept; `None` keeps no tail.
    pub tail: Option<Address>,
}

/// Plans a spliced branch: the pieces after its base when `inserted` own slots are at the cut.
///
/// Totals are computed by the caller, which has the messages.
pub fn splice<B: Branches>(
    branches: &mut B,
    head: Head,
    cut: Cut,
    no: BranchNo,
    inserted: i64,
) -> Result<Option<Vec<Range>>, B::Error> {
    if !reaches(branches, head, cut.after)? {
        return Ok(None);
    }
    let mut pieces = Vec::new();
    if inserted > 0 {
        pieces.push(Range::new(no.slot(1), no.slot(inserted)));
    }
    if let Some(tail) = cut.tail {
        match ranges_from(branches, head, tail)? {
            Some(ranges) => pieces.extend(ranges),
            None => return Ok(None),
        }
    }
    Ok(Some(pieces))
}
