//! Lossless JSON skeleton: an object or array with its lists emptied, and the bytes between their elements.
//!
//! The skeleton is JSON itself, so it is read and edited like any record; filled again, it gives the original bytes.

use crate::core::json::bytes::Bytes;
use crate::core::json::members::Members;
use crate::core::json::scan::{Outline, RECORD_MAX, Span};
use crate::core::json::style::Style;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// An object with its lists emptied, or a list itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skeleton {
    /// The text with empty brackets.
    pub text: String,
    /// Separators between the elements that differ from the style; by the name of the list, empty for a top-level
    /// list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gaps: BTreeMap<String, Separators>,
}

/// The bytes before, between and after the elements of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Separators {
    /// Behind the opening bracket.
    pub open: String,
    /// Between two elements, the comma included.
    pub between: String,
    /// Before the closing bracket.
    pub close: String,
    /// Elements with a separator that differs from the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<(usize, String)>,
}

impl Separators {
    /// The separator of a style between elements of a level.
    pub fn of(style: Style, level: usize) -> Self {
        let close = style.line(level.saturating_sub(1));
        Self { open: style.line(level), between: format!(",{}", style.line(level)), close, except: Vec::new() }
    }

    /// Returns the bytes before an element.
    pub fn before(&self, place: usize) -> &str {
        // They were found in order, and a file may be full of them.
        match self.except.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(found) => &self.except[found].1,
            Err(_) if place == 0 => &self.open,
            Err(_) => &self.between,
        }
    }

    fn found(bytes: &(impl Bytes + ?Sized), span: Span, items: &[Outline]) -> io::Result<Self> {
        let text = |from, to| bytes.slice(from, to).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            let open = text(span.from + 1, (span.to - 1).max(span.from + 1))?;
            return Ok(Self { open, between: String::new(), close: String::new(), except: Vec::new() });
        };
        let mut gap = Self {
            open: text(span.from + 1, first.span().from)?,
            between: String::new(),
            close: text(last.span().to, span.to.max(last.span().to + 1) - 1)?,
            except: Vec::new(),
        };
        // A file of a million records is read in one piece for this, not in a million.
        for (place, pair) in items.windows(2).enumerate() {
            let (from, to) = (pair[0].span().to, pair[1].span().from);
            if place > 0 && to - from == gap.between.len() as u64 && place % 64 != 0 {
                let mut same = vec![0; gap.between.len()];
                let read = bytes.read_at(from, &mut same)?;
                if same[..read] == *gap.between.as_bytes() {
                    continue;
                }
            }
            let between = text(from, to)?;
            match place {
                0 => gap.between = between,
                _ if between != gap.between => gap.except.push((place + 1, between)),
                _ => {}
            }
        }
        Ok(gap)
    }
}

/// A piece of a shell that is being written.
#[derive(Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text as it is.
    Text(&'a str),
    /// The inside of a list, by its name.
    List(&'a str),
}

impl Skeleton {
    /// Takes the shell of what was outlined at a level of its file.
    pub fn of(bytes: &(impl Bytes + ?Sized), outline: &Outline, style: Style, level: usize) -> io::Result<Self> {
        if around(outline) > RECORD_MAX {
            let why = format!("what stands around the records is larger than {} MiB", RECORD_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let mut shell = Self::default();
        let lists: Vec<(&str, &Outline)> = match outline {
            Outline::Object { members, .. } => {
                // Of two members with one name only the last is the list; the other is kept in the skeleton.
                let is_last = |place: usize, key: &str| !members[place + 1..].iter().any(|(other, _)| other == key);
                let lists = members.iter().enumerate();
                let lists = lists.filter(|(_, (_, value))| matches!(value, Outline::List { .. }));
                lists
                    .filter(|(place, (key, _))| is_last(*place, key))
                    .map(|(_, (key, value))| (key.as_str(), value))
                    .collect()
            }
            list @ Outline::List { .. } => vec![("", list)],
            Outline::Value(_) => Vec::new(),
        };
        let inside = if matches!(outline, Outline::List { .. }) { 1 } else { 2 };
        let (mut from, mut text) = (outline.span().from, Vec::new());
        for (name, list) in lists {
            let span = list.span();
            text.extend(bytes.slice(from, span.from)?);
            text.extend_from_slice(b"[]");
            from = span.to;
            let gap = Separators::found(bytes, span, list.items())?;
            let usual = match list.items() {
                [] => {
                    Separators { open: String::new(), between: String::new(), close: String::new(), except: Vec::new() }
                }
                [_] => Separators { between: String::new(), ..Separators::of(style, level + inside) },
                _ => Separators::of(style, level + inside),
            };
            if gap != usual {
                shell.gaps.insert(name.to_owned(), gap);
            }
        }
        text.extend(bytes.slice(from, outline.span().to)?);
        shell.text = String::from_utf8_lossy(&text).into_owned();
        Ok(shell)
    }

    /// All its texts: its own, and those of its gaps.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let gaps = self.gaps.values().flat_map(|gap| {
            let except = gap.except.iter().map(|(_, text)| text);
            [&gap.open, &gap.between, &gap.close].into_iter().chain(except)
        });
        std::iter::once(&self.text).chain(gaps)
    }

    /// Splits the shell where its lists are filled in: those of these names that are empty brackets.
    pub fn segments<'a>(&'a self, lists: &[&'a str]) -> Vec<Segment<'a>> {
        if lists == [""] {
            return vec![Segment::Text("["), Segment::List(""), Segment::Text("]")];
        }
        let mut places = Vec::new();
        if let Some(members) = Members::parse(&self.text) {
            for name in lists {
                // Of two members of one name only the last is the list; the other stays as it is.
                if let Some(value) = members.raw(name).filter(|value| *value == "[]") {
                    places.push((value.as_ptr() as usize - self.text.as_ptr() as usize + 1, *name));
                }
            }
        }
        places.sort_unstable();
        let (mut segments, mut from) = (Vec::new(), 0);
        for (place, name) in places {
            segments.push(Segment::Text(&self.text[from..place]));
            segments.push(Segment::List(name));
            from = place;
        }
        segments.push(Segment::Text(&self.text[from..]));
        segments
    }

    /// Returns the separators of a list that now has this many elements.
    pub fn gap(&self, name: &str, count: usize, style: Style, level: usize) -> Separators {
        let usual = Separators::of(style, level);
        let nothing =
            Separators { open: String::new(), between: String::new(), close: String::new(), except: Vec::new() };
        match (self.gaps.get(name), count) {
            (None, 0) => nothing,
            (None, _) => usual,
            // An empty list says nothing about how one with elements would look.
            (Some(gap), 0) if gap.between.is_empty() && gap.close.is_empty() => gap.clone(),
            (Some(_), 0) => nothing,
            (Some(gap), 1) => gap.clone(),
            (Some(gap), _) if gap.between.is_empty() => usual,
            (Some(gap), _) => gap.clone(),
        }
    }

    /// Fills the lists in and returns the whole; for what fits into memory.
    pub fn filled(&self, lists: &[(&str, Vec<String>)], style: Style, level: usize) -> String {
        let names: Vec<&str> = lists.iter().map(|(name, _)| *name).collect();
        let inside = if names == [""] { 1 } else { 2 };
        let mut text = String::new();
        for segment in self.segments(&names) {
            match segment {
                Segment::Text(piece) => text.push_str(piece),
                Segment::List(name) => {
                    let items = lists.iter().find(|(other, _)| *other == name).map_or(&[][..], |(_, items)| items);
                    let gap = self.gap(name, items.len(), style, level + inside);
                    if items.is_empty() {
                        text.push_str(&gap.open);
                        continue;
                    }
                    for (place, item) in items.iter().enumerate() {
                        text.push_str(gap.before(place));
                        text.push_str(item);
                    }
                    text.push_str(&gap.close);
                }
            }
        }
        text
    }
}

/// How many bytes of an outline belong to no record of it.
fn around(outline: &Outline) -> u64 {
    let records = |list: &Outline| list.items().iter().map(|item| item.span().len()).sum::<u64>();
    let records = match outline {
        Outline::Object { members, .. } => members.iter().map(|(_, value)| records(value)).sum(),
        list => records(list),
    };
    outline.span().len().saturating_sub(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::json::{Shape, outline};

    #[test]
    fn of_two_lists_of_one_name_the_first_stays_where_it_is() {
        const SHAPE: Shape = Shape::Object(&[("a", Shape::List(&Shape::Value))]);
        let source = br#"{"a":[1,2],"a":[3]}"#.to_vec();
        let root = outline(&source, &SHAPE).expect("memory").root.expect("an object");
        let shell = Skeleton::of(&source, &root, Style::COMPACT, 0).expect("memory");
        assert_eq!(shell.text, r#"{"a":[1,2],"a":[]}"#);
        assert_eq!(shell.filled(&[("a", vec!["3".to_owned()])], Style::COMPACT, 0).as_bytes(), source);
    }
}
