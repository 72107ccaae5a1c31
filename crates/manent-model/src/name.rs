//! Validation of conversation titles entered by users.
//!
//! Only interactive renames are validated. Imported titles are never changed, whatever they contain.

use unicode_segmentation::UnicodeSegmentation;

/// The longest name, in characters as a reader counts them.
pub const GRAPHEMES_MAX: usize = 50;

/// Characters that file systems refuse; people export conversations under their names.
const FORBIDDEN: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];

/// Why a name cannot be given; the code is stable, programs may match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// Nothing but white space.
    #[error("a conversation's name cannot be empty")]
    Empty,
    /// More than 50 characters.
    #[error("a conversation's name has 1 to 50 characters")]
    Length,
    /// One of `/ \ : * ? " < > |`, or a control character: this one.
    #[error("a conversation's name cannot contain {}", shown(*.0))]
    Characters(char),
}

impl NameProblem {
    /// Returns the stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Empty => "name_empty",
            Self::Length => "name_length",
            Self::Characters(_) => "name_characters",
        }
    }

    /// Returns the Chinese message of the design.
    pub const fn chinese(self) -> &'static str {
        match self {
            Self::Empty => "会话名称不能为空",
            Self::Length => "会话名称长度应在 1-50 个字符之间",
            Self::Characters(_) => "会话名称不能包含特殊字符",
        }
    }
}

/// Writes a character so that people can see it.
fn shown(character: char) -> String {
    match character.is_control() {
        true => format!("the control character U+{:04X}", u32::from(character)),
        false => format!("“{character}”"),
    }
}

/// Validates a user-entered title and returns it trimmed.
///
/// Forbidden characters that the present title already contains are accepted, because default and imported titles may
/// contain a colon.
pub fn check_name<'a>(name: &'a str, current: &str) -> Result<&'a str, NameProblem> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(NameProblem::Empty);
    }
    // Counting graphemes of a 10 MB text would cost a second; no name of 50 graphemes we accept is that long.
    if trimmed.graphemes(true).take(GRAPHEMES_MAX + 1).count() > GRAPHEMES_MAX {
        return Err(NameProblem::Length);
    }
    let is_forbidden = |character: &char| FORBIDDEN.contains(character) || character.is_control();
    match trimmed.chars().find(|character| is_forbidden(character) && !current.contains(*character)) {
        Some(character) => Err(NameProblem::Characters(character)),
        None => Ok(trimmed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_counted_as_readers_count() {
        assert_eq!(check_name("  项目技术讨论  ", ""), Ok("项目技术讨论"));
        assert_eq!(check_name(&"👩‍👩‍👧‍👦".repeat(50), "").map(str::len), Ok(25 * 50));
        assert_eq!(check_name(&"👩‍👩‍👧‍👦".repeat(51), ""), Err(NameProblem::Length));
        assert_eq!(check_name(&"名".repeat(51), ""), Err(NameProblem::Length));
    }

    #[test]
    fn the_three_problems_have_stable_codes() {
        assert_eq!(check_name(" \t\u{3000}", "").map_err(NameProblem::code), Err("name_empty"));
        assert_eq!(check_name(&"a".repeat(51), "").map_err(NameProblem::code), Err("name_length"));
        for forbidden in FORBIDDEN {
            assert_eq!(check_name(&format!("a{forbidden}b"), "").map_err(NameProblem::code), Err("name_characters"));
        }
        assert_eq!(check_name("a\0b", "").map_err(NameProblem::code), Err("name_characters"));
        assert_eq!(check_name("Trip 10:45", "New chat 10:30"), Ok("Trip 10:45"), "the colon was there");
        assert_eq!(check_name("Trip/10:45", "New chat 10:30"), Err(NameProblem::Characters('/')));
        assert_eq!(NameProblem::Characters(':').to_string(), "a conversation's name cannot contain “:”");
        assert_eq!(NameProblem::Empty.chinese(), "会话名称不能为空");
    }
}
