//! Snippets: the piece of a text that shows why it was found.

use super::matcher::Hit;
use super::query::{Query, merged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A piece of a text on one line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Snippet {
    /// The piece; line breaks and other control characters are spaces.
    pub text: String,
    /// What matched, as the first character and the one behind the last, in Unicode scalar values of the piece.
    pub highlights: Vec<(u32, u32)>,
    /// Something stands before it.
    pub before: bool,
    /// Something stands behind it.
    pub after: bool,
}

/// A word is not cut through if it ends within this many characters.
const WORD_CHARACTERS_MAX: usize = 24;

/// Returns at most `width` characters of a text: those around the first place where the most different terms stand.
///
/// The beginning of the text, if nothing matches.
pub fn snippet(text: &str, query: &Query, width: usize) -> Snippet {
    let hits = query.hits(text);
    let shown = window(text, &hits, width);
    let highlights = merged(&hits);
    let inside = highlights.iter().filter(|range| range.start < shown.end && range.end > shown.start);
    let mut counted = Counted { text, byte: shown.start, characters: 0 };
    let highlights = inside
        .map(|range| {
            let first = counted.at(range.start.max(shown.start));
            (first, counted.at(range.end.min(shown.end)))
        })
        .collect();
    Snippet {
        text: text[shown.clone()]
            .chars()
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect(),
        highlights,
        before: !text[..shown.start].trim().is_empty(),
        after: !text[shown.end..].trim().is_empty(),
    }
}

/// Counts characters from one place to the next.
struct Counted<'a> {
    text: &'a str,
    byte: usize,
    characters: u32,
}

impl Counted<'_> {
    fn at(&mut self, byte: usize) -> u32 {
        self.characters += self.text[self.byte..byte].chars().count() as u32;
        self.byte = byte;
        self.characters
    }
}

/// Chooses what is shown, in bytes of the text.
fn window(text: &str, hits: &[Hit], width: usize) -> Range<usize> {
    let Some(best) = densest(text, hits, width) else {
        let start = text.len() - text.trim_start().len();
        return start..end_of(text, start, width, start);
    };
    // A third of the room that is left shows what leads to the match.
    let lead = width.saturating_sub(text[best.clone()].chars().take(width).count()) / 3;
    let mut start = start_of(text, best.start, lead);
    let mut end = end_of(text, start, width, best.end);
    if end == text.len() {
        // The text ends early, so there is more room before the match.
        let room = width.saturating_sub(text[best.start..].chars().take(width).count());
        start = start_of(text, best.start, room);
        end = end_of(text, start, width, best.end);
    }
    start..end
}

/// Returns the first stretch of hits that fits and has the most different terms.
fn densest(text: &str, hits: &[Hit], width: usize) -> Option<Range<usize>> {
    let terms = hits.iter().map(|hit| hit.term + 1).max()?;
    let mut counted = Counted { text, byte: 0, characters: 0 };
    let starts: Vec<u32> = hits.iter().map(|hit| counted.at(hit.at.start)).collect();
    let lengths = hits.iter().map(|hit| text[hit.at.clone()].chars().take(width + 1).count() as u32);
    let ends: Vec<u32> = starts.iter().zip(lengths).map(|(start, length)| start + length).collect();
    let mut counts = vec![0u32; terms];
    let (mut distinct, mut next, mut most) = (0, 0, 0);
    let mut best = None;
    for first in 0..hits.len() {
        while next < hits.len() && (next <= first || ends[next] as usize <= starts[first] as usize + width) {
            counts[hits[next].term] += 1;
            distinct += u32::from(counts[hits[next].term] == 1);
            next += 1;
        }
        if distinct > most {
            most = distinct;
            // Hits are in the order of their starts; the one that ends last need not be the last one.
            let end = hits[first..next].iter().map(|hit| hit.at.end).max();
            best = end.map(|end| hits[first].at.start..end);
        }
        counts[hits[first].term] -= 1;
        distinct -= u32::from(counts[hits[first].term] == 0);
    }
    best
}

/// Goes back by at most so many characters, and forward again to the beginning of a word.
fn start_of(text: &str, from: usize, characters: usize) -> usize {
    let mut clusters = text[..from].grapheme_indices(true).rev();
    let mut start = from;
    let mut room = characters;
    for (at, cluster) in &mut clusters {
        let length = cluster.chars().count();
        if length > room {
            break;
        }
        room -= length;
        start = at;
    }
    if start == 0 || text[..start].ends_with(char::is_whitespace) {
        return skip_space(text, start, from);
    }
    let word = text[start..from].chars().take(WORD_CHARACTERS_MAX);
    let rest: usize = word.take_while(|character| !character.is_whitespace()).map(char::len_utf8).sum();
    let end = start + rest;
    // Where no space comes soon, or before the match, the text is cut where it is.
    match text[end..from].starts_with(char::is_whitespace) {
        true => skip_space(text, end, from),
        false => start,
    }
}

fn skip_space(text: &str, start: usize, until: usize) -> usize {
    let between = &text[start..until];
    start + between.len() - between.trim_start().len()
}

/// Goes on by at most so many characters, and back to the end of a word, but not into what must be shown.
fn end_of(text: &str, start: usize, width: usize, needed: usize) -> usize {
    let mut end = start;
    let mut room = width;
    for (at, cluster) in text[start..].grapheme_indices(true) {
        let length = cluster.chars().count();
        if length > room {
            break;
        }
        room -= length;
        end = start + at + cluster.len();
    }
    if end == text.len() || text[end..].starts_with(char::is_whitespace) {
        return start + text[start..end].trim_end().len();
    }
    let word = text[start..end].chars().rev().take(WORD_CHARACTERS_MAX);
    let back: usize = word.take_while(|character| !character.is_whitespace()).map(char::len_utf8).sum();
    let cut = end - back;
    match cut > needed && text[start..cut].ends_with(char::is_whitespace) {
        true => start + text[start..cut].trim_end().len(),
        false => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Clock;

    fn shown(text: &str, asked: &str, width: usize) -> String {
        let snippet = snippet(text, &Query::parse(asked, Clock::default()).expect("a query"), width);
        assert!(snippet.text.chars().count() <= width, "{snippet:?}");
        let characters: Vec<char> = snippet.text.chars().collect();
        let mut shown = String::from(if snippet.before { "…" } else { "" });
        let mut at = 0;
        for (first, last) in snippet.highlights {
            shown.extend(&characters[at..first as usize]);
            shown.push('[');
            shown.extend(&characters[first as usize..last as usize]);
            shown.push(']');
            at = last as usize;
        }
        shown.extend(&characters[at..]);
        shown + if snippet.after { "…" } else { "" }
    }

    #[test]
    fn a_snippet_shows_the_most_terms() {
        let words = "one two three four five six seven eight nine ten eleven twelve";
        for (text, asked, width, expected) in [
            (words, "none", 20, "one two three four…"),
            (words, "one", 20, "[one] two three four…"),
            (words, "seven", 24, "…six [seven] eight nine ten…"),
            (words, "twelve", 20, "…ten eleven [twelve]"),
            (words, "two eight seven", 20, "…[seven] [eight] nine ten…"),
            (words, "\"six seven\"", 20, "…[six seven] eight nine…"),
            ("needle one two three needle four", "needle", 12, "[needle] one…"),
            ("x needle hay-stack", "\"needle hay\"", 12, "…[needle hay]-s…"),
            ("a\nb\r\nc", "b", 20, "a [b]  c"),
            ("重新部署了全文检索服务之后悬空引用", "检索", 8, "…全文[检索]服务之后…"),
            ("悬空引用", "悬空引用", 2, "[悬空]…"),
            ("x 👍🏽 y", "👍", 20, "x [👍🏽] y"),
            ("  padded  ", "none", 20, "padded"),
            ("", "a", 20, ""),
            ("abc", "abc", 0, "…"),
        ] {
            assert_eq!(shown(text, asked, width), expected, "{asked} in {text}");
        }
    }

    #[test]
    fn a_long_text_without_spaces_is_cut_anyway() {
        let text = format!("{}needle{}", "x-".repeat(500_000), "-x".repeat(500_000));
        assert_eq!(shown(&text, "needle", 20), "…x-x-[needle]-x-x-x-x-x…");
    }
}
