//! Deletion of a store: removes the file, and all files beside it under its name.

use super::connection::{SqliteOptions, open_reader, sync_folder};
use crate::api::deletion_report::DeletionReport;
use crate::api::error::{Result, StoreError};
use crate::engine::sql::connection::query_one;
use std::io::ErrorKind;
use std::path::Path;

/// Counts the contents of a file, and removes it.
pub(super) fn destroy(path: &Path) -> Result<DeletionReport> {
    let mut gone = DeletionReport::default();
    if path.exists() {
        // The counts are for the receipt. An unreadable file is removed too.
        (gone.conversations, gone.messages) = counted(path).unwrap_or_default();
    }
    let failed = |error| StoreError::engine("removing a store", error);
    // The store is removed before the rest: a process that still creates a file beside it checks afterwards whether the
    // store exists.
    gone.remove_file(path).map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(gone),
        Err(error) => return Err(failed(error)),
    };
    for entry in listed {
        let entry = entry.map_err(failed)?;
        if is_of(path, &entry.path()) {
            // Another process that closes the store removes some of it as well.
            gone.remove_file(&entry.path()).map_err(failed)?;
        }
    }
    // A power cut must not bring the names back.
    sync_folder(path).map_err(failed)?;
    Ok(gone)
}

/// Says whether a file is the store, or belongs to it: its WAL, its index, its copy from before a migration.
fn is_of(store: &Path, other: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
    let (store, other) = (name(store), name(other));
    let rest = other.strip_prefix(&store[..]);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'-' | b'.')))
}

fn counted(path: &Path) -> Result<(i64, i64)> {
    let connection = open_reader(&SqliteOptions::new(path))?;
    let sql = "select (select count(*) from conversation), (select count(*) from message)";
    let counted = query_one(&connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)));
    counted.map_err(|error| error.into_store_error("counting"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_a_common_prefix_belong_to_another_store() {
        let store = Path::new("a/ten_1.db");
        for ours in ["a/ten_1.db", "a/ten_1.db-wal", "a/ten_1.db.search-shm", "a/ten_1.db.before-7"] {
            assert!(is_of(store, Path::new(ours)), "{ours}");
        }
        for other in ["a/ten_1.db2", "a/ten_1", "a/ten_12.db", "a/x", "a/system.db"] {
            assert!(!is_of(store, Path::new(other)), "{other}");
        }
    }
}
