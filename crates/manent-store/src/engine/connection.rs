//! A connection to either engine, and the few ways in which statements run on it.

use super::cell::{Cell, Column, Parameters};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OptionalExtension, ToSql};

/// Where statements run.
#[derive(Clone, Copy)]
pub(crate) enum Connection<'a> {
    /// A file.
    Sqlite(&'a rusqlite::Connection),
}

/// A row that a statement found.
pub(crate) enum Found<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
}

/// What an engine says when a statement fails.
pub(crate) type EngineError = rusqlite::Error;
/// The outcome of a statement.
pub(crate) type Ran<T> = Result<T, EngineError>;

impl<'a> From<&'a rusqlite::Connection> for Connection<'a> {
    fn from(connection: &'a rusqlite::Connection) -> Self {
        Self::Sqlite(connection)
    }
}

impl Found<'_> {
    /// Returns the value at a place, counted from 0.
    pub(crate) fn get<T: Column>(&self, place: usize) -> Ran<T> {
        let Self::Sqlite(row) = self;
        let found = row.get_ref(place)?;
        let cell = match found {
            ValueRef::Null => Some(Cell::Null),
            ValueRef::Integer(number) => Some(Cell::Integer(number)),
            ValueRef::Text(text) => Some(Cell::Text(std::str::from_utf8(text)?)),
            ValueRef::Blob(bytes) => Some(Cell::Bytes(bytes)),
            ValueRef::Real(_) => None,
        };
        let name = || row.as_ref().column_name(place).unwrap_or_default().to_owned();
        cell.and_then(T::read).ok_or_else(|| EngineError::InvalidColumnType(place, name(), found.data_type()))
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Cell::Null => ValueRef::Null,
            Cell::Integer(number) => ValueRef::Integer(number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, parameters: impl Parameters) -> Ran<()> {
    let mut place = 0;
    parameters.each(|cell| {
        place += 1;
        statement.raw_bind_parameter(place, cell)
    })
}

/// Runs a query that gives exactly one row.
pub(crate) fn one<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    read: impl FnOnce(&Found<'_>) -> Ran<T>,
) -> Ran<T> {
    let Connection::Sqlite(connection) = connection.into();
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, parameters)?;
    let mut found = statement.raw_query();
    let row = found.next()?.ok_or(EngineError::QueryReturnedNoRows)?;
    read(&Found::Sqlite(row))
}

/// Runs a query that gives one row or none.
pub(crate) fn maybe<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    read: impl FnOnce(&Found<'_>) -> Ran<T>,
) -> Ran<Option<T>> {
    one(connection, sql, parameters, read).optional()
}

/// Runs a query and collects its rows.
pub(crate) fn rows<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    mut read: impl FnMut(&Found<'_>) -> Ran<T>,
) -> Ran<Vec<T>> {
    let mut all = Vec::new();
    each(connection, sql, parameters, |row| {
        all.push(read(row)?);
        Ok(true)
    })?;
    Ok(all)
}

/// Runs a query and looks at its rows one after another, as long as `look` wants more.
pub(crate) fn each<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    mut look: impl FnMut(&Found<'_>) -> Ran<bool>,
) -> Ran<()> {
    let Connection::Sqlite(connection) = connection.into();
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, parameters)?;
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        if !look(&Found::Sqlite(row))? {
            break;
        }
    }
    Ok(())
}

/// Runs a statement that changes rows, and returns how many.
pub(crate) fn execute<'c>(connection: impl Into<Connection<'c>>, sql: &str, parameters: impl Parameters) -> Ran<usize> {
    let Connection::Sqlite(connection) = connection.into();
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, parameters)?;
    statement.raw_execute()
}

/// Runs a statement that inserts one row, and returns the number that the row got.
pub(crate) fn insert_numbered<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
) -> Ran<i64> {
    let Connection::Sqlite(connection) = connection.into();
    execute(connection, sql, parameters)?;
    Ok(connection.last_insert_rowid())
}
