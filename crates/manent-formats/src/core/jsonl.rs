//! JSON lines: streaming reader for files of any size, and lossless writer that keeps the bytes between records.

use crate::core::json::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

const WINDOW: usize = 256 << 10;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its span, without the line ending.
    pub span: Span,
    /// Its line ending: Unix, Windows, or none at the end of the file.
    pub end: &'static str,
}

/// Finds the lines of a file; a byte order mark before the first belongs to none.
pub fn read_lines(bytes: &(impl Bytes + ?Sized)) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut window = vec![0; WINDOW];
    let (mut from, mut at, mut is_return) = (mark(bytes)?, 0, false);
    loop {
        let read = bytes.read_at(at, &mut window)?;
        if read == 0 {
            break;
        }
        for place in memchr::memchr_iter(b'\n', &window[..read]) {
            let to = at + place as u64;
            // The byte before may be the last of the window before.
            let is_crlf = if place > 0 { window[place - 1] == b'\r' } else { is_return } && to > from;
            let (to_text, end) = if is_crlf { (to - 1, "\r\n") } else { (to, "\n") };
            lines.push(Line { number: lines.len() as u64 + 1, span: Span { from, to: to_text }, end });
            from = to + 1;
        }
        is_return = window[read - 1] == b'\r';
        at += read as u64;
    }
    if from < at {
        lines.push(Line { number: lines.len() as u64 + 1, span: Span { from, to: at }, end: "" });
    }
    Ok(lines)
}

fn mark(bytes: &(impl Bytes + ?Sized)) -> io::Result<u64> {
    Ok(if bytes.slice(0, 3)? == "\u{feff}".as_bytes() { 3 } else { 0 })
}

/// Layout of a file of lines, without its records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JsonlFrame {
    /// Whether a byte order mark precedes the first line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_mark: bool,
    /// Lines end as on Windows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crlf: bool,
    /// Records that end otherwise, by their number, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<(u32, String)>,
    /// Lines that are no record, each with its end, before the record of this number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<(u32, String)>,
}

impl JsonlFrame {
    /// Begins the frame of a file.
    pub fn of(bytes: &(impl Bytes + ?Sized), lines: &[Line]) -> io::Result<Self> {
        let crlf = lines.first().is_some_and(|line| line.end == "\r\n");
        Ok(Self { has_mark: mark(bytes)? > 0, crlf, ..Self::default() })
    }

    /// Line ending.
    pub fn end(&self) -> &'static str {
        if self.crlf { "\r\n" } else { "\n" }
    }

    /// Remembers how a record ends, if that is unusual.
    pub fn record(&mut self, number: u32, end: &str) {
        if end != self.end() {
            self.ends.push((number, end.to_owned()));
        }
    }
}

/// A file of lines that is being written.
pub struct JsonlWriter<'a> {
    frame: &'a JsonlFrame,
    target: &'a mut dyn Write,
    others: usize,
    is_open: bool,
}

impl<'a> JsonlWriter<'a> {
    /// Begins it.
    pub fn new(frame: &'a JsonlFrame, target: &'a mut dyn Write) -> io::Result<Self> {
        if frame.has_mark {
            target.write_all("\u{feff}".as_bytes())?;
        }
        Ok(Self { frame, target, others: 0, is_open: false })
    }

    /// Writes a record; one with a number keeps its original position and line ending.
    pub fn record(&mut self, text: &str, number: Option<u32>) -> io::Result<()> {
        if let Some(number) = number {
            self.others(number)?;
        }
        let unusual = number.and_then(|number| self.frame.ends.binary_search_by_key(&number, |(known, _)| *known).ok());
        let end = unusual.map_or(self.frame.end(), |place| &self.frame.ends[place].1);
        self.line(text, end)
    }

    /// Writes the other lines before a record.
    pub fn others(&mut self, before: u32) -> io::Result<()> {
        while let Some((_, text)) = self.frame.others.get(self.others).filter(|(number, _)| *number <= before) {
            self.line(text, "")?;
            self.others += 1;
        }
        Ok(())
    }

    /// Writes the first lines that are not records, up to this count.
    pub fn first_others(&mut self, count: u32) -> io::Result<()> {
        while self.others < count as usize {
            let Some((_, text)) = self.frame.others.get(self.others) else { break };
            self.line(text, "")?;
            self.others += 1;
        }
        Ok(())
    }

    /// Writes a line with its end.
    pub fn line(&mut self, text: &str, end: &str) -> io::Result<()> {
        // The last line of a file may be open; one that comes behind it begins anew.
        if self.is_open {
            self.target.write_all(self.frame.end().as_bytes())?;
        }
        self.target.write_all(text.as_bytes())?;
        self.target.write_all(end.as_bytes())?;
        self.is_open = !end.ends_with('\n') && !text.ends_with('\n');
        Ok(())
    }

    /// Writes the bytes after the last record.
    pub fn end(mut self) -> io::Result<()> {
        self.others(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_three_ways() {
        let source = b"\xef\xbb\xbfa\r\n\n\r\nb\r".to_vec();
        let found = read_lines(&source).expect("memory");
        let text =
            |line: &Line| String::from_utf8_lossy(&source[line.span.from as usize..line.span.to as usize]).into_owned();
        let found: Vec<_> = found.iter().map(|line| (line.number, text(line), line.end)).collect();
        let expected = [(1, "a", "\r\n"), (2, "", "\n"), (3, "", "\r\n"), (4, "b\r", "")];
        assert_eq!(found, expected.map(|(number, text, end)| (number, text.to_owned(), end)));
    }

    #[test]
    fn a_line_may_end_where_a_window_does() {
        for length in WINDOW - 2..WINDOW + 2 {
            let source = [vec![b'x'; length], b"\r\ny\n".to_vec()].concat();
            let found = read_lines(&source).expect("memory");
            let found: Vec<_> = found.iter().map(|line| (line.span.len(), line.end)).collect();
            assert_eq!(found, [(length as u64, "\r\n"), (1, "\n")]);
        }
    }

    #[test]
    fn what_is_new_behind_an_open_line_begins_anew() {
        let frame =
            JsonlFrame { ends: vec![(1, String::new())], others: vec![(1, "#\n".to_owned())], ..JsonlFrame::default() };
        let mut written = Vec::new();
        let mut out = JsonlWriter::new(&frame, &mut written).expect("memory");
        for (text, number) in [("a", Some(0)), ("b", Some(1)), ("c", None)] {
            out.record(text, number).expect("memory");
        }
        out.end().expect("memory");
        assert_eq!(String::from_utf8_lossy(&written), "a\n#\nb\nc\n");
    }
}
