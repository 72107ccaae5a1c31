//! Text segmentation into units: the smallest searchable elements of a text.
//!
//! Words of scripts with spaces are units, and so are the parts of `camelCase` and of `gpt4`; in scripts without
//! spaces every character is one, and so is every emoji. Indexing, matching and query parsing use the same
//! segmentation. A change of its results requires a new [`ANALYZER_VERSION`](super::tokens::ANALYZER_VERSION).

use super::char_class::{Class, HAN, class, extends, is_stable};
use super::split::WordSplitter;
use std::ops::{ControlFlow, Range};
use unicode_normalization::UnicodeNormalization;

/// A letter with more marks than this is taken apart; a text of nothing but marks must not be sorted as one letter.
const CLUSTER_MAX: usize = 32;

/// A searchable element of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// How it is compared.
    pub text: &'a str,
    /// Its byte range in the original text.
    pub at: Range<usize>,
    /// The number of its run. Units of one run follow each other with nothing between them.
    pub run: u32,
    /// Its form.
    pub form: Form,
}

/// The form of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A word without parts.
    Word,
    /// One part of a word such as `camelCase`.
    Part,
    /// The whole word, emitted once before its parts.
    Whole {
        /// How many parts follow.
        parts: u8,
    },
    /// A character of a script without spaces.
    Character,
    /// A picture.
    Emoji,
}

/// Calls the visitor with every unit of a text, in order.
pub fn tokenize(text: &str, visit: &mut impl FnMut(Token<'_>)) {
    let all = scan(text, &mut |unit| {
        visit(unit);
        ControlFlow::Continue(())
    });
    debug_assert!(all.is_continue(), "the callback never breaks");
}

/// Calls the visitor with every unit of a text, in order, until it has seen enough.
pub fn scan(text: &str, visit: &mut impl FnMut(Token<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut scanner = Scanner { visit, run: 0, unspaced: None, word: WordSplitter::default() };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() && scanner.word.is_empty() {
            if !byte.is_ascii_alphanumeric() {
                scanner.unspaced = None;
                at += 1;
                continue;
            }
            let end = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            if ends_word(bytes, end) {
                scanner.ascii_word(text, at..end)?;
                at = end;
                continue;
            }
        }
        if is_plain_han(&bytes[at..]) {
            scanner.han(&text[at..at + HAN_BYTES], at)?;
            at += HAN_BYTES;
            continue;
        }
        at = scanner.cluster(text, at)?;
    }
    scanner.end_word()
}

/// How many bytes a common ideograph takes.
const HAN_BYTES: usize = 3;

/// Returns whether a text begins with a common ideograph, U+4E00 to U+9FFF, that does not compose with the next
/// character; may return false negatives. Most characters of Chinese texts are like this and need no tables.
fn is_plain_han(bytes: &[u8]) -> bool {
    let is_han = match bytes {
        [0xE4, second, _, ..] => *second >= 0xB8,
        [0xE5..=0xE9, _, _, ..] => true,
        _ => false,
    };
    is_han
        && match &bytes[HAN_BYTES..] {
            // ASCII, U+4000 to U+9FFF, and the punctuation of Chinese texts.
            [] | [0..=0x7F | 0xE4..=0xE9, ..] | [0xE3, 0x80, 0x80..=0x91, ..] | [0xEF, 0xBC, ..] => true,
            _ => false,
        }
}

/// Returns whether a word that ends here cannot continue. An apostrophe may continue it, and so may most non-ASCII
/// characters.
fn ends_word(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end) {
        None => true,
        Some(b'\'') => bytes.get(end + 1).is_none_or(|next| next.is_ascii() && !next.is_ascii_alphanumeric()),
        Some(byte) => byte.is_ascii(),
    }
}

struct Scanner<'v, V> {
    visit: &'v mut V,
    run: u32,
    /// The script of the run of characters that we are in.
    unspaced: Option<u16>,
    word: WordSplitter,
}

impl<V: FnMut(Token<'_>) -> ControlFlow<()>> Scanner<'_, V> {
    /// Emits a whole word of ASCII letters and digits.
    fn ascii_word(&mut self, text: &str, at: Range<usize>) -> ControlFlow<()> {
        let written = &text[at.clone()];
        let bytes = written.as_bytes();
        self.unspaced = None;
        let rest_is_lower = bytes[1..].iter().all(u8::is_ascii_lowercase);
        if rest_is_lower && bytes[0].is_ascii_lowercase() || bytes.iter().all(u8::is_ascii_digit) {
            self.run += 1;
            return (self.visit)(Token { text: written, at, run: self.run, form: Form::Word });
        }
        if rest_is_lower && bytes[0].is_ascii_uppercase() {
            self.run += 1;
            let folded = self.word.lower(written);
            return (self.visit)(Token { text: folded, at, run: self.run, form: Form::Word });
        }
        for (place, byte) in bytes.iter().enumerate() {
            let start = at.start + place;
            self.word.push(*byte as char, class(*byte as char), start..start + 1);
        }
        self.end_word()
    }

    /// Takes a common ideograph.
    fn han(&mut self, written: &str, start: usize) -> ControlFlow<()> {
        self.end_word()?;
        self.begin_unspaced(HAN);
        let at = start..start + written.len();
        (self.visit)(Token { text: written, at, run: self.run, form: Form::Character })
    }

    fn begin_unspaced(&mut self, script: u16) {
        if self.unspaced != Some(script) {
            self.run += 1;
            self.unspaced = Some(script);
        }
    }

    /// Takes a character with the marks behind it, and returns where the next one begins.
    fn cluster(&mut self, text: &str, start: usize) -> ControlFlow<(), usize> {
        let mut characters = text[start..].char_indices();
        let base = characters.next().map_or(' ', |(_, first)| first);
        let mut end = start + base.len_utf8();
        let mut single = true;
        if text.as_bytes().get(end).is_some_and(|byte| !byte.is_ascii()) {
            for (offset, next) in characters.take(CLUSTER_MAX) {
                if !extends(next) {
                    break;
                }
                single = false;
                end = start + offset + next.len_utf8();
            }
        }
        if single && is_stable(base) {
            self.push(base, start..end)?;
        } else if let ('！'..='～', true) = (base, single) {
            // The wide form of an ASCII character: the punctuation of Chinese texts.
            self.push(char::from((base as u32 - 0xFEE0) as u8), start..end)?;
        } else {
            for character in text[start..end].nfkc() {
                self.push(character, start..end)?;
            }
        }
        ControlFlow::Continue(end)
    }

    fn push(&mut self, character: char, at: Range<usize>) -> ControlFlow<()> {
        match class(character) {
            class @ (Class::Letter(_) | Class::Digit) => {
                self.unspaced = None;
                self.word.push(character, class, at);
            }
            Class::Mark => self.word.push_mark(character, at),
            Class::Apostrophe if self.word.take_apostrophe() => {}
            Class::Ignored => {}
            Class::ZeroWidthSpace if self.unspaced.is_some() => {}
            Class::Unspaced(script) => {
                self.end_word()?;
                self.begin_unspaced(script);
                return self.single(character, at, Form::Character);
            }
            Class::Emoji => {
                self.end_word()?;
                self.unspaced = None;
                self.run += 1;
                return self.single(character, at, Form::Emoji);
            }
            Class::Apostrophe | Class::ZeroWidthSpace | Class::Separator => {
                self.unspaced = None;
                return self.end_word();
            }
        }
        ControlFlow::Continue(())
    }

    fn single(&mut self, character: char, at: Range<usize>, form: Form) -> ControlFlow<()> {
        let mut space = [0; 4];
        (self.visit)(Token { text: character.encode_utf8(&mut space), at, run: self.run, form })
    }

    fn end_word(&mut self) -> ControlFlow<()> {
        if self.word.is_empty() {
            return ControlFlow::Continue(());
        }
        self.run += 1;
        let done = self.word.tokenize(self.run, self.visit);
        self.word.clear();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut shown = String::new();
        let mut last = 0;
        tokenize(text, &mut |unit| {
            assert!(text.get(unit.at.clone()).is_some_and(|written| !written.is_empty()), "{text}: {unit:?}");
            shown.push_str(if shown.is_empty() {
                ""
            } else if unit.run == last {
                " "
            } else {
                " | "
            });
            last = unit.run;
            match unit.form {
                Form::Whole { .. } => shown.push_str(&format!("{}:", unit.text)),
                _ => shown.push_str(unit.text),
            }
        });
        shown
    }

    #[test]
    fn texts_fall_into_units() {
        for (text, units) in [
            ("", ""),
            (" \t!?… ", ""),
            ("Hello, World 42", "hello | world | 42"),
            ("snake_case kebab-case a.b.c 3.14", "snake | case | kebab | case | a | b | c | 3 | 14"),
            ("https://example.com/a?b=c", "https | example | com | a | b | c"),
            ("/usr/local/Lib", "usr | local | lib"),
            ("camelCase HTTPServer", "camelcase: camel case | httpserver: http server"),
            ("gpt4 sha256 IPv4 APIs", "gpt4: gpt 4 | sha256: sha 256 | ipv4: ip v 4 | apis: api s"),
            ("parseHTTPBody2", "parsehttpbody2: parse http body 2"),
            ("deadBEEF01cafe23", "deadbeef01cafe23"),
            (
                "AbstractSingletonProxyFactoryBean",
                "abstractsingletonproxyfactorybean: abstract singleton proxy factory bean",
            ),
            ("aBcDeFgHiJ", "abcdefghij"),
            ("don't l’amour 'quoted' rock'n'roll", "dont: don t | lamour: l amour | quoted | rocknroll: rock n roll"),
            ("it's5 a''b x' y", "its5: it s 5 | a | b | x | y"),
            ("重跑gen-itgc后", "重 跑 | gen | itgc | 后"),
            ("検索カタカナｶﾞｷﾞー", "検 索 カ タ カ ナ ガ ギ ー"),
            ("한국어검색 카", "한 국 어 검 색 | 카"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            ("สวัสดี", "ส ว ั ส ด ี"),
            ("中文ไทย한", "中 文 | ไ ท ย | 한"),
            ("人々〇", "人 々 〇"),
            ("café CAFE\u{301} Ångström straße", "cafe | cafe | angstrom | strasse"),
            ("Σίσυφος ΣΊΣΥΦΟΣ", "σισυφοσ | σισυφοσ"),
            ("молоко́ Ёлка йод", "молоко | елка | йод"),
            ("مُحَمَّد محـــمد", "محمد | محمد"),
            ("שָׁלוֹם שלום", "שלום | שלום"),
            ("हिन्दी", "हिन्दी"),
            ("ＡＢＣ　１２３ ﬁne ①", "abc | 123 | fine | 1"),
            ("👍🏽 👍 ❤️ 👩‍💻", "👍 | 👍 | ❤ | 👩 | 💻"),
            ("ok👍好", "ok | 👍 | 好"),
            ("zero\u{200b}width 中\u{200b}文 so\u{ad}ft", "zero | width | 中 文 | soft"),
            ("እንኳን ደህና መጣችሁ", "እንኳን | ደህና | መጣችሁ"),
            ("приветworld", "приветworld: привет world"),
            ("İstanbul ISTANBUL", "istanbul | istanbul"),
        ] {
            assert_eq!(shown(text), units, "{text}");
        }
    }

    #[test]
    fn a_unit_stands_where_it_was_written() {
        for (text, word, written) in [
            ("xx CAFE\u{301}! yy", "cafe", "CAFE\u{301}"),
            ("xx ｶﾞ", "ガ", "ｶﾞ"),
            ("xx \u{1112}\u{1161}\u{11ab}y", "한", "\u{1112}\u{1161}\u{11ab}"),
            ("xx parseHTTPBody", "http", "HTTP"),
            ("xx APIs", "api", "API"),
            ("xx l'amour", "l", "l"),
            ("xx l'amour", "amour", "amour"),
            ("xx l'amour", "lamour", "l'amour"),
            ("xx 👍🏽y", "👍", "👍🏽"),
            ("㍿", "会", "㍿"),
        ] {
            let mut found = None;
            tokenize(text, &mut |unit| {
                if unit.text == word {
                    found = Some(unit.at);
                }
            });
            assert_eq!(found.map(|at| &text[at]), Some(written), "{text}");
        }
    }

    #[test]
    fn an_ideograph_is_a_unit_whatever_follows() {
        // The slow path through the tables must give the result of the fast path.
        let mut plain = 0;
        for next in (1..=0x10_FFFF).filter_map(char::from_u32) {
            for first in ['一', '鿿'] {
                let text = format!("{first}{next}");
                if is_plain_han(text.as_bytes()) {
                    plain += 1;
                    assert!(!extends(next) && class(first) == Class::Unspaced(HAN) && is_stable(first), "{next:?}");
                }
            }
        }
        assert_eq!(plain, 2 * (0x7F + 0x6000 + 18 + 64));
        for no in ["", "a", "䷿", "中\u{3099}", "é"] {
            assert!(!is_plain_han(no.as_bytes()), "{no}");
        }
    }
}
