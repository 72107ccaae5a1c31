//! Engine-independent connection: dispatches statements to SQLite or PostgreSQL.

use crate::api::error::StoreError;
use crate::engine::sql::value::{FromSql, Parameters, SqlValue};
use crate::postgres::Client;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, ToSql};

/// Where statements run.
#[derive(Clone, Copy)]
pub(crate) enum Connection<'a> {
    /// A file.
    Sqlite(&'a rusqlite::Connection),
    /// A server, for one tenant.
    Postgres(&'a Client),
}

/// A row that a statement found.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

/// The error of an engine statement.
#[derive(Debug)]
pub(crate) enum EngineError {
    Sqlite(rusqlite::Error),
    Postgres(tokio_postgres::Error),
    /// A column of a row holds something else than what belongs there.
    Column(usize),
    /// There is no row where there is always one.
    NoRow,
    /// The server did not answer in time.
    Unresponsive,
    /// The role that works with the tables is above their policies.
    RoleBypassesRls,
    /// A commit is in flight; no query can run before its outcome is known.
    TransactionUnderWay,
    /// The index cannot remove the rows of a deletion.
    Index,
    /// The system gives us nothing to wait with: too many open files, no memory.
    System(std::io::Error),
    /// A transaction was refused after it had written; it has to run alone, where all of it is rolled back.
    WroteAndRejected,
}

/// The outcome of a statement.
pub(crate) type DbResult<T> = Result<T, EngineError>;

impl EngineError {
    /// Says whether the error means that the file is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }

    /// Converts the error into a [`StoreError`].
    pub(crate) fn into_store_error(self, doing: &'static str) -> StoreError {
        match self {
            Self::Sqlite(error) => crate::sqlite::into_store_error(doing, error),
            Self::Postgres(error) => crate::postgres::failed(doing, error),
            Self::Column(place) => StoreError::altered("a column", format!("{place} while {doing}")),
            Self::NoRow => StoreError::altered("a row", doing),
            Self::System(error) => StoreError::engine(doing, error),
            Self::RoleBypassesRls => {
                let why =
                    "the role manent_app may bypass row-level security: alter role manent_app nosuperuser nobypassrls";
                StoreError::Invalid(why.to_owned())
            }
            Self::TransactionUnderWay => StoreError::Busy("the database server has not answered yet"),
            Self::Index => StoreError::Busy("the index cannot be written now"),
            Self::Unresponsive => StoreError::Busy("the database server does not answer"),
            Self::WroteAndRejected => StoreError::altered("a transaction", doing),
        }
    }
}

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<tokio_postgres::Error> for EngineError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl<'a> From<&'a rusqlite::Connection> for Connection<'a> {
    fn from(connection: &'a rusqlite::Connection) -> Self {
        Self::Sqlite(connection)
    }
}

impl<'a> From<&'a Client> for Connection<'a> {
    fn from(client: &'a Client) -> Self {
        Self::Postgres(client)
    }
}

impl Row<'_> {
    /// Returns the value at a place, counted from 0.
    pub(crate) fn get<T: FromSql>(&self, place: usize) -> DbResult<T> {
        let read = match self {
            Self::Sqlite(row) => cell_of(row.get_ref(place)?).and_then(T::read),
            Self::Postgres(row) => crate::postgres::read(row, place)?,
        };
        read.ok_or(EngineError::Column(place))
    }
}

fn cell_of(value: ValueRef<'_>) -> Option<SqlValue<'_>> {
    match value {
        ValueRef::Null => Some(SqlValue::Null),
        ValueRef::Integer(number) => Some(SqlValue::Integer(number)),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(SqlValue::Text),
        ValueRef::Blob(bytes) => Some(SqlValue::Bytes(bytes)),
        ValueRef::Real(_) => None,
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Integer(number) => ValueRef::Integer(number),
            SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqlValue::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, parameters: impl Parameters) -> rusqlite::Result<()> {
    let mut place = 0;
    parameters.each(|cell| {
        place += 1;
        statement.raw_bind_parameter(place, cell)
    })
}

/// Begins a read transaction: everything until [`end_reading`] is one snapshot.
pub(crate) fn begin_reading(connection: Connection<'_>) -> DbResult<()> {
    match connection {
        Connection::Sqlite(_) => execute(connection, "begin", ()).map(drop),
        Connection::Postgres(client) => client.begin_reading(),
    }
}

/// Ends a read transaction. Nothing was written; the next read notices a failure here.
pub(crate) fn end_reading(connection: Connection<'_>) {
    match connection {
        Connection::Sqlite(_) => drop(execute(connection, "rollback", ())),
        Connection::Postgres(client) => client.end_reading(),
    }
}

/// Runs a query that gives exactly one row.
pub(crate) fn query_one<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    read: impl FnOnce(&Row<'_>) -> DbResult<T>,
) -> DbResult<T> {
    query_optional(connection, sql, parameters, read)?.ok_or(EngineError::NoRow)
}

/// Runs a query that gives one row or none.
pub(crate) fn query_optional<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    read: impl FnOnce(&Row<'_>) -> DbResult<T>,
) -> DbResult<Option<T>> {
    match connection.into() {
        Connection::Sqlite(connection) => {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, parameters)?;
            let mut found = statement.raw_query();
            found.next()?.map(|row| read(&Row::Sqlite(row))).transpose()
        }
        Connection::Postgres(client) => {
            let found = client.query(sql, parameters)?;
            found.first().map(|row| read(&Row::Postgres(row))).transpose()
        }
    }
}

/// Runs a query and collects its rows.
pub(crate) fn query_all<'c, T>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    mut read: impl FnMut(&Row<'_>) -> DbResult<T>,
) -> DbResult<Vec<T>> {
    let mut all = Vec::new();
    for_each_row(connection, sql, parameters, |row| {
        all.push(read(row)?);
        Ok(true)
    })?;
    Ok(all)
}

/// Runs a query and passes its rows to `look` one after another, as long as it wants more.
pub(crate) fn for_each_row<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
    mut look: impl FnMut(&Row<'_>) -> DbResult<bool>,
) -> DbResult<()> {
    match connection.into() {
        Connection::Sqlite(connection) => {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, parameters)?;
            let mut found = statement.raw_query();
            while let Some(row) = found.next()? {
                if !look(&Row::Sqlite(row))? {
                    break;
                }
            }
        }
        Connection::Postgres(client) => {
            for row in &client.query(sql, parameters)? {
                if !look(&Row::Postgres(row))? {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Writes numbers as one parameter that a statement takes apart: with `json_each` on SQLite, with `string_to_array` on
/// PostgreSQL.
pub(crate) fn list(connection: Connection<'_>, numbers: &[i64]) -> String {
    let joined = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    match connection {
        Connection::Sqlite(_) => format!("[{joined}]"),
        Connection::Postgres(_) => joined,
    }
}

/// Runs a statement that changes rows. A server may say only later that it failed, but before the end of the
/// transaction.
pub(crate) fn execute<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
) -> DbResult<()> {
    match connection.into() {
        Connection::Sqlite(connection) => execute_counted(connection, sql, parameters).map(drop),
        Connection::Postgres(client) => client.execute(sql, parameters),
    }
}

/// Keyset paging: returns the start of the next page, after the last row read. In a damaged file rows may be out of
/// order; a scan that makes no progress ends.
pub(crate) fn next_page_start(after: i64, last: Option<i64>) -> Option<i64> {
    last.filter(|last| *last > after)
}

/// Runs a statement that changes rows, perhaps later and together with its like, but before anything that is not
/// gathered. The gathered do not depend on each other.
pub(crate) fn execute_batched(connection: Connection<'_>, sql: &str, parameters: impl Parameters) -> DbResult<()> {
    match connection {
        Connection::Sqlite(connection) => execute_counted(connection, sql, parameters).map(drop),
        Connection::Postgres(client) => client.execute_batched(sql, parameters),
    }
}

/// Runs a statement that changes rows, and returns how many.
pub(crate) fn execute_counted<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
) -> DbResult<usize> {
    match connection.into() {
        Connection::Sqlite(connection) => {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, parameters)?;
            Ok(statement.raw_execute()?)
        }
        Connection::Postgres(client) => client.execute_counted(sql, parameters),
    }
}

/// Runs a statement that inserts one row, and returns the number that the row got.
pub(crate) fn insert_numbered<'c>(
    connection: impl Into<Connection<'c>>,
    sql: &str,
    parameters: impl Parameters,
) -> DbResult<i64> {
    match connection.into() {
        Connection::Sqlite(connection) => {
            execute(connection, sql, parameters)?;
            Ok(connection.last_insert_rowid())
        }
        Connection::Postgres(client) => client.insert_numbered(sql, parameters),
    }
}
