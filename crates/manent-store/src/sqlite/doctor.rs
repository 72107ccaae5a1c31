//! Doctor: versions, settings, sizes.

use super::connection::{SqliteOptions, failed, open_reader, user_version};
use super::reserve::SUFFIX;
use crate::engine::connection::Ran;
use crate::engine::connection::rows;
use crate::error::Result;
use crate::maintenance::DoctorReport;
use manent_model::ConversationId;

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
    let look = || -> Ran<DoctorReport> {
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
        let sql = "select name, sum(pgsize) from dbstat group by name order by 2 desc, 1 limit 60";
        let tables = rows(&connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sql = "select id, title, messages from conversation
             where withdrawn = 0 and status < 4
             order by messages desc, no
             limit 10";
        let largest =
            rows(&connection, sql, (), |row| Ok((ConversationId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?)))?;
        let sql = "select coalesce(max(pos + count - 1), 0) from journal";
        let position = connection.query_row(sql, [], |row| row.get(0))?;
        let files = ["", "-wal", "-shm", SUFFIX]
            .into_iter()
            .filter_map(|suffix| {
                let path = options.beside(suffix);
                let size = std::fs::metadata(&path).ok()?.len();
                Some((path.display().to_string(), size))
            })
            .collect();
        Ok(DoctorReport {
            engine: format!("SQLite {}", rusqlite::version()),
            schema: user_version(&connection)?,
            settings,
            tables,
            files,
            largest,
            position,
        })
    };
    look().map_err(|error| failed("looking at the file", error))
}
