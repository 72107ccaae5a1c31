//! SQLite file writer: statements and rows are applied to an in-memory database, whose pages are then written out.

use crate::core::export::{FileSink, WriteError};
use crate::core::sqlite::cell::{Cell, Odd};
use crate::core::sqlite::quoted;
use crate::core::sqlite::schema::{Pragmas, Table};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, params_from_iter};

/// A file that is being made.
pub(crate) struct Made {
    name: String,
    pragmas: Pragmas,
    connection: Connection,
}

impl Made {
    pub fn new(name: &str, pragmas: Pragmas) -> Result<Self, WriteError> {
        let connection = opened(pragmas).map_err(|error| failure(name, error))?;
        Ok(Self { name: name.to_owned(), pragmas, connection })
    }

    /// Runs one statement that declares something.
    pub fn declare(&self, sql: &str) -> Result<(), WriteError> {
        self.connection.execute(sql, []).map(|_| ()).map_err(|error| failure(&self.name, error))
    }

    /// Inserts a row into a table; without a number it gets the next one.
    pub fn insert(&self, table: &Table, row: Option<i64>, cells: &[(&str, &Cell)]) -> Result<(), WriteError> {
        let number = table.number.as_ref().zip(row).map(|(name, row)| (name.as_str(), Cell::Integer(row)));
        let all = || number.iter().map(|(name, cell)| (*name, cell)).chain(cells.iter().copied());
        let names: Vec<String> = all().map(|(name, _)| quoted(name)).collect();
        let mark = |cell: &Cell| if matches!(cell, Cell::Odd(Odd::Text(_))) { "cast(? as text)" } else { "?" };
        let marks: Vec<&str> = all().map(|(_, cell)| mark(cell)).collect();
        let sql = format!("insert into {} ({}) values ({})", quoted(&table.name), names.join(", "), marks.join(", "));
        let run = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.execute(params_from_iter(all().map(|(_, cell)| cell)))
        };
        run().map(|_| ()).map_err(|error| failure(&self.name, error))
    }

    /// Writes the file out.
    pub fn finish(mut self, out: &mut dyn FileSink) -> Result<(), WriteError> {
        self.connection.execute_batch("commit").map_err(|error| failure(&self.name, error))?;
        let mut bytes = self.connection.serialize("main").map_err(|error| failure(&self.name, error))?.to_vec();
        if let (true, Some(versions)) = (self.pragmas.is_wal, bytes.get_mut(18..20)) {
            versions.fill(2);
        }
        let failed = |source| WriteError::File { file: self.name.clone(), source };
        let mut target = out.create(&self.name).map_err(failed)?;
        target.write_all(&bytes).and_then(|()| target.flush()).map_err(failed)
    }
}

/// Statements of another program are run here, so nothing of them may reach further than this database.
fn opened(pragmas: Pragmas) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.execute_batch(&format!(
        "pragma page_size = {};
         pragma encoding = '{}';
         pragma user_version = {};
         pragma application_id = {};
         pragma ignore_check_constraints = on;
         begin",
        pragmas.page_size,
        pragmas.encoding_name(),
        pragmas.user_version,
        pragmas.application_id,
    ))?;
    Ok(connection)
}

fn failure(name: &str, error: rusqlite::Error) -> WriteError {
    WriteError::File { file: name.to_owned(), source: std::io::Error::other(error) }
}
