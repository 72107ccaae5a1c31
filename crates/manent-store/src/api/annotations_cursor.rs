//! Keyset cursor of a page of attachments.

use crate::api::cursor_serde::serde_as_text;
use crate::api::list_cursor::CursorProblem;
use manent_model::hex;
use std::fmt;
use std::str::FromStr;

/// The kind of the last record of a page, and the key of that record among its kind.
///
/// Outside it is an opaque text that needs no escaping in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationsCursor {
    pub(crate) kind: u8,
    pub(crate) key: String,
}

impl fmt::Display for AnnotationsCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(&[&[self.kind], self.key.as_bytes()].concat()))
    }
}

impl FromStr for AnnotationsCursor {
    type Err = CursorProblem;

    fn from_str(text: &str) -> Result<Self, CursorProblem> {
        let bytes = hex::decode(text).ok_or(CursorProblem)?;
        let (kind, key) = bytes.split_first().ok_or(CursorProblem)?;
        let key = String::from_utf8(key.to_vec()).map_err(|_| CursorProblem)?;
        Ok(Self { kind: *kind, key })
    }
}

serde_as_text!(AnnotationsCursor);
