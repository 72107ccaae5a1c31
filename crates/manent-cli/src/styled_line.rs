//! A line on a terminal: characters in styles, measured in columns. Nothing in it moves the cursor.

use crate::output::visible;
use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// Characters, each with how it looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledLine {
    characters: Vec<(char, Style)>,
}

impl StyledLine {
    /// Returns a line with a text.
    pub fn of(text: &str, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text, style);
        line
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str, style: Style) {
        self.push_marked(text, &[], style, style);
    }

    /// Adds a text in which some characters, from the first one to the one behind the last, look otherwise.
    pub fn push_marked(&mut self, text: &str, marks: &[(u32, u32)], style: Style, mark: Style) {
        let mut marks = marks.iter().copied().peekable();
        for (number, character) in text.chars().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            while marks.next_if(|(_, end)| *end <= number).is_some() {}
            let is_marked = marks.peek().is_some_and(|(start, _)| *start <= number);
            let character = if character.is_control() { ' ' } else { character };
            if visible(&character) {
                self.characters.push((character, if is_marked { mark } else { style }));
            }
        }
    }

    /// Adds another line.
    pub fn extend(&mut self, other: Self) {
        self.characters.extend(other.characters);
    }

    /// How many columns it takes; Chinese takes two a character.
    pub fn width(&self) -> usize {
        self.characters.iter().map(|(character, _)| columns(*character)).sum()
    }

    /// Returns whether any character has a style.
    pub fn has(&self, style: Style) -> bool {
        self.characters.iter().any(|(_, other)| *other == style)
    }

    /// Drops leading characters so that the first characters in a style fit within a width, if they can.
    pub fn near(mut self, style: Style, width: usize) -> Self {
        let Some(first) = self.characters.iter().position(|(_, other)| *other == style) else { return self };
        let run = self.characters[first..].iter().take_while(|(_, other)| *other == style).count();
        let columns_of = |characters: &[(char, Style)]| characters.iter().map(|(one, _)| columns(*one)).sum::<usize>();
        if columns_of(&self.characters[..first + run]) < width {
            return self;
        }
        // Half of the room that is left shows what leads to it.
        let lead = width.saturating_sub(columns_of(&self.characters[first..first + run])) / 2;
        let mut start = first;
        while start > 0 && columns_of(&self.characters[start - 1..first]) < lead {
            start -= 1;
        }
        self.characters.drain(..start);
        self.characters.insert(0, ('…', Style::new()));
        self
    }

    /// Cuts it to a width.
    pub fn cut(mut self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let (mut used, mut kept) = (0, 0);
        for (character, _) in &self.characters {
            used += columns(*character);
            if used + 1 > width {
                break;
            }
            kept += 1;
        }
        self.characters.truncate(kept);
        if width > 0 {
            self.push("…", Style::new());
        }
        self
    }

    /// Cuts or fills it to a width.
    pub fn filled(self, width: usize) -> Self {
        let mut line = self.cut(width);
        let missing = width.saturating_sub(line.width());
        line.push(&" ".repeat(missing), Style::new());
        line
    }

    /// Breaks it into lines of a width, at a space where there is one.
    pub fn wrapped(self, width: usize) -> Vec<Self> {
        let width = width.max(2);
        let (mut lines, mut line, mut used) = (Vec::new(), Self::default(), 0);
        for (character, style) in self.characters {
            if used + columns(character) > width {
                let rest = line.split_at_space();
                used = rest.width();
                lines.push(std::mem::replace(&mut line, rest));
            }
            used += columns(character);
            line.characters.push((character, style));
        }
        lines.push(line);
        lines
    }

    /// Splits off the text behind the last space, if the space is in the second half.
    fn split_at_space(&mut self) -> Self {
        let space = self.characters.iter().rposition(|(character, _)| *character == ' ');
        match space.filter(|space| *space >= self.characters.len() / 2) {
            Some(space) => Self { characters: self.characters.split_off(space + 1) },
            None => Self::default(),
        }
    }

    /// Writes it with the styles.
    pub fn styled(&self) -> String {
        let (mut text, mut now) = (String::new(), Style::new());
        for (character, style) in &self.characters {
            if *style != now {
                text.push_str(&format!("{}{}", now.render_reset(), style.render()));
                now = *style;
            }
            text.push(*character);
        }
        text + &now.render_reset().to_string()
    }

    /// Writes it without.
    pub fn plain(&self) -> String {
        self.characters.iter().map(|(character, _)| *character).collect()
    }
}

fn columns(character: char) -> usize {
    character.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    const RED: Style = AnsiColor::Red.on_default();

    #[test]
    fn chinese_takes_two_columns_wherever_a_line_ends() {
        let line = StyledLine::of("北京天气", Style::new());
        assert_eq!((line.width(), line.clone().cut(5).plain()), (8, "北京…".to_owned()));
        assert_eq!(line.clone().filled(6).plain(), "北京… ");
        let wrapped: Vec<String> = line.wrapped(5).iter().map(StyledLine::plain).collect();
        assert_eq!(wrapped, ["北京", "天气"]);
        let wrapped: Vec<String> =
            StyledLine::of("one two three", RED).wrapped(9).iter().map(StyledLine::plain).collect();
        assert_eq!(wrapped, ["one two ", "three"]);
        for width in 0..4 {
            assert!(StyledLine::of("北e\u{301}", RED).cut(width).width() <= width);
        }
    }

    #[test]
    fn what_is_marked_is_in_view() {
        let mut line = StyledLine::of("a long way to go until ", Style::new());
        line.push("高铁", RED);
        line.push(" and further", Style::new());
        assert_eq!(line.clone().near(RED, 60), line);
        assert_eq!(line.clone().near(RED, 20).cut(20).plain(), "… until 高铁 and fu…");
        for width in 0..8 {
            assert!(line.clone().near(RED, width).cut(width).width() <= width);
        }
    }

    #[test]
    fn marks_stay_on_their_characters_whatever_is_left_out() {
        let mut line = StyledLine::default();
        line.push_marked("a\u{202e}b\u{1b}[31mc", &[(2, 3), (3, 4), (9, 99)], Style::new(), RED);
        assert_eq!(line.plain(), "ab [31mc");
        let red = format!("a{}b {}[31mc", RED.render(), RED.render_reset());
        assert_eq!(line.styled(), red);
    }
}
