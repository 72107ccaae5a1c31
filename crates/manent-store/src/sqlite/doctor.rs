//! Doctor: reports versions, settings and sizes of a store.

use super::connection::{SqliteOptions, failed, open_reader, user_version};
use super::reserve::SUFFIX;
use crate::api::error::Result;
use crate::api::maintenance::DoctorReport;
use crate::engine::read::conversation::largest;
use crate::engine::sql::connection::{DbResult, query_optional};
use std::collections::BTreeMap;
use std::path::Path;
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
        let files: Vec<(String, u64)> = ["", WAL, "-shm", SUFFIX]
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
            warnings: warnings(&settings, &files, free_bytes(&options.path)),
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

/// Suffix of the write-ahead log.
const WAL: &str = "-wal";

/// A write-ahead log of this size was not emptied for many checkpoints.
const WAL_BYTES: u64 = 1 << 30;

/// With less free space than this, a write may fail soon.
const FREE_BYTES: u64 = 256 << 20;

/// Returns the free space of the disk that holds a file; none where it cannot be known.
#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn warnings(settings: &[(String, String)], files: &[(String, u64)], free: Option<u64>) -> Vec<String> {
    let mut warnings = Vec::new();
    if settings.iter().any(|(name, mode)| name == "journal_mode" && mode != "wal") {
        warnings
            .push("another program changed the journal mode; opening the store for writing sets it back".to_owned());
    }
    if files.iter().any(|(file, size)| file.ends_with(WAL) && *size > WAL_BYTES) {
        warnings.push(
            "the write-ahead log is larger than 1 GiB: a program has been reading for a long time and keeps it from \
             being emptied"
                .to_owned(),
        );
    }
    if free.is_some_and(|free| free < FREE_BYTES) {
        warnings.push("the disk has less than 256 MiB of free space".to_owned());
    }
    warnings
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_a_full_disk_a_large_log_and_another_journal_mode() {
        let settings = |mode: &str| vec![("journal_mode".to_owned(), mode.to_owned())];
        let files = |wal: u64| vec![("a.db".to_owned(), u64::MAX), ("a.db-wal".to_owned(), wal)];
        assert_eq!(warnings(&settings("wal"), &files(WAL_BYTES), Some(FREE_BYTES)), Vec::<String>::new());
        let found = warnings(&settings("delete"), &files(WAL_BYTES + 1), Some(FREE_BYTES - 1));
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
