//! The index of a file: another file beside it, with rows in the order of time.
//!
//! It holds nothing that cannot be made again. Whatever does not fit is thrown away and made anew; a power cut may take
//! its last rows together with the cursor that says how far it has come.

use super::connection::{SqliteOptions, failed, make_private, open_index, user_version};
use super::wal;
use crate::engine::connection::{Ran, execute, maybe, one, rows};
use crate::engine::search::feed::{CURSOR, Cursor};
use crate::engine::search::{Doc, DocKey, Entry};
use crate::error::{Result, StoreError};
use crate::transaction::Position;
use rusqlite::Connection;
use std::collections::HashSet;
use std::path::PathBuf;

/// The layout of the file; another one is thrown away.
const LAYOUT: i64 = 1;

/// A row that is older than the newest one by more than this begins a run of its own.
const SLACK_MAX: i64 = 10_000_000;

/// More runs than this are put together.
const RUNS_MAX: usize = 24;
/// How many are left then, if the others are small.
const RUNS_LEFT: usize = 4;
/// So many rows are put together at once.
const GATHERED_MAX: i64 = 20_000;

/// Returns the path of the index of a store.
pub(super) fn path(options: &SqliteOptions) -> PathBuf {
    options.beside("-search")
}

/// Rows whose numbers grow with their times, but for the slack.
#[derive(Clone, Copy)]
struct Run {
    first: i64,
    last: i64,
    newest: i64,
    slack: i64,
    /// What stands last in it.
    end: Entry,
}

impl Run {
    fn begin(no: i64, entry: Entry) -> Self {
        Self { first: no, last: no, newest: entry.at, slack: 0, end: entry }
    }

    fn with(self, entry: Entry) -> Self {
        let follows = entry.at > self.newest || (self.end.at == self.newest && entry > self.end);
        let late = if follows { 0 } else { self.newest.saturating_sub(entry.at).saturating_add(1) };
        Self { last: self.last + 1, newest: self.newest.max(entry.at), slack: self.slack.max(late), end: entry, ..self }
    }
}

/// Tells a file from another one that took its place.
type Identity = Option<(u64, u64)>;

fn identity(options: &SqliteOptions) -> Identity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path(options)).ok().map(|file| (file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        std::fs::metadata(path(options)).ok().map(|_| (0, 0))
    }
}

/// The index, open to read.
pub(super) struct IndexReader {
    pub connection: Connection,
    identity: Identity,
}

impl IndexReader {
    /// Opens the index; none if there is none yet.
    pub(super) fn open(options: &SqliteOptions) -> Option<Self> {
        if !options.has_index() || !path(options).exists() {
            return None;
        }
        let identity = identity(options);
        let connection = open_index(&path(options)).ok()?;
        connection.pragma_update(None, "query_only", true).ok()?;
        (user_version(&connection).ok()? == LAYOUT).then_some(Self { connection, identity })
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
    /// Opens the index, or makes it; one that does not fit is made anew.
    pub(super) fn open(options: &SqliteOptions) -> Result<Self> {
        match Self::try_open(options) {
            Ok(index) => Ok(index),
            Err(StoreError::Busy(why)) => Err(StoreError::Busy(why)),
            Err(StoreError::DiskFull) => Err(StoreError::DiskFull),
            Err(_) => {
                throw_away(options);
                Self::try_open(options)
            }
        }
    }

    fn try_open(options: &SqliteOptions) -> Result<Self> {
        let path = path(options);
        // What fails here fails again below, where it is said why.
        let _ = make_private(&path);
        let set_up = || -> rusqlite::Result<Option<Connection>> {
            let connection = open_index(&path)?;
            connection.execute_batch("begin immediate")?;
            match user_version(&connection)? {
                LAYOUT => {}
                0 => {
                    connection.execute_batch(include_str!("index.sql"))?;
                    connection.pragma_update(None, "user_version", LAYOUT)?;
                }
                _ => return Ok(None),
            }
            connection.execute_batch("commit")?;
            Ok(Some(connection))
        };
        let opened = set_up().map_err(|error| failed("opening the index", error))?;
        let connection = opened.ok_or_else(|| StoreError::altered("the index", path.display()))?;
        Ok(Self { connection, identity: identity(options) })
    }

    /// Says whether it is still the file that is there.
    pub(super) fn is_current(&self, options: &SqliteOptions) -> bool {
        self.identity.is_some() && self.identity == identity(options)
    }

    pub(super) fn begin(&self) -> Ran<()> {
        execute(&self.connection, "begin immediate", ())
    }

    pub(super) fn commit(&self) -> Ran<()> {
        execute(&self.connection, "commit", ())
    }

    pub(super) fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = execute(&self.connection, "rollback", ());
        }
    }

    /// How far it has come; none if it was filled by other rules.
    pub(super) fn cursor(&self) -> Ran<Option<Cursor>> {
        let sql = "select value from search_cursor where name = $1";
        let found: Option<Vec<u8>> = maybe(&self.connection, sql, [CURSOR], |row| row.get(0))?;
        Ok(match found {
            Some(bytes) => Cursor::decode(&bytes),
            None => Some(Cursor::default()),
        })
    }

    pub(super) fn set_cursor(&self, cursor: Cursor) -> Ran<()> {
        let sql = "insert into search_cursor (name, value) values ($1, $2) on conflict (name) do update set value = $2";
        execute(&self.connection, sql, (CURSOR, cursor.encode()))
    }

    /// Empties it, inside a transaction, so that it is filled again from the start.
    pub(super) fn empty(&self) -> Ran<()> {
        for table in ["search_cursor", "run", "doc", "kept", "todo", "unsure"] {
            execute(&self.connection, &["delete from ", table].concat(), ())?;
        }
        execute(&self.connection, "insert into word(word) values ('delete-all')", ())
    }

    pub(super) fn waiting(&self) -> Ran<i64> {
        one(&self.connection, "select count(*) from todo", (), |row| row.get(0))
    }

    /// Lets messages wait.
    pub(super) fn put_off(&self, entries: &[Entry]) -> Ran<()> {
        let sql = "insert into todo (at, arrival, key) values ($1, $2, $3) on conflict do nothing";
        for entry in entries {
            execute(&self.connection, sql, (entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Returns the oldest that wait.
    pub(super) fn oldest_waiting(&self, many: i64) -> Ran<Vec<Entry>> {
        let sql = "select at, arrival, key from todo order by at, arrival, key limit $1";
        rows(&self.connection, sql, [many], |row| {
            Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
        })
    }

    pub(super) fn wait_no_longer(&self, entries: &[Entry]) -> Ran<()> {
        let sql = "delete from todo where at = $1 and arrival = $2 and key = $3";
        for entry in entries {
            execute(&self.connection, sql, (entry.at, entry.arrival, entry.key.0))?;
        }
        Ok(())
    }

    /// Adds rows that are not there yet. What is about to be destroyed stays out.
    pub(super) fn add(&self, mut docs: Vec<Doc>) -> Ran<()> {
        docs.sort_unstable_by_key(|doc| doc.entry);
        let unsure: HashSet<i64> =
            rows(&self.connection, "select key from unsure", (), |row| row.get(0))?.into_iter().collect();
        let mut run = self.last_run()?;
        for doc in docs {
            let Entry { at, arrival, key } = doc.entry;
            if unsure.contains(&key.0) || self.has(key)? {
                continue;
            }
            run = Some(match run {
                Some(run) if at >= run.newest.saturating_sub(SLACK_MAX) => run.with(doc.entry),
                other => {
                    self.put_run(other)?;
                    Run::begin(other.map_or(1, |run| run.last + 1), doc.entry)
                }
            });
            let no = run.map_or(1, |run| run.last);
            let sql = "insert into doc (no, key, at, arrival) values ($1, $2, $3, $4)";
            execute(&self.connection, sql, (no, key.0, at, arrival))?;
            execute(&self.connection, "insert into word (rowid, tokens) values ($1, $2)", (no, &doc.tokens))?;
        }
        self.put_run(run)
    }

    fn last_run(&self) -> Ran<Option<Run>> {
        let sql = "select r.first, r.last, r.newest, r.slack, d.at, d.arrival, d.key
             from run r
             left join doc d on d.no = r.last
             order by r.first desc
             limit 1";
        maybe(&self.connection, sql, (), |row| {
            let (at, arrival, key): (Option<i64>, Option<i64>, Option<i64>) = (row.get(4)?, row.get(5)?, row.get(6)?);
            let newest: i64 = row.get(2)?;
            // Where the last row is gone, whatever comes may be older than it was.
            let end =
                Entry { at: at.unwrap_or(newest), arrival: arrival.unwrap_or(i64::MAX), key: DocKey(key.unwrap_or(0)) };
            Ok(Run { first: row.get(0)?, last: row.get(1)?, newest, slack: row.get(3)?, end })
        })
    }

    fn put_run(&self, run: Option<Run>) -> Ran<()> {
        let Some(run) = run else { return Ok(()) };
        let sql = "insert into run (first, last, newest, slack) values ($1, $2, $3, $4)
             on conflict (first) do update set last = $2, newest = $3, slack = $4";
        execute(&self.connection, sql, (run.first, run.last, run.newest, run.slack))
    }

    /// Takes a row out whose tokens are known; says whether it was there.
    pub(super) fn remove(&self, key: DocKey, tokens: &str) -> Ran<bool> {
        let sql = "select no from doc where key = $1";
        let Some(no): Option<i64> = maybe(&self.connection, sql, [key.0], |row| row.get(0))? else { return Ok(false) };
        execute(&self.connection, "insert into word (word, rowid, tokens) values ('delete', $1, $2)", (no, tokens))?;
        execute(&self.connection, "delete from doc where no = $1", [no])?;
        Ok(true)
    }

    /// Makes room for what a thing that changes is now; returns what is to be added then, if that is anything.
    pub(super) fn replace(&self, key: DocKey, doc: Option<Doc>) -> Ran<Option<Doc>> {
        let known = self.kept(key)?;
        let at: Option<i64> = maybe(&self.connection, "select at from doc where key = $1", [key.0], |row| row.get(0))?;
        let is_same = known.as_deref() == doc.as_ref().map(|doc| doc.tokens.as_str());
        if is_same && at == doc.as_ref().map(|doc| doc.entry.at) {
            return Ok(None);
        }
        if let Some(known) = known {
            self.remove(key, &known)?;
            execute(&self.connection, "delete from kept where key = $1", [key.0])?;
        }
        let unsure = maybe(&self.connection, "select 1 from unsure where key = $1", [key.0], |_| Ok(()))?;
        let doc = doc.filter(|_| unsure.is_none());
        if let Some(doc) = &doc {
            let sql = "insert into kept (key, tokens) values ($1, $2)";
            execute(&self.connection, sql, (key.0, &doc.tokens))?;
        }
        Ok(doc)
    }

    /// Says whether something is there.
    pub(super) fn has(&self, key: DocKey) -> Ran<bool> {
        Ok(maybe(&self.connection, "select 1 from doc where key = $1", [key.0], |_| Ok(()))?.is_some())
    }

    /// Says whether there are too many runs.
    pub(super) fn is_scattered(&self) -> Ran<bool> {
        Ok(!self.scattered()?.is_empty())
    }

    /// Returns the rows of the smallest runs where there are too many, so that they can be put together.
    pub(super) fn scattered(&self) -> Ran<Vec<Entry>> {
        let sql = "select first, last from run order by last - first, first";
        let runs: Vec<(i64, i64)> = rows(&self.connection, sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut entries = Vec::new();
        if runs.len() <= RUNS_MAX {
            return Ok(entries);
        }
        let fits = |(first, last): &(i64, i64)| last - first < GATHERED_MAX / 2;
        // Of one alone nothing becomes fewer.
        if !runs.iter().take(2).all(fits) {
            return Ok(entries);
        }
        for (first, last) in &runs[..runs.len() - RUNS_LEFT] {
            if entries.len() as i64 + last - first > GATHERED_MAX {
                break;
            }
            let sql = "select at, arrival, key from doc where no between $1 and $2";
            entries.extend(rows(&self.connection, sql, (first, last), |row| {
                Ok(Entry { at: row.get(0)?, arrival: row.get(1)?, key: DocKey(row.get(2)?) })
            })?);
        }
        Ok(entries)
    }

    /// Forgets runs that have no rows.
    pub(super) fn forget_empty_runs(&self) -> Ran<()> {
        let sql = "delete from run
             where not exists (select 1 from doc where no between run.first and run.last)";
        execute(&self.connection, sql, ())
    }

    /// Takes rows out for a deletion that is about to be committed; they are looked at again if it is not.
    pub(super) fn forget(&self, gone: &[Doc], position: Position) -> Ran<()> {
        for doc in gone {
            let Entry { at, arrival, key } = doc.entry;
            // The tokens of what changes are those that were indexed last.
            let kept = self.kept(key)?;
            self.remove(key, kept.as_ref().unwrap_or(&doc.tokens))?;
            let sql = "delete from todo where at = $1 and arrival = $2 and key = $3";
            execute(&self.connection, sql, (at, arrival, key.0))?;
            execute(&self.connection, "delete from kept where key = $1", [key.0])?;
            let sql =
                "insert into unsure (key, position) values ($1, $2) on conflict (key) do update set position = $2";
            execute(&self.connection, sql, (key.0, position))?;
        }
        Ok(())
    }

    pub(super) fn kept(&self, key: DocKey) -> Ran<Option<String>> {
        maybe(&self.connection, "select tokens from kept where key = $1", [key.0], |row| row.get(0))
    }

    /// Returns what was taken out for a deletion of which it is known by now what came of it.
    pub(super) fn unsure(&self, reached: Position) -> Ran<Vec<DocKey>> {
        let sql = "select key from unsure where position <= $1 limit 1000";
        rows(&self.connection, sql, [reached], |row| row.get(0).map(DocKey))
    }

    pub(super) fn be_sure(&self, key: DocKey) -> Ran<()> {
        execute(&self.connection, "delete from unsure where key = $1", [key.0])
    }

    /// Copies the WAL into the file and empties it: what was taken out is then nowhere.
    pub(super) fn wipe(&self) -> Result<()> {
        wal::truncate(&self.connection)
    }

    /// Copies the WAL into the file when it has grown.
    pub(super) fn tidy(&self) {
        // What cannot be copied now can be later.
        let _ = wal::copy(&self.connection);
    }
}

/// Opens the index to compare it with the store; none if there is none yet.
pub(super) fn open_to_check(options: &SqliteOptions) -> Result<Option<Connection>> {
    let Some(IndexReader { connection, .. }) = IndexReader::open(options) else { return Ok(None) };
    let look = || -> rusqlite::Result<()> {
        connection.pragma_update(None, "query_only", false)?;
        // Every token of every row, straight from where they lie.
        connection.execute_batch("create virtual table temp.spoken using fts5vocab('main', 'word', 'instance')")
    };
    look().map_err(|error| failed("opening the index", error))?;
    Ok(Some(connection))
}

/// Deletes the files of the index.
pub(super) fn throw_away(options: &SqliteOptions) {
    for suffix in ["-search", "-search-wal", "-search-shm"] {
        let _ = std::fs::remove_file(options.beside(suffix));
    }
}
