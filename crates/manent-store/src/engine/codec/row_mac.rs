//! Row MACs: eight bytes in each row over its columns, so that `verify` finds a row that another program changed.
//!
//! Readers do not check them; the rows that are read most have a MAC of their own (`seal`). A row MAC does not cover
//! the number of its row nor `withdrawn`: both are compared with the journal, which also finds rows that are missing.

use crate::engine::sql::connection::{Connection, DbResult, Row, execute, query_all, query_optional};
use crate::engine::sql::value::{OwnedSqlValue, Parameters, SqlValue, ToSql};
use manent_model::DigestKey;

/// Rows that one statement reads while all rows are walked.
const PAGE: &str = "100";

/// A table whose rows have a MAC.
pub(crate) struct Table {
    pub name: &'static str,
    /// The columns that name a row.
    key: &'static str,
    /// The columns that the MAC covers, in the order in which they are inserted.
    columns: &'static str,
    /// Rows of other tables that the MAC covers too.
    optional_parts: &'static [Part],
}

/// Rows of another table that belong to a row.
struct Part {
    columns: &'static str,
    /// Where they are read from, by the number of the row.
    from: &'static str,
}

const fn numbered(name: &'static str, columns: &'static str) -> Table {
    Table { name, key: "no", columns, optional_parts: &[] }
}

pub(crate) const NAME: Table = numbered("name", "kind, value");
pub(crate) const AUTHOR: Table = numbered("author", "external_id, name");
pub(crate) const PROJECT: Table = numbered("project", "id, kind, name, version, body");
pub(crate) const CONVERSATION: Table = Table {
    name: "conversation",
    key: "no",
    columns: "id, external_id, project_no, kind, status, title, pinned, creator_no, created_at, trashed_at, \
              continued_from, forked_from, seal, body",
    optional_parts: &[
        Part { columns: "name_no", from: "tag where conversation_no = $1" },
        Part { columns: "name, branch_no, key, at, body", from: "bookmark where conversation_no = $1" },
    ],
};
pub(crate) const BRANCH: Table = Table {
    name: "branch",
    key: "no",
    columns: "id, conversation_no, parent_no, fork_key, open_from, before_depth, before_visible, before_words, \
              before_tokens, why",
    optional_parts: &[Part {
        columns: "ordinal, from_key, to_key, before_depth, before_visible, before_words, before_tokens",
        from: "piece where branch_no = $1",
    }],
};
/// The only table in which most rows have none.
pub(crate) const MESSAGE: Table =
    Table { name: "message", key: "key", columns: "source_no, ordinal, external, raw", optional_parts: &[] };
pub(crate) const NOTE: Table = numbered("note", "id, conversation_no, key, kind, actor_no, at, body");
pub(crate) const STATE: Table = numbered("state", "conversation_no, name_no, key, at, actor_no, body");
pub(crate) const FOLD: Table =
    numbered("fold", "id, conversation_no, branch_no, key, kind, active, parent, at, ranges, body");
pub(crate) const MODEL_CALL: Table = numbered(
    "model_call",
    "id, conversation_no, branch_no, key, model_no, outcome, tokens_in, tokens_out, cost_micros, at, ranges, body",
);
pub(crate) const TOOL_CALL: Table = Table {
    name: "tool_call",
    key: "key, part",
    columns: "key, part, conversation_no, call_id, name, open, state, body",
    optional_parts: &[],
};
pub(crate) const TOOL_STEP: Table = numbered("tool_step", "key, part, state, at, actor_no, note");
pub(crate) const EVENT: Table =
    Table { name: "event", key: "key", columns: "key, at, channel_no, body", optional_parts: &[] };
pub(crate) const INPUT: Table = numbered("input", "id, conversation_no, at, taken_pos, actor_no, body");
pub(crate) const DOCUMENT: Table = numbered("document", "project_no, kind, id, version, at, body");
pub(crate) const MEMORY: Table =
    numbered("memory", "id, collection_no, project_no, conversation_no, key, external, body, actor_no");
pub(crate) const BLOB: Table = numbered("blob", "sha256, size, codec, complete, at");
pub(crate) const SOURCE: Table = numbered("source", "id, format, generation, path, sha256, at, style");
pub(crate) const ORIGIN: Table = numbered("origin", "kind, object, source_no, ordinal, external, raw");
pub(crate) const QUARANTINE: Table = numbered("quarantine", "source_no, at_byte, why, bytes");

const TABLES: [&Table; 20] = [
    &NAME,
    &AUTHOR,
    &PROJECT,
    &CONVERSATION,
    &BRANCH,
    &MESSAGE,
    &NOTE,
    &STATE,
    &FOLD,
    &MODEL_CALL,
    &TOOL_CALL,
    &TOOL_STEP,
    &EVENT,
    &INPUT,
    &DOCUMENT,
    &MEMORY,
    &BLOB,
    &SOURCE,
    &ORIGIN,
    &QUARANTINE,
];

/// Eight bytes over cells, as they are stored.
pub(crate) type Mac = [u8; 8];

/// The cells of a row and of its parts, with their kinds and lengths.
#[derive(Default)]
struct MacInput(Vec<u8>);

impl MacInput {
    fn add(&mut self, cell: SqlValue<'_>) {
        let number;
        let (kind, bytes): (u8, &[u8]) = match cell {
            SqlValue::Null => (0, &[]),
            SqlValue::Integer(integer) => {
                number = integer.to_le_bytes();
                (1, &number)
            }
            SqlValue::Text(text) => (2, text.as_bytes()),
            SqlValue::Bytes(bytes) => (3, bytes),
        };
        self.0.push(kind);
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn mac(&self, key: &DigestKey, what: &str) -> Mac {
        let mut short = Mac::default();
        short.copy_from_slice(&key.digest(&[b"row", what.as_bytes(), &self.0]).0[..8]);
        short
    }
}

/// Returns the MAC over values of something that has no parts.
pub(crate) fn of(key: &DigestKey, what: &str, values: &impl Parameters) -> Mac {
    let mut covered = MacInput::default();
    let Ok(()) = values.each(|cell| {
        covered.add(cell);
        Ok::<(), std::convert::Infallible>(())
    });
    covered.mac(key, what)
}

/// The parameters of an insertion, followed by the MAC over them.
pub(crate) struct WithMac<P> {
    values: P,
    mac: Mac,
}

/// Adds the MAC to the columns of a row that is inserted. The statement names them in the order of the table's
/// `columns`, and `mac` last.
pub(crate) fn row<P: Parameters>(key: &DigestKey, table: &Table, values: P) -> WithMac<P> {
    let mac = of(key, table.name, &values);
    WithMac { values, mac }
}

impl<P: Parameters> Parameters for WithMac<P> {
    fn each<E>(&self, mut bind: impl FnMut(SqlValue<'_>) -> Result<(), E>) -> Result<(), E> {
        self.values.each(&mut bind)?;
        bind(self.mac.to_sql_value())
    }
}

/// Works out the MAC of a row again after its columns or its parts changed.
pub(crate) fn refresh(connection: Connection<'_>, key: &DigestKey, table: &Table, no: i64) -> DbResult<()> {
    let sql = ["select ", table.columns, " from ", table.name, " where ", table.key, " = $1"].concat();
    let Some(mut covered) = query_optional(connection, &sql, [no], |row| covered_from(row, 0, width(table.columns)))?
    else {
        return Ok(());
    };
    add_parts(connection, table, no, &mut covered)?;
    let sql = ["update ", table.name, " set mac = $1 where ", table.key, " = $2"].concat();
    execute(connection, &sql, (covered.mac(key, table.name), no))
}

fn width(columns: &str) -> usize {
    columns.split(',').count()
}

fn covered_from(row: &Row<'_>, first: usize, width: usize) -> DbResult<MacInput> {
    let mut covered = MacInput::default();
    for place in first..first + width {
        covered.add(row.get::<OwnedSqlValue>(place)?.to_sql_value());
    }
    Ok(covered)
}

fn add_parts(connection: Connection<'_>, table: &Table, no: i64, covered: &mut MacInput) -> DbResult<()> {
    for part in table.optional_parts {
        let sql = ["select ", part.columns, " from ", part.from].concat();
        let width = width(part.columns);
        let mut found = query_all(connection, &sql, [no], |row| Ok(covered_from(row, 0, width)?.0))?;
        // Engines sort texts differently, and a backup moves rows from one to the other.
        found.sort_unstable();
        covered.0.extend(found.concat());
    }
    Ok(())
}

/// A row as the walk over all rows finds it.
pub(crate) struct CheckedRow {
    /// The columns that name it.
    pub key: Vec<i64>,
    stored: OwnedSqlValue,
    /// The MAC of its columns; none for a message that was not imported.
    mac: OwnedSqlValue,
}

impl CheckedRow {
    /// Says whether its MAC is that of its columns.
    pub(crate) fn is_sound(&self) -> bool {
        self.stored == self.mac
    }
}

/// The tables whose rows are walked.
pub(crate) fn tables() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter()
}

/// Reads the next rows of a table, behind a key; none for the first.
pub(crate) fn page(
    connection: Connection<'_>,
    digest_key: &DigestKey,
    table: &Table,
    after: &[i64],
) -> DbResult<Vec<CheckedRow>> {
    let behind = match after.len() {
        0 => String::new(),
        1 => ["where ", table.key, " > $1"].concat(),
        _ => ["where (", table.key, ") > ($1, $2)"].concat(),
    };
    let (name, key, columns) = (table.name, table.key, table.columns);
    let read = ["select ", key, ", ", columns, ", mac from ", name, " ", &behind].concat();
    let sql = [&read, " order by ", key, " limit ", PAGE].concat();
    let (key_end, end) = (width(key), width(key) + width(columns));
    let found = query_all(connection, &sql, after, |row| {
        let key = (0..key_end).map(|place| row.get(place)).collect::<DbResult<Vec<i64>>>()?;
        let values = (key_end..end).map(|place| row.get(place)).collect::<DbResult<Vec<OwnedSqlValue>>>()?;
        Ok((key, values, row.get(end)?))
    })?;
    let mut walked = Vec::with_capacity(found.len());
    for (key, values, stored) in found {
        let is_empty = values.iter().all(|cell| *cell == OwnedSqlValue::Null);
        let mut covered = MacInput::default();
        values.iter().for_each(|value| covered.add(value.to_sql_value()));
        if let [no] = key[..] {
            add_parts(connection, table, no, &mut covered)?;
        }
        let mac = match is_empty {
            true => OwnedSqlValue::Null,
            false => OwnedSqlValue::Bytes(covered.mac(digest_key, name).to_vec()),
        };
        walked.push(CheckedRow { key, stored, mac });
    }
    Ok(walked)
}

/// Keyset paging: returns the start of the next page, after the last row. In a damaged file rows may be out of order; a
/// scan that makes no progress ends.
pub(crate) fn next_page_start(after: &[i64], page: &[CheckedRow]) -> Option<Vec<i64>> {
    let last = page.last()?;
    (last.key.as_slice() > after).then(|| last.key.clone())
}

/// Gives every row of a store its MAC.
pub(crate) fn fill(connection: Connection<'_>, digest_key: &DigestKey) -> DbResult<()> {
    for table in tables() {
        let sql = match width(table.key) {
            1 => ["update ", table.name, " set mac = $1 where ", table.key, " = $2"].concat(),
            _ => ["update ", table.name, " set mac = $1 where (", table.key, ") = ($2, $3)"].concat(),
        };
        let mut after = Vec::new();
        loop {
            let found = page(connection, digest_key, table, &after)?;
            let Some(next) = next_page_start(&after, &found) else { break };
            after = next;
            for row in found.into_iter().filter(|row| !row.is_sound()) {
                let key = row.key.into_iter().map(OwnedSqlValue::Integer);
                let parameters: Vec<OwnedSqlValue> = std::iter::once(row.mac).chain(key).collect();
                execute(connection, &sql, parameters)?;
            }
        }
    }
    Ok(())
}
