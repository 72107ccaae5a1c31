//! The text of the chosen message, with what was found in it.

use crate::commands::search::HIT;
use crate::styled_line::StyledLine;
use anstyle::Style;
use manent::text::{Clock, Query, field_texts};
use manent::{Hit, Message, MessageId};
use std::ops::Range;

/// Maximum length of the preview before and behind the first hit, in characters.
const PREVIEW_CHARACTERS: usize = 4_000;
/// The text of the chosen message.
pub struct Preview {
    message: MessageId,
    pub text: String,
    /// The lines around the first hit.
    pub lines: Vec<StyledLine>,
}

impl Preview {
    /// Builds the preview of a message around its first hit.
    pub fn of(message: &Message, hit: &Hit, typed: &str) -> Self {
        // Only the words are looked for, so the clock does not matter.
        let query = Query::typing(typed, Clock::default()).ok();
        let mut shown = (String::new(), Vec::new());
        for passage in field_texts(&message.content).iter().filter(|passage| passage.field == hit.field) {
            let marks = query.as_ref().map(|query| query.highlights(&passage.text)).unwrap_or_default();
            if shown.0.is_empty() || (shown.1.is_empty() && !marks.is_empty()) {
                shown = (passage.text.to_string(), marks);
            }
        }
        let lines = lines_around(&shown.0, &shown.1);
        Self { message: message.id, text: message.content.body.words(), lines }
    }

    /// Returns whether this is the preview of a hit.
    pub fn is_of(&self, hit: &Hit) -> bool {
        hit.message == Some(self.message) && hit.fold.is_none()
    }
}

/// Returns the lines of a text around the first mark, with the marks in their style.
fn lines_around(text: &str, marks: &[Range<usize>]) -> Vec<StyledLine> {
    let found = marks.first().map_or(0, |mark| mark.start);
    let back = text[..found].char_indices().rev().nth(PREVIEW_CHARACTERS).map_or(0, |(at, _)| at);
    let ahead = text[found..].char_indices().nth(PREVIEW_CHARACTERS).map_or(text.len(), |(at, _)| found + at);
    let mut lines = Vec::new();
    let mut start = back;
    for piece in text[back..ahead].split_inclusive('\n') {
        let end = start + piece.len();
        let characters = |byte: usize| text[start..byte.clamp(start, end)].chars().count() as u32;
        let inside = marks.iter().filter(|mark| mark.start < end && mark.end > start);
        let inside: Vec<(u32, u32)> = inside.map(|mark| (characters(mark.start), characters(mark.end))).collect();
        let mut line = StyledLine::default();
        line.push_marked(piece.trim_end_matches(['\r', '\n']), &inside, Style::new(), HIT);
        lines.push(line);
        start = end;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_around_what_was_found() {
        let text = format!("{}\nnéedle 针\r\n{}", "前".repeat(9_000), "后".repeat(9_000));
        let at = text.find("née").expect("there");
        let mark = at..at + "néedle".len();
        let lines = lines_around(&text, std::slice::from_ref(&mark));
        assert_eq!(lines.len(), 3);
        assert_eq!((lines[1].plain().as_str(), lines[1].has(HIT), lines[0].has(HIT)), ("néedle 针", true, false));
        assert!(lines[0].plain().chars().count() <= PREVIEW_CHARACTERS + 1);
        assert_eq!(lines_around("", &[]), []);
    }
}
