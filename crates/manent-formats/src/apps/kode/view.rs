//! The message list of a conversation as the program shows it: complete, or starting with a summary.

use crate::apps::kode::frame::{FoldFrame, Odd};
use crate::apps::kode::message;
use crate::core::export::ExportedMessage;
use crate::core::json::{Style, merge};
use manent_model::{Body, Content, Fold, FoldId, Json, Part, Time};

/// A fold of this format.
pub(crate) struct Summary {
    pub frame: FoldFrame,
    pub is_active: bool,
    pub made_by: Option<Json>,
    fold: Fold,
}

impl Summary {
    pub fn of(fold: Fold, frame: FoldFrame) -> Self {
        Self { frame, is_active: fold.active, made_by: fold.made_by.clone(), fold }
    }

    pub fn id(&self) -> FoldId {
        self.fold.id
    }

    /// The message that is the summary, as its record.
    pub fn text(&self, style: Style, level: usize) -> String {
        let raw = &self.frame.summary;
        let (Ok(was), Some(summary)) = (message::read(raw, Time::default()), &self.fold.summary) else {
            return raw.clone();
        };
        if was.body.words() == *summary {
            return raw.clone();
        }
        let mut now = was.clone();
        now.body = Body::of(&[Part::text(wrapped(&was.body.words(), summary))]);
        let form = message::form(raw);
        merge(raw, &message::write(&was, form), &message::write(&now, form), style, level)
    }

    /// The place behind the last message that it covers; none if that is not on the path.
    pub fn end(&self, path: &[ExportedMessage]) -> Option<usize> {
        let last = self.fold.covers.last().map(|stretch| stretch.last);
        let by_id = path.iter().position(|message| Some(message.id) == last);
        // A message that was edited has another id, in the place of the one that was read.
        let is_it = |message: &ExportedMessage| {
            message.record.as_ref().is_some_and(|record| record.ordinal == i64::from(self.frame.last))
        };
        by_id.or_else(|| path.iter().position(is_it)).map(|place| place + 1)
    }

    /// The messages of its window: those behind the summary that it begins with, up to the last that was kept.
    pub fn window<'a>(&self, path: &'a [ExportedMessage], inner: Option<&Summary>) -> Option<&'a [ExportedMessage]> {
        let start = match inner {
            Some(inner) => inner.end(path)?,
            None => 0,
        };
        let mut end = self.end(path)?;
        if let Some(after) = path.iter().position(|message| message.id == self.fold.after && !message.is_removed) {
            return path.get(start..=after);
        }
        let mut kept = self.frame.kept;
        while kept > 0 && end < path.len() {
            kept -= u32::from(path[end].record.is_some());
            end += 1;
        }
        path.get(start..end)
    }
}

/// Of a window that was read again with other messages there are two summaries; the newer one counts.
pub(crate) fn newest_of_each_window(summaries: Vec<Summary>) -> Vec<Summary> {
    let mut newest: Vec<Summary> = Vec::with_capacity(summaries.len());
    for summary in summaries {
        match newest.iter_mut().find(|known| known.frame.window == summary.frame.window) {
            Some(known) if known.id() < summary.id() => *known = summary,
            Some(_) => {}
            None => newest.push(summary),
        }
    }
    newest
}

/// Puts a new summary between the markers of the old one, which identify its window.
fn wrapped(was: &str, summary: &str) -> String {
    match was.find('>') {
        Some(end) if was.starts_with("<context-summary") && !summary.starts_with("<context-summary") => {
            format!("{}\n{summary}\n</context-summary>", &was[..=end])
        }
        _ => summary.to_owned(),
    }
}

/// The record of a message with what was changed in it.
pub(crate) fn record(message: &ExportedMessage, style: Style, level: usize) -> String {
    let raw = message.record.as_ref().and_then(|record| record.raw.as_deref());
    let was = raw.and_then(|raw| message::read(raw, message.content.time).ok());
    match (raw, was) {
        (Some(raw), Some(was)) => {
            let form = message::form(raw);
            merge(raw, &message::write(&was, form), &message::write(&message.content, form), style, level)
        }
        _ => {
            let content = Content { role: message::role(&message.content.role).to_owned(), ..message.content.clone() };
            style.format(&message::write(&content, message::Form::Blocks).text(), level)
        }
    }
}

/// The records of the file that messages live in, each as it is.
pub(crate) fn own(messages: &[ExportedMessage], style: Style) -> Vec<String> {
    let shown = messages.iter().filter(|message| !message.is_removed);
    shown.map(|message| raised(record(message, style, 1), style)).collect()
}

/// A record as it is formatted in the message list: one that was read from a window is indented one level deeper.
pub(crate) fn raised(text: String, style: Style) -> String {
    if style.format(&text, 2) == text { style.format(&text, 1) } else { text }
}

/// Records as another file shows them: laid out for it, but where that file had them otherwise.
pub(crate) fn shown(records: Vec<String>, odd: &Odd, style: Style, level: usize) -> Vec<String> {
    let lay = |(place, record): (usize, String)| {
        let laid = style.format(&record, level);
        let odd = odd.binary_search_by_key(&(place as u32), |(at, _)| *at).ok().and_then(|at| odd.get(at));
        match odd {
            Some((_, None)) => record,
            Some((_, Some(text))) if Style::COMPACT.format(text, 0) == Style::COMPACT.format(&record, 0) => {
                text.clone()
            }
            _ => laid,
        }
    };
    records.into_iter().enumerate().map(lay).collect()
}

/// The records of messages, as they are.
pub(crate) fn records(messages: &[ExportedMessage], style: Style, level: usize) -> Vec<String> {
    messages.iter().filter(|message| !message.is_removed).map(|message| record(message, style, level)).collect()
}
