//! Schema of a SQLite file: statements, tables and settings.

use serde::{Deserialize, Serialize};

/// A statement as the file keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    pub name: String,
    pub sql: String,
}

/// A table that holds rows of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub name: String,
    /// Its columns but those that SQLite computes.
    pub columns: Vec<String>,
    /// Name of its rowid; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// SQLite computes a column of it.
    #[serde(skip)]
    pub is_computed: bool,
}

impl Table {
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.eq_ignore_ascii_case(column))
    }

    pub fn has(&self, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.place(column).is_some())
    }
}

/// Settings of a file that its programs may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pragmas {
    pub page_size: u32,
    /// 1 for UTF-8, 2 and 3 for UTF-16, as the header has it.
    pub encoding: u32,
    pub user_version: i32,
    pub application_id: i32,
    /// Writers of the file keep a write-ahead log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_wal: bool,
}

impl Default for Pragmas {
    fn default() -> Self {
        Self { page_size: 4_096, encoding: 1, user_version: 0, application_id: 0, is_wal: false }
    }
}

impl Pragmas {
    /// Reads them from the first 100 bytes of a file.
    pub fn of(header: &[u8]) -> Self {
        let number = |at: usize| {
            header.get(at..at + 4).map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
        };
        // Two bytes, in which the largest size has no room.
        let page_size = match number(14) & 0xffff {
            1 => 65_536,
            size => size,
        };
        Self {
            page_size,
            encoding: number(56),
            user_version: number(60) as i32,
            application_id: number(68) as i32,
            is_wal: header.get(18) == Some(&2),
        }
    }

    pub fn encoding_name(self) -> &'static str {
        match self.encoding {
            2 => "UTF-16le",
            3 => "UTF-16be",
            _ => "UTF-8",
        }
    }
}

/// Everything that a file declares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Schema {
    pub statements: Vec<Statement>,
    pub tables: Vec<Table>,
    /// Names of tables that a module of SQLite makes up; nothing of them is ever run.
    pub made_up: Vec<String>,
}

impl Schema {
    /// Finds a table of its own rows by its name in any case.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}
