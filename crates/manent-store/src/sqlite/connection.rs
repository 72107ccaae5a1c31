//! Opening of connections, and the settings that durability depends on.

use super::migrate;
use crate::api::error::{Result, StoreError};
use crate::engine::sql::connection::EngineError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first SQLite that cannot corrupt a WAL file when two connections checkpoint at once.
pub const SQLITE_OLDEST: i32 = 3_051_003;

/// "manE": distinguishes our files from other SQLite files.
pub(super) const APPLICATION_ID: i64 = 0x6D61_6E45;

/// Twice SQLite's default: a page of messages takes half the reads, and less of each page stays empty.
pub(super) const PAGE_BYTES: u32 = 8_192;

/// Page cache of a connection unless the options say otherwise.
pub(super) const CACHE_KIB: u32 = 32 << 10;

/// How long a writer waits for other processes.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Durability of acknowledged commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Synced to disk before it is acknowledged.
    #[default]
    Full,
    /// A power cut may lose the last commits. For tests that demonstrate this; never the default.
    Relaxed,
}

/// Options of a SQLite store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file.
    pub path: PathBuf,
    /// Durability of acknowledged commits.
    pub durability: Durability,
    /// Another SQLite VFS than the default, by name.
    pub vfs: Option<String>,
    /// Maximum number of concurrent reads.
    pub readers: usize,
    /// Number of WAL pages from which it is checkpointed.
    pub checkpoint_pages: u32,
    /// Grow the WAL once, by writing zeros, when the file sees real traffic.
    pub grow_wal: bool,
    /// Keep an index beside the file, so that it can be searched at once.
    pub index: bool,
}

impl SqliteOptions {
    /// Returns the defaults for a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            vfs: None,
            readers: 4,
            checkpoint_pages: 16_000,
            grow_wal: true,
            index: true,
        }
    }

    /// Another VFS is for tests of the file itself.
    pub(super) fn has_index(&self) -> bool {
        self.index && self.vfs.is_none()
    }

    /// Returns the path of a file that SQLite keeps beside this one.
    pub fn sibling_path(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    }
}

/// Refuses a SQLite library that is known to corrupt files.
pub(super) fn check_library() -> Result<()> {
    match rusqlite::version_number() {
        number if number >= SQLITE_OLDEST => Ok(()),
        _ => Err(StoreError::UnsafeSqlite { found: rusqlite::version().to_owned() }),
    }
}

pub(super) fn open(options: &SqliteOptions, flags: OpenFlags) -> rusqlite::Result<Connection> {
    open_path(&options.path, options.vfs.as_deref(), flags)
}

fn open_path(path: &Path, vfs: Option<&str>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    connection.busy_handler(Some(wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(256);
    Ok(connection)
}

thread_local! {
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Polls with short, uneven sleeps: SQLite's own handler sleeps up to 100 ms, which starves many processes on one file.
fn wait_for_lock(tries: i32) -> bool {
    let now = Instant::now();
    if tries == 0 {
        WAITING_SINCE.set(Some(now));
    }
    let since = WAITING_SINCE.get().unwrap_or(now);
    if now - since > LOCK_WAIT {
        return false;
    }
    let uneven = u64::from(std::process::id()) % 7 * 40;
    std::thread::sleep(Duration::from_micros(100 + uneven + 100 * u64::from(tries.unsigned_abs().min(20))));
    true
}

pub(super) fn set_up(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    let synchronous = match options.durability {
        Durability::Full => "FULL",
        Durability::Relaxed => "NORMAL",
    };
    // Without this a statement is planned again whenever a bound value changes, which costs more than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    if cfg!(target_os = "macos") {
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    }
    Ok(())
}

/// Opens the connection that writes; makes the file or brings its schema up to date.
pub(super) fn open_first(options: &SqliteOptions, schema: i64) -> Result<Connection> {
    check_library()?;
    refuse_foreign(options)?;
    if options.vfs.is_none() {
        // A failure here repeats below, where it is reported.
        let _ = make_private(&options.path);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = open(options, flags).map_err(|error| failed("opening the file", error))?;
    let prepare = |connection: &mut Connection| -> Result<()> {
        let doing = "setting up the file";
        let fresh = user_version(connection).map_err(|error| failed(doing, error))? == 0;
        if fresh {
            connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(|error| failed(doing, error))?;
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(|error| failed(doing, error))?;
        }
        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
            .map_err(|error| failed(doing, error))?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(StoreError::Invalid(format!("the file system cannot hold a WAL (journal mode {mode})")));
        }
        set_up(connection, options).map_err(|error| failed(doing, error))?;
        migrate::to_version(connection, options, schema)
    };
    prepare(&mut connection)?;
    connection
        .pragma_update(None, "cache_size", -i64::from(CACHE_KIB))
        .map_err(|error| failed("setting up the file", error))?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(options: &SqliteOptions) -> Result<Connection> {
    let connection = open_again(options)?;
    let set = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))
    };
    set().map_err(|error| failed("opening a reader", error))?;
    Ok(connection)
}

/// Opens another connection to a file that `open_first` has opened before.
pub(super) fn open_again(options: &SqliteOptions) -> Result<Connection> {
    let connection =
        open(options, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|error| failed("opening the file", error))?;
    set_up(&connection, options).map_err(|error| failed("opening the file", error))?;
    Ok(connection)
}

/// Behaviour if the file does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// There is none to open.
    Existing,
    /// It is made.
    CreateIfMissing,
}

/// Opens the index beside a file: it can be rebuilt, so it need not be synced before commits are acknowledged.
pub(super) fn open_index(path: &Path, missing: OpenMode) -> rusqlite::Result<Connection> {
    let flags = match missing {
        OpenMode::Existing => OpenFlags::SQLITE_OPEN_READ_WRITE,
        OpenMode::CreateIfMissing => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    let connection = open_path(path, None, flags)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    Ok(connection)
}

pub(super) fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("select user_version from pragma_user_version", [], |row| row.get(0))
}

/// Inspects the file read-only, so that a refused file stays unchanged.
fn refuse_foreign(options: &SqliteOptions) -> Result<()> {
    let not_ours = || StoreError::NotOurs { path: options.path.display().to_string() };
    match std::fs::metadata(&options.path) {
        Ok(metadata) if metadata.is_dir() => return Err(not_ours()),
        Ok(metadata) if metadata.len() > 0 => {}
        _ => return Ok(()),
    }
    let found = match marks(options, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        // A crash while the file was made leaves at most its first page, and a journal that a reader cannot take back.
        Err(error) if is_half_made(options, &error) => marks(options, OpenFlags::SQLITE_OPEN_READ_WRITE),
        found => found,
    };
    match found {
        Err(error) if needs_rollback(&error) => Err(not_ours()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Err(not_ours()),
        Err(error) => Err(failed("reading the file", error)),
        Ok((0, 0, 0)) => Ok(()),
        Ok((application, _, _)) if application != APPLICATION_ID => Err(not_ours()),
        Ok((_, version, _)) if version > migrate::NEWEST => {
            Err(StoreError::NewerSchema { found: version, known: migrate::NEWEST })
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the application, the schema version and the number of tables that a file names.
fn marks(options: &SqliteOptions, flags: OpenFlags) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = "select (select application_id from pragma_application_id),
                (select user_version from pragma_user_version),
                (select count(*) from sqlite_schema)";
    open(options, flags)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Our files have a rollback journal only until they are in WAL mode, which is before they hold more than a page.
///
/// Reading the file's first bytes drops no lock of ours: a file with a rollback journal is not open as a store.
fn is_half_made(options: &SqliteOptions, error: &rusqlite::Error) -> bool {
    let bytes = match needs_rollback(error) {
        true => std::fs::read(&options.path).unwrap_or_default(),
        false => return false,
    };
    let page_size = bytes.get(16..18).map(|size| u32::from(size[0]) << 8 | u32::from(size[1]));
    bytes.len() <= PAGE_BYTES as usize && matches!(page_size, None | Some(0 | PAGE_BYTES))
}

fn needs_rollback(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

/// Converts an engine error into a [`StoreError`].
pub(super) fn failed(doing: &'static str, error: impl Into<EngineError>) -> StoreError {
    error.into().into_store_error(doing)
}

/// Converts an error of SQLite into a [`StoreError`].
pub(crate) fn into_store_error(doing: &'static str, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy("another process holds the file"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::altered("the file", doing),
        _ => StoreError::engine(doing, error),
    }
}

/// Creates an empty file that only its owner can read: conversations are private. SQLite gives the files that it keeps
/// beside this one the same permissions. A file that exists is not even opened, which would drop locks on it.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Makes the entry of a new file in its folder durable.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}
