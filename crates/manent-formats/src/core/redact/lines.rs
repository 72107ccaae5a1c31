//! Redaction of JSON lines on export.

use crate::core::redact::redact;
use std::io::{self, Write};

/// How a line begins that holds the bytes of a blob: these are not looked into, and chance makes words in base64.
const BLOB: &[u8] = br#"{"type":"blob","#;

/// A writer of lines that takes secrets out of each.
pub struct RedactedLines<W> {
    out: W,
    line: Vec<u8>,
    count: u64,
}

impl<W: Write> RedactedLines<W> {
    /// Writes to this.
    pub fn new(out: W) -> Self {
        Self { out, line: Vec::new(), count: 0 }
    }

    /// How many were taken out.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl<W: Write> Write for RedactedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        self.line.extend_from_slice(&bytes[..=end]);
        if self.line.starts_with(BLOB) {
            self.out.write_all(&self.line)?;
        } else {
            let line = String::from_utf8_lossy(&self.line);
            let (clean, count) = redact(&line);
            self.count += count;
            self.out.write_all(clean.as_bytes())?;
        }
        self.line.clear();
        Ok(end + 1)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
