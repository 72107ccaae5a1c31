//! Lossless skeleton of a JSON file without its records: layout, and the bytes around its value.

use crate::core::json::bytes::Bytes;
use crate::core::json::scan::{Outline, RECORD_MAX};
use crate::core::json::skeleton::Skeleton;
use crate::core::json::style::Style;
use serde::{Deserialize, Serialize};
use std::io;

/// Layout of a file, without its records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its layout.
    pub style: Style,
    /// The bytes before the value: a byte order mark, white space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The bytes after it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The value with its lists emptied.
    pub skeleton: Skeleton,
}

impl Frame {
    /// Takes the frame of a file that is whole.
    pub fn of(bytes: &(impl Bytes + ?Sized), root: &Outline) -> io::Result<Self> {
        let text = |from, to| bytes.slice(from, to).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let style = Style::of(&text(0, bytes.len().min(4_096))?);
        if bytes.len() - root.span().len() > RECORD_MAX {
            let why = format!("what stands around the value is larger than {} MiB", RECORD_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let (before, after) = (text(0, root.span().from)?, text(root.span().to, bytes.len())?);
        Ok(Self { style, before, after, skeleton: Skeleton::of(bytes, root, style, 0)? })
    }

    /// The skeleton of a new file.
    pub fn fresh(json: &str, style: Style) -> Self {
        let skeleton = Skeleton { text: style.format(json, 0), ..Skeleton::default() };
        Self { style, before: String::new(), after: String::new(), skeleton }
    }

    /// Fills the lists in and returns the file; for what fits into memory.
    pub fn filled(&self, lists: &[(&str, Vec<String>)]) -> String {
        format!("{}{}{}", self.before, self.skeleton.filled(lists, self.style, 0), self.after)
    }
}
