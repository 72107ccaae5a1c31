//! Rows of one conversation as they are to be written.

use super::ConversationFrame;
use super::hang::{Hung, hang, is_tree, parent};
use super::message::{self, Clock, clock, role, time, written};
use crate::out::{MessageOut, uuid};
use crate::sqlite::{Cell, Record};
use manent_model::{Known, Micros};
use std::collections::{HashMap, HashSet};

/// A row with its number; none for one that comes new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numbered {
    pub row: Option<i64>,
    pub record: Record,
    /// The message that it is, among those that are written; none for a conversation.
    pub message: Option<usize>,
    pub is_shown: bool,
}

impl Numbered {
    /// The message that is shown.
    fn said(&self) -> Option<usize> {
        self.message.filter(|_| self.is_shown)
    }
}

/// A conversation on its way into its rows.
pub(super) struct Talk<'a> {
    pub frame: &'a ConversationFrame,
    /// Its row as it was; empty for one that comes new.
    pub record: &'a Record,
    pub id: Cell,
    /// How times are written where none stands there yet.
    pub clock: Clock,
    pub messages: &'a [MessageOut],
}

/// What became of it.
pub(super) struct Rows {
    pub messages: Vec<Numbered>,
    /// The id of the last message that is shown, if that is another one than before.
    pub latest: Option<Cell>,
    /// Messages that the tables show in another place.
    pub misplaced: usize,
    /// Messages whose time had to be moved, since only times say who came first.
    pub retimed: usize,
}

/// A row that was read.
struct Source {
    row: Option<i64>,
    record: Record,
    /// The message that it is, among those that are written.
    place: usize,
    is_shown: bool,
}

/// A message of the path: a row that was read, or one that comes new.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Row(usize),
    New(usize),
}

impl Talk<'_> {
    pub fn rows(&self) -> Rows {
        let mut sources = self.sources();
        let records: Vec<&Record> = sources.iter().map(|source| &source.record).collect();
        let (sequence, latest) = (self.record.get("sequence"), self.record.get("latest_message_id"));
        let hung = hang(&records, sequence, latest);
        let head = hung.head.map(|head| records[head].get("message_id").clone());
        let is_tree = is_tree(&records, sequence);
        let (messages, retimed) = match is_tree {
            true => (self.tree(&mut sources, &hung), 0),
            false => self.line(&sources),
        };
        let shown: Vec<&Numbered> = messages.iter().filter(|row| row.is_shown).collect();
        let last = shown.iter().max_by_key(|row| row.message).map(|row| row.record.get("message_id").clone());
        let latest = (last != head).then(|| last.unwrap_or_default());
        let misplaced = self.misplaced(&messages, latest.as_ref());
        Rows { messages, latest, misplaced, retimed }
    }

    /// The rows that were read, in the order in which they stood. A message that was changed in a tree stays beside the one
    /// that took its place.
    fn sources(&self) -> Vec<Source> {
        let mut sources: Vec<Source> = Vec::new();
        for (place, message) in self.messages.iter().enumerate() {
            let Some(known) = &message.record else { continue };
            let Some(record) = known.raw.as_deref().and_then(Record::parse) else { continue };
            let is_shown = !message.is_removed && message::is_same(&record, &message.content);
            sources.push(Source { row: self.frame.row_of(known.ordinal), record, place, is_shown });
        }
        sources.sort_by_key(|source| source.row.unwrap_or(i64::MAX));
        sources
    }

    /// A row for a message that comes new.
    fn fresh(&self, place: usize, at: Micros, clock: Clock, parent: Cell) -> Numbered {
        let message = &self.messages[place];
        let mut record = Record::default();
        record.set("message_id", Cell::Text(uuid(message.id.as_bytes())));
        record.set("conversation_id", self.id.clone());
        record.set("role", Cell::Text(message.content.role.clone()));
        record.set("text", message::text(&message.content));
        record.set("parent_message_id", parent);
        record.set("timestamp", written(at, clock));
        record.set("metadata", Cell::or_null(message.content.metadata.as_ref().map(manent_model::Json::text)));
        Numbered { row: None, record, message: Some(place), is_shown: true }
    }

    /// A line: rows that were changed are written over, and those that were taken out are gone.
    fn line(&self, sources: &[Source]) -> (Vec<Numbered>, usize) {
        let known: HashMap<usize, &Source> = sources.iter().map(|source| (source.place, source)).collect();
        let time_of = |place: &usize| known.get(place).and_then(|source| time(source.record.get("timestamp")));
        let mut gone: HashMap<Cell, Cell> = HashMap::new();
        let (mut rows, mut retimed): (Vec<Numbered>, usize) = (Vec::new(), 0);
        for (place, message) in self.messages.iter().enumerate() {
            match known.get(&place) {
                Some(source) if message.is_removed => {
                    let cell = |column| source.record.get(column).clone();
                    gone.insert(cell("message_id"), cell("parent_message_id"));
                }
                Some(source) => {
                    let mut record = source.record.clone();
                    message::change(&mut record, &message.content);
                    let is_later = time(record.get("timestamp")).is_some_and(|at| at != message.content.time.at);
                    retimed += usize::from(is_later && message.content.time.known == Known::Exact);
                    rows.push(Numbered { row: source.row, record, message: Some(place), is_shown: true });
                }
                None if message.is_removed => {}
                None => {
                    let before = rows.last().and_then(|row| time(row.record.get("timestamp")));
                    let after = (place + 1..self.messages.len()).find_map(|place| time_of(&place));
                    let own = message.content.time.at;
                    let at = own.max(before.unwrap_or(own)).min(after.unwrap_or(Micros(i64::MAX)));
                    retimed += usize::from(at != own && message.content.time.known == Known::Exact);
                    let clock = rows.last().and_then(|row| clock(row.record.get("timestamp"))).unwrap_or(self.clock);
                    rows.push(self.fresh(place, at, clock, Cell::Null));
                }
            }
        }
        for row in &mut rows {
            let mut named = row.record.get("parent_message_id").clone();
            while let Some(above) = gone.get(&named).filter(|_| named != Cell::Null) {
                row.record.set("parent_message_id", above.clone());
                named = above.clone();
            }
        }
        (rows, retimed)
    }

    /// A tree: what was changed stays beside the new words, what is on another branch stays there, and only what was taken
    /// out of the path that was shown is gone.
    fn tree(&self, sources: &mut [Source], hung: &Hung) -> Vec<Numbered> {
        let by_place: HashMap<usize, usize> =
            sources.iter().enumerate().map(|(at, source)| (source.place, at)).collect();
        let step = |(place, message): (usize, &MessageOut)| {
            let source = by_place.get(&place).filter(|source| sources[**source].is_shown);
            (!message.is_removed).then(|| source.map_or(Step::New(place), |source| Step::Row(*source)))
        };
        let path: Vec<Step> = self.messages.iter().enumerate().filter_map(step).collect();
        let kept = self.kept(sources, hung, &path);
        let above = |at: usize| {
            let mut all = std::iter::successors(hung.behind[at], |at| hung.behind[*at]);
            all.find(|at| kept[*at])
        };
        let id_of = |at: usize| sources[at].record.get("message_id").clone();
        let mut parents: HashMap<usize, Cell> = HashMap::new();
        let mut made = Vec::new();
        let mut before: Option<(Step, Cell)> = None;
        for step in &path {
            let behind = before.as_ref().map_or(Cell::Null, |(_, id)| id.clone());
            let id = match *step {
                Step::Row(at) => {
                    let is_there = above(at).map(Step::Row) == before.as_ref().map(|(step, _)| *step);
                    let names = parent(&sources[at].record);
                    if !is_there || names.is_some_and(|names| is_gone(names, sources, &kept)) {
                        parents.insert(at, behind);
                    }
                    id_of(at)
                }
                Step::New(place) => {
                    let content = &self.messages[place].content;
                    let is_beside = |at: &usize| {
                        let source = &sources[*at];
                        let stands = above(*at).map(Step::Row) == before.as_ref().map(|(step, _)| *step);
                        kept[*at] && !source.is_shown && stands && role(source.record.get("role")) == content.role
                    };
                    let own = by_place.get(&place).copied().filter(|at| is_beside(at));
                    let replaced = own.or_else(|| (0..sources.len()).rev().find(|at| is_beside(at)));
                    let parent = replaced.map_or(behind, id_of);
                    let row = self.fresh(place, content.time.at, self.clock, parent);
                    made.push(row);
                    made.last().map(|row| row.record.get("message_id").clone()).unwrap_or_default()
                }
            };
            before = Some((*step, id));
        }
        let mut rows = Vec::new();
        for (at, source) in sources.iter().enumerate().filter(|(at, _)| kept[*at]) {
            let mut record = source.record.clone();
            let names = parent(&record).cloned();
            if let Some(parent) = parents.get(&at) {
                record.set("parent_message_id", parent.clone());
            } else if hung.behind[at] != above(at) || names.is_some_and(|names| is_gone(&names, sources, &kept)) {
                record.set("parent_message_id", above(at).map_or(Cell::Null, id_of));
            }
            rows.push(Numbered { row: source.row, record, message: Some(source.place), is_shown: source.is_shown });
        }
        rows.extend(made);
        rows
    }

    /// Which rows stay. One that was shown and is not any more was taken out, unless something else stands where it stood:
    /// then it is on another branch now.
    fn kept(&self, sources: &[Source], hung: &Hung, path: &[Step]) -> Vec<bool> {
        let was_shown: HashSet<usize> = hung.shown().collect();
        let places: HashMap<usize, usize> = path
            .iter()
            .enumerate()
            .filter_map(|(place, step)| match step {
                Step::Row(at) => Some((*at, place)),
                Step::New(_) => None,
            })
            .collect();
        let mut kept = vec![false; sources.len()];
        for at in hung.order.iter().copied() {
            let mut all = std::iter::successors(hung.behind[at], |at| hung.behind[*at]);
            let above = all.find(|above| kept[*above]);
            let is_beside = || {
                let next = match above {
                    Some(above) => places.get(&above).map(|place| place + 1),
                    None => Some(0),
                };
                match next.and_then(|next| path.get(next)) {
                    Some(Step::Row(other)) => hung.behind[*other] == hung.behind[at],
                    Some(Step::New(place)) => {
                        self.messages[*place].content.role == role(sources[at].record.get("role"))
                    }
                    None => false,
                }
            };
            let is_off = above.is_some_and(|above| !sources[above].is_shown);
            kept[at] = sources[at].is_shown || !was_shown.contains(&at) || is_off || is_beside();
        }
        kept
    }

    /// Reads the rows as they will be read, and counts the messages that do not stand where they should.
    fn misplaced(&self, rows: &[Numbered], latest: Option<&Cell>) -> usize {
        let records: Vec<&Record> = rows.iter().map(|row| &row.record).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| rows[*at].row.unwrap_or(i64::MAX));
        let sorted: Vec<&Record> = order.iter().map(|at| records[*at]).collect();
        let known = self.record.get("latest_message_id");
        let hung = hang(&sorted, self.record.get("sequence"), latest.unwrap_or(known));
        let mut read: Vec<Option<usize>> = hung.shown().map(|at| rows[order[at]].said()).collect();
        read.reverse();
        let mut meant: Vec<Option<usize>> = rows.iter().map(Numbered::said).filter(Option::is_some).collect();
        meant.sort_unstable();
        let same = meant.iter().zip(&read).take_while(|(meant, read)| meant == read).count();
        meant.len().max(read.len()) - same
    }
}

/// Says whether the row of this id is taken out.
fn is_gone(id: &Cell, sources: &[Source], kept: &[bool]) -> bool {
    sources.iter().zip(kept).any(|(source, kept)| !kept && source.record.get("message_id") == id)
}
