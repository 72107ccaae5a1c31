//! The SQLite store: agents, messages, tool calls and snapshots as rows, everything else in files beside them.
//!
//! Rows are converted to the files of the JSON store when reading, and from them when writing, so both stores share
//! one reader and one writer. Row numbers and ids, which files do not have, are kept with the agent.

mod statements;
mod columns;
mod overlay;
mod files;
mod rows;

pub(crate) use files::{VirtualFiles, rows_to_files};
pub(crate) use overlay::Overlay;
pub(crate) use rows::{AgentFiles, files_to_rows};

use crate::core::problem::ReadError;
use crate::core::source_fs::SourceTree;
use crate::core::sqlite::{Cell, Opened, Pragmas, Row, Schema, Statement, Table, candidates_below};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The four tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tables {
    pub agents: Table,
    pub messages: Table,
    pub tool_calls: Table,
    pub snapshots: Table,
}

impl Tables {
    fn of(schema: &Schema) -> Option<Self> {
        let table = |name: &str, columns: &[&str]| schema.table(name).filter(|table| table.has(columns)).cloned();
        Some(Self {
            agents: table("agents", &["agent_id", "template_id", "created_at", "metadata"])?,
            messages: table("messages", &["id", "agent_id", "role", "content", "seq"])?,
            tool_calls: table("tool_calls", &["id", "agent_id", "name", "state", "audit_trail"])?,
            snapshots: table("snapshots", &["agent_id", "snapshot_id", "messages"])?,
        })
    }

    fn all(&self) -> [&Table; 4] {
        [&self.agents, &self.messages, &self.tool_calls, &self.snapshots]
    }
}

/// Layout of a database, without the rows of its agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabaseFrame {
    /// Its name.
    pub file: String,
    pub pragmas: Pragmas,
    pub statements: Vec<Statement>,
    pub tables: Tables,
    /// Other tables, small enough to be kept whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<(Table, Vec<Row>)>,
    /// Rows that belong to no agent, or that are no records; by the name of their table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<(String, Row)>,
}

/// Columns of a row that a file does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Rest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<i64>,
    /// Columns without a matching member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<(String, Cell)>,
}

/// The rows of an agent, without what its files say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct AgentRows {
    pub agent: Rest,
    /// In the order of the list; each with a mark of the record, by which it is found again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<(u32, Rest)>,
    /// By the id of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Rest>,
    /// By the id of the snapshot.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub snapshots: BTreeMap<String, Rest>,
}

/// A mark that two records share only if they are the same, or by rare chance, which costs a row its number.
fn mark(record: &str) -> u32 {
    let digest = <sha2::Sha256 as sha2::Digest>::digest(record.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Finds the databases of a tree in whatever folder, damaged or not.
pub(crate) fn find(tree: &dyn SourceTree) -> Vec<String> {
    let is_one = |name: &String| match Opened::open(tree, name) {
        Ok(opened) => Tables::of(&opened.schema).is_some(),
        Err(_) => {
            let start = tree.open(name).and_then(|file| file.slice(0, file.len().min(64 << 10))).unwrap_or_default();
            ["last_sfp_index", "audit_trail"].iter().all(|word| memchr::memmem::find(&start, word.as_bytes()).is_some())
        }
    };
    candidates_below(tree).into_iter().filter(is_one).collect()
}

/// The content of a database.
pub(crate) struct Database {
    pub opened: Opened,
    pub tables: Tables,
    pub rows: [Vec<Row>; 4],
    pub others: Vec<(Table, Vec<Row>)>,
}

impl Database {
    /// Reads every row first, so that nothing of a damaged file is emitted.
    pub fn open(tree: &dyn SourceTree, name: &str) -> Result<Self, ReadError> {
        let opened = Opened::open(tree, name)?;
        let Some(tables) = Tables::of(&opened.schema) else {
            let why = "its tables have other columns".to_owned();
            return Err(ReadError::Foreign { file: name.to_owned(), format: crate::apps::kode::NAME, why });
        };
        let rows = |table: &Table| opened.check(table).and_then(|()| opened.rows(table));
        let [agents, messages, calls, snapshots] = tables.all();
        let own = [rows(agents)?, rows(messages)?, rows(calls)?, rows(snapshots)?];
        let is_other = |table: &&Table| !tables.all().iter().any(|known| known.name == table.name);
        let others = opened.schema.tables.iter().filter(is_other);
        let others = others.map(|table| Ok((table.clone(), rows(table)?))).collect::<Result<_, ReadError>>()?;
        Ok(Self { rows: own, others, tables, opened })
    }
}
