//! Shared state of the reader's parts: the files, and the receiver of items.

use crate::apps::kode::database::AgentRows;
use crate::apps::kode::frame::{Around, Kept};
use crate::core::item::{Item, Sink};
use crate::core::json::{Bytes, RECORD_MAX, Removed, Span, mend};
use crate::core::problem::{Place, Problem, ReadError, Repair, RepairKind};
use crate::core::source_fs::SourceTree;
use crate::core::unmapped::UnmappedFields;
use manent_model::Json;
use std::collections::HashMap;

/// Record files above this size are reported and skipped, because the messages of an agent are held in memory.
const FILE_MAX: u64 = 1 << 30;

pub(crate) struct Reader<'a> {
    pub tree: &'a dyn SourceTree,
    pub sink: &'a mut dyn Sink,
    pub unmapped: UnmappedFields,
    /// Layout of rows, by the folder of the agent.
    pub rows: HashMap<String, AgentRows>,
    /// How many records were read without some of their members.
    pub mended: usize,
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, item: Item) -> Result<(), ReadError> {
        self.sink.take(item)
    }

    pub fn found(&mut self, record: &'static str, count: usize) -> Result<(), ReadError> {
        match count {
            0 => Ok(()),
            _ => self.take(Item::Found { record, count: count as u64 }),
        }
    }

    /// Records that are stored without a noun of their own.
    pub fn keep_unmapped(&mut self, record: &'static str, count: usize) -> Result<(), ReadError> {
        match count {
            0 => Ok(()),
            _ => self.take(Item::Unmapped { record, key: None, count: count as u64 }),
        }
    }

    pub fn problem(
        &mut self,
        place: Place,
        record: &'static str,
        why: impl Into<String>,
        mut bytes: Vec<u8>,
    ) -> Result<(), ReadError> {
        bytes.truncate(RECORD_MAX as usize);
        self.take(Item::Problem(Problem { place, record, why: why.into(), bytes }))
    }

    pub fn repair(&mut self, place: Place, what: RepairKind, why: String) -> Result<(), ReadError> {
        self.take(Item::Repair(Repair { place, what, why }))
    }

    /// Opens a record file; `None` if it exceeds the size limit, which is reported.
    pub fn open(&mut self, name: &str) -> Result<Option<Box<dyn Bytes + 'a>>, ReadError> {
        self.below(name, FILE_MAX)
    }

    /// Reads a file with a single record; `None` if it exceeds the size limit, which is reported.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(file) = self.below(name, RECORD_MAX)? else { return Ok(None) };
        file.slice(0, file.len()).map(Some).map_err(|source| ReadError::File { file: name.to_owned(), source })
    }

    fn below(&mut self, name: &str, max: u64) -> Result<Option<Box<dyn Bytes + 'a>>, ReadError> {
        let file = self.tree.file(name)?;
        if file.len() <= max {
            return Ok(Some(file));
        }
        self.found("file", 1)?;
        self.problem(Place::file(name), "file", format!("the file is larger than {} MiB", max >> 20), Vec::new())?;
        Ok(None)
    }

    /// Reports a stretch of a file that is not taken in, with as much of it as anybody would hold.
    pub fn stretch(
        &mut self,
        (path, bytes): (&str, &dyn Bytes),
        span: Span,
        record: &'static str,
        why: String,
    ) -> Result<(), ReadError> {
        let quarantined = bytes.slice(span.from, span.to.min(span.from.saturating_add(RECORD_MAX)));
        let quarantined = quarantined.map_err(|source| ReadError::File { file: path.to_owned(), source })?;
        let whole = span == Span { from: 0, to: bytes.len() };
        let place = if whole { Place::file(path) } else { Place::byte(path, span.from) };
        self.problem(place, record, why, quarantined)
    }

    /// Reports a member of a record that is no JSON; the rest of the record is taken in.
    pub fn unreadable(&mut self, file: (&str, &dyn Bytes), removed: &Removed) -> Result<(), ReadError> {
        self.found("member", 1)?;
        let why = format!("{} is no JSON; the rest of its record is taken in", removed.path);
        self.stretch(file, removed.span, "member", why)
    }

    /// Reads a file with a single value, and counts it as a record; `None` if it is not JSON, which is reported.
    pub fn value(&mut self, path: &str, file: &str, record: &'static str) -> Result<Option<Kept>, ReadError> {
        let Some(bytes) = self.bytes(path)? else { return Ok(None) };
        self.found(record, 1)?;
        match kept(&bytes, file) {
            Ok(kept) => Ok(Some(kept)),
            Err(why) => {
                let from = bytes.iter().position(|byte| *byte == b'{').unwrap_or_default();
                let mended = std::str::from_utf8(&bytes[from..]).ok().and_then(|text| mend(text.trim_end()));
                if let Some(mended) = mended.filter(|mended| !mended.removed.is_empty()) {
                    for removed in mended.removed {
                        let span = removed.span.behind(from as u64);
                        self.unreadable((path, &bytes), &Removed { span, ..removed })?;
                    }
                    return Ok(kept(mended.text.as_bytes(), file).ok());
                }
                self.problem(Place::file(path), record, why, bytes)?;
                Ok(None)
            }
        }
    }
}

/// Takes a file that is one value apart; the reason if it is none.
pub(crate) fn kept(bytes: &[u8], file: &str) -> Result<Kept, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no UTF-8 at byte {}", error.valid_up_to()))?;
    let space = |letter: char| matches!(letter, '\u{feff}' | ' ' | '\n' | '\r' | '\t');
    let inner = text.trim_start_matches(space);
    let before = text[..text.len() - inner.len()].to_owned();
    let value = inner.trim_end_matches(|letter| letter != '\u{feff}' && space(letter));
    let after = inner[value.len()..].to_owned();
    let json = Json::parse(value).map_err(|problem| format!("no JSON: {problem}"))?;
    Ok(Kept { around: Around { file: file.to_owned(), before, after }, text: json.text().to_owned() })
}
