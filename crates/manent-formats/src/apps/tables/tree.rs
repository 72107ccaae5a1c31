//! Order of the messages of a conversation: linear, or a tree.

use crate::apps::tables::message::{clock, role, time};
use crate::core::problem::RepairKind;
use crate::core::sqlite::{Cell, Record};
use std::collections::HashMap;

/// Messages of one conversation with their order; all numbers are places in what was given, which is the order of rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageTree {
    /// All messages, each after its parent.
    pub order: Vec<usize>,
    /// The parent of each; `None` at the start.
    pub behind: Vec<Option<usize>>,
    /// The last that is shown.
    pub head: Option<usize>,
    /// Inconsistencies that were repaired.
    pub broken: Vec<(usize, RepairKind, String)>,
}

impl MessageTree {
    /// The messages that are shown, last first.
    pub fn shown(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.head, |place| self.behind[*place])
    }
}

/// Arranges messages as their conversation specifies.
pub(crate) fn build(records: &[&Record], sequence: &Cell, latest: &Cell) -> MessageTree {
    match is_tree(records, sequence) {
        true => tree(records, latest),
        false => line(records),
    }
}

/// Returns whether it is a tree. A tree without any parent is linear.
pub(crate) fn is_tree(records: &[&Record], sequence: &Cell) -> bool {
    sequence.text() == Some("tree") && records.iter().any(|record| parent(record).is_some())
}

/// The parent that a record names; later versions write an empty text for none.
pub(crate) fn parent(record: &Record) -> Option<&Cell> {
    let cell = record.get("parent_message_id");
    Some(cell).filter(|cell| !matches!(cell, Cell::Null) && cell.text() != Some(""))
}

/// A linear conversation is ordered by time, as the program reads it. The program's times are local and SQLite's are
/// UTC: if a conversation has both, neither text nor time gives the order, and the order of insertion is used. The
/// same applies if a time is missing.
fn line(records: &[&Record]) -> MessageTree {
    let times: Option<Vec<_>> = records.iter().map(|record| time(record.get("timestamp"))).collect();
    let mut clocks = records.iter().map(|record| clock(record.get("timestamp")));
    let first = clocks.next();
    let is_mixed = clocks.any(|clock| Some(clock) != first);
    let mut order: Vec<usize> = (0..records.len()).collect();
    if let Some(times) = times.filter(|_| !is_mixed) {
        order.sort_by_key(|place| times[*place]);
    }
    let mut behind = vec![None; records.len()];
    for pair in order.windows(2) {
        behind[pair[1]] = Some(pair[0]);
    }
    MessageTree { head: order.last().copied(), order, behind, broken: Vec::new() }
}

/// In a tree the parent of a message has two meanings: with the same role it is the message that was edited or
/// regenerated, which the new one replaces; with another role it is the message that is answered.
fn tree(records: &[&Record], latest: &Cell) -> MessageTree {
    let ids: HashMap<&Cell, usize> =
        records.iter().enumerate().map(|(place, one)| (one.get("message_id"), place)).collect();
    let mut tree = MessageTree { behind: vec![None; records.len()], ..MessageTree::default() };
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(records.len());
    for (place, record) in records.iter().enumerate() {
        let named = parent(record);
        let found = named.and_then(|cell| ids.get(cell).copied());
        if let (Some(cell), None) = (named, found) {
            let why = format!("the parent {} is not there; the message stands at the start", cell.shown());
            tree.broken.push((place, RepairKind::PointerDangling, why));
        }
        parents.push(found);
    }
    cut_circles(&mut parents, &mut tree.broken);
    let roles: Vec<String> = records.iter().map(|record| role(record.get("role"))).collect();
    let mut is_linked = vec![false; records.len()];
    for start in 0..records.len() {
        // Iterative: a chain of parents may be as long as the conversation. It ends at the first linked one.
        let chain: Vec<usize> = std::iter::successors(Some(start), |place| parents[*place])
            .take_while(|place| !is_linked[*place])
            .collect();
        for place in chain.into_iter().rev() {
            tree.behind[place] = match parents[place] {
                Some(parent) if roles[parent] == roles[place] => tree.behind[parent],
                parent => parent,
            };
            is_linked[place] = true;
        }
    }
    tree.order = in_order(&tree.behind);
    tree.head = ids.get(latest).copied().filter(|_| *latest != Cell::Null).or_else(|| records.len().checked_sub(1));
    tree
}

/// Takes the parent from one message of each circle.
fn cut_circles(parents: &mut [Option<usize>], broken: &mut Vec<(usize, RepairKind, String)>) {
    // 0 for not seen, otherwise the round in which it was.
    let mut seen = vec![0; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(place) = at.filter(|place| seen[*place] == 0) {
            seen[place] = start + 1;
            at = parents[place];
        }
        if let Some(place) = at.filter(|place| seen[*place] == start + 1) {
            parents[place] = None;
            let why = "its parents lead back to it; the message stands at the start".to_owned();
            broken.push((place, RepairKind::PointersLooped, why));
        }
    }
}

/// The order of rows, except for those whose parent comes later.
fn in_order(behind: &[Option<usize>]) -> Vec<usize> {
    let (mut order, mut is_told) = (Vec::with_capacity(behind.len()), vec![false; behind.len()]);
    for start in 0..behind.len() {
        let chain: Vec<usize> =
            std::iter::successors(Some(start), |place| behind[*place]).take_while(|place| !is_told[*place]).collect();
        for place in chain.into_iter().rev() {
            is_told[place] = true;
            order.push(place);
        }
    }
    order
}
