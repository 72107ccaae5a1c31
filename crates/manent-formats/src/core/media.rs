//! Media extraction: base64 data is replaced by a placeholder on import, stored as a blob, and restored on export.
//!
//! A commit is limited to 4 MiB, and a picture occurs in a message two or three times. Extracted is base64 of more
//! than [`SMALLEST`] characters that is the whole of a JSON string or follows `;base64,`, and that encodes back to the
//! same text. A [placeholder](manent_model::mark) replaces it. This works on the text of any format, so data extracted
//! from any text is restored in it.

mod restore;
mod extract;

pub(crate) use extract::PIECE;
pub use extract::{Bytes, MediaExtractor, extract};
pub use restore::{MediaRestorer, restore};

/// Shorter base64 is not extracted.
pub const SMALLEST: usize = 64 << 10;

/// Spelling of base64 in a JSON text; programs write two of its characters in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    /// `/` is `\/`.
    slash: bool,
    /// `+` is `\u002B`.
    plus: bool,
}

const SLASH: &str = "\\/";
const PLUS: &str = "\\u002B";

impl Form {
    const ALL: [(u8, Self); 4] = [
        (b'a', Self { slash: false, plus: false }),
        (b'b', Self { slash: true, plus: false }),
        (b'c', Self { slash: false, plus: true }),
        (b'd', Self { slash: true, plus: true }),
    ];

    fn letter(self) -> u8 {
        Self::ALL.iter().find(|(_, form)| *form == self).map_or(b'a', |(letter, _)| *letter)
    }

    fn of(letter: u8) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == letter).map(|(_, form)| *form)
    }

    /// Writes base64 in this form.
    fn written(self, base64: String) -> String {
        let base64 = if self.slash { base64.replace('/', SLASH) } else { base64 };
        if self.plus { base64.replace('+', PLUS) } else { base64 }
    }
}
