//! Reader: all rows are read before the first item is emitted, so that nothing of a damaged file is imported.

use crate::apps::tables::shape::Shape;
use crate::apps::tables::tree::{MessageTree, build};
use crate::apps::tables::{ConversationFrame, NAME, RootFrame, conversation, message, shape};
use crate::core::item::*;
use crate::core::json::RECORD_MAX;
use crate::core::problem::{Place, Problem, ReadError, Repair, RepairKind};
use crate::core::source_fs::SourceTree;
use crate::core::sqlite::{Applied, Cell, Opened, Record, Row, Table, candidates};
use crate::core::unmapped::UnmappedFields;
use manent_model::{ConversationStatus, Json, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Unknown tables are kept whole up to this size.
const OTHER_MAX: usize = 256 << 10;

/// Returns whether a file tree contains such tables, even damaged ones.
pub fn finds(tree: &dyn SourceTree) -> bool {
    candidates(tree).iter().any(|name| shape::is_ours(tree, name))
}

/// Reads every file with such tables at the root of a tree.
pub fn read(tree: &dyn SourceTree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let names = candidates(tree).into_iter().filter(|name| shape::is_ours(tree, name));
    let (mut files, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        match File::open(tree, &name) {
            Ok(file) => files.push(file),
            Err(error) => failed.push((name, error)),
        }
    }
    if files.is_empty() {
        let why = "no SQLite file with a table of conversations and one of messages".to_owned();
        let foreign = ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why };
        return Err(failed.into_iter().next().map_or(foreign, |(_, error)| error));
    }
    files
        .into_iter()
        .try_for_each(|file| Reader { sink: &mut *sink, file, unmapped: UnmappedFields::default() }.all())?;
    for (name, error) in failed {
        sink.take(Item::Found { record: "file", count: 1 })?;
        let (place, why) = (Place::file(&name), error.to_string());
        sink.take(Item::Problem(Problem { place, record: "file", why, bytes: Vec::new() }))?;
    }
    Ok(())
}

/// The content of a file.
struct File {
    opened: Opened,
    shape: Shape,
    conversations: Vec<Row>,
    messages: Vec<Row>,
    others: Vec<(Table, Vec<Row>)>,
}

impl File {
    fn open(tree: &dyn SourceTree, name: &str) -> Result<Self, ReadError> {
        let opened = Opened::open(tree, name)?;
        let Some(shape) = Shape::of(&opened.schema) else {
            let why = "its tables have other columns".to_owned();
            return Err(ReadError::Foreign { file: name.to_owned(), format: NAME, why });
        };
        let rows = |table: &Table| opened.check(table).and_then(|()| opened.rows(table));
        let (conversations, messages) = (rows(&shape.conversation)?, rows(&shape.message)?);
        let is_other = |table: &&Table| table.name != shape.conversation.name && table.name != shape.message.name;
        let others = opened.schema.tables.iter().filter(is_other);
        let others = others.map(|table| Ok((table.clone(), rows(table)?))).collect::<Result<_, ReadError>>()?;
        Ok(Self { conversations, messages, others, shape, opened })
    }
}

struct Reader<'a> {
    sink: &'a mut dyn Sink,
    file: File,
    unmapped: UnmappedFields,
}

/// A message that waits for its conversation to be put together.
struct MessageRow {
    row: Option<i64>,
    place: i64,
    record: Record,
}

impl Reader<'_> {
    fn all(mut self) -> Result<(), ReadError> {
        let others = std::mem::take(&mut self.file.others);
        let (kept, lost): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, rows)| size(rows) <= OTHER_MAX);
        let frame = RootFrame {
            file: self.file.opened.name.clone(),
            pragmas: self.file.opened.pragmas,
            statements: self.file.opened.schema.statements.clone(),
            conversation: self.file.shape.conversation.clone(),
            message: self.file.shape.message.clone(),
            others: kept,
        };
        self.sink.take(Item::Root(Root {
            format: NAME,
            generation: self.file.shape.generation.name().to_owned(),
            path: frame.file.clone(),
            style: Json::of(&frame),
        }))?;
        self.log()?;
        self.others(&frame.others, &lost)?;
        self.projects(&frame.others)?;
        let (conversations, messages) =
            (std::mem::take(&mut self.file.conversations), std::mem::take(&mut self.file.messages));
        self.sink.take(Item::Found { record: "conversation", count: conversations.len() as u64 })?;
        self.sink.take(Item::Found { record: "message", count: messages.len() as u64 })?;
        let mut groups = self.groups(messages)?;
        let mut externals = HashSet::new();
        for (place, row) in conversations.into_iter().enumerate() {
            self.conversation(row, place as i64 + 1, &mut groups, &mut externals)?;
        }
        for (id, said) in groups.in_order() {
            self.orphans(&id, said, &mut externals)?;
        }
        self.unmapped.emit(self.sink)
    }

    fn place(&self, table: &Table, row: i64) -> Place {
        Place::row(&self.file.opened.name, &table.name, row)
    }

    fn repair(&mut self, place: Place, what: RepairKind, why: String) -> Result<(), ReadError> {
        self.sink.take(Item::Repair(Repair { place, what, why }))
    }

    /// Says what became of the write-ahead log.
    fn log(&mut self) -> Result<(), ReadError> {
        let place = Place::file(&format!("{}-wal", self.file.opened.name));
        let told = |count: usize| format!("{count} transactions of the write-ahead log are taken in");
        match self.file.opened.log {
            Some(Applied::All(0)) | None => Ok(()),
            Some(Applied::All(count)) => self.repair(place, RepairKind::WalApplied, told(count)),
            Some(Applied::Some(count)) => {
                let why =
                    format!("{}; what stands behind them was never finished, or is left from before", told(count));
                self.repair(place, RepairKind::WalTorn, why)
            }
        }
    }

    /// Unknown tables: kept if they are small, otherwise reported.
    fn others(&mut self, kept: &[(Table, Vec<Row>)], lost: &[(Table, Vec<Row>)]) -> Result<(), ReadError> {
        let made_up = std::mem::take(&mut self.file.opened.schema.made_up);
        let count = (kept.len() + lost.len() + made_up.len()) as u64;
        if count > 0 {
            self.sink.take(Item::Found { record: "table", count })?;
        }
        if !kept.is_empty() {
            self.sink.take(Item::Unmapped { record: "table", key: None, count: kept.len() as u64 })?;
        }
        let lost = lost.iter().map(|(table, rows)| {
            (format!("{} rows of table {} are not kept: it is another program's", rows.len(), table.name), &table.name)
        });
        let made_up = made_up.iter().map(|name| (format!("table {name} is made up by a module and not read"), name));
        for (why, name) in lost.chain(made_up) {
            let place = Place::row(&self.file.opened.name, name, 0);
            self.sink.take(Item::Problem(Problem { place, record: "table", why, bytes: Vec::new() }))?;
        }
        Ok(())
    }

    /// Projects that several conversations share; a table of projects, if there is one, has their names.
    fn projects(&mut self, others: &[(Table, Vec<Row>)]) -> Result<(), ReadError> {
        let table = others.iter().find(|(table, _)| table.name.eq_ignore_ascii_case("project"));
        let known: BTreeMap<String, Record> = table
            .filter(|(table, _)| table.has(&["project_id", "name"]))
            .map(|(table, rows)| rows.iter().map(|row| Record::of(table, row)))
            .into_iter()
            .flatten()
            .filter_map(|record| Some((record.get("project_id").text()?.to_owned(), record)))
            .collect();
        let mut told = HashSet::new();
        let records: Vec<Record> =
            self.file.conversations.iter().map(|row| Record::of(&self.file.shape.conversation, row)).collect();
        for external in records.iter().filter_map(conversation::project) {
            if !told.insert(external) {
                continue;
            }
            let row = known.get(external);
            let name = row.and_then(|row| row.get("name").text()).unwrap_or(external).to_owned();
            let metadata = row.and_then(|row| message::metadata(row.get("metadata")));
            let (external, kind) = (external.to_owned(), "project".to_owned());
            let item = ProjectItem { external, kind, name, metadata, frame: None, record: "" };
            self.sink.take(Item::Project(item))?;
        }
        Ok(())
    }

    /// Groups messages by conversation; rows above the size limit are reported.
    fn groups(&mut self, rows: Vec<Row>) -> Result<Groups, ReadError> {
        let table = self.file.shape.message.clone();
        let mut groups = Groups::default();
        for (place, row) in rows.into_iter().enumerate() {
            let number = row.row.unwrap_or(place as i64 + 1);
            if size(std::slice::from_ref(&row)) as u64 > RECORD_MAX {
                let (place, why) = (self.place(&table, number), "the row is larger than 64 MiB".to_owned());
                self.sink.take(Item::Problem(Problem { place, record: "message", why, bytes: Vec::new() }))?;
                continue;
            }
            let record = Record::of(&table, &row);
            self.scan_columns(&record, "message", &message::MAPPED);
            let id = record.get("conversation_id").clone();
            groups.0.entry(id).or_default().push(MessageRow { row: row.row, place: number, record });
        }
        Ok(groups)
    }

    /// Counts what no noun holds of a record.
    fn scan_columns(&mut self, record: &Record, what: &'static str, mapped: &[&str]) {
        for (column, cell) in record.0.iter().filter(|(_, cell)| *cell != Cell::Null) {
            let is_mapped = match column.to_lowercase().as_str() {
                "metadata" => message::metadata(cell).is_some(),
                "status" => conversation::status(cell).is_some(),
                "sequence" => matches!(cell.text(), Some("sequential" | "tree")),
                column => mapped.contains(&column),
            };
            if !is_mapped {
                self.unmapped.add(what, column);
            }
        }
    }

    fn conversation(
        &mut self,
        row: Row,
        place: i64,
        groups: &mut Groups,
        externals: &mut HashSet<String>,
    ) -> Result<(), ReadError> {
        let (table, generation) = (self.file.shape.conversation.clone(), self.file.shape.generation);
        let record = Record::of(&table, &row);
        let place = self.place(&table, row.row.unwrap_or(place));
        let mut mapped = vec![generation.id(), "latest_message_id"];
        mapped.extend(conversation::MAPPED);
        self.scan_columns(&record, "conversation", &mapped);
        let id = record.get(generation.id()).clone();
        let external = unique(externals, &id);
        if id == Cell::Null {
            let why = format!("the conversation has no id and is called {external} here");
            self.repair(place.clone(), RepairKind::IdMissing, why)?;
        }
        let said = groups.0.remove(&id).filter(|_| id != Cell::Null).unwrap_or_default();
        let created_at = message::time(record.get("created_at"));
        if created_at.is_none() {
            let why = format!("conversation {external} does not say when it was made");
            self.repair(place.clone(), RepairKind::TimeMissing, why)?;
        }
        let latest = record.get("latest_message_id");
        if *latest != Cell::Null && !said.iter().any(|said| said.record.get("message_id") == latest) {
            let why = format!("the newest message {} of conversation {external} is not there", latest.shown());
            self.repair(place, RepairKind::PointerDangling, why)?;
        }
        let item = ConversationItem {
            title: conversation::title(&record),
            status: conversation::status(record.get("status")).unwrap_or(ConversationStatus::Active),
            project: conversation::project(&record).map(str::to_owned),
            metadata: message::metadata(record.get("metadata")),
            created_at,
            ..ConversationItem::new(external, Json::of(&0), "conversation")
        };
        self.tell(item, row.row, Some(&record), said)
    }

    /// Messages of a conversation that is not there become one of their own.
    fn orphans(&mut self, id: &Cell, said: Vec<MessageRow>, externals: &mut HashSet<String>) -> Result<(), ReadError> {
        let external = unique(externals, id);
        let why = format!("conversation {} is not there; its {} messages make it", id.shown(), said.len());
        let place = self.place(&self.file.shape.message.clone(), said.first().map_or(0, |said| said.place));
        self.repair(place, RepairKind::RecordOrphaned, why)?;
        self.tell(ConversationItem::new(external, Json::of(&0), ""), None, None, said)
    }

    fn tell(
        &mut self,
        item: ConversationItem,
        row: Option<i64>,
        record: Option<&Record>,
        said: Vec<MessageRow>,
    ) -> Result<(), ReadError> {
        let nothing = Record::default();
        let records: Vec<&Record> = said.iter().map(|said| &said.record).collect();
        let own = record.unwrap_or(&nothing);
        let tree = build(&records, own.get("sequence"), own.get("latest_message_id"));
        let json = |record: &Record| Json::parse(&record.text()).ok();
        let mut frame = ConversationFrame { row, record: record.and_then(json), rows: Vec::new() };
        frame.remember(tree.order.iter().map(|place| said[*place].row));
        let created_at = item.created_at.unwrap_or(Timestamp(0));
        self.sink.take(Item::Conversation(Box::new(ConversationItem { frame: Json::of(&frame), ..item })))?;
        self.broken(&said, &tree)?;
        let mut indexes: HashMap<usize, MessageIndex> = HashMap::new();
        let mut before = created_at;
        for (index, place) in tree.order.iter().enumerate() {
            let record = &said[*place].record;
            let content = message::read(record, before);
            before = content.time.at;
            let behind = tree.behind[*place].and_then(|behind| indexes.get(&behind).copied());
            indexes.insert(*place, index as MessageIndex);
            let is_next = behind == (index as MessageIndex).checked_sub(1);
            self.sink.take(Item::Message(Box::new(MessageItem {
                external: external(record.get("message_id")),
                follows: if is_next { Follows::Last } else { Follows::At(behind) },
                content,
                reply_to: None,
                raw: Some(record.text()),
                record: "message",
            })))?;
        }
        let head = tree.head.and_then(|head| indexes.get(&head).copied());
        // Where there are branches the head is always named, even if it came last.
        let has_branches = tree.shown().count() < tree.order.len();
        self.sink.take(Item::End { head: head.filter(|_| has_branches) })
    }

    /// Tells what was wrong with the messages of a conversation.
    fn broken(&mut self, said: &[MessageRow], tree: &MessageTree) -> Result<(), ReadError> {
        let table = self.file.shape.message.clone();
        for (place, what, why) in &tree.broken {
            self.repair(self.place(&table, said[*place].place), *what, why.clone())?;
        }
        for said in said {
            let place = self.place(&table, said.place);
            if *said.record.get("message_id") == Cell::Null {
                self.repair(place.clone(), RepairKind::IdMissing, "the message has no id".to_owned())?;
            }
            if message::time(said.record.get("timestamp")).is_none() {
                let why = "the message does not say when; it is told as of the one before it".to_owned();
                self.repair(place, RepairKind::TimeMissing, why)?;
            }
        }
        Ok(())
    }
}

/// Messages by the conversation that they name.
#[derive(Default)]
struct Groups(HashMap<Cell, Vec<MessageRow>>);

impl Groups {
    /// The remaining rows, in order.
    fn in_order(self) -> Vec<(Cell, Vec<MessageRow>)> {
        let mut left: Vec<_> = self.0.into_iter().collect();
        left.sort_by_key(|(_, said)| said.first().map(|said| said.place));
        left
    }
}

fn size(rows: &[Row]) -> usize {
    rows.iter().flat_map(|row| &row.cells).map(Cell::size).sum()
}

/// An id as others call it.
fn external(cell: &Cell) -> Option<String> {
    (*cell != Cell::Null).then(|| cell.shown())
}

/// A name that no other conversation of the file has.
fn unique(taken: &mut HashSet<String>, cell: &Cell) -> String {
    let mut external = external(cell).filter(|id| !id.is_empty()).unwrap_or_else(|| "no id".to_owned());
    while !taken.insert(external.clone()) {
        external.push('+');
    }
    external
}
