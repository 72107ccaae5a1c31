//! Folding: normalizes text for comparison (compatibility form, case, marks).

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Appends a letter in lower case and without the marks that people leave out.
///
/// Latin and Greek lose every mark. Cyrillic loses its stress marks and the dots of ё, but й and ї are letters of
/// their own. The letter is in its composed form.
pub(crate) fn push_letter(letter: char, into: &mut String) {
    match letter {
        'A'..='Z' => into.push(letter.to_ascii_lowercase()),
        '\0'..='\x7F' | 'а'..='я' => into.push(letter),
        _ => letter.to_lowercase().for_each(|lower| push_lower(lower, into)),
    }
}

fn push_lower(lower: char, into: &mut String) {
    match lower {
        'ß' => into.push_str("ss"),
        'æ' => into.push_str("ae"),
        'œ' => into.push_str("oe"),
        'ø' => into.push('o'),
        'ł' => into.push('l'),
        'đ' => into.push('d'),
        'ı' => into.push('i'),
        'ς' => into.push('σ'),
        'ѐ' | 'ё' => into.push('е'),
        'ѝ' => into.push('и'),
        '\u{80}'..='\u{3FF}' | '\u{1E00}'..='\u{1FFF}' | '\u{2C60}'..='\u{2C7F}' | '\u{A720}'..='\u{A7FF}' => {
            decompose_canonical(lower, |piece| {
                if !is_combining_mark(piece) {
                    into.push(piece);
                }
            });
        }
        _ => into.push(lower),
    }
}

/// Folds a name: compatibility form, lower case, white space and control characters removed.
///
/// Marks are kept, unlike in text: a filter selects one name among similar ones.
pub fn fold_name(name: &str) -> String {
    name.trim()
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|character| match character.is_whitespace() || character.is_control() {
            true => '_',
            false => character,
        })
        .collect()
}
