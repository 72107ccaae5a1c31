//! What a file holds after a restart, read without the store.

use rusqlite::{Connection, OpenFlags};
use std::collections::HashMap;
use std::path::Path;

/// The bytes of an id.
pub type Id = [u8; 16];

/// What a file says about messages and conversations.
#[derive(Debug, Default)]
pub struct Found {
    /// The body of each message, or what its stream has said so far; the title of each conversation.
    pub values: HashMap<Id, String>,
    /// The last position.
    pub position: i64,
}

/// Placeholder of an erased message.
pub const ERASED: &str = "(erased)";

/// Placeholder of a streaming message.
pub fn streaming(chunks: &str) -> String {
    format!("(streaming) {chunks}")
}

impl Found {
    /// Reads a file; the error says what is damaged.
    pub fn read(path: &Path) -> Result<Found, String> {
        Self::look(path).map_err(|error| error.to_string())?
    }

    fn look(path: &Path) -> rusqlite::Result<Result<Found, String>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = Connection::open_with_flags(path, flags)?;
        // No power cut happens during the check.
        connection.pragma_update(None, "synchronous", "off")?;
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        let integrity: String = connection.query_row("pragma integrity_check", [], |row| row.get(0))?;
        if integrity != "ok" {
            return Ok(Err(integrity));
        }
        let schema: i64 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
        if schema == 0 {
            return Ok(Ok(Found::default()));
        }
        let mut found = Found::default();
        if let Err(gap) = found.journal(&connection)? {
            return Ok(Err(gap));
        }
        if let Err(doubled) = found.messages(&connection)? {
            return Ok(Err(doubled));
        }
        let mut statement = connection.prepare("select id, title from conversation where status < 4")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (id, title): (Id, String) = row?;
            found.values.insert(id, title);
        }
        Ok(Ok(found))
    }

    fn journal(&mut self, connection: &Connection) -> rusqlite::Result<Result<(), String>> {
        let mut statement = connection.prepare("select pos, count from journal order by pos")?;
        let mut next = 1;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (position, count): (i64, i64) = row?;
            if position != next {
                return Ok(Err(format!("the journal goes on at {position}, not at {next}")));
            }
            next += count;
        }
        self.position = next - 1;
        Ok(Ok(()))
    }

    fn messages(&mut self, connection: &Connection) -> rusqlite::Result<Result<(), String>> {
        let mut chunks: HashMap<i64, String> = HashMap::new();
        let mut statement = connection.prepare("select key, body from chunk order by key, n")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (key, sealed): (i64, Vec<u8>) = row?;
            // A chunk begins with its seal of eight bytes.
            let delta = String::from_utf8_lossy(sealed.get(8..).unwrap_or_default()).into_owned();
            chunks.entry(key).or_default().push_str(&delta);
        }
        let mut statement = connection.prepare("select key, id, facts, body from message")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))? {
            let (key, id, facts, body): (i64, Id, Vec<u8>, Vec<u8>) = row?;
            // The layout, then the flags in groups of seven bits.
            let flags = facts[1] & 127 | facts[2] << 7 & (facts[1] & 128);
            let (status, erased) = (flags & 3, flags & 128 != 0);
            let value = match (erased, status) {
                (true, _) => ERASED.to_owned(),
                (false, 1) => streaming(&chunks.remove(&key).unwrap_or_default()),
                _ => String::from_utf8_lossy(&body).into_owned(),
            };
            if self.values.insert(id, value).is_some() {
                return Ok(Err(format!("message {} is there twice", manent_model::hex::encode(&id))));
            }
        }
        match chunks.is_empty() {
            true => Ok(Ok(())),
            false => Ok(Err("chunks without a streaming message".to_owned())),
        }
    }
}
