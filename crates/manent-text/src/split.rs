//! Word builder, and splitting of compound words into parts.

use super::char_class::Class;
use super::normalize::push_letter;
use super::tokenize::{Form, Token};
use std::ops::{ControlFlow, Range};

/// A word with more parts is one unit: hexadecimal and base64 texts would fill the index with fragments.
const PARTS_MAX: usize = 4;

/// A long identifier of real words may have more parts, if they are letters and this long on average.
const LONG_NAME_PARTS_MAX: usize = 16;
const LONG_NAME_PART_BYTES: usize = 4;

/// A word that is built letter by letter.
#[derive(Default)]
pub(crate) struct WordSplitter {
    /// The letters so far, folded.
    text: String,
    parts: Vec<Part>,
    /// Whether parts were discarded because the word has too many.
    more_parts: bool,
    has_digit: bool,
    last: Option<Last>,
    /// The first small letter after capitals; whether it begins a part is known one letter later.
    case_change: Option<CaseChange>,
    after_apostrophe: bool,
    end: usize,
}

/// Start of a part in the folded text, and its range in the original text.
struct Part {
    text_start: usize,
    at: Range<usize>,
}

/// The letter that was pushed last.
struct Last {
    class: Class,
    upper: bool,
    /// It is the second upper case letter in a row or a later one.
    upper_again: bool,
    text_start: usize,
    start: usize,
    end_before: usize,
}

/// Where the small letter begins, and where the capital before it ends.
struct CaseChange {
    text_start: usize,
    start: usize,
    end_before: usize,
}

impl WordSplitter {
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.parts.clear();
        (self.more_parts, self.has_digit, self.after_apostrophe) = (false, false, false);
        (self.last, self.case_change) = (None, None);
    }

    /// Returns a text in lower case; must not be called while a word is being built.
    pub(crate) fn lower(&mut self, ascii: &str) -> &str {
        self.text.clear();
        self.text.push_str(ascii);
        self.text.make_ascii_lowercase();
        &self.text
    }

    /// Adds a letter or a digit, and begins a part where a reader sees one begin.
    pub(crate) fn push(&mut self, character: char, class: Class, at: Range<usize>) {
        let upper = character.is_uppercase();
        let mut upper_again = false;
        if self.last.is_none() {
            self.text.clear();
        }
        let text_start = self.text.len();
        match &self.last {
            None => self.begin_part(0, at.clone()),
            Some(last) => {
                let same = class == last.class && !self.after_apostrophe;
                upper_again = upper && last.upper && same;
                let (falls, rises) = (same && !upper && last.upper_again, upper && !last.upper);
                let (capital_text, capital, end_before) = (last.text_start, last.start, last.end_before);
                if self.case_change.is_some() && (!same || upper) {
                    self.keep_capitals();
                }
                self.case_change = None;
                if falls {
                    self.case_change = Some(CaseChange { text_start, start: at.start, end_before: self.end });
                    self.end_part(end_before);
                    self.begin_part(capital_text, capital..at.end);
                } else if !same || rises {
                    self.end_part(self.end);
                    self.begin_part(text_start, at.clone());
                }
            }
        }
        self.has_digit |= class == Class::Digit;
        push_letter(character, &mut self.text);
        self.after_apostrophe = false;
        let end_before = std::mem::replace(&mut self.end, at.end);
        self.last = Some(Last { class, upper, upper_again, text_start, start: at.start, end_before });
    }

    /// Gives the last capital back to those before it: HTTPServer is HTTP and Server, but APIs is API and s.
    fn keep_capitals(&mut self) {
        if let (Some(fallen), false, [.., before, part]) = (&self.case_change, self.more_parts, &mut self.parts[..]) {
            before.at.end = fallen.end_before;
            part.text_start = fallen.text_start;
            part.at.start = fallen.start;
        }
    }

    /// Adds a mark that belongs to the letter before it, if there is one.
    pub(crate) fn push_mark(&mut self, mark: char, at: Range<usize>) {
        if !self.is_empty() {
            self.text.push(mark);
            self.end = at.end;
        }
    }

    /// Adds an apostrophe to the word if it can continue there, and returns whether it did.
    pub(crate) fn take_apostrophe(&mut self) -> bool {
        let takes = matches!(self.last, Some(Last { class: Class::Letter(_), .. })) && !self.after_apostrophe;
        self.after_apostrophe = takes;
        takes
    }

    fn begin_part(&mut self, text_start: usize, at: Range<usize>) {
        match self.parts.len() < LONG_NAME_PARTS_MAX {
            true => self.parts.push(Part { text_start, at }),
            false => self.more_parts = true,
        }
    }

    fn end_part(&mut self, end: usize) {
        if let Some(part) = self.parts.last_mut()
            && !self.more_parts
        {
            part.at.end = end;
        }
    }

    /// Emits the word, and its parts if they are useful.
    pub(crate) fn tokenize(
        &mut self,
        run: u32,
        visit: &mut impl FnMut(Token<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.keep_capitals();
        self.end_part(self.end);
        let count = self.parts.len();
        let at = self.parts.first().map_or(0, |part| part.at.start)..self.end;
        let long_name = !self.has_digit && !self.more_parts && self.text.len() >= count * LONG_NAME_PART_BYTES;
        if count < 2 || count > PARTS_MAX && !long_name {
            return visit(Token { text: &self.text, at, run, form: Form::Word });
        }
        visit(Token { text: &self.text, at, run, form: Form::Whole { parts: count as u8 } })?;
        for (place, part) in self.parts.iter().enumerate() {
            let end = self.parts.get(place + 1).map_or(self.text.len(), |next| next.text_start);
            let text = &self.text[part.text_start..end];
            visit(Token { text, at: part.at.clone(), run, form: Form::Part })?;
        }
        ControlFlow::Continue(())
    }
}
