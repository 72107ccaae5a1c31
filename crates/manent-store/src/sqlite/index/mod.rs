//! Full-text index of a store in an LSM-style layout: a second file of FTS5 segments, with rows ordered by time.
//!
//! It contains nothing that cannot be rebuilt. An index that does not match is deleted and rebuilt; a power cut may
//! lose its last rows together with the cursor. In reading order: the file (here), the segments ([`segments`]), the pending
//! documents ([`pending`]).

mod pending;
mod segments;

pub(super) use segments::CompactionStep;

use super::connection::{OpenMode, SqliteOptions, failed, make_private, open_index, user_version};
use super::wal;
use crate::api::error::{Result, StoreError};
use crate::api::transaction::Position;
use crate::engine::read::Reading;
use crate::engine::search::feed::{CURSOR, FeedCursor};
use crate::engine::search::segment_table::for_each_slot;
use crate::engine::search::{Doc, DocKey};
use crate::engine::sql::connection::{DbResult, execute, query_all, query_optional};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::statistics::{self, Changes};
use rusqlite::Connection;
use std::path::PathBuf;
use std::time::SystemTime;

/// The layout of the file; one of another is thrown away.
const LAYOUT: i64 = 4;

/// The key that means every document of the index.
const EVERYTHING: DocKey = DocKey(i64::MIN);

/// Maximum number of WAL pages while there is much to index.
const WAL_MAX: i64 = 1_000;

for_each_slot! {
    WORDS = include_str!("words.sql");
    /// Every token of every row, straight from the segments.
    SPOKEN = "create virtual table temp.spokenSLOT using fts5vocab('main', 'wordSLOT', 'instance')";
}

/// Returns the path of the index of a store.
pub(super) fn path(options: &SqliteOptions) -> PathBuf {
    options.sibling_path("-search")
}

/// Identity of an index file: detects that another file replaced it. An inode number alone may be reused.
pub(super) type Identity = Option<(u64, u64, Option<SystemTime>)>;

/// Returns the identity of the current file.
pub(super) fn identity(options: &SqliteOptions) -> Identity {
    let file = std::fs::metadata(path(options)).ok()?;
    let made = file.created().ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((file.dev(), file.ino(), made))
    }
    #[cfg(not(unix))]
    {
        Some((0, 0, made))
    }
}

/// The index, open to read.
pub(super) struct IndexReader {
    pub connection: Connection,
    identity: Identity,
}

impl IndexReader {
    /// Says whether there is one to open.
    pub(super) fn is_there(options: &SqliteOptions) -> bool {
        options.has_index() && path(options).exists()
    }

    /// Opens the index; none if there is none yet.
    pub(super) fn open(options: &SqliteOptions) -> DbResult<Option<Self>> {
        if !Self::is_there(options) {
            return Ok(None);
        }
        let identity = identity(options);
        let connection = open_index(&path(options), OpenMode::Existing)?;
        if user_version(&connection)? != LAYOUT {
            return Ok(None);
        }
        SPOKEN.iter().try_for_each(|sql| connection.execute_batch(sql))?;
        connection.pragma_update(None, "query_only", true)?;
        // Reads what tables there are.
        connection.query_row("select count(*) from run", [], |row| row.get::<_, i64>(0))?;
        Ok(Some(Self { connection, identity }))
    }

    /// Says whether it is still the file that is there.
    pub(super) fn is_current(&self, options: &SqliteOptions) -> bool {
        self.identity.is_some() && self.identity == identity(options)
    }
}

/// The index, open to write.
pub(super) struct Index {
    connection: Connection,
    identity: Identity,
}

impl Index {
    /// Opens or creates the index; one that does not match is rebuilt.
    pub(super) fn open(options: &SqliteOptions) -> Result<Self> {
        match Self::try_open(options) {
            Ok(index) => Ok(index),
            Err(StoreError::Busy(why)) => Err(StoreError::Busy(why)),
            Err(StoreError::DiskFull) => Err(StoreError::DiskFull),
            Err(_) => {
                discard(options);
                Self::try_open(options)
            }
        }
    }

    fn try_open(options: &SqliteOptions) -> Result<Self> {
        let path = path(options);
        // A failure here repeats below, where it is reported.
        let _ = make_private(&path);
        // Known before it is opened: one that takes its place meanwhile is another one.
        let identity = identity(options);
        let set_up = || -> rusqlite::Result<Option<Connection>> {
            let connection = open_index(&path, OpenMode::CreateIfMissing)?;
            connection.execute_batch("begin immediate")?;
            match user_version(&connection)? {
                LAYOUT => {}
                0 => {
                    connection.execute_batch(include_str!("index.sql"))?;
                    WORDS.iter().try_for_each(|sql| connection.execute_batch(sql))?;
                    connection.pragma_update(None, "user_version", LAYOUT)?;
                }
                _ => return Ok(None),
            }
            connection.execute_batch("commit")?;
            Ok(Some(connection))
        };
        let opened = set_up().map_err(|error| failed("opening the index", error))?;
        let connection = opened.ok_or_else(|| StoreError::altered("the index", path.display()))?;
        Ok(Self { connection, identity })
    }

    /// Says whether it is still the file that is there.
    pub(super) fn is_current(&self, options: &SqliteOptions) -> bool {
        self.identity.is_some() && self.identity == identity(options)
    }

    pub(super) fn begin(&self) -> DbResult<()> {
        execute(&self.connection, "begin immediate", ())
    }

    pub(super) fn commit(&self) -> DbResult<()> {
        execute(&self.connection, "commit", ())
    }

    pub(super) fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "rollback", ());
        }
    }

    /// Returns its cursor; none if it was filled by other rules.
    pub(super) fn cursor(&self) -> DbResult<Option<FeedCursor>> {
        let sql = "select value from search_cursor where name = $1";
        let found: Option<Vec<u8>> = query_optional(&self.connection, sql, [CURSOR], |row| row.get(0))?;
        Ok(match found {
            Some(bytes) => FeedCursor::decode(&bytes),
            None => Some(FeedCursor::default()),
        })
    }

    pub(super) fn set_cursor(&self, cursor: FeedCursor) -> DbResult<()> {
        let sql = "insert into search_cursor (name, value) values ($1, $2) on conflict (name) do update set value = $2";
        execute(&self.connection, sql, (CURSOR, cursor.encode()))
    }

    /// Empties it, inside a transaction, so that it is filled again from the start.
    pub(super) fn empty(&self) -> DbResult<()> {
        self.clear_all()?;
        for table in ["search_cursor", "kept", "listed", "unsure"] {
            execute(&self.connection, &["delete from ", table].concat(), ())?;
        }
        statistics::clear((&self.connection).into())
    }

    /// Removes the old row of a changed object; returns the document to add, if there is one.
    pub(super) fn replace(&self, key: DocKey, doc: Option<Doc>) -> DbResult<Option<Doc>> {
        let known = self.kept(key)?;
        let at: Option<i64> =
            query_optional(&self.connection, "select at from doc where key = $1", [key.0], |row| row.get(0))?;
        let is_same = known.as_deref() == doc.as_ref().map(|doc| doc.tokens.as_str());
        if is_same && at == doc.as_ref().map(|doc| doc.entry.at) {
            return Ok(None);
        }
        if let Some(known) = known {
            self.remove(key, &known)?;
            execute(&self.connection, "delete from kept where key = $1", [key.0])?;
        }
        let unsure = query_optional(&self.connection, "select 1 from unsure where key = $1", [key.0], |_| Ok(()))?;
        let doc = doc.filter(|_| unsure.is_none());
        if let Some(doc) = &doc {
            let sql = "insert into kept (key, tokens) values ($1, $2)";
            execute(&self.connection, sql, (key.0, &doc.tokens))?;
        }
        Ok(doc)
    }

    /// Brings the sums of statistics up to date.
    pub(super) fn count(&self, reading: &mut Reading<'_>, changes: Changes) -> TxResult<()> {
        statistics::update((&self.connection).into(), reading, changes)
    }

    /// Says whether something is there.
    pub(super) fn has(&self, key: DocKey) -> DbResult<bool> {
        Ok(query_optional(&self.connection, "select 1 from doc where key = $1", [key.0], |_| Ok(()))?.is_some())
    }

    /// Removes rows for a deletion that is about to be committed; they are rechecked if it is not.
    pub(super) fn forget(&self, gone: &[Doc], position: Position) -> DbResult<()> {
        for doc in gone {
            let key = doc.entry.key;
            // The tokens of a changed object are those that were indexed last.
            let kept = self.kept(key)?;
            self.remove(key, kept.as_ref().unwrap_or(&doc.tokens))?;
            self.dequeue(doc.entry)?;
            execute(&self.connection, "delete from kept where key = $1", [key.0])?;
            let sql =
                "insert into unsure (key, position) values ($1, $2) on conflict (key) do update set position = $2";
            execute(&self.connection, sql, (key.0, position))?;
        }
        Ok(())
    }

    pub(super) fn kept(&self, key: DocKey) -> DbResult<Option<String>> {
        query_optional(&self.connection, "select tokens from kept where key = $1", [key.0], |row| row.get(0))
    }

    /// Returns the entries that were removed for a deletion whose outcome is known by now.
    pub(super) fn pending_deletes(&self, reached: Position) -> DbResult<Vec<DocKey>> {
        let sql = "select key from unsure where position <= $1 limit 1000";
        query_all(&self.connection, sql, [reached], |row| row.get(0).map(DocKey))
    }

    /// Empties it for a deletion that is about to be committed; until then it is not filled again.
    pub(super) fn forget_all(&self, position: Position) -> DbResult<()> {
        self.empty()?;
        execute(&self.connection, "insert into unsure (key, position) values ($1, $2)", (EVERYTHING.0, position))
    }

    /// Says whether it must stay empty, since the store has not come to the deletion for which it was emptied.
    pub(super) fn delete_pending(&self, reached: Position) -> DbResult<bool> {
        let sql = "select 1 from unsure where key = $1 and position > $2";
        Ok(query_optional(&self.connection, sql, (EVERYTHING.0, reached), |_| Ok(()))?.is_some())
    }

    pub(super) fn confirm_deletes(&self, key: DocKey) -> DbResult<()> {
        execute(&self.connection, "delete from unsure where key = $1", [key.0])
    }

    /// Checkpoints the WAL and truncates it, so that removed rows are in neither file.
    pub(super) fn wipe(&self) -> Result<()> {
        wal::truncate(&self.connection)
    }

    /// Checkpoints the WAL when it has grown, or when there is time.
    pub(super) fn tidy(&self, has_time: bool) {
        // Frames that cannot be checkpointed now can be later.
        let _ = wal::count(&self.connection).and_then(|frames| match frames.total - frames.checkpointed {
            left if left > WAL_MAX || (has_time && left > 0) => wal::checkpoint_passive(&self.connection),
            _ => Ok(frames),
        });
    }
}

/// Opens the index to compare it with the store; none if there is none yet.
pub(super) fn open_to_check(options: &SqliteOptions) -> Result<Option<Connection>> {
    let opened = IndexReader::open(options).map_err(|error| error.into_store_error("opening the index"))?;
    Ok(opened.map(|index| index.connection))
}

/// Deletes the files of the index.
pub(super) fn discard(options: &SqliteOptions) {
    for suffix in ["-search", "-search-wal", "-search-shm"] {
        let _ = std::fs::remove_file(options.sibling_path(suffix));
    }
}
