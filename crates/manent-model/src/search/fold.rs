//! Folding: what writers write differently and readers take as the same.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Appends a letter in lower case and without the marks that people leave out.
///
/// Latin and Greek lose every mark. Cyrillic loses its stress marks and the dots of ё, but й and ї are letters of
/// their own. The letter is in its composed form.
pub(super) fn push_letter(letter: char, into: &mut String) {
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

/// Returns a name as it is compared: compatibility form, lower case, no white space or control character inside.
///
/// Marks stay, unlike in the words of a text: a name is a choice among names.
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
