//! Backups: the rows of a tenant as a file, which is a store of its own that any program of ours opens.
//!
//! Numbers, positions, digests and the key of the digests are the same on both engines, so the copy is checked as any
//! file is: restored, verified and compared before anybody calls it done.

use super::client::Client;
use super::migrate::connect;
use super::options::PostgresOptions;
use super::tenant::TABLES;
use crate::engine::cell::Held;
use crate::engine::connection::{Found, Ran, begin_reading, end_reading, execute, rows};
use crate::error::Result;
use crate::maintenance::BackupReport;
use crate::sqlite;
use std::path::Path;

/// How many rows travel at a time.
const ROWS: usize = 500;

pub(super) fn backup(options: &PostgresOptions, to: &Path) -> Result<BackupReport> {
    sqlite::backup_of_copy(to, |file| {
        let client = connect(options)?.without_hurry();
        let copied = begin_reading((&client).into()).and_then(|()| copy(&client, file));
        end_reading((&client).into());
        copied.map_err(|error| error.said("copying the rows"))
    })
}

/// Copies every row of the tenant. Tables that others refer to come in any order: the file looks at the end.
fn copy(client: &Client, file: &rusqlite::Connection) -> Ran<()> {
    execute(file, "pragma foreign_keys = off", ())?;
    execute(file, "begin immediate", ())?;
    for table in TABLES.iter().filter(|table| **table != "counter") {
        execute(file, &["delete from ", table].concat(), ())?;
        copy_table(client, file, table)?;
    }
    // A number that was given once is not given again, also where its row is gone.
    let counted: Vec<(String, i64)> =
        rows(client, "select name, next - 1 from counter", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (table, last) in counted {
        let sql = "update sqlite_sequence set seq = $1 where name = $2 and seq < $1";
        execute(file, sql, (last, table))?;
    }
    execute(file, "commit", ())?;
    Ok(())
}

fn copy_table(client: &Client, file: &rusqlite::Connection, table: &str) -> Ran<()> {
    let columns: Vec<String> =
        rows(file, "select name from pragma_table_info($1) order by cid", [table], |row| row.get(0))?;
    let names = columns.join(", ");
    let places: Vec<String> = (1..=columns.len()).map(|place| ["$", &place.to_string()].concat()).collect();
    let insertion = ["insert into ", table, " (", &names, ") values (", &places.join(", "), ")"].concat();
    client.open_cursor(&["select ", &names, " from ", table].concat())?;
    loop {
        let found = client.fetch(ROWS)?;
        for row in &found {
            let row = Found::Postgres(row);
            let held: Ran<Vec<Held>> = (0..columns.len()).map(|place| row.get(place)).collect();
            execute(file, &insertion, held?)?;
        }
        if found.len() < ROWS {
            return client.run("close copying");
        }
    }
}
