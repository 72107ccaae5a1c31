//! The rows of one conversation for writing.

use crate::apps::tables::branches::Branches;
use crate::apps::tables::message::{Clock, clock, time, written};
use crate::apps::tables::tree::{build, is_tree};
use crate::apps::tables::{ConversationFrame, message};
use crate::core::export::{ExportedMessage, uuid};
use crate::core::sqlite::{Cell, Record};
use manent_model::{TimeSource, Timestamp};
use std::collections::HashMap;

/// A row with its number; none for one that comes new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbered {
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
pub(crate) struct ConversationRows<'a> {
    pub frame: &'a ConversationFrame,
    /// Its row as it was; empty for one that comes new.
    pub record: &'a Record,
    pub id: Cell,
    /// Format of new times.
    pub clock: Clock,
    /// The tables say which message is the newest.
    pub has_latest: bool,
    pub messages: &'a [ExportedMessage],
}

/// Result of writing it.
pub(crate) struct Rows {
    pub messages: Vec<Numbered>,
    /// The id of the last message that is shown, if that is another one than before.
    pub latest: Option<Cell>,
    /// Messages that the tables show in another place.
    pub misplaced: usize,
    /// Messages whose time was changed, because only times determine the order.
    pub retimed: usize,
}

/// A row that was read.
pub(crate) struct Source {
    pub row: Option<i64>,
    pub record: Record,
    /// The message that it is, among those that are written.
    pub place: usize,
    pub is_shown: bool,
}

impl ConversationRows<'_> {
    pub fn rows(&self) -> Rows {
        let sources = self.sources();
        let records: Vec<&Record> = sources.iter().map(|source| &source.record).collect();
        let (sequence, latest) = (self.record.get("sequence"), self.record.get("latest_message_id"));
        let tree = build(&records, sequence, latest);
        let head = tree.head.map(|head| records[head].get("message_id").clone());
        let is_tree = is_tree(&records, sequence);
        let (messages, retimed) = match is_tree {
            true => (Branches::of(self, &sources, &tree).rows(), 0),
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
    pub fn fresh(&self, place: usize, at: Timestamp, clock: Clock, parent: Cell) -> Numbered {
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
        // For each message the time of the next one that was read.
        let mut after: Vec<Option<Timestamp>> = vec![None; self.messages.len() + 1];
        for place in (0..self.messages.len()).rev() {
            let own = known
                .get(&place)
                .filter(|_| !self.messages[place].is_removed)
                .and_then(|source| time(source.record.get("timestamp")));
            after[place] = own.or(after[place + 1]);
        }
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
                    retimed += usize::from(is_later && message.content.time.source == TimeSource::Exact);
                    rows.push(Numbered { row: source.row, record, message: Some(place), is_shown: true });
                }
                None if message.is_removed => {}
                None => {
                    let before = rows.last().and_then(|row| time(row.record.get("timestamp")));
                    let own = message.content.time.at;
                    let at = own.max(before.unwrap_or(own)).min(after[place + 1].unwrap_or(Timestamp(i64::MAX)));
                    retimed += usize::from(at != own && message.content.time.source == TimeSource::Exact);
                    let clock = rows.last().and_then(|row| clock(row.record.get("timestamp"))).unwrap_or(self.clock);
                    rows.push(self.fresh(place, at, clock, Cell::Null));
                }
            }
        }
        for row in &mut rows {
            let named = row.record.get("parent_message_id").clone();
            if named == Cell::Null || !gone.contains_key(&named) {
                continue;
            }
            // Parents may form a cycle; the chain is at most as long as the list of deleted rows.
            let above = std::iter::successors(Some(&named), |named| gone.get(*named)).take(gone.len() + 1);
            let left = above.last().filter(|named| !gone.contains_key(*named));
            row.record.set("parent_message_id", left.cloned().unwrap_or_default());
        }
        (rows, retimed)
    }

    /// Simulates reading the rows, and counts the messages in a wrong position.
    fn misplaced(&self, rows: &[Numbered], latest: Option<&Cell>) -> usize {
        let records: Vec<&Record> = rows.iter().map(|row| &row.record).collect();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| rows[*at].row.unwrap_or(i64::MAX));
        let sorted: Vec<&Record> = order.iter().map(|at| records[*at]).collect();
        let latest = latest.unwrap_or(self.record.get("latest_message_id"));
        let latest = if self.has_latest { latest } else { &Cell::Null };
        let tree = build(&sorted, self.record.get("sequence"), latest);
        let mut read: Vec<Option<usize>> = tree.shown().map(|at| rows[order[at]].said()).collect();
        read.reverse();
        let mut meant: Vec<Option<usize>> = rows.iter().map(Numbered::said).filter(Option::is_some).collect();
        meant.sort_unstable();
        let same = meant.iter().zip(&read).take_while(|(meant, read)| meant == read).count();
        meant.len().max(read.len()) - same
    }
}
