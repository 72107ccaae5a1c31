//! A JSON file of a tree with its records found: what readers of folders open again and again.

use super::Tree;
use crate::item::Item;
use crate::json::{Bytes, Frame, Object, Outline, RECORD_MAX, Shape, Span, Style, outline};
use crate::problem::{Place, Problem, ReadError};
use manent_model::Json;

/// A file, by its records.
pub struct JsonFile<'a> {
    /// Its name in the tree.
    pub name: String,
    /// What was found in it.
    pub root: Option<Outline>,
    /// See [`crate::json::Outlined::torn_at`].
    pub torn_at: Option<u64>,
    bytes: Box<dyn Bytes + 'a>,
}

impl<'a> JsonFile<'a> {
    /// Opens a file and finds its records.
    pub fn open(tree: &'a dyn Tree, name: &str, shape: &Shape) -> Result<Self, ReadError> {
        let bytes = tree.file(name)?;
        let outlined = outline(&*bytes, shape).map_err(|source| ReadError::File { file: name.to_owned(), source })?;
        Ok(Self { name: name.to_owned(), root: outlined.root, torn_at: outlined.torn_at, bytes })
    }

    /// Opens a file whose records were found before.
    pub fn again(tree: &'a dyn Tree, name: &str) -> Result<Self, ReadError> {
        Ok(Self { name: name.to_owned(), root: None, torn_at: None, bytes: tree.file(name)? })
    }

    fn error(&self, source: std::io::Error) -> ReadError {
        ReadError::File { file: self.name.clone(), source }
    }

    /// From the first byte to the last.
    pub fn whole(&self) -> Span {
        Span { from: 0, to: self.bytes.len() }
    }

    /// What stands behind the last complete value of a file that is cut off.
    pub fn rest(&self) -> Option<Span> {
        let at = self.torn_at?.min(self.bytes.len());
        Some(Span { from: at, to: self.bytes.len() })
    }

    /// Returns the text of a record; the reason where it is none that anybody would hold.
    pub fn text(&self, span: Span) -> Result<Result<String, String>, ReadError> {
        if span.len() > RECORD_MAX {
            return Ok(Err(format!("the record is larger than {} MiB", RECORD_MAX >> 20)));
        }
        let bytes = self.bytes.slice(span.from, span.to).map_err(|source| self.error(source))?;
        Ok(String::from_utf8(bytes).map_err(|_| "the record is no UTF-8".to_owned()))
    }

    /// Tells that a stretch was skipped, with its bytes.
    pub fn problem(&self, span: Span, record: &'static str, why: String) -> Result<Item, ReadError> {
        let to = span.to.min(span.from.saturating_add(RECORD_MAX));
        let bytes = self.bytes.slice(span.from, to).map_err(|source| self.error(source))?;
        let place = if span == self.whole() { Place::file(&self.name) } else { Place::byte(&self.name, span.from) };
        Ok(Item::Problem(Problem { place, record, why, bytes }))
    }

    /// Says whether bytes that are no text stood between the records of a file whose frame was taken.
    pub fn is_mended(&self, frame: &Frame) -> Result<bool, ReadError> {
        let gaps = frame.shell.gaps.values().flat_map(|gap| {
            let except = gap.except.iter().map(|(_, text)| text);
            [&gap.open, &gap.between, &gap.close].into_iter().chain(except)
        });
        let mut texts = [&frame.before, &frame.after, &frame.shell.text].into_iter().chain(gaps);
        // A mark may have stood there itself; only then is the whole file looked at.
        if !texts.any(|text| text.contains('\u{fffd}')) {
            return Ok(false);
        }
        let bytes = self.bytes.slice(0, self.bytes.len()).map_err(|source| self.error(source))?;
        Ok(std::str::from_utf8(&bytes).is_err())
    }

    /// How it is laid out.
    pub fn style(&self) -> Result<Style, ReadError> {
        let start = self.bytes.slice(0, self.bytes.len().min(4_096)).map_err(|source| self.error(source))?;
        Ok(Style::of(&String::from_utf8_lossy(&start)))
    }

    /// Returns its frame. Of a file that is cut off that is what is whole of it, laid out anew.
    pub fn frame(&self) -> Result<Frame, ReadError> {
        match (&self.root, self.torn_at) {
            (Some(root), None) => Frame::of(&*self.bytes, root).map_err(|source| self.error(source)),
            (Some(Outline::List { .. }), _) => Ok(Frame::fresh("[]", self.style()?)),
            (Some(Outline::Object { members, .. }), _) => {
                let mut whole = Object::new();
                for (key, value) in members {
                    let text = match value {
                        Outline::List { .. } => Ok("[]".to_owned()),
                        value => self.text(value.span())?,
                    };
                    if let Some(text) = text.ok().filter(|text| Json::parse(text).is_ok()) {
                        whole.0.push((key.clone(), text));
                    }
                }
                Ok(Frame::fresh(&whole.text(), self.style()?))
            }
            _ => Ok(Frame::fresh("{}", Style::PRETTY)),
        }
    }
}
