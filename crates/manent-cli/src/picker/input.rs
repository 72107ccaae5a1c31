//! Single-line text editor.

use crate::styled_line::StyledLine;
use anstyle::Style;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The maximum length of a query.
const CHARACTERS_MAX: usize = 1_000;

/// A text with a cursor in it.
#[derive(Default)]
pub struct Input {
    characters: Vec<char>,
    cursor: usize,
}

impl Input {
    /// Starts with a text and the cursor behind it.
    pub fn of(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    pub fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// Applies a key, and returns whether the text changed.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        let before = self.characters.clone();
        match emacs_key(key) {
            (KeyCode::Char(character), false) => self.insert(character.encode_utf8(&mut [0; 4])),
            (KeyCode::Backspace, _) if self.cursor > 0 => {
                self.cursor -= 1;
                self.characters.remove(self.cursor);
            }
            (KeyCode::Delete, _) if self.cursor < self.characters.len() => {
                self.characters.remove(self.cursor);
            }
            (KeyCode::Left, _) => self.cursor = self.cursor.saturating_sub(1),
            (KeyCode::Right, _) => self.cursor = (self.cursor + 1).min(self.characters.len()),
            (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::End, _) => self.cursor = self.characters.len(),
            (KeyCode::Char('u'), true) => {
                self.characters.drain(..std::mem::take(&mut self.cursor));
            }
            (KeyCode::Char('k'), true) => self.characters.truncate(self.cursor),
            (KeyCode::Char('w'), true) => {
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

    /// Inserts a text at the cursor; control characters become spaces.
    pub fn insert(&mut self, text: &str) {
        let room = CHARACTERS_MAX.saturating_sub(self.characters.len());
        let clean: Vec<char> =
            text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(room).collect();
        let count = clean.len();
        self.characters.splice(self.cursor..self.cursor, clean);
        self.cursor += count;
    }

    /// Returns the part around the cursor that fits into a width, and the column of the cursor.
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

/// Maps the control keys of shells to the keys that they stand for; returns also whether Control is held.
fn emacs_key(key: KeyEvent) -> (KeyCode, bool) {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let code = match key.code {
        KeyCode::Char('h') if is_control => KeyCode::Backspace,
        KeyCode::Char('d') if is_control => KeyCode::Delete,
        KeyCode::Char('b') if is_control => KeyCode::Left,
        KeyCode::Char('f') if is_control => KeyCode::Right,
        KeyCode::Char('a') if is_control => KeyCode::Home,
        KeyCode::Char('e') if is_control => KeyCode::End,
        code => code,
    };
    (code, is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(letter: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut input = Input::of("两个 words");
        assert!(input.press(control('w')));
        assert_eq!(input.text(), "两个 ");
        input.insert("词\n\u{1b}x");
        assert_eq!(input.text(), "两个 词  x");
        assert!(
            !input.press(KeyCode::Home.into()) && !input.press(KeyCode::Backspace.into()) && input.press(control('d'))
        );
        assert!(!input.press(KeyCode::Right.into()) && input.press(control('u')));
        assert_eq!(input.text(), " 词  x");
        assert!(input.press(control('k')) && input.text().is_empty());
        input.insert(&"长".repeat(2_000));
        assert_eq!(input.text().chars().count(), CHARACTERS_MAX);
        for width in 0..9 {
            let (line, column) = input.shown(width);
            assert!(line.width() <= width && column <= width, "{width}: {column}");
        }
    }
}
