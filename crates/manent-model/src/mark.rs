//! Marks: what stands in the text of an imported message where bytes were taken out of it and are kept as a blob.
//!
//! A mark is `manent-blob/`, a letter for how the bytes were written, the SHA-256 of the blob, and a full stop. Whoever
//! takes bytes out writes [`LITERAL`] behind the word where the text itself looks like one, so no text is taken for a mark.

use crate::hex;
use std::borrow::Cow;

/// How every mark begins.
pub const WORD: &str = "manent-blob/";
/// Follows the word, once more than it did, where a text looks like a mark and is none.
pub const LITERAL: char = '_';

const DIGITS: usize = 64;

/// Stands for bytes that were taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// How the bytes were written, as a small letter.
    pub form: u8,
    /// Where they are.
    pub sha256: [u8; 32],
}

impl Mark {
    /// How long every mark is.
    pub const LENGTH: usize = WORD.len() + 1 + DIGITS + 1;

    /// Returns what stands in the text.
    pub fn text(&self) -> String {
        format!("{WORD}{}{}.", char::from(self.form), hex::encode(&self.sha256))
    }

    /// Reads the mark that a text begins with.
    pub fn at(text: &str) -> Option<Self> {
        body(text.strip_prefix(WORD)?)
    }
}

/// Says of a text that begins with the word whether it looks like a mark, or was kept from looking like one.
pub fn looks_like_one(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(WORD) else { return false };
    let rest = &text[text.len() - rest.trim_start_matches(LITERAL).len()..];
    body(rest).is_some()
}

/// Returns a text in which nothing is taken for a mark but what is known as one.
pub fn literal(text: &str, is_known: impl Fn([u8; 32]) -> bool) -> Cow<'_, str> {
    let (mut out, mut from) = (String::new(), 0);
    for (place, _) in text.match_indices(WORD) {
        let is_mark = Mark::at(&text[place..]).is_some_and(|mark| is_known(mark.sha256));
        if !is_mark && looks_like_one(&text[place..]) {
            out.push_str(&text[from..place + WORD.len()]);
            out.push(LITERAL);
            from = place + WORD.len();
        }
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[from..]),
    }
}

/// Reads what follows the word.
fn body(rest: &str) -> Option<Mark> {
    let form = rest.bytes().next().filter(u8::is_ascii_lowercase)?;
    let digits = rest.get(1..1 + DIGITS)?;
    let is_ended = rest.as_bytes().get(1 + DIGITS) == Some(&b'.');
    let sha256 = hex::decode(digits).filter(|_| is_ended)?.try_into().ok()?;
    Some(Mark { form, sha256 })
}

/// Returns the blobs that the marks of a text stand for, in their order.
pub fn blobs_in(text: &str) -> impl Iterator<Item = [u8; 32]> + '_ {
    text.match_indices(WORD).filter_map(|(place, _)| Mark::at(&text[place..])).map(|mark| mark.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_and_what_looks_like_one_is_none() {
        let mark = Mark { form: b'a', sha256: [0xab; 32] };
        let text = mark.text();
        assert_eq!((text.len(), Mark::at(&text)), (Mark::LENGTH, Some(mark)));
        let others = [
            text.replace('.', ","),
            text.replacen("/a", "/_", 1),
            text[..text.len() - 1].to_owned(),
            text.replacen("ab", "xy", 1),
            format!("{WORD}aé"),
            WORD.to_owned(),
        ];
        assert_eq!(others.iter().find(|other| Mark::at(other).is_some()), None);
        let told = format!("\"{text}\" {} {text}", others.join(" "));
        assert_eq!(blobs_in(&told).collect::<Vec<_>>(), [[0xab; 32]; 2]);
    }
}
