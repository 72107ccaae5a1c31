//! The plugin's own rules, kept apart from our reader: what its queries must find in a file.

use crate::sqlite::open;
use rusqlite::Connection;

/// The columns that its queries name, by generation.
fn id_of(connection: &Connection) -> &'static str {
    let drafts = connection.prepare("select conv_id from conversation").is_ok();
    if drafts { "conv_id" } else { "conversation_id" }
}

/// The newest messages of a conversation, as the plugin reads a line: by time, newest first, and turned around.
pub fn history(connection: &Connection, conversation: &str, most: u32) -> Vec<(String, String)> {
    let sql = "select role, text from Message where conversation_id = ?1 order by timestamp desc limit ?2";
    let mut statement = connection.prepare(sql).expect("the query of the plugin");
    let rows = statement.query_map((conversation, most), |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    let mut rows: Vec<(String, String)> = rows.map(|row| row.expect("a role and a text")).collect();
    rows.reverse();
    rows
}

/// The messages of a tree, as the plugin reads them: the oldest ones by time.
pub fn oldest(connection: &Connection, conversation: &str, most: u32) -> Vec<(String, String)> {
    let sql = "select role, text from Message where conversation_id = ?1 order by timestamp asc limit ?2";
    let mut statement = connection.prepare(sql).expect("the query of the plugin");
    let rows = statement.query_map((conversation, most), |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.map(|row| row.expect("a role and a text")).collect()
}

/// Checks that a file is whole and that the plugin's queries run on it.
pub fn file(bytes: &[u8]) {
    let connection = open(bytes);
    let told: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(told, "ok");
    let id = id_of(&connection);
    let sql = format!("select {id}, sequence, status, created_at, metadata from Conversation");
    connection.prepare(&sql).expect("the columns of conversations");
    let sql = "select message_id, conversation_id, role, text, parent_message_id, timestamp, metadata from Message";
    connection.prepare(sql).expect("the columns of messages");
}

/// Checks what the database of the plugin would refuse: it enforces every foreign key.
pub fn enforced(bytes: &[u8]) {
    file(bytes);
    let connection = open(bytes);
    let mut statement = connection.prepare("pragma foreign_key_check").expect("a check");
    let broken: Vec<(String, i64)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    assert_eq!(broken, [], "rows that point nowhere");
    let id = id_of(&connection);
    let odd = format!("select count(*) from conversation where sequence not in ('sequential', 'tree') or {id} is null");
    assert_eq!(connection.query_row(&odd, [], |row| row.get::<_, i64>(0)).expect("a count"), 0);
}
