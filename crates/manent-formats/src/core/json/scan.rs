//! Streaming scanner that finds the records of a large JSON file: one pass, brackets and strings only.
//!
//! The content of a record is not validated here, but when the record is read. So one broken record does not hide
//! those after it, and a truncated file gives every complete record.

use crate::core::json::bytes::Bytes;
use std::io;

/// Maximum record size; larger ones are skipped, because they would not fit in memory.
pub const RECORD_MAX: u64 = 64 << 20;

const WINDOW: usize = 256 << 10;

/// The position of records in a file.
#[derive(Debug)]
pub enum Shape {
    /// A record, or something that is kept with what surrounds it.
    Value,
    /// An array of these.
    List(&'static Shape),
    /// An object; members that are not named here are values.
    Object(&'static [(&'static str, Shape)]),
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub from: u64,
    /// The byte behind its last.
    pub to: u64,
}

impl Span {
    /// How long it is.
    pub fn len(self) -> u64 {
        self.to - self.from
    }

    /// The same stretch of a text that begins at a byte of a file.
    pub fn behind(self, base: u64) -> Self {
        Self { from: base + self.from, to: base + self.to }
    }

    /// Returns whether it is empty.
    pub fn is_empty(self) -> bool {
        self.from == self.to
    }
}

/// Parse result at a place of the shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outline {
    /// A value that is not looked into.
    Value(Span),
    /// An array, by its elements.
    List {
        /// From bracket to bracket.
        span: Span,
        /// Its elements.
        items: Vec<Outline>,
    },
    /// An object, by its members.
    Object {
        /// From brace to brace.
        span: Span,
        /// Its members in order; a key may repeat.
        members: Vec<(String, Outline)>,
    },
}

impl Outline {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Self::Value(span) | Self::List { span, .. } | Self::Object { span, .. } => *span,
        }
    }

    /// Returns the last member with this name, as `JSON.parse` would.
    pub fn member(&self, name: &str) -> Option<&Outline> {
        match self {
            Self::Object { members, .. } => members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the elements of a list; empty if it is not a list.
    pub fn items(&self) -> &[Outline] {
        match self {
            Self::List { items, .. } => items,
            _ => &[],
        }
    }
}

/// A whole file.
#[derive(Debug)]
pub struct Outlined {
    /// Parse result; none in a file without a value.
    pub root: Option<Outline>,
    /// End of the last complete value, if the file is cut off or has bytes behind its root value.
    pub torn_at: Option<u64>,
}

/// Finds the records of a file.
pub fn outline(bytes: &(impl Bytes + ?Sized), shape: &Shape) -> io::Result<Outlined> {
    let mut scanner = Scanner::new(bytes);
    // A byte order mark is no part of the value.
    if bytes.slice(0, 3)? == "\u{feff}".as_bytes() && scanner.fill()? {
        scanner.at += 3;
    }
    let root = scanner.value(shape)?;
    let mut torn_at = scanner.torn_at;
    if torn_at.is_none() {
        scanner.space()?;
        torn_at = scanner.peek()?.map(|_| scanner.offset());
    }
    Ok(Outlined { root, torn_at })
}

/// How many bytes from the beginning on are such; in stretches, for most of a large file is one.
fn run(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let all = |chunk: &&[u8]| chunk.iter().fold(true, |all, byte| all & is_such(*byte));
    let whole = bytes.chunks_exact(64).take_while(all).count() * 64;
    whole + bytes[whole..].iter().take_while(|byte| is_such(**byte)).count()
}

struct Scanner<'a, B: Bytes + ?Sized> {
    bytes: &'a B,
    window: Vec<u8>,
    base: u64,
    at: usize,
    torn_at: Option<u64>,
}

impl<'a, B: Bytes + ?Sized> Scanner<'a, B> {
    fn new(bytes: &'a B) -> Self {
        Self { bytes, window: Vec::new(), base: 0, at: 0, torn_at: None }
    }

    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Reads on when the window is used up; says whether there is a byte.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at < self.window.len() {
            return Ok(true);
        }
        self.base += self.at as u64;
        self.at = 0;
        self.window.resize(WINDOW, 0);
        let mut filled = 0;
        while filled < WINDOW {
            match self.bytes.read_at(self.base + filled as u64, &mut self.window[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        self.window.truncate(filled);
        Ok(filled > 0)
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.fill()?.then(|| self.window[self.at]))
    }

    fn space(&mut self) -> io::Result<()> {
        while self.fill()? {
            let rest = &self.window[self.at..];
            let skipped = run(rest, |byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
            self.at += skipped;
            if skipped < rest.len() {
                break;
            }
        }
        Ok(())
    }

    fn tear<T>(&mut self, at: u64) -> io::Result<Option<T>> {
        self.torn_at.get_or_insert(at);
        Ok(None)
    }

    /// Finds the next value; none where the file ends before it does.
    fn value(&mut self, shape: &Shape) -> io::Result<Option<Outline>> {
        self.space()?;
        let from = self.offset();
        match (self.peek()?, shape) {
            (None, _) => self.tear(from),
            (Some(b'['), Shape::List(item)) => self.list(from, item).map(Some),
            (Some(b'{'), Shape::Object(known)) => self.object(from, known).map(Some),
            _ => Ok(self.skip()?.then(|| Outline::Value(Span { from, to: self.offset() }))),
        }
    }

    /// A truncated list is returned as far as it is complete; the position of the cut is in `torn_at`.
    fn list(&mut self, from: u64, shape: &Shape) -> io::Result<Outline> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            let before = self.offset();
            self.space()?;
            match self.peek()? {
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'}' | b':') | None => {
                    self.tear::<()>(before)?;
                    break;
                }
                Some(_) => match self.value(shape)? {
                    Some(item) => items.push(item),
                    None => break,
                },
            }
            if self.torn_at.is_some() {
                break;
            }
        }
        Ok(Outline::List { span: Span { from, to: self.offset() }, items })
    }

    fn object(&mut self, from: u64, known: &'static [(&'static str, Shape)]) -> io::Result<Outline> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            let before = self.offset();
            self.space()?;
            match self.peek()? {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let Some(key) = self.key()? else {
                        self.tear::<()>(before)?;
                        break;
                    };
                    self.space()?;
                    if self.peek()? != Some(b':') {
                        self.tear::<()>(before)?;
                        break;
                    }
                    self.at += 1;
                    self.space()?;
                    if let Some(b',' | b'}') = self.peek()? {
                        // A member without a value does not cost those behind it.
                        let at = self.offset();
                        members.push((key, Outline::Value(Span { from: at, to: at })));
                        continue;
                    }
                    let shape = known.iter().find(|(name, _)| *name == key).map_or(&Shape::Value, |(_, shape)| shape);
                    match self.value(shape)? {
                        Some(value) => members.push((key, value)),
                        None => {
                            self.tear::<()>(before)?;
                            break;
                        }
                    }
                }
                _ => {
                    self.tear::<()>(before)?;
                    break;
                }
            }
            if self.torn_at.is_some() {
                break;
            }
        }
        Ok(Outline::Object { span: Span { from, to: self.offset() }, members })
    }

    fn key(&mut self) -> io::Result<Option<String>> {
        let from = self.offset();
        if !self.skip()? || self.offset() - from > RECORD_MAX {
            return Ok(None);
        }
        let text = self.bytes.slice(from, self.offset())?;
        Ok(Some(
            String::from_utf8(text)
                .ok()
                .and_then(|text| crate::core::json::decode(&text))
                .map_or_else(String::new, |key| key.text),
        ))
    }

    /// Passes over one value, by its brackets and strings; says whether it ended.
    fn skip(&mut self) -> io::Result<bool> {
        let from = self.offset();
        let ended = match self.peek()? {
            Some(b'"') => self.string()?,
            Some(b'{' | b'[') => self.container()?,
            _ => self.word()?,
        };
        if !ended {
            self.tear::<()>(from)?;
        }
        Ok(ended)
    }

    fn container(&mut self) -> io::Result<bool> {
        let mut depth = 0u64;
        while self.fill()? {
            self.at += run(&self.window[self.at..], |byte| !matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'));
            if self.at == self.window.len() {
                continue;
            }
            match self.window[self.at] {
                b'"' => {
                    if !self.string()? {
                        return Ok(false);
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A number, `null`, `true`, `false`, or rubbish. At the very end of a file it may be half of one.
    fn word(&mut self) -> io::Result<bool> {
        let from = self.offset();
        while self.fill()? {
            let rest = &self.window[self.at..];
            let length = rest.iter().take_while(|byte| !b",:}] \n\r\t".contains(byte)).count();
            self.at += length;
            if length < rest.len() {
                return Ok(self.offset() > from);
            }
        }
        Ok(from == 0 && serde_json::from_slice::<serde::de::IgnoredAny>(&self.bytes.slice(0, self.offset())?).is_ok())
    }

    /// Passes over a string; says whether it ended.
    fn string(&mut self) -> io::Result<bool> {
        self.at += 1;
        while self.fill()? {
            match memchr::memchr2(b'"', b'\\', &self.window[self.at..]) {
                None => self.at = self.window.len(),
                Some(place) => {
                    self.at += place;
                    let byte = self.window[self.at];
                    self.at += 1;
                    if byte == b'"' {
                        return Ok(true);
                    }
                    if !self.fill()? {
                        return Ok(false);
                    }
                    self.at += 1;
                }
            }
        }
        Ok(false)
    }
}
