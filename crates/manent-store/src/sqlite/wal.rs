//! WAL maintenance: checkpoints beside the writer, one-time preallocation, truncation after an erasure.

use super::connection::{PAGE_BYTES, SqliteOptions, failed};
use super::open_store::OpenStore;
use crate::api::error::{Result, StoreError};
use rusqlite::Connection;
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

/// Above this size the writer itself checkpoints the WAL, which slows its callers down until it is done.
const ALARM_PAGES: i64 = (256 << 20) / PAGE_BYTES as i64;
/// Number of preallocated pages; writing zeros holds the lock, so the rest grows by itself, once.
const GROW_PAGES: i64 = 4_000;
/// The WAL of a small store may hold this many pages before it is copied: enough for a burst, little beside the store.
const SMALL_PAGES: i64 = (8 << 20) / PAGE_BYTES as i64;
/// How many transactions make "real traffic".
const GROW_AFTER: u32 = 256;

/// Frames in the WAL, and how many of them are in the file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frames {
    pub busy: bool,
    pub total: i64,
    pub checkpointed: i64,
}

fn checkpoint(connection: &Connection, sql: &str) -> rusqlite::Result<Frames> {
    connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(Frames { busy: row.get::<_, i64>(0)? != 0, total: row.get(1)?, checkpointed: row.get(2)? })
    })
}

/// Counts frames without copying any.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<Frames> {
    checkpoint(connection, "pragma wal_checkpoint(noop)")
}

/// Passive checkpoint: copies the frames that no reader blocks.
pub(super) fn checkpoint_passive(connection: &Connection) -> rusqlite::Result<Frames> {
    checkpoint(connection, "pragma wal_checkpoint(passive)")
}

/// Checkpoints everything and truncates the WAL; waits for readers of other processes, up to a limit.
pub(super) fn truncate(connection: &Connection) -> Result<()> {
    let started = Instant::now();
    loop {
        let frames = checkpoint(connection, "pragma wal_checkpoint(truncate)")
            .map_err(|error| failed("copying the WAL into the file", error))?;
        if !frames.busy {
            return Ok(());
        }
        if started.elapsed() > Duration::from_secs(30) {
            return Err(StoreError::Busy("a reader of another process keeps the WAL from being emptied"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checkpoints everything and truncates the WAL, unless a reader blocks it.
pub(super) fn try_truncate(connection: &Connection) -> rusqlite::Result<Frames> {
    checkpoint(connection, "pragma wal_checkpoint(truncate)")
}

fn page_count(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("pragma page_count")?.query_row([], |row| row.get(0))
}

/// Returns how large the file is once the WAL is copied into it.
pub(super) fn grown_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(page_count(connection)? as u64 * u64::from(PAGE_BYTES))
}

/// The writer's knowledge of its WAL.
#[derive(Default)]
pub(super) struct CheckpointPolicy {
    batches: u32,
    grown: bool,
}

impl CheckpointPolicy {
    /// The WAL was emptied.
    pub(super) fn forget(&mut self) {
        self.grown = false;
        self.batches = 0;
    }

    /// Checks the WAL every few batches; errors are not reported to callers, because the next check comes soon.
    pub(super) fn after_batch(&mut self, connection: &Connection, store: &OpenStore) {
        let options = &store.options;
        self.batches = self.batches.wrapping_add(1);
        if !self.grown && options.grow_wal && options.vfs.is_none() && self.batches > GROW_AFTER {
            self.grown = true;
            // A WAL that grows with every commit costs a file system journal entry each; written once, it does not.
            let _ = preallocate(connection, options);
        }
        if !self.batches.is_multiple_of(16) {
            return;
        }
        let (Ok(frames), Ok(copied_at)) = (count(connection), checkpointed_frames(connection, options)) else { return };
        let waiting = frames.total - frames.checkpointed;
        if frames.total > ALARM_PAGES {
            store.readers.pause();
            let _ = checkpoint_passive(connection);
            store.readers.resume();
        } else if waiting > copied_at {
            store.request_checkpoint();
        } else if frames.total > copied_at {
            // The maintenance thread has copied the bulk. Copying the rest here lets the WAL begin again at its start.
            let _ = checkpoint_passive(connection);
        }
    }
}

/// Returns how many pages the WAL may hold before it is copied: as many as the store has, between two bounds. So a WAL
/// is not much larger than its store, and that of a large store is copied seldom.
fn checkpointed_frames(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<i64> {
    let pages = page_count(connection)?;
    Ok(pages.max(SMALL_PAGES).min(i64::from(options.checkpoint_pages)))
}

/// Writes zeros behind the end of the WAL. They are no frames, so recovery stops at them.
///
/// The WAL carries no POSIX locks (those are on the file and its `-shm`), so opening it here drops none.
fn preallocate(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    let page = u64::from(PAGE_BYTES) + 24;
    let wanted = checkpointed_frames(connection, options)?.min(GROW_PAGES) as u64 * page;
    // The write lock keeps every other writer, in this process and others, away from the end of the WAL.
    connection.execute_batch("begin immediate")?;
    let grown = (|| -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(options.sibling_path("-wal"))?;
        let mut at = file.seek(SeekFrom::End(0))?;
        let zeros = vec![0u8; 1 << 20];
        while at < wanted {
            let part = (wanted - at).min(zeros.len() as u64) as usize;
            file.write_all(&zeros[..part])?;
            at += part as u64;
        }
        file.sync_all()
    })();
    connection.execute_batch("rollback")?;
    grown.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
