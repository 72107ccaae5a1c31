//! Character classes for word segmentation: letters, scripts without spaces, emoji, separators.

use unicode_normalization::char::is_combining_mark;

/// The class of a normalized character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Ends the word before it.
    Separator,
    /// A letter of a script that puts spaces between words, with a number for the script.
    Letter(u16),
    /// A digit or another number.
    Digit,
    /// Part of the letter before it.
    Mark,
    /// Joins two letters in one word: don't, l'amour.
    Apostrophe,
    /// A character of a script that writes without spaces, with a number for the script.
    Unspaced(u16),
    /// A pictograph; a word of its own.
    Emoji,
    /// Cannot be seen and changes nothing.
    Ignored,
    /// Invisible; a word boundary in scripts without spaces, which users cannot see.
    ZeroWidthSpace,
}

pub(crate) const HAN: u16 = 0;

/// Returns the class of a character.
pub(crate) fn class(character: char) -> Class {
    let code = character as u32;
    match code {
        // Most non-ASCII text.
        0x4E00..=0x9FFF => Class::Unspaced(HAN),
        0x30..=0x39 => Class::Digit,
        0x41..=0x5A | 0x61..=0x7A => Class::Letter(LATIN),
        0x27 | 0x2019 | 0x2BC => Class::Apostrophe,
        0..=0x7F | 0x3001..=0x3003 | 0x3008..=0x3011 => Class::Separator,
        0xAD | 0x61C | 0x640 | 0x200C..=0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF => Class::Ignored,
        0x1F3FB..=0x1F3FF | 0xE0000..=0xE0FFF => Class::Ignored,
        0x200B => Class::ZeroWidthSpace,
        _ if is_dropped_mark(code) => Class::Ignored,
        0x2300..=0x23FF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1F000..=0x1F0FF | 0x1F18E..=0x1FAFF => Class::Emoji,
        _ => match unspaced(code) {
            Some(script) => Class::Unspaced(script),
            None if character.is_alphabetic() => Class::Letter(script(code)),
            None if character.is_numeric() => Class::Digit,
            None if is_combining_mark(character) => Class::Mark,
            None => Class::Separator,
        },
    }
}

/// Returns whether a character may compose with the previous one, or has no meaning without it.
pub(crate) fn extends(character: char) -> bool {
    match character as u32 {
        0..=0x2FF | 0x3000..=0x3029 | 0x3041..=0x3098 | 0x309B..=0xA66E => false,
        // Vowels and finals of a Korean syllable, and the voice marks of half width katakana.
        0x1160..=0x11FF | 0xD7B0..=0xD7FB | 0xFF9E | 0xFF9F => true,
        // A vowel of Kirat Rai that is no mark and melts nevertheless.
        0x16D67 => true,
        // A joiner or a skin tone belongs to the picture before it.
        0x200D | 0x1F3FB..=0x1F3FF => true,
        0xAC00..=0xD7A3 => false,
        _ => is_combining_mark(character),
    }
}

/// Returns whether a single character is its own compatibility form; may return false negatives.
pub(crate) fn is_stable(character: char) -> bool {
    matches!(character as u32,
        0..=0x7F | 0x400..=0x52F | 0x5D0..=0x5EA | 0x620..=0x64A | 0x904..=0x939 | 0xE01..=0xE32 | 0xE34..=0xE4E
        | 0x3001..=0x3029 | 0x3041..=0x3096 | 0x30A1..=0x30FE | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3)
}

const LATIN: u16 = u16::MAX;
const GREEK: u16 = u16::MAX - 1;
const CYRILLIC: u16 = u16::MAX - 2;
const ARABIC: u16 = u16::MAX - 3;
const OTHER: u16 = u16::MAX - 4;

/// Numbers the scripts of words; scripts that are not mixed within a word share a number.
fn script(code: u32) -> u16 {
    match code {
        0..=0x2FF | 0x1D00..=0x1DBF | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF | 0xAB30..=0xAB6F => LATIN,
        0x370..=0x3FF | 0x1F00..=0x1FFF => GREEK,
        0x400..=0x52F | 0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => CYRILLIC,
        0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF => ARABIC,
        _ => OTHER,
    }
}

/// Numbers the scripts without spaces. Han and kana share a run, because Japanese words mix them.
fn unspaced(code: u32) -> Option<u16> {
    match code {
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0xF900..=0xFAFF | 0x20000..=0x3FFFD => Some(HAN),
        0x3005 | 0x3007 | 0x3021..=0x3029 | 0x3038..=0x303C | 0x16FE0..=0x16FF1 => Some(HAN),
        0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0x1AFF0..=0x1B16F => Some(HAN),
        0x3105..=0x312F | 0x31A0..=0x31BF => Some(1),
        0x1100..=0x11FF | 0xA960..=0xA97C | 0xAC00..=0xD7FB => Some(2),
        0xE01..=0xE3A | 0xE40..=0xE4E => Some(3),
        0xE81..=0xECE | 0xEDC..=0xEDF => Some(4),
        0x1780..=0x17D3 | 0x17D7 | 0x17DC | 0x17DD => Some(5),
        0x1000..=0x103F | 0x1050..=0x108F | 0x109A..=0x109D | 0xA9E0..=0xA9EF | 0xAA60..=0xAA7F => Some(6),
        0xF00 | 0xF40..=0xFBC => Some(7),
        _ => None,
    }
}

/// Marks that people leave out when they type a query.
fn is_dropped_mark(code: u32) -> bool {
    matches!(code,
        // Accents that did not melt into a letter, and signs that choose between forms of a picture or an ideograph.
        0x300..=0x36F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F
        // Hebrew points.
        | 0x591..=0x5BD | 0x5BF | 0x5C1 | 0x5C2 | 0x5C4 | 0x5C5 | 0x5C7
        // Arabic vowels; the hamza above or below a letter is no vowel and stays.
        | 0x610..=0x61A | 0x64B..=0x652 | 0x656..=0x65F | 0x670 | 0x6D6..=0x6DC | 0x6DF..=0x6E4 | 0x6E7 | 0x6E8
        | 0x6EA..=0x6ED)
}
