//! Snippets: the excerpt of a text that shows a match.

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
    /// Matches as start (inclusive) and end (exclusive), in Unicode scalar values of the excerpt.
    pub highlights: Vec<(u32, u32)>,
    /// Whether text before it was omitted.
    pub before: bool,
    /// Whether text after it was omitted.
    pub after: bool,
}

/// A word that ends within this many characters is not cut.
const WORD_CHARACTERS_MAX: usize = 24;

/// Returns at most `width` characters of a text: those around the first window with the most different terms.
///
/// Without a match, the beginning of the text.
pub fn snippet(text: &str, query: &Query, width: usize) -> Snippet {
    let hits = query.first_hits(text, width);
    shown_around(text, &hits, width)
}

fn shown_around(text: &str, hits: &[Hit], width: usize) -> Snippet {
    let shown = window(text, hits, width);
    let highlights = merged(hits);
    let inside = highlights.iter().filter(|range| range.start < shown.end && range.end > shown.start);
    let mut counted = Counted { text, byte: shown.start, characters: 0 };
    let highlights = inside
        .map(|range| {
            let first = counted.at(range.start.max(shown.start));
            (first, counted.at(range.end.min(shown.end)))
        })
        .collect();
    Snippet {
        text: on_one_line(&text[shown.clone()]),
        highlights,
        before: !text[..shown.start].trim().is_empty(),
        after: !text[shown.end..].trim().is_empty(),
    }
}

fn on_one_line(text: &str) -> String {
    // Control characters are below the space, and U+007F to U+009F.
    match text.bytes().any(|byte| byte < b' ' || byte == 0x7F || byte == 0xC2) {
        true => text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect(),
        false => text.to_owned(),
    }
}

/// Counts characters between byte offsets.
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

/// Chooses the excerpt, as a byte range of the text.
fn window(text: &str, hits: &[Hit], width: usize) -> Range<usize> {
    let Some(best) = densest(text, hits, width) else {
        let start = text.len() - text.trim_start().len();
        return start..end_of(text, start, width, start);
    };
    // A third of the remaining width is used for the context before the match.
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

/// Moves back by at most this many characters, and then forward to the beginning of a word.
fn start_of(text: &str, from: usize, characters: usize) -> usize {
    let (length, taken) = plain_run(text[..from].chars().rev(), characters);
    let mut start = from - length;
    let mut room = characters - taken;
    while let Some((length, characters)) = cluster_before(&text[..start])
        && characters <= room
    {
        room -= characters;
        start -= length;
    }
    if start == 0 || text[..start].ends_with(char::is_whitespace) {
        return skip_space(text, start, from);
    }
    let word = text[start..from].chars().take(WORD_CHARACTERS_MAX);
    let rest: usize = word.take_while(|character| !character.is_whitespace()).map(char::len_utf8).sum();
    let end = start + rest;
    // Without a nearby space before the match, the text is cut where it is.
    match text[end..from].starts_with(char::is_whitespace) {
        true => skip_space(text, end, from),
        false => start,
    }
}

fn skip_space(text: &str, start: usize, until: usize) -> usize {
    let between = &text[start..until];
    start + between.len() - between.trim_start().len()
}

/// Moves forward by at most this many characters, and then back to the end of a word, but not into the required range.
fn end_of(text: &str, start: usize, width: usize, needed: usize) -> usize {
    let (length, taken) = plain_run(text[start..].chars(), width);
    let mut end = start + length;
    let mut room = width - taken;
    while let Some((length, characters)) = cluster_behind(&text[end..])
        && characters <= room
    {
        room -= characters;
        end += length;
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

/// Returns the bytes and the number of leading plain characters, at most the given number.
fn plain_run(mut characters: impl Iterator<Item = char>, most: usize) -> (usize, usize) {
    let (mut bytes, mut count) = (0, 0);
    let Some(mut last) = characters.next().filter(|first| is_plain(*first)) else { return (0, 0) };
    while count < most {
        let next = characters.next();
        // The next character may compose with the last one.
        if next.is_some_and(|next| !is_plain(next)) {
            break;
        }
        bytes += last.len_utf8();
        count += 1;
        match next {
            Some(next) => last = next,
            None => break,
        }
    }
    (bytes, count)
}

/// Returns the bytes and characters of the first grapheme cluster of a text.
fn cluster_behind(text: &str) -> Option<(usize, usize)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if is_plain(first) && characters.next().is_none_or(is_plain) {
        return Some((first.len_utf8(), 1));
    }
    text.graphemes(true).next().map(|cluster| (cluster.len(), cluster.chars().count()))
}

/// Returns the bytes and the characters of the last one.
fn cluster_before(text: &str) -> Option<(usize, usize)> {
    let mut characters = text.chars().rev();
    let last = characters.next()?;
    if is_plain(last) && characters.next().is_none_or(is_plain) {
        return Some((last.len_utf8(), 1));
    }
    text.graphemes(true).next_back().map(|cluster| (cluster.len(), cluster.chars().count()))
}

/// Returns whether a character is a grapheme cluster of its own; may return false negatives. Faster than the Unicode
/// tables.
fn is_plain(character: char) -> bool {
    matches!(character, ' '..='~' | '\n' | '、'..='】' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '㐀'..='䶿' | '一'..='鿿' | '！'..='～')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

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

    #[test]
    fn plain_characters_stand_alone() {
        for character in (0..=0x10_FFFF).filter_map(char::from_u32).filter(|character| is_plain(*character)) {
            for text in [format!("a{character}"), format!("{character}中")] {
                assert_eq!(text.graphemes(true).count(), 2, "{character:?}");
            }
        }
        for text in ["e\u{301}x", "x\r\n", "🇩🇪🇫🇷", "👩\u{200D}💻a", "中\u{3099}", "a"] {
            let (first, last) = (text.graphemes(true).next(), text.graphemes(true).next_back());
            assert_eq!(cluster_behind(text).map(|(length, _)| &text[..length]), first, "{text:?}");
            assert_eq!(cluster_before(text).map(|(length, _)| &text[text.len() - length..]), last, "{text:?}");
        }
    }

    #[test]
    fn no_letter_is_cut_from_its_marks() {
        let text = "abe\u{301}中文\u{3099}xe\u{301}\u{302}yz";
        for width in 0..14 {
            let fits = |clusters: Vec<&str>| -> usize {
                let mut characters = 0;
                let fit = |cluster: &&str| {
                    characters += cluster.chars().count();
                    characters <= width
                };
                clusters.into_iter().take_while(fit).map(str::len).sum()
            };
            assert_eq!(end_of(text, 0, width, 0), fits(text.graphemes(true).collect()), "{width}");
            let start = text.len() - fits(text.graphemes(true).rev().collect());
            assert_eq!(start_of(text, text.len(), width), start, "{width}");
        }
    }

    #[test]
    fn a_snippet_is_the_same_when_the_rest_of_the_text_is_not_looked_at() {
        let words = [
            "one",
            "two",
            "three",
            "oneTwo",
            "ONE",
            "题",
            "问题",
            "问",
            "x",
            "-",
            "\n",
            "cafe\u{301}",
            "long".repeat(8).leak(),
        ];
        let mut random = fastrand::Rng::with_seed(7);
        for asked in [
            "one",
            "one two",
            "\"one two\" three",
            "问题",
            "one OR 问题",
            "oneTwo two",
            "on* -two",
            "\"one two three\" two",
            "-one",
        ] {
            let query = Query::parse(asked, Clock::default()).expect("a query");
            for _ in 0..300 {
                let mut text = String::new();
                for _ in 0..random.usize(0..80) {
                    text.push_str(words[random.usize(0..words.len())]);
                    text.push_str(["", " ", " "][random.usize(0..3)]);
                }
                for width in [1, 8, 30, 160] {
                    let all = shown_around(&text, &query.hits(&text), width);
                    assert_eq!(snippet(&text, &query, width), all, "{asked} in {text:?}");
                }
            }
        }
    }
}
