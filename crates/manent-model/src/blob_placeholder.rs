//! Blob placeholders in the text of an imported message, where base64 data was extracted into a blob.
//!
//! A placeholder is `manent-blob/`, a letter for the base64 variant, the SHA-256 of the blob, and a full stop. Text
//! that already looks like a placeholder is escaped with [`LITERAL`], so it is not taken for one.

use crate::hex;
use std::borrow::Cow;

/// Keyword at the start of every placeholder.
pub const PREFIX: &str = "manent-blob/";
/// Escape character: inserted after the keyword in text that only looks like a placeholder.
pub const LITERAL: char = '_';

const DIGITS: usize = 64;

/// A placeholder for extracted bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobPlaceholder {
    /// The base64 variant, as a small letter.
    pub form: u8,
    /// The blob with the bytes.
    pub sha256: [u8; 32],
}

impl BlobPlaceholder {
    /// Length of every placeholder.
    pub const LENGTH: usize = PREFIX.len() + 1 + DIGITS + 1;

    /// Returns the text of the placeholder.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}{}.", char::from(self.form), hex::encode(&self.sha256))
    }

    /// Parses the placeholder that a text begins with.
    pub fn at(text: &str) -> Option<Self> {
        body(text.strip_prefix(PREFIX)?)
    }
}

/// Returns whether a text that begins with the keyword looks like a placeholder, or like an escaped one.
pub fn is_placeholder_like(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else { return false };
    let rest = &text[text.len() - rest.trim_start_matches(LITERAL).len()..];
    body(rest).is_some()
}

/// Returns a text in which everything that looks like a placeholder is escaped, except known ones.
pub fn literal(text: &str, is_known: impl Fn([u8; 32]) -> bool) -> Cow<'_, str> {
    let (mut out, mut from) = (String::new(), 0);
    for (place, _) in text.match_indices(PREFIX) {
        let is_mark = BlobPlaceholder::at(&text[place..]).is_some_and(|mark| is_known(mark.sha256));
        if !is_mark && is_placeholder_like(&text[place..]) {
            out.push_str(&text[from..place + PREFIX.len()]);
            out.push(LITERAL);
            from = place + PREFIX.len();
        }
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[from..]),
    }
}

/// Parses what follows the keyword.
fn body(rest: &str) -> Option<BlobPlaceholder> {
    let form = rest.bytes().next().filter(u8::is_ascii_lowercase)?;
    let digits = rest.get(1..1 + DIGITS)?;
    let is_ended = rest.as_bytes().get(1 + DIGITS) == Some(&b'.');
    let sha256 = hex::decode(digits).filter(|_| is_ended)?.try_into().ok()?;
    Some(BlobPlaceholder { form, sha256 })
}

/// Returns the blobs that the placeholders of a text refer to, in order.
pub fn blobs_in(text: &str) -> impl Iterator<Item = [u8; 32]> + '_ {
    text.match_indices(PREFIX).filter_map(|(place, _)| BlobPlaceholder::at(&text[place..])).map(|mark| mark.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_and_what_looks_like_one_is_none() {
        let mark = BlobPlaceholder { form: b'a', sha256: [0xab; 32] };
        let text = mark.text();
        assert_eq!((text.len(), BlobPlaceholder::at(&text)), (BlobPlaceholder::LENGTH, Some(mark)));
        let others = [
            text.replace('.', ","),
            text.replacen("/a", "/_", 1),
            text[..text.len() - 1].to_owned(),
            text.replacen("ab", "xy", 1),
            format!("{PREFIX}aé"),
            PREFIX.to_owned(),
        ];
        assert_eq!(others.iter().find(|other| BlobPlaceholder::at(other).is_some()), None);
        let told = format!("\"{text}\" {} {text}", others.join(" "));
        assert_eq!(blobs_in(&told).collect::<Vec<_>>(), [[0xab; 32]; 2]);
    }
}
