//! Bound parameters: conversion of values to and from PostgreSQL.
//!
//! PostgreSQL texts cannot contain NUL. NUL is escaped as two characters, and so is the escape character itself, in a
//! way that keeps the order of texts; both are so rare that no real text changes.

use crate::engine::sql::value::{FromSql as FromColumn, SqlValue};
use bytes::{BufMut, BytesMut};
use std::borrow::Cow;
use std::error::Error as StdError;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Error, Row};

/// The escape character: the code point after NUL, so that escaping keeps the order of texts.
const ESCAPE: char = '\u{1}';
/// Follows the escape character to encode NUL.
const ESCAPED_NUL: char = '\u{1}';
/// Follows the escape character to encode itself.
const ESCAPED_ESCAPE: char = '\u{2}';

/// A value on its way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum BoundValue {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl BoundValue {
    pub(super) fn of(cell: SqlValue<'_>) -> Self {
        match cell {
            SqlValue::Null => Self::Null,
            SqlValue::Integer(number) => Self::Integer(number),
            SqlValue::Text(text) => Self::Text(escape_nul(text).into_owned()),
            SqlValue::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }
}

impl ToSql for BoundValue {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self, kind) {
            (Self::Null, _) => return Ok(IsNull::Yes),
            (Self::Integer(number), &Type::INT8) => out.put_i64(*number),
            (Self::Integer(number), &Type::INT4) => out.put_i32(i32::try_from(*number)?),
            (Self::Integer(number), &Type::BOOL) => out.put_u8(u8::from(*number != 0)),
            (Self::Text(text), &Type::TEXT | &Type::VARCHAR) => out.put_slice(text.as_bytes()),
            (Self::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (value, kind) => return Err(format!("{value:?} is not a {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The kind of a statement parameter.
#[derive(Debug)]
pub(super) enum Parameter {
    One(BoundValue),
    List(Vec<BoundValue>),
}

impl ToSql for Parameter {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::One(bound) => bound.to_sql(kind, out),
            Self::List(all) => all.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A column as it came.
struct Raw<'a>(Option<SqlValue<'a>>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Some(match *kind {
            Type::INT8 => SqlValue::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => SqlValue::Integer(i64::from(i32::from_sql(kind, raw)?)),
            Type::BOOL => SqlValue::Integer(i64::from(bool::from_sql(kind, raw)?)),
            Type::TEXT | Type::VARCHAR | Type::NAME => SqlValue::Text(std::str::from_utf8(raw)?),
            Type::BYTEA => SqlValue::Bytes(raw),
            _ => return Ok(Self(None)),
        })))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Some(SqlValue::Null)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads a column; none if it holds something else.
pub(super) fn read<T: FromColumn>(row: &Row, place: usize) -> Result<Option<T>, Error> {
    let Raw(cell) = row.try_get(place)?;
    Ok(match cell {
        Some(SqlValue::Text(text)) if text.contains(ESCAPE) => T::read(SqlValue::Text(&unescape_nul(text))),
        cell => cell.and_then(T::read),
    })
}

fn escape_nul(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return text.into();
    }
    let mut written = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => written.extend([ESCAPE, ESCAPED_NUL]),
            ESCAPE => written.extend([ESCAPE, ESCAPED_ESCAPE]),
            character => written.push(character),
        }
    }
    written.into()
}

fn unescape_nul(text: &str) -> String {
    let mut characters = text.chars();
    let mut meant = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        meant.push(match character {
            ESCAPE if characters.next() == Some(ESCAPED_NUL) => '\0',
            character => character,
        });
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_whatever_it_holds() {
        let texts =
            ["", "\0", "\0\0", "\0\u{1}", "\0a", "\u{1}", "\u{1}\0", "\u{1}\u{2}", "\u{2}", "a", "a\0b\0", "天气"];
        for text in texts {
            let stored = escape_nul(text);
            assert!(!stored.contains('\0'));
            assert_eq!(unescape_nul(&stored), text);
        }
        assert!(texts.is_sorted() && texts.map(escape_nul).is_sorted());
    }
}
