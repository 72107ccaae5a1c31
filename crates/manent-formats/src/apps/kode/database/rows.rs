//! Files of the JSON store converted to rows, and what stays a file.

use crate::apps::kode::database::columns::Columns;
use crate::apps::kode::database::statements::STATEMENTS;
use crate::apps::kode::database::{AgentRows, DatabaseFrame, Rest, Tables, columns, mark};
use crate::core::export::{FileSink, WriteError};
use crate::core::json::{Members, Style};
use crate::core::losses::Losses;
use crate::core::names::is_safe_piece;
use crate::core::sqlite::{Cell, Made, Pragmas, Record, Statement, Table};
use crate::core::time::{moment, to_millis};
use manent_model::ConversationId;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};

/// An agent that was written as files.
pub(crate) struct AgentFiles {
    pub conversation: ConversationId,
    pub folder: String,
    pub rows: Option<AgentRows>,
}

/// A row for one of the tables.
struct Numbered {
    table: usize,
    row: Option<i64>,
    record: Record,
}

/// Writes files of the JSON store as a database and the files that stay beside it.
pub(crate) fn files_to_rows(
    mut files: BTreeMap<String, Vec<u8>>,
    agents: &[AgentFiles],
    frame: Option<DatabaseFrame>,
    losses: &mut Losses,
    out: &mut dyn FileSink,
) -> Result<(), WriteError> {
    let frame = frame.unwrap_or_else(fresh);
    let mut rolling = RowWriter {
        rows: Vec::new(),
        agents: HashSet::new(),
        calls: HashSet::new(),
        snapshots: HashSet::new(),
        losses,
    };
    for agent in agents {
        rolling.agent(agent, &mut files);
    }
    let file = Some(&frame.file).filter(|file| is_safe_piece(file)).map_or("agents.db", String::as_str);
    let made = Made::new(file, frame.pragmas)?;
    frame.statements.iter().try_for_each(|statement| made.declare(&statement.sql))?;
    for (table, rows) in &frame.others {
        for row in rows {
            insert(&made, table, row.row, &Record::of(table, row))?;
        }
    }
    let tables = frame.tables.all();
    for (name, row) in &frame.left {
        let Some(place) = tables.iter().position(|table| table.name == *name) else { continue };
        rolling.rows.push(Numbered { table: place, row: row.row, record: Record::of(tables[place], row) });
    }
    for (place, table) in tables.into_iter().enumerate() {
        let mut rows: Vec<&mut Numbered> = rolling.rows.iter_mut().filter(|row| row.table == place).collect();
        let mut taken = HashSet::new();
        for row in &mut rows {
            row.row = row.row.filter(|number| taken.insert(*number));
        }
        let mut next = taken.iter().max().map_or(1, |last| last.saturating_add(1));
        for row in rows {
            let number = row.row.unwrap_or(next);
            next = next.max(number.saturating_add(1));
            insert(&made, table, Some(number), &row.record)?;
        }
    }
    made.finish(out)?;
    for (name, bytes) in files {
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = out.create(&name).map_err(failed)?;
        target.write_all(&bytes).and_then(|()| target.flush()).map_err(failed)?;
    }
    Ok(())
}

fn insert(made: &Made, table: &Table, row: Option<i64>, record: &Record) -> Result<(), WriteError> {
    let held = record.0.iter().filter(|(name, _)| table.place(name).is_some());
    let cells: Vec<(&str, &Cell)> = held.map(|(name, cell)| (name.as_str(), cell)).collect();
    made.insert(table, row, &cells)
}

/// The skeleton of a new database.
fn fresh() -> DatabaseFrame {
    let table = |name: &str, columns: &Columns, more: &[&str]| Table {
        name: name.to_owned(),
        columns: columns.iter().map(|(column, ..)| *column).chain(more.iter().copied()).map(str::to_owned).collect(),
        number: Some("rowid".to_owned()),
        is_computed: false,
    };
    let statement = |sql: &&str| Statement { kind: String::new(), name: String::new(), sql: (*sql).to_owned() };
    DatabaseFrame {
        file: String::new(),
        pragmas: Pragmas::default(),
        statements: STATEMENTS.iter().map(statement).collect(),
        tables: Tables {
            agents: table("agents", &columns::AGENT, &[]),
            messages: table("messages", &columns::MESSAGE, &["id", "agent_id", "seq", "created_at"]),
            tool_calls: table("tool_calls", &columns::CALL, &["agent_id"]),
            snapshots: table("snapshots", &columns::SNAPSHOT, &["agent_id"]),
        },
        others: Vec::new(),
        left: Vec::new(),
    }
}

struct RowWriter<'a> {
    rows: Vec<Numbered>,
    /// Ids that are taken: of agents, of tool calls in the whole table, and of the snapshots of each agent.
    agents: HashSet<Cell>,
    calls: HashSet<Cell>,
    snapshots: HashSet<(Cell, Cell)>,
    losses: &'a mut Losses,
}

impl RowWriter<'_> {
    /// Takes an agent's records out of its files. One without a meta file, or with the id of another, cannot be a row, and
    /// stays files.
    fn agent(&mut self, agent: &AgentFiles, files: &mut BTreeMap<String, Vec<u8>>) {
        let prefix = if agent.folder.is_empty() { String::new() } else { format!("{}/", agent.folder) };
        let mut take =
            |file: &str| files.remove(&format!("{prefix}{file}")).and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(meta) = take("meta.json") else { return };
        let nothing = AgentRows::default();
        let rows = agent.rows.as_ref().unwrap_or(&nothing);
        let mut record = self.record(agent, &columns::AGENT, &meta, agent.rows.as_ref().map(|rows| &rows.agent));
        if agent.rows.is_none() {
            asked(
                &mut record,
                &[
                    ("config_version", ""),
                    ("lineage", "[]"),
                    ("metadata", "{}"),
                    ("created_at", ""),
                    ("template_id", ""),
                ],
            );
            asked(&mut record, &[("agent_id", agent.folder.as_str())]);
            counted(&mut record, &[("message_count", 0), ("last_sfp_index", -1)]);
        }
        let id = record.get("agent_id").clone();
        if !self.agents.insert(id.clone()) {
            files.insert(format!("{prefix}meta.json"), meta.into_bytes());
            self.losses.add(agent.conversation, "agents whose id another one has", 1);
            return;
        }
        let mut take =
            |file: &str| files.remove(&format!("{prefix}{file}")).and_then(|bytes| String::from_utf8(bytes).ok());
        let made_at = record.get("created_at").text().and_then(moment).map_or(0, to_millis);
        self.rows.push(Numbered { table: 0, row: rows.agent.row, record });
        if let Some(list) = take("runtime/messages.json") {
            self.messages(agent, &list, rows, &id, made_at);
        }
        if let Some(list) = take("runtime/tool-calls.json") {
            self.tool_calls(agent, &list, rows, &id, made_at);
        }
        let inside = format!("{prefix}snapshots/");
        let is_snapshot =
            |name: &&String| name.strip_prefix(&inside).is_some_and(|leaf| !leaf.contains('/') && leaf != "index.json");
        let names: Vec<String> = files.keys().filter(is_snapshot).cloned().collect();
        for name in names {
            if let Some(text) = files.remove(&name).and_then(|bytes| String::from_utf8(bytes).ok()) {
                self.snapshot(agent, &text, rows, &id);
            }
        }
    }

    /// A record as a row, with what the row had beside it. One that had no row is laid out as the program does in columns.
    fn record(&mut self, agent: &AgentFiles, columns: &Columns, text: &str, kept: Option<&Rest>) -> Record {
        let (mut record, lost) = match kept {
            Some(_) => columns::cells(columns, text),
            None => columns::cells(columns, &Style::COMPACT.format(text, 0)),
        };
        self.losses.add(agent.conversation, "values that no column holds", lost);
        let rest = kept.iter().flat_map(|kept| &kept.cells);
        rest.for_each(|(name, cell)| record.set(name, cell.clone()));
        record
    }

    fn messages(&mut self, agent: &AgentFiles, list: &str, rows: &AgentRows, id: &Cell, made_at: i64) {
        let texts = elements(list);
        let found = align(&texts, &rows.messages);
        let seqs = numbered(&found);
        for (place, (text, rest)) in texts.iter().zip(found).enumerate() {
            let mut record = self.record(agent, &columns::MESSAGE, text, rest);
            record.set("agent_id", id.clone());
            record.set("seq", Cell::Integer(seqs[place]));
            if rest.is_none() {
                asked(&mut record, &[("role", "user"), ("content", "[]")]);
                let made_up = mark(&format!("{} {}", id.shown(), seqs[place]));
                record.set("id", Cell::Text(format!("msg_{made_at}_{made_up:08x}{}", seqs[place])));
                record.set("created_at", Cell::Integer(made_at));
            }
            self.rows.push(Numbered { table: 1, row: rest.and_then(|rest| rest.row), record });
        }
    }

    fn tool_calls(&mut self, agent: &AgentFiles, list: &str, rows: &AgentRows, id: &Cell, made_at: i64) {
        for text in elements(list) {
            let call = Members::parse(text).and_then(|members| members.text("id")).unwrap_or_default();
            let kept = rows.calls.get(&call);
            let mut record = self.record(agent, &columns::CALL, text, kept);
            if !self.calls.insert(record.get("id").clone()) {
                self.losses.add(agent.conversation, "tool calls whose id another one has", 1);
                continue;
            }
            record.set("agent_id", id.clone());
            if kept.is_none() {
                let usual = [("name", ""), ("input", "{}"), ("state", "PENDING"), ("audit_trail", "[]")];
                asked(&mut record, &usual);
                asked(&mut record, &[("approval", "{\"required\":false}")]);
                counted(&mut record, &[("created_at", made_at), ("updated_at", made_at)]);
            }
            self.rows.push(Numbered { table: 2, row: kept.and_then(|kept| kept.row), record });
        }
    }

    fn snapshot(&mut self, agent: &AgentFiles, text: &str, rows: &AgentRows, id: &Cell) {
        let name = Members::parse(text).and_then(|members| members.text("id")).unwrap_or_default();
        let kept = rows.snapshots.get(&name);
        let mut record = self.record(agent, &columns::SNAPSHOT, text, kept);
        record.set("agent_id", id.clone());
        if kept.is_none() {
            let bookmark = "{\"seq\":-1,\"timestamp\":0}";
            asked(
                &mut record,
                &[("snapshot_id", ""), ("messages", "[]"), ("last_bookmark", bookmark), ("created_at", "")],
            );
            counted(&mut record, &[("last_sfp_index", -1)]);
        }
        if !self.snapshots.insert((id.clone(), record.get("snapshot_id").clone())) {
            self.losses.add(agent.conversation, "snapshots whose id another one has", 1);
            return;
        }
        self.rows.push(Numbered { table: 3, row: kept.and_then(|kept| kept.row), record });
    }
}

/// Fills columns that may not be empty.
fn asked(record: &mut Record, usual: &[(&str, &str)]) {
    for (column, usual) in usual {
        if *record.get(column) == Cell::Null {
            record.set(column, Cell::Text((*usual).to_owned()));
        }
    }
}

/// Fills columns of numbers that may not be empty.
fn counted(record: &mut Record, usual: &[(&str, i64)]) {
    for (column, usual) in usual {
        if *record.get(column) == Cell::Null {
            record.set(column, Cell::Integer(*usual));
        }
    }
}

fn elements(list: &str) -> Vec<&str> {
    let elements: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

/// Finds the row of each record: the next one with its mark; one that was changed between two that are known keeps its own.
fn align<'a>(texts: &[&str], rows: &'a [(u32, Rest)]) -> Vec<Option<&'a Rest>> {
    let marks: Vec<u32> = texts.iter().map(|text| mark(text)).collect();
    let mut found: Vec<Option<usize>> = Vec::with_capacity(texts.len());
    let mut next = 0;
    for own in &marks {
        let place = rows[next..].iter().position(|(mark, _)| mark == own).map(|behind| next + behind);
        next = place.map_or(next, |place| place + 1);
        found.push(place);
    }
    let mut free = 0;
    for place in 0..found.len() {
        match found[place] {
            Some(row) => free = row + 1,
            None => {
                let end = found[place..].iter().flatten().next().copied().unwrap_or(rows.len());
                if free < end {
                    found[place] = Some(free);
                    free += 1;
                }
            }
        }
    }
    found.into_iter().map(|place| place.map(|place| &rows[place].1)).collect()
}

/// The order of messages: as it was, and counted anew only where a new one has no room.
fn numbered(rows: &[Option<&Rest>]) -> Vec<i64> {
    let known = |rest: &Rest| rest.cells.iter().find(|(name, _)| name == "seq").and_then(|(_, cell)| cell.integer());
    let mut seqs: Vec<i64> = Vec::with_capacity(rows.len());
    for rest in rows {
        let next = seqs.last().map_or(0, |last| last + 1);
        seqs.push(rest.and_then(known).unwrap_or(next));
    }
    if seqs.windows(2).any(|pair| pair[0] >= pair[1]) {
        seqs = (0..rows.len() as i64).collect();
    }
    seqs
}
