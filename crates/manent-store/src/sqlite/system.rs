//! SQLite file of the system store: the same settings as a store, another schema.

use super::backup::{or_cut_off, partial_path};
use super::connection::{
    PAGE_BYTES, SqliteOptions, check_library, failed, make_private, open, set_up, sync_folder, user_version,
};
use super::wal;
use crate::api::error::{Result, StoreError};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::Path;

/// "manS": distinguishes the system store from the stores of tenants.
const APPLICATION_ID: i64 = 0x6D61_6E53;

const MIGRATIONS: [&str; 1] = [include_str!("system/0001_system.sql")];

/// Opens the file, or makes it.
pub(crate) fn open_system(path: &Path) -> Result<Connection> {
    let doing = "opening the system store";
    check_library()?;
    let options = SqliteOptions::new(path);
    // A failure here repeats below, where it is reported.
    let _ = make_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut connection = open(&options, flags).map_err(|error| failed(doing, error))?;
    let not_ours = || StoreError::NotOurs { path: path.display().to_string() };
    let sql = "select application_id, (select count(*) from sqlite_schema) from pragma_application_id";
    let marks = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    match marks.map_err(|error| failed(doing, error))? {
        (APPLICATION_ID, _) | (0, 0) => {}
        (_, _) => return Err(not_ours()),
    }
    let set = |connection: &mut Connection| -> rusqlite::Result<i64> {
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        set_up(connection, &options)?;
        migrate(connection)
    };
    let found = set(&mut connection).map_err(|error| failed(doing, error))?;
    let known = MIGRATIONS.len() as i64;
    match found > known {
        true => Err(StoreError::NewerSchema { found, known }),
        false => Ok(connection),
    }
}

/// Applies the missing migrations, and returns the resulting version.
fn migrate(connection: &mut Connection) -> rusqlite::Result<i64> {
    let found = user_version(connection)?;
    if found >= MIGRATIONS.len() as i64 {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster while we waited for the lock.
    let found = user_version(&transaction)?;
    for (place, sql) in MIGRATIONS.iter().enumerate() {
        if place as i64 >= found {
            transaction.execute_batch(sql)?;
        }
    }
    let reached = found.max(MIGRATIONS.len() as i64);
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", reached)?;
    transaction.commit()?;
    Ok(reached)
}

/// Truncates the WAL, so that overwritten data is gone from it.
pub(crate) fn wipe_system(connection: &Connection) -> Result<()> {
    wal::truncate(connection)
}

/// Returns how large the file is once the WAL is copied into it; nothing if that cannot be read.
pub(crate) fn grown_system_bytes(connection: &Connection) -> u64 {
    wal::grown_bytes(connection).unwrap_or(0)
}

/// Releases the disk space of the WAL, unless a reader blocks the checkpoint.
pub(crate) fn shrink_system(connection: &Connection) -> rusqlite::Result<()> {
    wal::try_truncate(connection).map(drop)
}

/// Writes a system store that is whole in one file, and shows its name only when it is.
pub(crate) fn write_system(to: &Path, fill: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
    let doing = "writing a backup";
    let io = |error: std::io::Error| StoreError::engine(doing, error);
    if to.exists() {
        return Err(StoreError::Invalid(format!("{} exists already", to.display())));
    }
    let partial = partial_path(to, ".partial");
    let forget =
        || ["", "-wal", "-shm"].iter().for_each(|suffix| drop(std::fs::remove_file(partial_path(&partial, suffix))));
    forget();
    make_private(&partial).map_err(io)?;
    let write = || -> Result<()> {
        let file = open_system(&partial)?;
        fill_at_once(&file, fill)?;
        file.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
            .map_err(|error| failed(doing, error))?;
        drop(file);
        std::fs::File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
        std::fs::rename(&partial, to).map_err(io)?;
        sync_folder(to).map_err(io)
    };
    let written = or_cut_off(write(), &[&partial], to);
    forget();
    written
}

fn fill_at_once(file: &Connection, fill: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
    let run = |sql| file.execute_batch(sql).map_err(|error| failed("writing a backup", error));
    run("begin immediate")?;
    fill(file)?;
    run("commit")
}

/// Says whether a file looks like a system store.
pub fn is_system(path: &Path) -> bool {
    let mut head = [0u8; 72];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head.starts_with(b"SQLite format 3\0") && head[68..72] == (APPLICATION_ID as u32).to_be_bytes()
}
