//! Lossless values of a SQLite row.

use manent_model::hex;
use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};
use serde::{Deserialize, Serialize};

/// A value: `null`, a number, a text, or one of those that JSON has no word for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    #[default]
    Null,
    Integer(i64),
    Text(String),
    Odd(Odd),
}

/// A value that JSON would change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Odd {
    /// A number with a fraction, as the text that gives it back to the bit.
    Real(String),
    /// Bytes, in hexadecimal.
    Blob(String),
    /// A text that is no UTF-8, in hexadecimal.
    Text(String),
}

/// A row with its number, where its table has numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub row: Option<i64>,
    pub cells: Vec<Cell>,
}

impl Cell {
    pub fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::real(number),
            ValueRef::Blob(bytes) => Self::Odd(Odd::Blob(hex::encode(bytes))),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Odd(Odd::Text(hex::encode(bytes))),
            },
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub fn real(number: f64) -> Self {
        Self::Odd(Odd::Real(format!("{number:?}")))
    }

    /// A number with a fraction as JSON writes it; none for anything else, and for those that JSON does not have.
    pub fn number(&self) -> Option<String> {
        match self {
            Self::Odd(Odd::Real(text)) => serde_json::from_str::<serde_json::Number>(text).ok().map(|_| text.clone()),
            _ => None,
        }
    }

    /// Display text.
    pub fn shown(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Text(text) | Self::Odd(Odd::Real(text)) => text.clone(),
            Self::Odd(Odd::Blob(hex) | Odd::Text(hex)) => format!("x'{hex}'"),
        }
    }

    pub fn or_null(text: Option<&str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.to_owned()))
    }

    /// How many bytes it takes, roughly.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) => 8,
            Self::Text(text) | Self::Odd(Odd::Real(text) | Odd::Blob(text) | Odd::Text(text)) => text.len(),
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let bytes = |hex: &str| hex::decode(hex).unwrap_or_default();
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Integer(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Odd(Odd::Real(text)) => ToSqlOutput::Owned(Value::Real(text.parse().unwrap_or_default())),
            // Invalid UTF-8 cannot be bound as text; the INSERT statement casts it.
            Self::Odd(Odd::Blob(hex) | Odd::Text(hex)) => ToSqlOutput::Owned(Value::Blob(bytes(hex))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_behind_json() {
        for cell in [
            Cell::Null,
            Cell::Integer(i64::MIN),
            Cell::of(ValueRef::Real(0.1 + 0.2)),
            Cell::of(ValueRef::Real(f64::INFINITY)),
            Cell::Text("null \0 你".to_owned()),
            Cell::of(ValueRef::Blob(&[0, 255])),
            Cell::of(ValueRef::Text(&[255])),
        ] {
            let text = serde_json::to_string(&cell).expect("JSON");
            assert_eq!(serde_json::from_str::<Cell>(&text).expect("JSON"), cell, "{text}");
        }
        assert_eq!(serde_json::to_string(&Cell::of(ValueRef::Real(1.5))).expect("JSON"), r#"{"real":"1.5"}"#);
    }
}
