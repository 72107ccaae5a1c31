//! Writer: one file, with every row unchanged except for what was edited.

use crate::apps::tables::message::Clock;
use crate::apps::tables::rows::{ConversationRows, Numbered};
use crate::apps::tables::{
    ConversationFrame, GENERATIONS, Generation, NAME, RootFrame, conversation, losses, message, statements,
};
use crate::core::export::*;
use crate::core::losses::Losses;
use crate::core::names::is_safe_piece;
use crate::core::sqlite::{Cell, Made, Pragmas, Record, Statement, Table};
use std::collections::HashSet;

/// Writes conversations into one file of the tables.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    let root = library.root().cloned();
    let source = root.as_ref().and_then(|root| Generation::of(&root.generation));
    let to =
        unsupported_option(NAME, &GENERATIONS, generation, Generation::of)?.or(source).unwrap_or(Generation::Draft);
    let kept = root.filter(|_| source.is_some()).and_then(|root| root.style.read::<RootFrame>().ok());
    let file = kept.as_ref().map(|frame| frame.file.clone()).filter(|file| is_safe_piece(file));
    let file = file.unwrap_or_else(|| "conversations.sqlite".to_owned());
    let frame = kept.filter(|_| source == Some(to)).unwrap_or_else(|| fresh(to));
    let made = Made::new(&file, frame.pragmas)?;
    frame.statements.iter().try_for_each(|statement| made.declare(&statement.sql))?;
    for (table, rows) in &frame.others {
        for row in rows {
            let cells: Vec<(&str, &Cell)> = table.columns.iter().map(String::as_str).zip(&row.cells).collect();
            made.insert(table, row.row, &cells)?;
        }
    }
    let mut writer = Writer {
        library,
        from: source.unwrap_or(to),
        to,
        losses: Losses::default(),
        taken: HashSet::new(),
        conversations: Vec::new(),
        messages: Vec::new(),
    };
    for place in 0..writer.library.count() {
        writer.conversation(place, &frame)?;
    }
    insert(&made, &frame.conversation, &mut writer.conversations)?;
    insert(&made, &frame.message, &mut writer.messages)?;
    made.finish(out)?;
    Ok(writer.losses.told())
}

/// The skeleton of a new file.
fn fresh(generation: Generation) -> RootFrame {
    let statement = |sql: &&str| Statement { kind: String::new(), name: String::new(), sql: (*sql).to_owned() };
    let table = |name: &str, columns: &[&str]| Table {
        name: name.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        number: Some("rowid".to_owned()),
        is_computed: false,
    };
    let mut columns = vec![generation.id()];
    columns.extend(conversation::MAPPED);
    if generation == Generation::Shipped {
        columns.push("latest_message_id");
        columns.push("brand");
    }
    RootFrame {
        file: String::new(),
        pragmas: Pragmas::default(),
        statements: statements::fresh(generation).iter().map(statement).collect(),
        conversation: table("conversation", &columns),
        message: table("message", &message::MAPPED),
        others: Vec::new(),
    }
}

struct Writer<'a> {
    library: &'a mut dyn ExportSource,
    from: Generation,
    to: Generation,
    losses: Losses,
    /// Ids of conversations and of messages that are used up; ids of several files may meet here.
    taken: HashSet<(bool, Cell)>,
    conversations: Vec<Numbered>,
    messages: Vec<Numbered>,
}

impl Writer<'_> {
    fn conversation(&mut self, place: usize, root: &RootFrame) -> Result<(), WriteError> {
        let out = self.library.conversation(place)?;
        let messages = self.all(place)?;
        losses::of_conversation(&mut self.losses, &out);
        self.losses.events(self.library, place, out.conversation.id)?;
        let raw = out.record.as_ref().and_then(|record| record.raw.as_deref());
        let frame: Option<ConversationFrame> = raw.and_then(|raw| serde_json::from_str(raw).ok());
        let is_known = frame.is_some();
        let frame = frame.unwrap_or_default();
        let mut record = frame.record.as_ref().and_then(|json| Record::parse(json.text()));
        let is_orphaned = is_known && record.is_none();
        let id = self.id(&out, record.as_ref(), &messages);
        let made = || conversation::fresh(&id.shown(), self.from, &out.conversation);
        let mut row = record.take().unwrap_or_else(made);
        let before = row.clone();
        if !is_orphaned {
            row.set(self.from.id(), id.clone());
        }
        let clock = match self.to {
            Generation::Draft => Clock::Utc,
            Generation::Shipped => Clock::Local,
        };
        let has_latest = self.to == Generation::Shipped;
        let conversation =
            ConversationRows { frame: &frame, record: &before, id: id.clone(), clock, has_latest, messages: &messages };
        let rows = conversation.rows();
        let conversation = out.conversation.id;
        self.losses.add(conversation, "places of messages", rows.misplaced);
        self.losses.add(conversation, "times of messages", rows.retimed);
        for what in conversation::change(&mut row, &out) {
            self.losses.add(conversation, what, 1);
        }
        if let Some(latest) = rows.latest.filter(|_| has_latest) {
            row.set("latest_message_id", latest);
        }
        // A conversation that only its messages name gets a row only if it has a value to store.
        if !is_orphaned || row != before {
            let row = Numbered { row: frame.row, record: row, message: None, is_shown: true };
            let row = self.moved(row, &root.conversation, conversation);
            self.conversations.push(row);
        }
        for mut numbered in rows.messages {
            let message = numbered.message.map(|place| &messages[place]);
            if let Some(message) = message.filter(|_| numbered.is_shown) {
                let raw = message.record.as_ref().and_then(|record| record.raw.as_deref());
                if raw.and_then(Record::parse).is_none_or(|was| !message::is_same(&was, &message.content)) {
                    losses::of_message(&mut self.losses, conversation, message);
                }
            }
            if !is_orphaned {
                numbered.record.set("conversation_id", id.clone());
            }
            let own = numbered.record.get("message_id").clone();
            let is_free = if own == Cell::Null { !self.needs_ids() } else { self.taken.insert((false, own)) };
            if let (false, Some(message)) = (is_free, message) {
                numbered.record.set("message_id", Cell::Text(uuid(message.id.as_bytes())));
            }
            let numbered = self.moved(numbered, &root.message, conversation);
            self.messages.push(numbered);
        }
        Ok(())
    }

    fn all(&mut self, place: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        let mut all = Vec::new();
        loop {
            let page = self.library.messages(place, all.len())?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// The id of a conversation: its own, or one that no other has.
    fn id(&mut self, out: &ExportedConversation, record: Option<&Record>, messages: &[ExportedMessage]) -> Cell {
        let named = || {
            let raw = messages.iter().find_map(|message| message.record.as_ref()?.raw.as_deref())?;
            Some(Record::parse(raw)?.get("conversation_id").clone())
        };
        let own = record.map(|record| record.get(self.from.id()).clone()).or_else(named);
        let made_up = || Cell::Text(uuid(out.conversation.id.as_bytes()));
        let own = own.unwrap_or_else(made_up);
        let is_free = if own == Cell::Null { !self.needs_ids() } else { self.taken.insert((true, own.clone())) };
        if is_free { own } else { made_up() }
    }

    /// The shipped tables have no row without an id; a file that was read and has one all the same keeps it.
    fn needs_ids(&self) -> bool {
        self.to == Generation::Shipped && self.from != self.to
    }

    /// Fits a row to the existing columns. A row that keeps its place keeps all columns.
    fn moved(&mut self, mut numbered: Numbered, table: &Table, id: manent_model::ConversationId) -> Numbered {
        if self.from != self.to {
            let (from, to) = (self.from.id(), self.to.id());
            let is_conversation = numbered.record.0.iter().any(|(name, _)| name == "sequence");
            if let Some((name, _)) = numbered.record.0.iter_mut().find(|(name, _)| is_conversation && name == from) {
                to.clone_into(name);
            }
            numbered.row = None;
        }
        let is_there = |(name, cell): &(String, Cell)| table.place(name).is_some() || *cell == Cell::Null;
        let lost = numbered.record.0.iter().filter(|value| !is_there(value)).count();
        self.losses.add(id, "values that no column holds", lost);
        numbered.record.0.retain(|(name, _)| table.place(name).is_some());
        if self.from != self.to && self.to == Generation::Shipped {
            // These columns may not be empty there, and what they say by default is as good as anything.
            let is_asked = ["timestamp", "created_at"];
            if numbered.record.0.iter().any(|(name, cell)| name == "role" && *cell == Cell::Null) {
                numbered.record.set("role", Cell::Text(message::role(&Cell::Null)));
            }
            numbered.record.0.retain(|(name, cell)| *cell != Cell::Null || !is_asked.contains(&name.as_str()));
        }
        numbered
    }
}

/// Inserts rows into a table: those with a number first, then new ones after all of them.
fn insert(made: &Made, table: &Table, rows: &mut [Numbered]) -> Result<(), WriteError> {
    let mut taken = HashSet::new();
    for row in rows.iter_mut() {
        row.row = row.row.filter(|number| table.number.is_some() && taken.insert(*number));
    }
    let mut next = taken.iter().max().map_or(1, |last| last.saturating_add(1));
    for row in rows.iter_mut().filter(|row| row.row.is_none()) {
        row.row = Some(next);
        next = next.saturating_add(1);
    }
    for row in rows {
        let cells: Vec<(&str, &Cell)> = row.record.0.iter().map(|(name, cell)| (name.as_str(), cell)).collect();
        made.insert(table, row.row, &cells)?;
    }
    Ok(())
}
