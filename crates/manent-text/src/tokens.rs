//! Tokenizer: the index tokens of a text.
//!
//! Words and their parts are tokens. A run of a script without spaces gives its overlapping bigrams, and its last
//! character alone, so that each character begins a token and a query of one character is a prefix query. The index
//! stores no positions: it finds candidates, and the text decides.

use super::tokenize::{Form, tokenize};
use std::collections::HashSet;

/// Changes whenever the same text gives other tokens; an index of another version is built anew.
pub const ANALYZER_VERSION: u32 = 1;

/// The first character of tokens that are not of a text: roles, tools and the like. No token of a text begins so.
pub const RESERVED: char = '\u{E000}';

/// Longer tokens are truncated; the truncated token still finds the text, which then decides.
pub const TOKEN_CHARACTERS_MAX: usize = 64;

/// Calls the visitor with every token of a text; tokens may repeat.
pub fn tokens(text: &str, visit: &mut impl FnMut(&str)) {
    let mut pair = Pair::default();
    tokenize(text, &mut |unit| match unit.form {
        Form::Character => {
            if pair.run != unit.run {
                pair.end(visit);
                pair.run = unit.run;
            }
            pair.push(unit.text, visit);
        }
        Form::Word | Form::Part | Form::Whole { .. } | Form::Emoji => visit(cut(unit.text)),
    });
    pair.end(visit);
}

/// Returns the tokens of several texts, each once, in order.
pub fn distinct_tokens<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    for text in texts {
        tokens(text, &mut |token| {
            if !seen.contains(token) {
                seen.insert(token.to_owned());
            }
        });
    }
    let mut distinct: Vec<String> = seen.into_iter().collect();
    distinct.sort_unstable();
    distinct
}

/// Returns a token as the index holds it.
pub(crate) fn cut(token: &str) -> &str {
    // No character takes less than a byte, so most tokens are not counted.
    match token.len() > TOKEN_CHARACTERS_MAX {
        true => token.char_indices().nth(TOKEN_CHARACTERS_MAX).map_or(token, |(end, _)| &token[..end]),
        false => token,
    }
}

/// The character before, waiting for the next of its run.
#[derive(Default)]
struct Pair {
    text: String,
    run: u32,
}

impl Pair {
    fn push(&mut self, character: &str, visit: &mut impl FnMut(&str)) {
        if !self.text.is_empty() {
            let first = self.text.len();
            self.text.push_str(character);
            visit(&self.text);
            self.text.drain(..first);
        } else {
            self.text.push_str(character);
        }
    }

    fn end(&mut self, visit: &mut impl FnMut(&str)) {
        if !self.text.is_empty() {
            visit(&self.text);
            self.text.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_holds_words_parts_and_pairs() {
        for (text, expected) in [
            ("camelCase case", "camel camelcase case"),
            ("重跑gen-itgc后", "gen itgc 后 跑 重跑"),
            ("部署。检索", "检索 索 署 部署"),
            ("한국어 👍🏽", "국어 어 한국 👍"),
            ("!!!", ""),
        ] {
            assert_eq!(distinct_tokens([text]).join(" "), expected, "{text}");
        }
        assert_eq!(distinct_tokens(["b a", "a c"]), ["a", "b", "c"]);
    }

    #[test]
    fn a_long_token_is_cut_at_a_character() {
        for letter in ["x", "ж"] {
            assert_eq!(distinct_tokens([letter.repeat(65).as_str()]), [letter.repeat(64)]);
            assert_eq!(distinct_tokens([letter.repeat(64).as_str()]), [letter.repeat(64)]);
        }
    }

    #[test]
    fn no_token_of_a_text_is_reserved_or_holds_white_space() {
        let all: String =
            (0..=0x10_FFFF).filter_map(char::from_u32).flat_map(|character| ['a', character, '中']).collect();
        for text in [all.as_str(), "\u{E000}role:user", "a\u{E000}b\0c\u{7}"] {
            tokens(text, &mut |token| {
                assert!(!token.is_empty() && !token.starts_with('\u{E000}'), "{token:?}");
                assert!(
                    !token.chars().any(|character| character.is_whitespace() || character.is_control()),
                    "{token:?}"
                );
            });
        }
    }
}
