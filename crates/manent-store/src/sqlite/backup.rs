//! Backups: copied, restored, verified and compared before they count as done.

use super::connection::{SqliteOptions, failed, make_private, open_first, open_reader, sync_folder};
use super::migrate::NEWEST;
use crate::api::error::{Result, StoreError};
use crate::api::maintenance::BackupReport;
use crate::engine::verify::{IndexLocation, verify};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    position: i64,
    messages: i64,
    conversations: i64,
}

fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    let sql = "select (select coalesce(max(pos + count - 1), 0) from journal),
                (select count(*) from message),
                (select count(*) from conversation)";
    connection.query_row(sql, [], |row| {
        Ok(Counts { position: row.get(0)?, messages: row.get(1)?, conversations: row.get(2)? })
    })
}

pub(super) fn backup(options: &SqliteOptions, to: &Path) -> Result<BackupReport> {
    let doing = "writing a backup";
    let io = |error: std::io::Error| StoreError::engine(doing, error);
    if to.exists() {
        return Err(StoreError::Invalid(format!("{} exists already", to.display())));
    }
    let partial = partial_path(to, ".partial");
    let restored = partial_path(to, ".restored.partial");
    let _ = std::fs::remove_file(&partial);
    let _ = std::fs::remove_file(&restored);
    let target = partial.to_str().ok_or_else(|| StoreError::Invalid("the path is not UTF-8".to_owned()))?;
    let source = open_reader(options)?;
    let sql = |error| failed(doing, error);
    // Counted first, copied after: the copy holds at least what was acknowledged before it began. It is the one read
    // that may last, since a consistent copy needs one snapshot.
    source.pragma_update(None, "query_only", false).map_err(sql)?;
    let before = counts(&source).map_err(sql)?;
    make_private(&partial).map_err(io)?;
    let mut files = vec![&options.path, &partial];
    let outcome = (|| {
        source.execute("vacuum into $1", [target]).map_err(sql)?;
        drop(source);
        std::fs::File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
        // Restoring is copying the file back; the check runs on that copy.
        std::fs::copy(&partial, &restored).map_err(io)?;
        files.push(&restored);
        let report = check(&restored, &before)?;
        // An erasure removes the source and the target of a running backup; a backup that was made from it nevertheless
        // is too old.
        options.path.metadata().map_err(io)?;
        std::fs::rename(&partial, to).map_err(io)?;
        sync_folder(to).map_err(io)?;
        let size_bytes = std::fs::metadata(to).map_err(io)?.len();
        Ok(BackupReport {
            path: to.display().to_string(),
            size_bytes,
            position: report.position,
            messages: report.messages,
            conversations: report.conversations,
        })
    })();
    let outcome = or_cut_off(outcome, &files, to);
    for leftover in [&partial, &restored, &partial_path(&restored, "-wal"), &partial_path(&restored, "-shm")] {
        let _ = std::fs::remove_file(leftover);
    }
    outcome
}

/// Distinguishes a backup that was cut off from one that failed: one of its files has disappeared. An erasure removes
/// the files of running backups, because they contain the erased data.
pub(super) fn or_cut_off<T>(outcome: Result<T>, files: &[&PathBuf], to: &Path) -> Result<T> {
    match outcome {
        Err(StoreError::Engine { .. }) if files.iter().any(|file| !file.exists()) && !to.exists() => {
            Err(StoreError::Busy("something was erased while the backup was written"))
        }
        outcome => outcome,
    }
}

/// Backs up the rows that `fill` writes into an empty file: those of another engine.
pub(crate) fn backup_of_copy(to: &Path, fill: impl FnOnce(&Connection) -> Result<()>) -> Result<BackupReport> {
    let options = SqliteOptions::new(partial_path(to, ".copying"));
    let forget = || {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(partial_path(&options.path, suffix));
        }
    };
    forget();
    make_private(&options.path).map_err(|error| StoreError::engine("writing a backup", error))?;
    let filled = open_first(&options, NEWEST).and_then(|file| fill(&file));
    let outcome = or_cut_off(filled.and_then(|()| backup(&options, to)), &[&options.path], to);
    forget();
    outcome
}

/// Opens a file that was checked, to copy its rows into another engine.
pub(crate) fn open_copy(path: &Path) -> Result<Connection> {
    open_reader(&SqliteOptions::new(path))
}

/// Verifies a restored copy and compares it with the counts of the store when the copy began.
fn check(restored: &Path, before: &Counts) -> Result<Counts> {
    let connection = open_reader(&SqliteOptions::new(restored))?;
    let found = counts(&connection).map_err(|error| failed("checking a backup", error))?;
    if found.position < before.position || found.messages < before.messages {
        return Err(StoreError::altered("backup", restored.display()));
    }
    let report = verify((&connection).into(), IndexLocation::None)?;
    match report.problems.first() {
        None => Ok(found),
        Some(problem) => Err(StoreError::altered("backup", format!("{problem:?}"))),
    }
}

pub(super) fn partial_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_backup_of_what_is_gone_when_it_is_done_does_not_count() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let to = folder.path().join("manent-1.backup");
        let (source, partial) = (partial_path(&to, ".copying"), partial_path(&to, ".partial"));
        // The erasure has looked before there was any file but the source.
        let (done, is_done) = (Arc::new(AtomicBool::new(false)), Ordering::SeqCst);
        let seen = done.clone();
        let eraser = std::thread::spawn(move || {
            while !partial.exists() && !seen.load(is_done) {
                std::thread::yield_now();
            }
            std::fs::remove_file(source)
        });
        let fill = |file: &Connection| {
            let padding = "create table padding (bytes blob); insert into padding values (randomblob(8000000))";
            file.execute_batch(padding).map_err(|error| failed("filling", error))
        };
        let outcome = backup_of_copy(&to, fill);
        done.store(true, is_done);
        eraser.join().expect("it ends").expect("the backup was not too fast");
        assert!(matches!(outcome, Err(StoreError::Busy(_))), "{outcome:?}");
        let left = std::fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(left, 0, "something stays");
    }
}
