//! A table of rows, written one a commit, and the ledger of those that were acknowledged.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The name of the database file in its directory.
pub const FILE: &str = "rows.db";

/// Opens the database in `directory` on the file system `vfs`.
pub fn open(directory: &Path, vfs: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags_and_vfs(directory.join(FILE), OpenFlags::default(), vfs)?;
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    Ok(connection)
}

/// Opens the database in `directory` as a program after a restart would, on the default file system.
pub fn reopen(directory: &Path) -> Connection {
    Connection::open(directory.join(FILE)).expect("a database can always be opened")
}

/// Sets the journal mode and durability, small checkpoints, and makes the table.
pub fn prepare(connection: &Connection, journal: &str, synchronous: &str) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "pragma journal_mode = {journal};
         pragma synchronous = {synchronous};
         pragma wal_autocheckpoint = 12;
         create table if not exists row (id integer primary key, body text not null) strict;"
    ))
}

/// Commits one row.
pub fn insert(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("insert into row (id, body) values ($1, $2)")?.execute((id, body(id))).map(drop)
}

/// Returns the text of a row: from a few bytes to some pages, all of them its own.
pub fn body(id: i64) -> String {
    let repeats = 1 + (id * 7919 % 1500) as usize;
    format!("{id} ").repeat(if id % 10 == 0 { repeats } else { repeats / 12 + 1 })
}

/// What a database holds after a restart.
pub struct Contents {
    /// The answer of `integrity_check`, or the error.
    pub integrity: String,
    /// The ids of the rows, in order.
    pub ids: Vec<i64>,
}

/// Reads the database back; a row with wrong text counts as damage.
pub fn read_back(directory: &Path) -> Contents {
    let connection = reopen(directory);
    let integrity =
        connection.query_row("pragma integrity_check", (), |row| row.get(0)).unwrap_or_else(|error| error.to_string());
    match rows(&connection) {
        Ok(rows) => {
            let wrong = rows.iter().find(|(id, text)| *text != body(*id));
            let integrity = wrong.map_or(integrity, |(id, _)| format!("row {id} has another text"));
            Contents { integrity, ids: rows.into_iter().map(|(id, _)| id).collect() }
        }
        // A cut before the table was made leaves none, which loses nothing that was promised.
        Err(error) if error.to_string().contains("no such table") => Contents { integrity, ids: Vec::new() },
        Err(error) => Contents { integrity: format!("{integrity}; {error}"), ids: Vec::new() },
    }
}

fn rows(connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut statement = connection.prepare("select id, body from row order by id")?;
    statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
