//! Lower bound for row stores: the same rows in one SQLite table with one index, with equal durability.

use ::manent::formats::core::source_fs::SourceTree;
use ::manent::formats::{Format, Item, ReadError, Sink};
use anyhow::Result;
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::{Duration, Instant};

/// As many rows as an import commits at a time.
const GROUP: usize = 500;

struct Row {
    conversation: String,
    ordinal: i64,
    role: String,
    at: i64,
    body: String,
    raw: Option<String>,
}

/// Gathers rows and puts them in; only the putting in is timed.
struct Insert {
    connection: Connection,
    conversation: String,
    ordinal: i64,
    rows: Vec<Row>,
    taken: Duration,
}

impl Insert {
    fn put(&mut self) -> rusqlite::Result<()> {
        let started = Instant::now();
        let transaction = self.connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached("insert into row values (null, ?, ?, ?, ?, ?, ?)")?;
            for row in &self.rows {
                statement.execute(params![row.conversation, row.ordinal, row.role, row.at, row.body, row.raw])?;
            }
        }
        transaction.commit()?;
        self.taken += started.elapsed();
        self.rows.clear();
        Ok(())
    }
}

impl Sink for Insert {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        let (role, at, body, raw) = match item {
            Item::Conversation(item) => {
                (self.conversation, self.ordinal) = (item.external.clone(), 0);
                ("conversation".to_owned(), 0, item.frame.text().to_owned(), None)
            }
            Item::Message(item) => {
                let body = item.content.body.text().to_owned();
                (item.content.role, item.content.time.at.0, body, item.raw)
            }
            Item::Event(item) => (item.channel, item.at.0, item.body.text().to_owned(), None),
            _ => return Ok(()),
        };
        self.ordinal += 1;
        let (conversation, ordinal) = (self.conversation.clone(), self.ordinal);
        self.rows.push(Row { conversation, ordinal, role, at, body, raw });
        if self.rows.len() >= GROUP {
            self.put().map_err(|error| ReadError::Internal(error.to_string()))?;
        }
        Ok(())
    }
}

pub fn run(format: &Format, tree: &dyn SourceTree, folder: &Path) -> Result<f64> {
    let store = tempfile::tempdir_in(folder)?;
    let connection = Connection::open(store.path().join("insert.db"))?;
    connection.execute_batch(
        "pragma journal_mode = wal; pragma synchronous = full;
        create table row (id integer primary key, conversation text, ordinal integer, role text, at integer, body text, raw text);
        create index by_place on row (conversation, ordinal);",
    )?;
    let mut insert =
        Insert { connection, conversation: String::new(), ordinal: 0, rows: Vec::new(), taken: Duration::ZERO };
    (format.read)(tree, &mut insert)?;
    insert.put()?;
    Ok(insert.taken.as_secs_f64())
}
