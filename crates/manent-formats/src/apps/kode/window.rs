//! Windows: the messages before a compression. A summary that names its window is expanded to the messages it
//! replaces.
//!
//! Example, where `S1` names window 1 and `S2` window 2:
//!
//! ```text
//! history/windows/1.json   a b c d          before the first compression
//! history/windows/2.json   S1 d e f         after it, before the second
//! runtime/messages.json    S2 f g           now
//! ```
//!
//! The result is the path `a b c d e f g` with two folds: `S1` over `a b c`, and `S2` over `a b c d e`, which contains it.
//! A message that a compression kept (`d`, `f`) is in two files and becomes one message.

use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::frame::{Kept, Odd, Shown};
use crate::apps::kode::list::{Kind, StoredMessage, framed};
use crate::apps::kode::log::Log;
use crate::apps::kode::message;
use crate::core::item::Extent;
use crate::core::json::{Bytes, Frame, Members, Outline, Shape, Span, Style, outline};
use crate::core::problem::ReadError;
use crate::core::time::millis;
use manent_model::{Json, Part, Time, Timestamp};
use std::collections::{HashMap, HashSet};

const RECORDS: Shape = Shape::List(&Shape::Value);
const WINDOW: Shape = Shape::Object(&[("messages", RECORDS), ("events", RECORDS)]);

/// Messages, in any file.
pub(crate) const MESSAGES: Kind =
    Kind { record: "message", read: |text| message::read(text, Time::default()).map(Some), is_older: |_, _| false };

const EVENTS: Kind = Kind { record: "window event", read: |_| Ok(None), is_older: |_, _| false };

/// A file with a list of messages in it.
pub(crate) struct Opened<'a> {
    pub frame: Frame,
    pub root: Outline,
    pub bytes: Box<dyn Bytes + 'a>,
    /// Its frame was made here, since its own cannot be read.
    pub is_torn: bool,
}

/// A window.
#[derive(Debug)]
pub(crate) struct Window {
    pub id: String,
    pub file: String,
    pub frame: Frame,
    pub messages: Vec<StoredMessage>,
    pub events: Vec<StoredMessage>,
    pub is_torn: bool,
    pub at: Option<Timestamp>,
    pub compression: Option<Kept>,
}

impl<'a> Reader<'a> {
    /// Opens a file with an object around lists; unreadable parts are reported.
    pub fn history(
        &mut self,
        path: &str,
        record: &'static str,
        shape: &'static Shape,
    ) -> Result<Option<Opened<'a>>, ReadError> {
        let Some(bytes) = self.open(path)? else { return Ok(None) };
        self.found(record, 1)?;
        let error = |source| ReadError::File { file: path.to_owned(), source };
        // The first generation's snapshots may be the bare list.
        let start = bytes.slice(0, bytes.len().min(4_096)).map_err(error)?;
        let is_list = start.trim_ascii_start().first() == Some(&b'[');
        let shape = if is_list && record == "snapshot" { &RECORDS } else { shape };
        let outlined = outline(&*bytes, shape).map_err(error)?;
        let root = outlined.root.filter(|root| !matches!(root, Outline::Value(_)));
        let Some(root) = root else {
            let whole = Span { from: 0, to: bytes.len() };
            self.stretch((path, &*bytes), whole, record, "the file is neither an object nor a list".to_owned())?;
            return Ok(None);
        };
        let frame = match outlined.torn_at {
            None => framed(&*bytes, &root).map_err(error)?,
            Some(_) => None,
        };
        let frame = frame.filter(|frame| Json::parse(&frame.skeleton.text).is_ok());
        let is_torn = frame.is_none();
        if is_torn {
            self.torn(path, &*bytes, outlined.torn_at.unwrap_or(0))?;
        }
        let frame = frame.unwrap_or_else(|| Frame::fresh("{}", Style::PRETTY));
        Ok(Some(Opened { frame, root, bytes, is_torn }))
    }

    /// Reads the windows, each with its compression; the compressions that are left are returned apart.
    pub fn windows(&mut self, agent: &AgentFolder) -> Result<(Vec<Window>, Vec<Kept>), ReadError> {
        let mut compressions: Vec<(Option<String>, Kept)> = Vec::new();
        for (file, _) in agent.inside("history/compressions").filter(|(_, leaf)| leaf.ends_with(".json")) {
            if let Some(kept) = self.value(&agent.path(file), file, "compression")? {
                // It is kept whole, with the fold that it made.
                self.keep_unmapped("compression", 1)?;
                let id = Members::parse(&kept.text).and_then(|members| members.text("windowId"));
                compressions.push((id, kept));
            }
        }
        let mut windows = Vec::new();
        for (file, leaf) in agent.inside("history/windows").filter(|(_, leaf)| leaf.ends_with(".json")) {
            let path = agent.path(file);
            let Some(opened) = self.history(&path, "window", &WINDOW)? else { continue };
            let messages = self.records(&path, &*opened.bytes, opened.root.member("messages"), MESSAGES)?;
            let events = self.records(&path, &*opened.bytes, opened.root.member("events"), EVENTS)?;
            self.keep_unmapped("window event", events.len())?;
            let members = Members::parse(&opened.frame.skeleton.text).unwrap_or_default();
            let id = members.text("id").unwrap_or_else(|| format!("window-{}", leaf.trim_end_matches(".json")));
            let compression = compressions.iter().position(|(window, _)| window.as_deref() == Some(&id));
            let compression = compression.map(|place| compressions.remove(place).1);
            let at = members.whole("timestamp").and_then(millis);
            let frame = match opened.is_torn {
                true => fresh(&id),
                false => opened.frame.clone(),
            };
            let file = file.to_owned();
            windows.push(Window { id, file, frame, messages, events, is_torn: opened.is_torn, at, compression });
        }
        Ok((windows, compressions.into_iter().map(|(_, kept)| kept).collect()))
    }
}

/// The skeleton of a window whose own is lost.
fn fresh(id: &str) -> Frame {
    Frame::fresh(&format!("{{\"id\":{},\"messages\":[],\"events\":[]}}", Json::of(&id).text()), Style::PRETTY)
}

/// The window that a summary names; none for a message that is no summary.
pub(crate) fn window_of(said: &StoredMessage) -> Option<String> {
    let content = said.content.as_ref().filter(|content| content.role == "system")?;
    let Some(Part::Text { text, .. }) = content.body.parts().into_iter().next() else { return None };
    let head = text.strip_prefix("<context-summary")?;
    let head = &head[..head.find('>')?];
    let id = head.split_once("window=\"")?.1;
    Some(id[..id.find('"')?].to_owned())
}

/// A detected fold: the window, and the messages its summary replaces.
#[derive(Debug)]
pub(crate) struct Folded {
    pub window: usize,
    pub summary: StoredMessage,
    /// The last message that it replaces.
    pub last: u32,
    /// The last message of the window.
    pub after: u32,
    pub kept: u32,
    /// The window whose summary begins this one.
    pub inner: Option<usize>,
}

/// Returns a path with every summary expanded, and the resulting folds, innermost first.
pub(crate) fn unfold(
    messages: &[StoredMessage],
    windows: &[Window],
    extent: Extent,
) -> (Vec<StoredMessage>, Vec<Folded>) {
    let mut chain: Vec<(usize, &[StoredMessage])> = Vec::new();
    let mut known = HashSet::new();
    let mut list = messages;
    while let Some(place) = list.first().and_then(window_of).and_then(|id| {
        windows.iter().position(|window| window.id == id && !window.is_torn && !window.messages.is_empty())
    }) {
        if !known.insert(place) {
            break;
        }
        chain.push((place, list));
        list = &windows[place].messages;
    }
    // From the innermost window outwards: the path grows by what each list has after its summary.
    let (mut path, mut folds): (Vec<StoredMessage>, Vec<Folded>) = (list.to_vec(), Vec::new());
    // Number of messages of the path that are in the list being examined, without its summary.
    let mut inside = path.len();
    let links = chain.len();
    for (link, (window, outer)) in chain.into_iter().rev().enumerate() {
        // Of the list itself some may be missing that its window has.
        let filled = (extent == Extent::Partial && link + 1 == links).then(|| filled(&path, inside, &outer[1..]));
        let tail = filled.as_deref().unwrap_or(&outer[1..]);
        let same =
            |kept: &usize| path[path.len() - kept..].iter().zip(tail).all(|(one, other)| one.compact == other.compact);
        let kept = (0..=inside.min(tail.len())).rev().find(same).unwrap_or(0);
        if kept == path.len() {
            // The summary replaces nothing; it is an ordinary message.
            (path, folds, inside) = (outer.to_vec(), Vec::new(), outer.len());
            continue;
        }
        let last = (path.len() - kept - 1) as u32;
        let inner = folds.last().map(|fold: &Folded| fold.window);
        let (after, summary) = ((path.len() - 1) as u32, outer[0].clone());
        folds.push(Folded { window, summary, last, after, kept: kept as u32, inner });
        // For a message in both, the newer file has the record.
        path.truncate(path.len() - kept);
        path.extend_from_slice(tail);
        inside = tail.len();
    }
    (path, folds)
}

/// Restores unreadable messages after a summary from the end of the previous window, from the position on whose messages
/// match best.
fn filled(path: &[StoredMessage], inside: usize, tail: &[StoredMessage]) -> Vec<StoredMessage> {
    let mut best = (0, path.len());
    for from in path.len() - inside..path.len() {
        let mut left = tail.iter().peekable();
        let fits = |said: &&StoredMessage| left.next_if(|next| next.compact == said.compact).is_some();
        let matched = path[from..].iter().filter(fits).count();
        if matched > best.0 {
            best = (matched, from);
        }
    }
    let (matched, from) = best;
    path[from..].iter().chain(&tail[matched..]).cloned().collect()
}

/// Compares the records of messages with how a file shows them.
pub(crate) fn odd(shown: &[StoredMessage], records: &[&str], style: Style, level: usize) -> Odd {
    let mut odd = Odd::new();
    for (place, (said, record)) in shown.iter().zip(records).enumerate() {
        if style.format(record, level) == said.text {
            continue;
        }
        odd.push((place as u32, Some(said.text.clone()).filter(|text| text != record)));
    }
    odd
}

/// Finds the events of a window in the logs.
pub(crate) fn shown(window: &Window, lines: &HashMap<String, (usize, u32)>, logs: &[Log]) -> Vec<Shown> {
    let style = window.frame.style;
    let mut shown: Vec<Shown> = Vec::new();
    for event in &window.events {
        let line = lines
            .get(&event.compact)
            .filter(|(log, line)| style.format(logs[*log].events[*line as usize].body.text(), 2) == event.text);
        let Some((log, line)) = line else {
            shown.push(Shown::Text(event.text.clone()));
            continue;
        };
        let channel = &logs[*log].frame.channel;
        match shown.last_mut() {
            Some(Shown::Lines(known, from, count)) if known == channel && *from + *count == *line => *count += 1,
            _ => shown.push(Shown::Lines(channel.clone(), *line, 1)),
        }
    }
    shown
}

/// The position of each event, by its text without white space.
pub(crate) fn lines(logs: &[Log]) -> HashMap<String, (usize, u32)> {
    let mut lines = HashMap::new();
    for (log, one) in logs.iter().enumerate() {
        for (line, event) in one.events.iter().enumerate() {
            lines.entry(Style::COMPACT.format(event.body.text(), 0)).or_insert((log, line as u32));
        }
    }
    lines
}
