//! The line that somebody types.

use super::keys::Key;
use crate::styled_line::StyledLine;
use anstyle::Style;

/// A query takes no more, so neither does the line.
const CHARACTERS_MAX: usize = 1_000;

/// A text with a cursor in it.
#[derive(Default)]
pub struct Input {
    characters: Vec<char>,
    cursor: usize,
}

impl Input {
    /// Begins with a text, the cursor behind it.
    pub fn of(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    /// What was typed.
    pub fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// Does what a key asks for, and says whether the text is another one now.
    pub fn takes(&mut self, key: &Key) -> bool {
        let before = self.characters.clone();
        match key {
            Key::Text(text) => self.insert(text),
            Key::Backspace | Key::Control('h') if self.cursor > 0 => {
                self.cursor -= 1;
                self.characters.remove(self.cursor);
            }
            Key::Delete | Key::Control('d') if self.cursor < self.characters.len() => {
                self.characters.remove(self.cursor);
            }
            Key::Left | Key::Control('b') => self.cursor = self.cursor.saturating_sub(1),
            Key::Right | Key::Control('f') => self.cursor = (self.cursor + 1).min(self.characters.len()),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = self.characters.len(),
            Key::Control('u') => {
                self.characters.drain(..std::mem::take(&mut self.cursor));
            }
            Key::Control('k') => self.characters.truncate(self.cursor),
            Key::Control('w') => {
                let is_space = |character: &char| character.is_whitespace();
                let left = &self.characters[..self.cursor];
                let words = left.iter().rposition(|character| !is_space(character)).map_or(0, |last| last + 1);
                let start = left[..words].iter().rposition(is_space).map_or(0, |space| space + 1);
                self.characters.drain(start..self.cursor);
                self.cursor = start;
            }
            _ => {}
        }
        self.characters != before
    }

    fn insert(&mut self, text: &str) {
        let room = CHARACTERS_MAX.saturating_sub(self.characters.len());
        let clean: Vec<char> =
            text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(room).collect();
        let count = clean.len();
        self.characters.splice(self.cursor..self.cursor, clean);
        self.cursor += count;
    }

    /// Shows as much as fits around the cursor, and in which column that is.
    pub fn shown(&self, width: usize) -> (StyledLine, usize) {
        let line = |characters: &[char]| StyledLine::of(&characters.iter().collect::<String>(), Style::new());
        let mut first = 0;
        while first < self.cursor && line(&self.characters[first..self.cursor]).width() >= width.max(1) {
            first += 1;
        }
        let column = line(&self.characters[first..self.cursor]).width();
        (line(&self.characters[first..]).cut(width), column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut input = Input::of("两个 words");
        assert!(input.takes(&Key::Control('w')));
        assert_eq!(input.text(), "两个 ");
        assert!(input.takes(&Key::Text("词\n\u{1b}x".to_owned())));
        assert_eq!(input.text(), "两个 词  x");
        assert!(!input.takes(&Key::Home) && !input.takes(&Key::Backspace) && input.takes(&Key::Delete));
        assert!(!input.takes(&Key::Right) && input.takes(&Key::Control('u')));
        assert_eq!(input.text(), " 词  x");
        assert!(input.takes(&Key::Control('k')) && input.text().is_empty());
        input.takes(&Key::Text("长".repeat(2_000)));
        assert_eq!(input.text().chars().count(), CHARACTERS_MAX);
        for width in 0..9 {
            let (line, column) = input.shown(width);
            assert!(line.width() <= width && column <= width, "{width}: {column}");
        }
    }
}
