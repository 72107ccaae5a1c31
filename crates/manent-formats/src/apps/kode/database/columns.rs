//! Mapping between database columns and record members.

use crate::core::json::{Members, Object};
use crate::core::sqlite::{Cell, Record};
use manent_model::Json;

/// Encoding of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text or a number.
    Plain,
    /// JSON as a text.
    Json,
    /// 0 or 1.
    Flag,
}

/// A column, its member, and how it holds it.
pub(crate) type Columns = [(&'static str, &'static str, Kind)];

pub(crate) const AGENT: [(&str, &str, Kind); 10] = [
    ("agent_id", "agentId", Kind::Plain),
    ("template_id", "templateId", Kind::Plain),
    ("created_at", "createdAt", Kind::Plain),
    ("lineage", "lineage", Kind::Json),
    ("config_version", "configVersion", Kind::Plain),
    ("message_count", "messageCount", Kind::Plain),
    ("last_sfp_index", "lastSfpIndex", Kind::Plain),
    ("last_bookmark", "lastBookmark", Kind::Json),
    ("breakpoint", "breakpoint", Kind::Plain),
    ("metadata", "metadata", Kind::Json),
];

pub(crate) const MESSAGE: [(&str, &str, Kind); 3] =
    [("role", "role", Kind::Plain), ("content", "content", Kind::Json), ("metadata", "metadata", Kind::Json)];

pub(crate) const CALL: [(&str, &str, Kind); 14] = [
    ("id", "id", Kind::Plain),
    ("name", "name", Kind::Plain),
    ("input", "input", Kind::Json),
    ("state", "state", Kind::Plain),
    ("approval", "approval", Kind::Json),
    ("created_at", "createdAt", Kind::Plain),
    ("updated_at", "updatedAt", Kind::Plain),
    ("audit_trail", "auditTrail", Kind::Json),
    ("is_error", "isError", Kind::Flag),
    ("started_at", "startedAt", Kind::Plain),
    ("result", "result", Kind::Json),
    ("error", "error", Kind::Plain),
    ("duration_ms", "durationMs", Kind::Plain),
    ("completed_at", "completedAt", Kind::Plain),
];

pub(crate) const SNAPSHOT: [(&str, &str, Kind); 6] = [
    ("snapshot_id", "id", Kind::Plain),
    ("messages", "messages", Kind::Json),
    ("last_sfp_index", "lastSfpIndex", Kind::Plain),
    ("last_bookmark", "lastBookmark", Kind::Json),
    ("created_at", "createdAt", Kind::Plain),
    ("metadata", "metadata", Kind::Json),
];

/// Reads a row as a record: an empty column is an absent member. The reason if a column holds something else.
pub(crate) fn object(columns: &Columns, record: &Record) -> Result<String, String> {
    let mut object = Object::new();
    for (column, member, kind) in columns {
        let cell = record.get(column);
        let text = match (kind, cell) {
            (_, Cell::Null) => continue,
            (Kind::Json, Cell::Text(text)) => Json::parse(text).map(|json| json.text().to_owned()).ok(),
            (Kind::Json, _) => None,
            (Kind::Flag, Cell::Integer(0 | 1)) => Some((*cell == Cell::Integer(1)).to_string()),
            (_, Cell::Text(_) | Cell::Integer(_)) => serde_json::to_string(cell).ok(),
            (_, odd) => odd.number(),
        };
        let text = text.ok_or_else(|| format!("column {column} holds no value that the program writes"))?;
        object.0.push(((*member).to_owned(), text));
    }
    Ok(object.text())
}

/// Writes a record as a row. Beside it, how many of its members have no column.
pub(crate) fn cells(columns: &Columns, text: &str) -> (Record, usize) {
    let members = Members::parse(text).unwrap_or_default();
    let mut record = Record::default();
    for (column, member, kind) in columns {
        let cell = match (kind, members.raw(member)) {
            (_, None) => Cell::Null,
            (Kind::Json, Some(raw)) => Cell::Text(raw.to_owned()),
            (_, Some("null")) => Cell::Null,
            (Kind::Flag, Some("true")) => Cell::Integer(1),
            (Kind::Flag, Some("false")) => Cell::Integer(0),
            (_, Some(raw)) => plain(raw),
        };
        record.set(column, cell);
    }
    let is_known = |name: &str| columns.iter().any(|(_, member, _)| *member == name);
    let lost = members.0.iter().filter(|(name, _)| !is_known(name)).count();
    (record, lost)
}

fn plain(raw: &str) -> Cell {
    if let Some(decoded) = crate::core::json::decode(raw) {
        return Cell::Text(decoded.text);
    }
    match (raw.parse::<i64>(), raw.parse::<f64>()) {
        (Ok(number), _) => Cell::Integer(number),
        (_, Ok(number)) => Cell::real(number),
        _ => Cell::Text(raw.to_owned()),
    }
}
