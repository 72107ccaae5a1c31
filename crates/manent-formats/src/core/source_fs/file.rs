//! A JSON file of a tree with its scanned records, for readers that open files repeatedly.

use crate::core::item::Item;
use crate::core::json::{
    Bytes, Frame, Members, Object, Outline, RECORD_MAX, Removed, Shape, Skeleton, Span, Style, mend, outline,
};
use crate::core::problem::{Place, Problem, ReadError};
use crate::core::source_fs::SourceTree;
use manent_model::Json;
use std::io;

/// A file, by its records.
pub struct JsonFile<'a> {
    /// Its name in the tree.
    pub name: String,
    /// Its parse result.
    pub root: Option<Outline>,
    /// See [`crate::core::json::Outlined::torn_at`].
    pub torn_at: Option<u64>,
    bytes: Box<dyn Bytes + 'a>,
}

impl<'a> JsonFile<'a> {
    /// Opens a file and finds its records.
    pub fn open(tree: &'a dyn SourceTree, name: &str, shape: &Shape) -> Result<Self, ReadError> {
        let bytes = tree.file(name)?;
        let outlined = outline(&*bytes, shape).map_err(|source| ReadError::File { file: name.to_owned(), source })?;
        Ok(Self { name: name.to_owned(), root: outlined.root, torn_at: outlined.torn_at, bytes })
    }

    /// Opens a file whose records were scanned before.
    pub fn again(tree: &'a dyn SourceTree, name: &str) -> Result<Self, ReadError> {
        Ok(Self { name: name.to_owned(), root: None, torn_at: None, bytes: tree.file(name)? })
    }

    fn error(&self, source: std::io::Error) -> ReadError {
        ReadError::File { file: self.name.clone(), source }
    }

    /// From the first byte to the last.
    pub fn whole(&self) -> Span {
        Span { from: 0, to: self.bytes.len() }
    }

    /// The bytes after the last complete value of a truncated file.
    pub fn rest(&self) -> Option<Span> {
        let at = self.torn_at?.min(self.bytes.len());
        Some(Span { from: at, to: self.bytes.len() })
    }

    /// Returns the text of a record, or the reason if it is invalid or too large.
    pub fn text(&self, span: Span) -> Result<Result<String, String>, ReadError> {
        if span.len() > RECORD_MAX {
            return Ok(Err(format!("the record is larger than {} MiB", RECORD_MAX >> 20)));
        }
        let bytes = self.bytes.slice(span.from, span.to).map_err(|source| self.error(source))?;
        Ok(String::from_utf8(bytes).map_err(|_| "the record is no UTF-8".to_owned()))
    }

    /// Returns the text of a record without what is no JSON in it, and what that was; none where nothing of it is left.
    pub fn mended(&self, span: Span) -> Result<Option<(String, Vec<Removed>)>, ReadError> {
        let Some(mended) = self.text(span)?.ok().and_then(|text| mend(&text)) else { return Ok(None) };
        let absolute = |one: Removed| Removed { span: one.span.behind(span.from), ..one };
        Ok(Some((mended.text, mended.removed.into_iter().map(absolute).collect())))
    }

    /// Tells that a member of a record is no JSON, with its bytes. The rest of the record is taken in.
    pub fn unreadable(&self, removed: &Removed) -> Result<[Item; 2], ReadError> {
        let why = format!("{} is no JSON; the rest of its record is taken in", removed.path);
        Ok([Item::Found { record: "member", count: 1 }, self.problem(removed.span, "member", why)?])
    }

    /// Returns what of the value of the file, beside its lists, is no JSON; [`Self::frame`] leaves it out.
    pub fn removed(&self) -> Result<Vec<Removed>, ReadError> {
        let Some(root @ Outline::Object { members, .. }) = &self.root else { return Ok(Vec::new()) };
        // Bytes that are no text have a mark in the frame, which is JSON then.
        let frame = Frame::of(&*self.bytes, root).map_err(|source| self.error(source))?;
        match Members::parse(&frame.skeleton.text) {
            Some(_) => Ok(Vec::new()),
            None => Ok(self.whole_of(members)?.1),
        }
    }

    /// Tells that a stretch was skipped, with its bytes.
    pub fn problem(&self, span: Span, record: &'static str, why: String) -> Result<Item, ReadError> {
        let to = span.to.min(span.from.saturating_add(RECORD_MAX));
        let bytes = self.bytes.slice(span.from, to).map_err(|source| self.error(source))?;
        let place = if span == self.whole() { Place::file(&self.name) } else { Place::byte(&self.name, span.from) };
        Ok(Item::Problem(Problem { place, record, why, bytes }))
    }

    /// Returns whether invalid UTF-8 between the records was replaced when the skeleton was taken.
    pub fn is_mended(&self, frame: &Frame) -> Result<bool, ReadError> {
        let mut texts = [&frame.before, &frame.after].into_iter().chain(frame.skeleton.texts());
        // A mark may have stood there itself; only then is the whole file looked at.
        if !texts.any(|text| text.contains('\u{fffd}')) {
            return Ok(false);
        }
        is_text(&*self.bytes).map(|is_text| !is_text).map_err(|source| self.error(source))
    }

    /// Its layout.
    pub fn style(&self) -> Result<Style, ReadError> {
        let start = self.bytes.slice(0, self.bytes.len().min(4_096)).map_err(|source| self.error(source))?;
        Ok(Style::of(&String::from_utf8_lossy(&start)))
    }

    /// Returns its frame. Of a file that is cut off, or goes wrong around its records, that is what is whole of it, laid
    /// out anew.
    pub fn frame(&self) -> Result<Frame, ReadError> {
        match (&self.root, self.torn_at) {
            (Some(root), None) => {
                let frame = Frame::of(&*self.bytes, root).map_err(|source| self.error(source))?;
                match root {
                    Outline::Object { members, .. } if Members::parse(&frame.skeleton.text).is_none() => {
                        Ok(Frame::fresh(&self.whole_of(members)?.0.text(), frame.style))
                    }
                    _ => Ok(frame),
                }
            }
            (Some(Outline::List { .. }), _) => Ok(Frame::fresh("[]", self.style()?)),
            (Some(Outline::Object { members, .. }), _) => {
                Ok(Frame::fresh(&self.whole_of(members)?.0.text(), self.style()?))
            }
            _ => Ok(Frame::fresh("{}", Style::PRETTY)),
        }
    }

    /// Returns the skeleton of a record at a level, or the reason if it has none. For a truncated record, or one with
    /// invalid members, it is the valid part, reformatted, together with the invalid rest.
    pub fn skeleton(
        &self,
        outline: &Outline,
        style: Style,
        level: usize,
    ) -> Result<Result<(Skeleton, Vec<Removed>), String>, ReadError> {
        let shell = match Skeleton::of(&*self.bytes, outline, style, level) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Ok(Err(error.to_string())),
            shell => shell.map_err(|source| self.error(source))?,
        };
        if Members::parse(&shell.text).is_some() {
            return Ok(Ok((shell, Vec::new())));
        }
        if let Outline::Object { members, .. } = outline
            && let (whole, removed) = self.whole_of(members)?
            && !whole.0.is_empty()
        {
            return Ok(Ok((Skeleton { text: style.format(&whole.text(), level), ..Skeleton::default() }, removed)));
        }
        Ok(Err("the record is no JSON object".to_owned()))
    }

    /// Returns what of the members is JSON, with their lists emptied, and what is not.
    fn whole_of(&self, members: &[(String, Outline)]) -> Result<(Object, Vec<Removed>), ReadError> {
        let (mut whole, mut removed) = (Object::new(), Vec::new());
        for (place, (key, value)) in members.iter().enumerate() {
            // Of two lists of one name only the last is emptied.
            let is_last = || !members[place + 1..].iter().any(|(other, _)| other == key);
            let text = match value {
                Outline::List { .. } if is_last() => Ok("[]".to_owned()),
                value => self.text(value.span())?,
            };
            match text.ok().filter(|text| Json::parse(text).is_ok()) {
                Some(text) => whole.0.push((key.clone(), text)),
                None => match self.mended(value.span())? {
                    Some((text, inside)) => {
                        whole.0.push((key.clone(), text));
                        let named = |one: Removed| Removed { path: format!("{key}.{}", one.path), ..one };
                        removed.extend(inside.into_iter().map(named));
                    }
                    None => removed.push(Removed { path: key.clone(), span: value.span() }),
                },
            }
        }
        Ok((whole, removed))
    }
}

/// Returns whether a whole file is UTF-8, reading it in chunks.
fn is_text(bytes: &dyn Bytes) -> io::Result<bool> {
    let mut at = 0;
    while at < bytes.len() {
        let piece = bytes.slice(at, bytes.len().min(at + (1 << 20)))?;
        match std::str::from_utf8(&piece) {
            Ok(_) => at += piece.len() as u64,
            // A letter may be cut by the end of the piece, but not by that of the file.
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => at += error.valid_up_to() as u64,
            Err(_) => return Ok(false),
        }
        if piece.is_empty() {
            break;
        }
    }
    Ok(true)
}
