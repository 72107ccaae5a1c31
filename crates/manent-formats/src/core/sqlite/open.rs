//! Hardened opening of untrusted SQLite files: the bytes are validated first, and SQLite's trusting features are
//! disabled.

use crate::core::problem::ReadError;
use crate::core::source_fs::SourceTree;
use crate::core::sqlite::cell::{Cell, Row};
use crate::core::sqlite::schema::{Pragmas, Schema, Statement, Table};
use crate::core::sqlite::wal::Applied;
use crate::core::sqlite::{quoted, wal};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// First bytes of a rollback journal during a transaction.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// SQLite itself holds no larger database in memory.
const FILE_MAX: u64 = 1 << 30;
/// Maximum size of a value.
const VALUE_MAX: i32 = 256 << 20;
/// Steps of SQLite's machine; a file of 1 GiB takes a fraction of them.
const STEPS_MAX: u64 = 20_000_000_000;
const STEPS: u64 = 100_000;

/// A file that was opened and found whole.
#[derive(Debug)]
pub(crate) struct Opened {
    pub name: String,
    pub pragmas: Pragmas,
    pub schema: Schema,
    /// Outcome of the log beside it.
    pub log: Option<Applied>,
    size: usize,
    connection: Connection,
}

/// Files at the root of a tree that are SQLite's, by their first bytes.
pub(crate) fn candidates(tree: &dyn SourceTree) -> Vec<String> {
    candidates_below(tree).into_iter().filter(|name| !name.contains('/')).collect()
}

/// Files anywhere in a tree that are SQLite's, by their first bytes.
pub(crate) fn candidates_below(tree: &dyn SourceTree) -> Vec<String> {
    let is_beside = |name: &str| ["-wal", "-shm", "-journal"].iter().any(|end| name.ends_with(end));
    let is_alone = tree.entries().iter().filter(|entry| !is_beside(&entry.name)).count() == 1;
    let is_named = |name: &str| {
        let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase());
        is_alone || matches!(end.as_deref(), Some("sqlite" | "sqlite3" | "db"))
    };
    let names = tree.entries().iter().map(|entry| &entry.name);
    let named = names.filter(|name| !is_beside(name) && is_named(name));
    let is_ours = |name: &&String| {
        let start = tree.open(name).and_then(|file| file.slice(0, 16));
        start.is_ok_and(|start| start == MAGIC)
    };
    named.filter(is_ours).cloned().collect()
}

impl Opened {
    /// Opens a file and reads what it declares. Its rows are not looked at yet.
    pub fn open(tree: &dyn SourceTree, name: &str) -> Result<Self, ReadError> {
        let damaged = |why: &str| ReadError::Damaged { file: name.to_owned(), why: why.to_owned() };
        let mut bytes = tree.read(name, FILE_MAX)?;
        let journal = format!("{name}-journal");
        if tree.has(&journal) && tree.read(&journal, FILE_MAX)?.starts_with(&JOURNAL) {
            return Err(damaged("a transaction was cut off; opened once by its own program, it is whole again"));
        }
        let beside = format!("{name}-wal");
        let log = match tree.has(&beside) {
            true => wal::apply(&mut bytes, &tree.read(&beside, FILE_MAX)?, FILE_MAX as usize),
            false => None,
        };
        let pragmas = whole(&mut bytes).map_err(|why| damaged(&why))?;
        let failed = |error| failure(name, error);
        let connection = guarded(&bytes).map_err(failed)?;
        let schema = schema(&connection).map_err(failed)?;
        Ok(Self { name: name.to_owned(), pragmas, schema, log, size: bytes.len(), connection })
    }

    /// Goes through every page of a table; an error if one is not what it should be.
    pub fn check(&self, table: &Table) -> Result<(), ReadError> {
        // The check would compute what the table computes, and that is an expression of the file. Reading the rows shows
        // most of what it would.
        if table.is_computed {
            return Ok(());
        }
        let sql = format!("pragma quick_check({})", quoted(&table.name));
        let failed = |error| failure(&self.name, error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let told: String = statement.query_row([], |row| row.get(0)).map_err(failed)?;
        match told.as_str() {
            "ok" => Ok(()),
            _ => Err(ReadError::Damaged {
                file: self.name.clone(),
                why: told.lines().take(3).collect::<Vec<_>>().join("; "),
            }),
        }
    }

    /// Reads the rows of a table in the order in which they were put in.
    pub fn rows(&self, table: &Table) -> Result<Vec<Row>, ReadError> {
        let number = table.number.as_ref().map(|number| quoted(number));
        let columns: Vec<String> =
            number.iter().cloned().chain(table.columns.iter().map(|name| quoted(name))).collect();
        let order = number.as_ref().map(|number| format!(" order by {number}")).unwrap_or_default();
        // An index could hold something else than its table.
        let sql = format!("select {} from {} not indexed{order}", columns.join(", "), quoted(&table.name));
        let first = columns.len() - table.columns.len();
        let failed = |error| failure(&self.name, error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let mut found = statement.query([]).map_err(failed)?;
        let (mut rows, mut size) = (Vec::new(), 0);
        while let Some(row) = found.next().map_err(failed)? {
            let cell = |place| row.get_ref(place).map(Cell::of);
            let cells = (first..columns.len()).map(cell).collect::<Result<Vec<_>, _>>().map_err(failed)?;
            // Rows that share their pages could be more than the file; blobs are twice as long here.
            size += cells.iter().map(Cell::size).sum::<usize>();
            if size > self.size * 4 + (1 << 20) {
                let limit = format!("{} bytes", self.size);
                return Err(ReadError::TooLarge { file: self.name.clone(), what: "what the rows hold", limit });
            }
            let row = (first == 1).then(|| row.get(0)).transpose().map_err(failed)?;
            rows.push(Row { row, cells });
        }
        Ok(rows)
    }
}

/// Looks whether a file is as long as its header says, and makes it one that needs no log.
fn whole(bytes: &mut Vec<u8>) -> Result<Pragmas, String> {
    if bytes.len() < 100 || !bytes.starts_with(MAGIC) {
        return Err("the file ends before its header does".to_owned());
    }
    let pragmas = Pragmas::of(bytes);
    let page = pragmas.page_size as usize;
    if !page.is_power_of_two() || !(512..=65_536).contains(&page) {
        return Err(format!("a page of {page} bytes"));
    }
    let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
    let pages = bytes.len() / page;
    // The page count is valid only if the last writer of the file knew of this field.
    let said = if number(24) == number(92) { number(28) } else { 0 };
    if pages == 0 || said > pages || (said == 0 && !bytes.len().is_multiple_of(page)) {
        return Err(format!("{} bytes are there, {} should be", bytes.len(), said.max(1) * page));
    }
    bytes.truncate(if said == 0 { pages } else { said } * page);
    (bytes[18], bytes[19]) = (1, 1);
    Ok(pragmas)
}

/// Hands the bytes to SQLite, which may neither change them nor run anything of theirs.
fn guarded(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    for (config, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
    ] {
        connection.set_db_config(config, is_on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE_MAX),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 200),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 50),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 16),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    ] {
        connection.set_limit(limit, most)?;
    }
    let mut steps = 0;
    let handler = move || {
        steps += STEPS;
        steps > STEPS_MAX
    };
    connection.progress_handler(STEPS as i32, Some(handler))?;
    connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
    connection
        .execute_batch("pragma cell_size_check = on; pragma ignore_check_constraints = on; pragma query_only = on")?;
    Ok(connection)
}

fn schema(connection: &Connection) -> rusqlite::Result<Schema> {
    let mut schema = Schema::default();
    let mut kinds = connection.prepare("pragma main.table_list")?;
    let kinds = kinds.query_map([], |row| Ok((row.get("name")?, row.get("type")?, row.get("wr")?)))?;
    let kinds = kinds.collect::<rusqlite::Result<Vec<(String, String, bool)>>>()?;
    let mut statement = connection.prepare(
        "select type, name, sql
         from sqlite_schema
         where sql is not null
         order by rowid",
    )?;
    let statements =
        statement.query_map([], |row| Ok(Statement { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? }))?;
    for statement in statements {
        let statement = statement?;
        if statement.name.starts_with("sqlite_") {
            continue;
        }
        let listed = kinds.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&statement.name));
        match (statement.kind.as_str(), listed) {
            ("table", Some((name, kind, is_rowless))) if kind == "table" => {
                schema.tables.push(table(connection, name, *is_rowless)?);
                schema.statements.push(statement);
            }
            ("table", _) => schema.made_up.push(statement.name),
            _ => schema.statements.push(statement),
        }
    }
    Ok(schema)
}

fn table(connection: &Connection, name: &str, is_rowless: bool) -> rusqlite::Result<Table> {
    let mut columns = connection.prepare(&format!("pragma main.table_xinfo({})", quoted(name)))?;
    let columns = columns.query_map([], |row| Ok((row.get("name")?, row.get("hidden")?)))?;
    let all = columns.collect::<rusqlite::Result<Vec<(String, i64)>>>()?;
    // Generated columns are not read: that would run an expression of the file.
    let columns = all.iter().filter(|(_, hidden)| *hidden == 0).map(|(name, _)| name.clone()).collect();
    let is_taken = |word: &str| all.iter().any(|(name, _)| name.eq_ignore_ascii_case(word));
    let number = ["rowid", "_rowid_", "oid"].into_iter().find(|word| !is_rowless && !is_taken(word));
    let is_computed = all.iter().any(|(_, hidden)| *hidden != 0);
    Ok(Table { name: name.to_owned(), columns, number: number.map(str::to_owned), is_computed })
}

fn failure(name: &str, error: rusqlite::Error) -> ReadError {
    let file = name.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            ReadError::TooLarge { file, what: "the work", limit: format!("{STEPS_MAX} steps") }
        }
        Some(ErrorCode::TooBig) => {
            ReadError::TooLarge { file, what: "a value", limit: format!("{} MiB", VALUE_MAX >> 20) }
        }
        _ => ReadError::Damaged { file, why: error.to_string() },
    }
}
