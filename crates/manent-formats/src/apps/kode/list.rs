//! Record list files, with their write-ahead files.

use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::frame::ListFrame;
use crate::core::json::{Bytes, Frame, Outline, RECORD_MAX, Removed, Shape, Span, Style, mend, outline};
use crate::core::problem::{Place, ReadError, RepairKind};
use manent_model::{Content, Json};
use std::io;
use std::rc::Rc;

const RECORDS: Shape = Shape::List(&Shape::Value);
/// Content of a write-ahead file.
const AHEAD: Shape = Shape::Object(&[("data", RECORDS)]);

/// A record: its source text, and the same without space, by which records are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredMessage {
    pub text: String,
    pub compact: String,
    /// Its content, if it is a message; its time is not known here.
    pub content: Option<Rc<Content>>,
}

impl StoredMessage {
    fn of(text: String, content: Option<Content>) -> Self {
        let compact = Style::COMPACT.format(&text, 0);
        Self { text, compact, content: content.map(Rc::new) }
    }
}

/// Returns whether one list of records continues another.
fn begins(longer: &[StoredMessage], shorter: &[StoredMessage]) -> bool {
    longer.len() >= shorter.len() && longer.iter().zip(shorter).all(|(one, other)| one.compact == other.compact)
}

/// A file of records.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub frame: Option<ListFrame>,
    pub records: Vec<StoredMessage>,
    /// Other records that the file held before its write-ahead file was taken.
    pub replaced: Vec<StoredMessage>,
    /// Some of it could not be read.
    pub is_partial: bool,
}

/// Description of a kind of list.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub record: &'static str,
    /// Reads a record, and what it says if it is a message; the reason if it is none.
    pub read: fn(&str) -> Result<Option<Content>, String>,
    /// Returns whether the first of two lists that diverge is older.
    pub is_older: fn(&[StoredMessage], &[StoredMessage]) -> bool,
}

/// Returns what surrounds the records of a file; none where it is larger than `RECORD_MAX`.
pub(crate) fn framed(bytes: &dyn Bytes, root: &Outline) -> io::Result<Option<Frame>> {
    match Frame::of(bytes, root) {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(None),
        frame => frame.map(Some),
    }
}

/// Reads a record; the reason if it is none.
fn record(bytes: Vec<u8>, kind: Kind) -> Result<StoredMessage, String> {
    let text =
        String::from_utf8(bytes).map_err(|error| format!("no UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    Json::parse(&text).map_err(|problem| format!("no JSON: {problem}"))?;
    let content = (kind.read)(&text)?;
    Ok(StoredMessage::of(text, content))
}

impl Reader<'_> {
    /// Reads the records of a list in a file; unreadable ones are reported.
    pub fn records(
        &mut self,
        path: &str,
        bytes: &dyn Bytes,
        list: Option<&Outline>,
        kind: Kind,
    ) -> Result<Vec<StoredMessage>, ReadError> {
        let items = list.map_or(&[][..], Outline::items);
        self.found(kind.record, items.len())?;
        let mut records = Vec::with_capacity(items.len());
        for span in items.iter().map(Outline::span) {
            let read = match span.len() > RECORD_MAX {
                true => Err(format!("the record is larger than {} MiB", RECORD_MAX >> 20)),
                false => {
                    let slice = bytes.slice(span.from, span.to);
                    record(slice.map_err(|source| ReadError::File { file: path.to_owned(), source })?, kind)
                }
            };
            match read {
                Ok(said) => records.push(said),
                Err(why) => match self.rest_of(path, bytes, span, kind)? {
                    Some(said) => records.push(said),
                    None => self.stretch((path, bytes), span, kind.record, why)?,
                },
            }
        }
        Ok(records)
    }

    /// Reads a record without its invalid members, which are reported; `None` if the rest is not a record.
    fn rest_of(
        &mut self,
        path: &str,
        bytes: &dyn Bytes,
        span: Span,
        kind: Kind,
    ) -> Result<Option<StoredMessage>, ReadError> {
        if span.len() > RECORD_MAX {
            return Ok(None);
        }
        let slice =
            bytes.slice(span.from, span.to).map_err(|source| ReadError::File { file: path.to_owned(), source })?;
        let mended = String::from_utf8(slice).ok().and_then(|text| mend(&text));
        let Some(mended) = mended.filter(|mended| !mended.removed.is_empty()) else { return Ok(None) };
        let Ok(said) = record(mended.text.into_bytes(), kind) else { return Ok(None) };
        self.mended += 1;
        for removed in mended.removed {
            self.unreadable((path, bytes), &Removed { span: removed.span.behind(span.from), ..removed })?;
        }
        Ok(Some(said))
    }

    /// Tells that a file ends, or goes wrong, before its last bracket.
    pub fn torn(&mut self, path: &str, bytes: &dyn Bytes, at: u64) -> Result<(), ReadError> {
        self.found("file", 1)?;
        let end = at.saturating_add(RECORD_MAX).min(bytes.len());
        let rest = bytes.slice(at, end).map_err(|source| ReadError::File { file: path.to_owned(), source })?;
        self.problem(Place::byte(path, at), "file", "the file ends, or goes wrong, before its last bracket", rest)
    }

    /// Reads a list with its write-ahead file: the records that its program meant to have.
    pub fn list(&mut self, agent: &AgentFolder, file: &str, kind: Kind) -> Result<Listed, ReadError> {
        let stem = file.strip_suffix(".json").unwrap_or(file);
        let mut listed = Listed::default();
        let mut is_whole = false;
        if agent.has(file) {
            (listed, is_whole) = self.main(agent, file, kind)?;
        }
        let mut aheads = Vec::new();
        // The C# port writes the bare value, the others put it into an object with the time.
        for (name, shape) in [(format!("{stem}.wal"), &AHEAD), (format!("{file}.wal"), &RECORDS)] {
            if agent.has(&name) {
                aheads.extend(self.ahead(agent, &name, shape, kind)?);
            }
        }
        let temporary = format!("{file}.tmp");
        if agent.has(&temporary) {
            self.temporary(agent, &temporary, &listed, &aheads)?;
        }
        for ahead in aheads {
            self.choose(agent, file, &mut listed, ahead, is_whole, kind)?;
        }
        Ok(listed)
    }

    fn main(&mut self, agent: &AgentFolder, file: &str, kind: Kind) -> Result<(Listed, bool), ReadError> {
        let path = agent.path(file);
        let Some(bytes) = self.open(&path)? else { return Ok((Listed::default(), false)) };
        let error = |source| ReadError::File { file: path.clone(), source };
        let outlined = outline(&*bytes, &RECORDS).map_err(error)?;
        let (root, torn_at) = match (outlined.root, outlined.torn_at) {
            (Some(root @ Outline::List { .. }), torn_at) => (Some(root), torn_at),
            _ => (None, Some(0)),
        };
        let (listed, mended) = (root.as_ref().map_or(0, |root| root.items().len()), self.mended);
        let records = self.records(&path, &*bytes, root.as_ref(), kind)?;
        let frame = match root.filter(|_| torn_at.is_none()) {
            Some(root) => framed(&*bytes, &root).map_err(error)?,
            None => None,
        };
        let frame = match frame {
            Some(frame) => frame,
            // Of a file that is cut off there is no frame: it is written anew.
            None => {
                self.torn(&path, &*bytes, torn_at.unwrap_or(0))?;
                Frame::fresh("[]", Style::PRETTY)
            }
        };
        let count = records.len() as u32;
        let frame = ListFrame { file: file.to_owned(), frame, count, ..ListFrame::default() };
        let is_partial = torn_at.is_some() || records.len() < listed || self.mended > mended;
        Ok((Listed { frame: Some(frame), records, replaced: Vec::new(), is_partial }, torn_at.is_none()))
    }

    /// Reads a write-ahead file; none if there is nothing in it that can be taken.
    fn ahead(
        &mut self,
        agent: &AgentFolder,
        name: &str,
        shape: &'static Shape,
        kind: Kind,
    ) -> Result<Option<Vec<StoredMessage>>, ReadError> {
        let path = agent.path(name);
        let Some(bytes) = self.open(&path)? else { return Ok(None) };
        self.found("wal", 1)?;
        if bytes.is_empty() {
            self.keep_unmapped("wal", 1)?;
            self.repair(Place::file(&path), RepairKind::WalEmpty, "nothing is in it; it is left out".to_owned())?;
            return Ok(None);
        }
        let outlined = outline(&*bytes, shape).map_err(|source| ReadError::File { file: path.clone(), source })?;
        let root = outlined.root.filter(|_| outlined.torn_at.is_none());
        let list = match &root {
            Some(object @ Outline::Object { .. }) => object.member("data"),
            other => other.as_ref(),
        };
        if !matches!(list, Some(Outline::List { .. })) {
            let why = "the file was cut off while it was written; the one beside it stays".to_owned();
            self.repair(Place::file(&path), RepairKind::WalTorn, why)?;
            let whole = Span { from: 0, to: bytes.len() };
            self.stretch((&path, &*bytes), whole, "wal", "no whole list is in it".to_owned())?;
            return Ok(None);
        }
        self.keep_unmapped("wal", 1)?;
        self.records(&path, &*bytes, list, kind).map(Some)
    }

    /// A temporary file that was not renamed: either it repeats other content, or it is reported.
    fn temporary(
        &mut self,
        agent: &AgentFolder,
        name: &str,
        listed: &Listed,
        aheads: &[Vec<StoredMessage>],
    ) -> Result<(), ReadError> {
        let path = agent.path(name);
        let Some(bytes) = self.bytes(&path)? else { return Ok(()) };
        self.found("wal", 1)?;
        let elements = std::str::from_utf8(&bytes).ok().and_then(|text| {
            let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).ok()?;
            Some(elements.iter().map(|element| StoredMessage::of(element.get().to_owned(), None)).collect::<Vec<_>>())
        });
        let same = |other: &[StoredMessage]| {
            elements.as_ref().is_some_and(|elements| elements.len() == other.len() && begins(elements, other))
        };
        if same(&listed.records) || aheads.iter().any(|ahead| same(ahead)) {
            self.keep_unmapped("wal", 1)?;
            let why = "it repeats the file or its write-ahead file and is left out".to_owned();
            return self.repair(Place::file(&path), RepairKind::WalTorn, why);
        }
        self.problem(Place::file(&path), "wal", "a file that was never put in its place holds something else", bytes)
    }

    fn choose(
        &mut self,
        agent: &AgentFolder,
        file: &str,
        listed: &mut Listed,
        ahead: Vec<StoredMessage>,
        is_whole: bool,
        kind: Kind,
    ) -> Result<(), ReadError> {
        let place = Place::file(&agent.path(file));
        let main = &listed.records;
        let record = kind.record;
        if is_whole && (begins(main, &ahead) || (kind.is_older)(&ahead, main)) {
            let why = format!("{} {record}s of the write-ahead file stand in the file already", ahead.len());
            self.keep_unmapped(record, ahead.len())?;
            return self.repair(place, RepairKind::WalStale, why);
        }
        let style = listed.frame.as_ref().map_or(Style::PRETTY, |frame| frame.frame.style);
        let (known, taken) = (main.len(), ahead.len());
        let is_continued = begins(&ahead, main);
        let mut records = if is_continued { std::mem::take(&mut listed.records) } else { Vec::new() };
        let from = records.len();
        // Laid out as the program does when it takes the write-ahead file in.
        let fresh = ahead.into_iter().skip(from);
        records.extend(fresh.map(|said| StoredMessage { text: style.format(&said.text, 1), ..said }));
        let why = match is_continued {
            true => format!("{} of {taken} {record}s were only in the write-ahead file", taken - known),
            false => {
                format!(
                    "{taken} {record}s of the write-ahead file took the place of {known}, as the program does; those are kept"
                )
            }
        };
        if is_continued {
            self.keep_unmapped(record, known)?;
        } else {
            listed.replaced.append(&mut listed.records);
        }
        listed.records = records;
        // The write-ahead file is only used if it is complete.
        listed.is_partial = false;
        let fresh = ListFrame { file: file.to_owned(), ..ListFrame::default() };
        listed.frame.get_or_insert(fresh).count = listed.records.len() as u32;
        self.repair(place, RepairKind::WalApplied, why)
    }
}
