//! Hand-written baseline: the same queries against FTS5 with the same tokens.

use ::manent::{Body, Part, text as search};
use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// The index and the file, read with plain SQL.
pub struct Hand {
    connection: Connection,
    newest: String,
}

impl Hand {
    pub fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let index = format!("{}-search", path.display());
        connection.execute("attach $1 as found", [index])?;
        connection.pragma_update(None, "cache_size", -32_768)?;
        // The table in which all but a few messages are.
        let slot: i64 =
            connection.query_row("select slot from found.run order by last desc limit 1", [], |row| row.get(0))?;
        let newest = "select m.id, m.facts, m.body
             from (select rowid from found.wordSLOT where wordSLOT match $1 order by rowid desc limit 20) w
             join found.doc d on d.place = w.rowid + (SLOT << 40)
             join message m on m.key = d.key >> 2"
            .replace("SLOT", &slot.to_string());
        Ok(Self { connection, newest })
    }

    /// Reads the newest twenty messages with a word, and how long that took.
    pub fn newest(&self, word: &str) -> Result<(usize, Duration)> {
        let started = Instant::now();
        let mut statement = self.connection.prepare_cached(&self.newest)?;
        let mut rows = statement.query([format!("\"{word}\"")])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            std::hint::black_box(row.get_ref(2)?.as_blob()?.len());
            count += 1;
        }
        Ok((count, started.elapsed()))
    }
}

/// A table of its own that can be ranked: one with positions.
pub struct Ranked {
    connection: Connection,
}

impl Ranked {
    pub fn build(store: &Path, path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "pragma journal_mode = off;
             pragma synchronous = off;
             create virtual table word using fts5(tokens, content = '', tokenize = \"ascii\");",
        )?;
        let file = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mut statement = file.prepare("select key, body from message order by key")?;
        let mut rows = statement.query([])?;
        connection.execute_batch("begin")?;
        let mut insert = connection.prepare("insert into word (rowid, tokens) values ($1, $2)")?;
        while let Some(row) = rows.next()? {
            let body = std::str::from_utf8(row.get_ref(1)?.as_blob()?).context("a body is text")?;
            insert.execute((row.get::<_, i64>(0)?, tokens(body)))?;
        }
        drop(insert);
        connection.execute_batch("commit")?;
        Ok(Self { connection })
    }

    /// Ranks all messages with a word and reads the first twenty, without what they say.
    pub fn best(&self, word: &str) -> Result<Duration> {
        let started = Instant::now();
        let sql = "select rowid from word where word match $1 order by rank limit 20";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([format!("\"{word}\"")])?;
        while let Some(row) = rows.next()? {
            std::hint::black_box(row.get::<_, i64>(0)?);
        }
        Ok(started.elapsed())
    }
}

/// The tokens of a body with repetitions, as needed for ranking by frequency.
fn tokens(body: &str) -> String {
    let mut joined = String::with_capacity(body.len());
    for part in Body::trusted(body.to_owned()).parts() {
        if let Part::Text { text, .. } = part {
            search::tokens(&text, &mut |token| {
                joined.push_str(token);
                joined.push(' ');
            });
        }
    }
    joined
}
