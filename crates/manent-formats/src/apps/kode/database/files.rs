//! Database rows presented as the files of the JSON store.

use crate::apps::kode::database::columns::Columns;
use crate::apps::kode::database::{AgentRows, Database, DatabaseFrame, Rest, columns, mark};
use crate::core::item::Item;
use crate::core::names::is_safe_piece;
use crate::core::problem::{Place, Problem, Repair, RepairKind};
use crate::core::sqlite::{Applied, Cell, Record, Row, Table};
use std::collections::{BTreeMap, HashMap};

/// Unknown tables are kept whole up to this size.
const OTHER_MAX: usize = 256 << 10;

/// A database as files.
pub(crate) struct VirtualFiles {
    pub frame: DatabaseFrame,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Layout of the rows, by the folder of the agent.
    pub rows: HashMap<String, AgentRows>,
    /// Problems and repairs of them.
    pub told: Vec<Item>,
}

/// Reads the rows of a database as files.
pub(crate) fn rows_to_files(database: Database) -> VirtualFiles {
    let Database { opened, tables, rows, others } = database;
    let size = |rows: &[Row]| rows.iter().flat_map(|row| &row.cells).map(Cell::size).sum::<usize>();
    let (kept, lost): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, rows)| size(rows) <= OTHER_MAX);
    let mut told = Vec::new();
    let log = Place::file(&format!("{}-wal", opened.name));
    if let Some(Applied::All(count @ 1..) | Applied::Some(count)) = opened.log {
        let why = format!("{count} transactions of the write-ahead log are taken in");
        told.push(Item::Repair(Repair { place: log, what: RepairKind::WalApplied, why }));
    }
    let count = (kept.len() + lost.len() + opened.schema.made_up.len()) as u64;
    if count > 0 {
        told.push(Item::Found { record: "table", count });
        told.push(Item::Unmapped { record: "table", key: None, count: kept.len() as u64 });
    }
    let lost = lost
        .iter()
        .map(|(table, rows)| (&table.name, format!("{} rows are not kept: it is another program's", rows.len())));
    let made_up = opened.schema.made_up.iter().map(|name| (name, "it is made up by a module and not read".to_owned()));
    for (name, why) in lost.chain(made_up) {
        let place = Place::row(&opened.name, name, 0);
        told.push(Item::Problem(Problem { place, record: "table", why, bytes: Vec::new() }));
    }
    let frame = DatabaseFrame {
        file: opened.name.clone(),
        pragmas: opened.pragmas,
        statements: opened.schema.statements.clone(),
        tables: tables.clone(),
        others: kept,
        left: Vec::new(),
    };
    let mut unrolled = VirtualFiles { frame, files: BTreeMap::new(), rows: HashMap::new(), told };
    let [agents, messages, calls, snapshots] = rows;
    let folders = unrolled.agents(&tables.agents, agents);
    unrolled.messages(&tables.messages, messages, &folders);
    unrolled.calls(&tables.tool_calls, calls, &folders);
    unrolled.snapshots(&tables.snapshots, snapshots, &folders);
    unrolled
}

impl VirtualFiles {
    /// Keeps a row as it is, and says why it is no record.
    fn leave(&mut self, table: &Table, row: Row, record: &'static str, why: String) {
        let place = Place::row(&self.frame.file, &table.name, row.row.unwrap_or(0));
        self.told.push(Item::Found { record, count: 1 });
        let why = format!("{why}; the row is kept as it is");
        self.told.push(Item::Problem(Problem { place, record, why, bytes: Vec::new() }));
        self.frame.left.push((table.name.clone(), row));
    }

    /// Returns the folder of each agent.
    fn agents(&mut self, table: &Table, rows: Vec<Row>) -> HashMap<Cell, String> {
        let mut folders = HashMap::new();
        for row in rows {
            let record = Record::of(table, &row);
            let id = record.get("agent_id").clone();
            let folder = id.text().filter(|id| crate::core::names::is_safe(id)).map(str::to_owned);
            let read = folder.ok_or_else(|| "the id of the agent is no name".to_owned());
            match read.and_then(|folder| Ok((folder, columns::object(&columns::AGENT, &record)?))) {
                Ok((folder, text)) => {
                    self.files.insert(format!("{folder}/meta.json"), text.into_bytes());
                    let agent = rest(row.row, &record, &columns::AGENT);
                    self.rows.insert(folder.clone(), AgentRows { agent, ..AgentRows::default() });
                    folders.insert(id, folder);
                }
                Err(why) => self.leave(table, row, "agent", why),
            }
        }
        folders
    }

    fn messages(&mut self, table: &Table, mut rows: Vec<Row>, folders: &HashMap<Cell, String>) {
        let seq = table.place("seq").unwrap_or_default();
        rows.sort_by_key(|row| match row.cells.get(seq) {
            Some(Cell::Integer(seq)) => *seq,
            _ => i64::MAX,
        });
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let record = Record::of(table, &row);
            match self.owned(&record, folders, &columns::MESSAGE) {
                Ok((folder, text)) => {
                    let kept = self.rows.entry(folder.clone()).or_default();
                    kept.messages.push((mark(&text), rest(row.row, &record, &columns::MESSAGE)));
                    lists.entry(folder).or_default().push(text);
                }
                Err(why) => self.leave(table, row, "message", why),
            }
        }
        self.lists(lists, "runtime/messages.json");
    }

    fn calls(&mut self, table: &Table, rows: Vec<Row>, folders: &HashMap<Cell, String>) {
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let record = Record::of(table, &row);
            match self.owned(&record, folders, &columns::CALL) {
                Ok((folder, text)) => {
                    let kept = self.rows.entry(folder.clone()).or_default();
                    kept.calls.insert(record.get("id").shown(), rest(row.row, &record, &columns::CALL));
                    lists.entry(folder).or_default().push(text);
                }
                Err(why) => self.leave(table, row, "tool call", why),
            }
        }
        self.lists(lists, "runtime/tool-calls.json");
    }

    fn snapshots(&mut self, table: &Table, rows: Vec<Row>, folders: &HashMap<Cell, String>) {
        for (place, row) in rows.into_iter().enumerate() {
            let record = Record::of(table, &row);
            match self.owned(&record, folders, &columns::SNAPSHOT) {
                Ok((folder, text)) => {
                    let id = record.get("snapshot_id").shown();
                    let kept = self.rows.entry(folder.clone()).or_default();
                    kept.snapshots.insert(id.clone(), rest(row.row, &record, &columns::SNAPSHOT));
                    let leaf = if is_safe_piece(&id) { id } else { format!("snapshot-{place}") };
                    self.files.insert(format!("{folder}/snapshots/{leaf}.json"), text.into_bytes());
                }
                Err(why) => self.leave(table, row, "snapshot", why),
            }
        }
    }

    /// The folder of the agent that a row belongs to, and the row as a record.
    fn owned(
        &self,
        record: &Record,
        folders: &HashMap<Cell, String>,
        columns: &Columns,
    ) -> Result<(String, String), String> {
        let id = record.get("agent_id");
        let folder = folders.get(id).ok_or_else(|| format!("agent {} is not there", id.shown()))?;
        Ok((folder.clone(), columns::object(columns, record)?))
    }

    fn lists(&mut self, lists: BTreeMap<String, Vec<String>>, file: &str) {
        for (folder, records) in lists {
            self.files.insert(format!("{folder}/{file}"), format!("[{}]", records.join(",")).into_bytes());
        }
    }
}

/// The columns of a row without a matching member; the agent id identifies the owner.
fn rest(row: Option<i64>, record: &Record, columns: &Columns) -> Rest {
    let is_rest =
        |name: &str| !columns.iter().any(|(column, ..)| name.eq_ignore_ascii_case(column)) && name != "agent_id";
    let cells = record.0.iter().filter(|(name, cell)| is_rest(name) && *cell != Cell::Null);
    Rest { row, cells: cells.cloned().collect() }
}
