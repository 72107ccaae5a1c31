//! Terms: the words and phrases of a query.

use super::index_query::IndexQuery;
use super::tokenize::{Form, tokenize};
use super::tokens::{TOKEN_CHARACTERS_MAX, cut};

/// A word or a phrase. Its elements are consecutive in a matching text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// As it was written, without quotation marks.
    pub written: String,
    /// The units of it, at least one.
    pub elements: Vec<Element>,
    /// Groups of elements that also match as one word.
    pub wholes: Vec<Whole>,
    /// The last word is a prefix.
    pub prefix: bool,
    /// Its number in the query, by which it is reported.
    pub(crate) number: usize,
}

/// One unit of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// How it is compared.
    pub text: String,
    /// Whether it is a character of a script without spaces, which matches inside words.
    pub character: bool,
    /// Whether it must follow the previous element without a gap.
    pub glued: bool,
}

/// Several elements as one word: `camelCase` as `camelcase`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// How it is compared.
    pub text: String,
    /// The first element.
    pub first: usize,
    /// The last element.
    pub last: usize,
}

impl Term {
    /// Takes a text apart; nothing if there is nothing in it to find.
    pub(crate) fn new(written: &str, prefix: bool, number: usize) -> Option<Self> {
        let mut term = Self { written: written.to_owned(), elements: Vec::new(), wholes: Vec::new(), prefix, number };
        let mut run = 0;
        let mut last_is_word = false;
        tokenize(written, &mut |unit| match unit.form {
            Form::Whole { parts } => {
                let first = term.elements.len();
                let last = first + usize::from(parts) - 1;
                term.wholes.push(Whole { text: unit.text.to_owned(), first, last });
            }
            form => {
                let (character, glued) = (form == Form::Character, unit.run == run);
                term.elements.push(Element { text: unit.text.to_owned(), character, glued });
                run = unit.run;
                last_is_word = matches!(form, Form::Word | Form::Part);
            }
        });
        // A character or a picture is found whatever follows it.
        term.prefix = prefix && last_is_word;
        (!term.elements.is_empty()).then_some(term)
    }

    /// Returns the index condition that every text with the term satisfies.
    pub(crate) fn candidates(&self) -> IndexQuery {
        let mut all = Vec::new();
        let mut at = 0;
        while at < self.elements.len() {
            if let Some(whole) = self.wholes.iter().find(|whole| whole.first == at) {
                let parts = (whole.first..=whole.last).map(|place| self.word(place)).collect();
                let ends = whole.last + 1 == self.elements.len();
                all.push(IndexQuery::any(vec![IndexQuery::all(parts), word(&whole.text, ends && self.prefix)]));
                at = whole.last + 1;
                continue;
            }
            let element = &self.elements[at];
            let next = self.elements.get(at + 1).filter(|next| next.glued && next.character);
            match next {
                Some(next) if element.character => {
                    all.push(IndexQuery::Token(format!("{}{}", element.text, next.text)));
                    // The last pair of a run holds its last character.
                    let goes_on = self.elements.get(at + 2).is_some_and(|after| after.glued && after.character);
                    at += if goes_on { 1 } else { 2 };
                }
                _ if element.character => {
                    all.push(IndexQuery::Prefix(element.text.clone()));
                    at += 1;
                }
                _ => {
                    all.push(self.word(at));
                    at += 1;
                }
            }
        }
        IndexQuery::all(all)
    }

    fn word(&self, place: usize) -> IndexQuery {
        word(&self.elements[place].text, self.prefix && place + 1 == self.elements.len())
    }

    /// Returns its number of words; two characters of a script without spaces count as one.
    pub(crate) fn words(&self) -> usize {
        let characters = self.elements.iter().filter(|element| element.character).count();
        self.elements.len() - characters + characters.div_ceil(2)
    }

    /// Returns whether the index alone decides about it: it is a single token that was not truncated.
    pub(crate) fn is_one_token(&self) -> bool {
        match &self.elements[..] {
            [one] => one.character || one.text.chars().count() < TOKEN_CHARACTERS_MAX,
            [one, two] => one.character && two.character && two.glued,
            _ => false,
        }
    }
}

fn word(text: &str, prefix: bool) -> IndexQuery {
    let token = cut(text).to_owned();
    if prefix { IndexQuery::Prefix(token) } else { IndexQuery::Token(token) }
}
