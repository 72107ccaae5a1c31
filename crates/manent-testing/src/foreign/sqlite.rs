//! SQLite test files: created from SQL statements and dumped row by row, independently of Manent's code.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// Makes a file.
pub fn file(sql: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().expect("memory");
    connection.execute_batch(&format!("pragma foreign_keys = off; {sql}")).expect("statements");
    connection.serialize("main").expect("pages").to_vec()
}

/// Opens a file; whatever is done to it stays in memory.
pub fn open(bytes: &[u8]) -> Connection {
    let mut bytes = bytes.to_vec();
    // A database in memory has no log beside it.
    bytes[18..20].fill(1);
    let mut connection = Connection::open_in_memory().expect("memory");
    connection.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), false).expect("a database");
    connection
}

fn value(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => format!("x{bytes:02x?}"),
    }
}

/// Everything that a file says: its settings, its statements, and every row with its number, types and values.
pub fn dump(bytes: &[u8]) -> String {
    let connection = open(bytes);
    let mut lines = Vec::new();
    for name in ["page_size", "encoding", "user_version", "application_id"] {
        let told = connection.query_row(&format!("pragma {name}"), [], |row| row.get_ref(0).map(value));
        lines.push(format!("{name} {}", told.expect("a setting")));
    }
    let mut statements =
        connection.prepare("select type, name, sql from sqlite_schema order by rowid").expect("a schema");
    let mut found = statements.query([]).expect("a schema");
    let mut tables = Vec::new();
    while let Some(row) = found.next().expect("a statement") {
        let (kind, name, sql): (String, String, Option<String>) =
            (row.get(0).expect("a kind"), row.get(1).expect("a name"), row.get(2).expect("a text"));
        if kind == "table" && !sql.as_ref().is_some_and(|sql| sql.to_lowercase().starts_with("create virtual")) {
            tables.push((name.clone(), sql.as_ref().is_some_and(|sql| sql.to_lowercase().contains("without rowid"))));
        }
        lines.push(format!("{kind} {name} {:?}", sql.unwrap_or_default()));
    }
    for (table, is_rowless) in tables {
        let number = if is_rowless { "0" } else { "_rowid_" };
        let mut rows = connection.prepare(&format!("select {number}, * from \"{table}\"")).expect("a table");
        let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let mut found = rows.query([]).expect("rows");
        while let Some(row) = found.next().expect("a row") {
            let cell = |at: usize| format!("{}={}", names[at], value(row.get_ref(at).expect("a value")));
            let cells: Vec<String> = (1..names.len()).map(cell).collect();
            lines.push(format!("{table} {} {}", value(row.get_ref(0).expect("a number")), cells.join(" ")));
        }
    }
    lines.join("\n")
}
