//! Pages of attachments: counts how many records fit by their sizes before any of them is read.

use super::Reading;
use crate::api::annotations_cursor::AnnotationsCursor;
use crate::api::error::StoreError;
use crate::api::query::{AnnotationsQuery, PAGE_BYTES, PAGE_MAX};
use crate::engine::sql::connection::{DbResult, Row, query_all};
use crate::engine::sql::tx_error::TxResult;
use crate::engine::sql::value::Parameters;

/// A page that is being filled, kind after kind.
pub(super) struct Page {
    after: Option<AnnotationsCursor>,
    left: usize,
    bytes: usize,
    is_empty: bool,
    /// Where it ends; until then it has room.
    pub next: Option<AnnotationsCursor>,
}

/// Records of one kind that fit on a page: those behind one key, up to another.
pub(super) struct Fitting<K> {
    pub after: K,
    pub last: K,
}

/// The sort key of the records of a kind.
pub(super) trait Key: Sized + PartialOrd {
    /// The key before all of them.
    fn first() -> Self;
    fn write(&self) -> String;
    fn parse(text: &str) -> Option<Self>;
}

impl Key for i64 {
    fn first() -> Self {
        0
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// An address and a part.
impl Key for (i64, i64) {
    fn first() -> Self {
        (0, -1)
    }

    fn write(&self) -> String {
        format!("{} {}", self.0, self.1)
    }

    fn parse(text: &str) -> Option<Self> {
        let (address, part) = text.split_once(' ')?;
        Some((address.parse().ok()?, part.parse().ok()?))
    }
}

/// A name, which may be empty.
impl Key for Option<String> {
    fn first() -> Self {
        None
    }

    fn write(&self) -> String {
        self.as_ref().map_or_else(String::new, |name| format!("={name}"))
    }

    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix('=') {
            Some(name) => Some(Some(name.to_owned())),
            None => text.is_empty().then_some(None),
        }
    }
}

impl Page {
    pub(super) fn of(query: &AnnotationsQuery) -> Self {
        let left = query.limit.clamp(1, PAGE_MAX) as usize;
        Self { after: query.after.clone(), left, bytes: 0, is_empty: true, next: None }
    }

    /// Finds out which records of a kind fit. `sizes` reads keys and bytes behind a key, as many as the number that it
    /// is given.
    pub(super) fn fit<K: Key, P: Parameters>(
        &mut self,
        reading: &Reading<'_>,
        kind: u8,
        sql: &str,
        parameters: impl FnOnce(&K, i64) -> P,
        row: impl Fn(&Row<'_>) -> DbResult<(K, i64)>,
    ) -> TxResult<Option<Fitting<K>>> {
        let after = match &self.after {
            Some(cursor) if cursor.kind > kind => return Ok(None),
            Some(cursor) if cursor.kind == kind => {
                K::parse(&cursor.key).ok_or_else(|| StoreError::Invalid("invalid cursor of attachments".to_owned()))?
            }
            _ => K::first(),
        };
        if self.next.is_some() {
            return Ok(None);
        }
        let sizes = query_all(reading.connection, sql, parameters(&after, self.left as i64 + 1), row)?;
        let mut last = None;
        for (key, bytes) in sizes {
            // A damaged file may have its rows in another order; then pages would not come to an end.
            if key <= *last.as_ref().unwrap_or(&after) {
                return Err(StoreError::altered("the order of what is attached", key.write()).into());
            }
            self.bytes += usize::try_from(bytes).unwrap_or(0);
            if (self.left == 0 || self.bytes > PAGE_BYTES) && !self.is_empty {
                let key = last.as_ref().unwrap_or(&after).write();
                self.next = Some(AnnotationsCursor { kind, key });
                break;
            }
            self.left -= 1;
            self.is_empty = false;
            last = Some(key);
        }
        Ok(last.map(|last| Fitting { after, last }))
    }
}
