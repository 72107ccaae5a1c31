//! Doctor: reports versions, settings and sizes of a store.

use super::connection::{SqliteOptions, failed, open_reader, user_version};
use super::reserve::SUFFIX;
use crate::api::error::Result;
use crate::api::maintenance::DoctorReport;
use crate::engine::sql::connection::{DbResult, query_all, query_optional};
use manent_model::ConversationId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SETTINGS: [&str; 9] = [
    "journal_mode",
    "synchronous",
    "secure_delete",
    "foreign_keys",
    "mmap_size",
    "auto_vacuum",
    "page_size",
    "page_count",
    "freelist_count",
];

pub(super) fn doctor(options: &SqliteOptions) -> Result<DoctorReport> {
    let connection = open_reader(options)?;
    let look = || -> DbResult<DoctorReport> {
        let mut settings = Vec::new();
        for name in SETTINGS {
            let value = connection.pragma_query_value(None, name, |row| {
                row.get::<_, rusqlite::types::Value>(0).map(|value| match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                })
            })?;
            settings.push((name.to_owned(), value));
        }
        let (tables, tables_complete) = table_sizes(&connection)?;
        let largest = largest(&connection)?;
        let sql = "select pos + count - 1 from journal order by pos desc limit 1";
        let position = query_optional(&connection, sql, (), |row| row.get(0))?.unwrap_or(0);
        let files = ["", "-wal", "-shm", SUFFIX]
            .into_iter()
            .filter_map(|suffix| {
                let path = options.sibling_path(suffix);
                let size = std::fs::metadata(&path).ok()?.len();
                Some((path.display().to_string(), size))
            })
            .collect();
        Ok(DoctorReport {
            engine: format!("SQLite {}", rusqlite::version()),
            schema: user_version(&connection)?,
            settings,
            tables,
            tables_complete,
            files,
            largest,
            position,
        })
    };
    look().map_err(|error| failed("looking at the file", error))
}

/// `dbstat` reads every page of the file. A large store would take minutes on a slow disk.
const MEASURING_MAX: Duration = Duration::from_millis(500);

/// Returns the sizes of tables, and whether all of them were measured in time.
fn table_sizes(connection: &rusqlite::Connection) -> DbResult<(Vec<(String, i64)>, bool)> {
    let started = Instant::now();
    let mut sizes: BTreeMap<String, i64> = BTreeMap::new();
    // The pages come table by table; one that is not read to its end has no size.
    let mut statement = connection.prepare("select name, pgsize from dbstat")?;
    let mut pages = statement.query(())?;
    let mut complete = true;
    while let Some(page) = pages.next()? {
        let name: String = page.get(0)?;
        if started.elapsed() > MEASURING_MAX {
            sizes.remove(&name);
            complete = false;
            break;
        }
        *sizes.entry(name).or_default() += page.get::<_, i64>(1)?;
    }
    let mut tables: Vec<(String, i64)> = sizes.into_iter().collect();
    tables.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    tables.truncate(60);
    Ok((tables, complete))
}

fn largest(connection: &rusqlite::Connection) -> DbResult<Vec<(ConversationId, String, i64)>> {
    let sql = "select id, title, messages from conversation
         where withdrawn = 0 and status < 4
         order by messages desc, no
         limit 10";
    query_all(connection, sql, (), |row| Ok((ConversationId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?)))
}
