//! Rows of a message tree for writing: edited messages keep their old version, other branches are kept, and only
//! messages removed from the current path are deleted.

use crate::apps::tables::message::role;
use crate::apps::tables::rows::{ConversationRows, Numbered, Source};
use crate::apps::tables::tree::{MessageTree, parent};
use crate::core::sqlite::Cell;
use std::collections::{HashMap, HashSet};

/// A message of the path: a row that was read, or one that comes new.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Row(usize),
    New(usize),
}

/// The rows of a tree and the path through them.
pub(crate) struct Branches<'a> {
    conversation: &'a ConversationRows<'a>,
    sources: &'a [Source],
    path: Vec<Step>,
    /// Which rows stay.
    kept: Vec<bool>,
    /// The parent of each among the rows that stay.
    above: Vec<Option<usize>>,
    /// The ids of rows that do not stay.
    gone: HashSet<&'a Cell>,
}

impl<'a> Branches<'a> {
    pub fn of(conversation: &'a ConversationRows<'a>, sources: &'a [Source], tree: &MessageTree) -> Self {
        let shown = sources.iter().enumerate().filter(|(_, source)| source.is_shown);
        let shown: HashMap<usize, usize> = shown.map(|(at, source)| (source.place, at)).collect();
        let messages = conversation.messages.iter().enumerate().filter(|(_, message)| !message.is_removed);
        let step = |place: usize| shown.get(&place).map_or(Step::New(place), |at| Step::Row(*at));
        let path = messages.map(|(place, _)| step(place)).collect();
        let (kept, above) = (vec![false; sources.len()], vec![None; sources.len()]);
        let mut branches = Self { conversation, sources, path, kept, above, gone: HashSet::new() };
        branches.keep(tree);
        let gone = sources.iter().zip(&branches.kept).filter(|(_, kept)| !**kept);
        branches.gone = gone.map(|(source, _)| source.record.get("message_id")).collect();
        branches
    }

    /// Determines which rows stay. A row that was on the current path and is not any more was removed, unless another
    /// message is in its position: then it is on another branch now.
    fn keep(&mut self, tree: &MessageTree) {
        let was_shown: HashSet<usize> = tree.shown().collect();
        let place = |(place, step): (usize, &Step)| match step {
            Step::Row(at) => Some((*at, place)),
            Step::New(_) => None,
        };
        let places: HashMap<usize, usize> = self.path.iter().enumerate().filter_map(place).collect();
        for at in tree.order.iter().copied() {
            let behind = tree.behind[at];
            let above = behind.and_then(|behind| if self.kept[behind] { Some(behind) } else { self.above[behind] });
            let next = above.map_or(Some(0), |above| places.get(&above).map(|place| place + 1));
            let is_beside = match next.and_then(|next| self.path.get(next)) {
                Some(Step::Row(other)) => tree.behind[*other] == behind,
                Some(Step::New(place)) => self.conversation.messages[*place].content.role == self.role(at),
                None => false,
            };
            let is_off = above.is_some_and(|above| !self.sources[above].is_shown);
            self.above[at] = above;
            self.kept[at] = self.sources[at].is_shown || !was_shown.contains(&at) || is_off || is_beside;
        }
    }

    fn role(&self, at: usize) -> String {
        role(self.sources[at].record.get("role"))
    }

    fn id(&self, at: usize) -> &Cell {
        self.sources[at].record.get("message_id")
    }

    /// Returns whether the parent of a row is removed.
    fn is_orphaned(&self, at: usize) -> bool {
        parent(&self.sources[at].record).is_some_and(|parent| self.gone.contains(parent))
    }

    /// Returns the rows: those that stay, and behind them those that come new.
    pub fn rows(&self) -> Vec<Numbered> {
        let mut beside: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for at in (0..self.sources.len()).filter(|at| self.kept[*at] && !self.sources[*at].is_shown) {
            beside.entry(self.above[at]).or_default().push(at);
        }
        let (mut parents, mut made): (HashMap<usize, Cell>, Vec<Numbered>) = (HashMap::new(), Vec::new());
        let mut before: Option<(Step, Cell)> = None;
        for step in &self.path {
            let behind = before.as_ref().map_or(Cell::Null, |(_, id)| id.clone());
            let last = before.as_ref().map(|(step, _)| *step);
            let id = match *step {
                Step::Row(at) => {
                    if self.above[at].map(Step::Row) != last || self.is_orphaned(at) {
                        parents.insert(at, behind);
                    }
                    self.id(at).clone()
                }
                Step::New(place) => {
                    let candidates = match last {
                        None => beside.get(&None),
                        Some(Step::Row(last)) => beside.get(&Some(last)),
                        Some(Step::New(_)) => None,
                    };
                    let replaced = candidates.and_then(|candidates| self.replaced(place, candidates));
                    let at = self.conversation.messages[place].content.time.at;
                    let parent = replaced.map_or(behind, |replaced| self.id(replaced).clone());
                    let row = self.conversation.fresh(place, at, self.conversation.clock, parent);
                    let id = row.record.get("message_id").clone();
                    made.push(row);
                    id
                }
            };
            before = Some((*step, id));
        }
        let mut rows: Vec<Numbered> = self.stayed(&parents).collect();
        rows.extend(made);
        rows
    }

    /// The row that a new message replaces: its own, or the last one of its role.
    fn replaced(&self, place: usize, candidates: &[usize]) -> Option<usize> {
        let role = &self.conversation.messages[place].content.role;
        let mut same = candidates.iter().rev().copied().filter(|at| self.role(*at) == *role);
        let own = same.clone().find(|at| self.sources[*at].place == place);
        own.or_else(|| same.next())
    }

    /// The remaining rows, with a new parent where theirs was removed.
    fn stayed(&self, parents: &HashMap<usize, Cell>) -> impl Iterator<Item = Numbered> {
        let kept = self.sources.iter().enumerate().filter(|(at, _)| self.kept[*at]);
        kept.map(|(at, source)| {
            let mut record = source.record.clone();
            if let Some(parent) = parents.get(&at) {
                record.set("parent_message_id", parent.clone());
            } else if self.is_orphaned(at) {
                let above = self.above[at].map_or(Cell::Null, |above| self.id(above).clone());
                record.set("parent_message_id", above);
            }
            Numbered { row: source.row, record, message: Some(source.place), is_shown: source.is_shown }
        })
    }
}
