//! Backup and restore: copies the rows of a tenant into a SQLite store that any program of ours opens, and back.
//!
//! Numbers, positions, digests and the digest key are the same on both engines, so the copy is checked as any SQLite
//! store is: restored, verified and compared before the backup counts as done.

use super::client::Client;
use super::migrate::{self, connect};
use super::options::PostgresOptions;
use super::sql_rewrite::{INDEX_TABLES, TABLES};
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::BackupReport;
use crate::engine::sql::connection::{
    DbResult, Row, begin_reading, end_reading, execute, for_each_row, query_all, query_one,
};
use crate::engine::sql::value::OwnedSqlValue;
use crate::engine::verify::{IndexLocation, verify};
use crate::sqlite;
use std::path::Path;

/// Numbers that a copy finds by itself.
const COUNTER: &str = "counter";

/// How many rows travel at a time.
const ROWS: usize = 500;

pub(super) fn backup(options: &PostgresOptions, to: &Path) -> Result<BackupReport> {
    sqlite::backup_of_copy(to, |file| {
        let client = connect(options)?.without_timeout();
        let copied = begin_reading((&client).into()).and_then(|()| copy(&client, file));
        end_reading((&client).into());
        copied.map_err(|error| error.into_store_error("copying the rows"))
    })
}

/// Copies every row of the tenant. Tables come in any order: foreign keys are checked at the end.
fn copy(client: &Client, file: &rusqlite::Connection) -> DbResult<()> {
    execute(file, "pragma foreign_keys = off", ())?;
    execute(file, "begin immediate", ())?;
    for table in TABLES.iter().filter(|table| **table != COUNTER && !INDEX_TABLES.contains(table)) {
        execute(file, &["delete from ", table].concat(), ())?;
        copy_table(client, file, table)?;
    }
    // A number is never reused, even if its row was deleted.
    let counted: Vec<(String, i64)> =
        query_all(client, "select name, next - 1 from counter", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (table, last) in &counted {
        // SQLite makes its row with the first insert; a table may be empty by now.
        let missing = "insert into sqlite_sequence (name, seq)
             select m.name, $1
             from sqlite_master m
             where m.name = $2 and m.sql like '%autoincrement%'
               and not exists (select 1 from sqlite_sequence s where s.name = m.name)";
        execute(file, missing, (last, table))?;
        execute(file, "update sqlite_sequence set seq = $1 where name = $2 and seq < $1", (last, table))?;
    }
    execute(file, "commit", ())?;
    Ok(())
}

fn copy_table(client: &Client, file: &rusqlite::Connection, table: &str) -> DbResult<()> {
    let columns = columns_of(file, table)?;
    let insertion = insertion_of(table, &columns);
    client.open_cursor(&["select ", &columns.join(", "), " from ", table].concat())?;
    loop {
        let found = client.fetch(ROWS)?;
        for row in &found {
            let row = Row::Postgres(row);
            let held: DbResult<Vec<OwnedSqlValue>> = (0..columns.len()).map(|place| row.get(place)).collect();
            execute(file, &insertion, held?)?;
        }
        if found.len() < ROWS {
            return client.run("close copying");
        }
    }
}

/// Restores the rows of a file into a tenant that has none, and verifies the result.
pub(super) fn restore(options: &PostgresOptions, from: &Path) -> Result<()> {
    let file = sqlite::open_copy(from)?;
    let client = migrate::open(options)?.without_timeout();
    migrate::fill_for_tenant(&client)?;
    match fill(&client, &file) {
        Ok(true) => {}
        Ok(false) => {
            client.roll_back();
            return Err(StoreError::Invalid(format!("there is a store at {} already", options.address())));
        }
        Err(error) => {
            client.roll_back();
            return Err(error.into_store_error("restoring the rows"));
        }
    }
    match verify((&client).into(), IndexLocation::None)?.problems.first() {
        None => Ok(()),
        Some(problem) => Err(StoreError::altered("restored store", format!("{problem:?}"))),
    }
}

/// Copies every row in one transaction; returns `false` and copies nothing if the tenant has written before.
fn fill(client: &Client, file: &rusqlite::Connection) -> DbResult<bool> {
    client.begin()?;
    let sql = "select next from counter where name = $1 for update";
    let next: i64 = query_one(client, sql, ["journal"], |row| row.get(0))?;
    if next != 1 {
        return Ok(false);
    }
    execute(client, "delete from meta", ())?;
    for table in migrate::tables_in_order().filter(|table| *table != COUNTER && !INDEX_TABLES.contains(table)) {
        fill_table(client, file, table)?;
    }
    for (table, last) in given_numbers(file)? {
        execute(client, "update counter set next = $1 where name = $2 and next < $1", (last + 1, table))?;
    }
    client.run("commit")?;
    Ok(true)
}

fn fill_table(client: &Client, file: &rusqlite::Connection, table: &str) -> DbResult<()> {
    let columns = columns_of(file, table)?;
    let insertion = insertion_of(table, &columns);
    // In the order in which they were made: a branch comes after its parent.
    let sql = ["select ", &columns.join(", "), " from ", table, " order by 1"].concat();
    for_each_row(file, &sql, (), |row| {
        let held: DbResult<Vec<OwnedSqlValue>> = (0..columns.len()).map(|place| row.get(place)).collect();
        execute(client, &insertion, held?)?;
        client.await_some(ROWS)?;
        Ok(true)
    })
}

/// Returns the last number of each table and the last position, also those whose rows are gone.
fn given_numbers(file: &rusqlite::Connection) -> DbResult<Vec<(String, i64)>> {
    let mut given: Vec<(String, i64)> =
        query_all(file, "select name, seq from sqlite_sequence", (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    // Only some tables have a sequence there; on a server all that number their rows count.
    for table in TABLES.iter().filter(|table| **table != COUNTER && !INDEX_TABLES.contains(table)) {
        if columns_of(file, table)?.iter().any(|column| column == "no") {
            let sql = ["select coalesce(max(no), 0) from ", table].concat();
            given.push(((*table).to_owned(), query_one(file, &sql, (), |row| row.get(0))?));
        }
    }
    let sql = "select coalesce(max(pos + count - 1), 0) from journal";
    given.push(("journal".to_owned(), query_one(file, sql, (), |row| row.get(0))?));
    Ok(given)
}

fn columns_of(file: &rusqlite::Connection, table: &str) -> DbResult<Vec<String>> {
    query_all(file, "select name from pragma_table_info($1) order by cid", [table], |row| row.get(0))
}

fn insertion_of(table: &str, columns: &[String]) -> String {
    let places: Vec<String> = (1..=columns.len()).map(|place| ["$", &place.to_string()].concat()).collect();
    ["insert into ", table, " (", &columns.join(", "), ") values (", &places.join(", "), ")"].concat()
}
