//! Readable file names that are valid on every system.

use crate::core::names::Names;

/// Longer names are cut: some systems count bytes, and a character may have four.
const LETTERS_MAX: usize = 50;

/// Names that Windows keeps for itself.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Reserves a free name for a title, or for the replacement if the title is empty.
pub(super) fn file_name(names: &mut Names, title: &str, instead: &str, end: &str) -> String {
    let is_odd =
        |letter: char| letter.is_control() || matches!(letter, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let plain: String =
        title.chars().map(|letter| if is_odd(letter) { '_' } else { letter }).take(LETTERS_MAX).collect();
    // A dot in front hides a file, and Windows drops those at the end.
    let plain = plain.trim_matches(|letter: char| letter == '.' || letter.is_whitespace());
    let is_hidden = |letter: char| letter.is_whitespace() || letter == '_' || is_unseen(letter);
    let lower = plain.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let numbered = ["com", "lpt"].iter().any(|port| stem.strip_prefix(port).is_some_and(|rest| rest.len() == 1));
    let name = match plain {
        plain if plain.chars().all(is_hidden) => instead.to_owned(),
        plain if numbered || RESERVED.contains(&stem) => format!("_{plain}"),
        plain => plain.to_owned(),
    };
    names.unique(&name, end)
}

/// Letters without a shape, and those that turn the order of the ones around them.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_name_that_every_system_takes() {
        let cases = [
            ("Plans", "Plans.md"),
            ("周末 计划", "周末 计划.md"),
            ("../../etc/passwd", "_.._etc_passwd.md"),
            ("a/b:c?", "a_b_c_.md"),
            ("..", "conv_1.md"),
            ("", "conv_1_2.md"),
            ("CON", "_CON.md"),
            ("com1.txt", "_com1.txt.md"),
            ("plans", "plans_2.md"),
            ("\u{202e}", "conv_1_3.md"),
        ];
        let mut names = Names::default();
        for (title, expected) in cases {
            let name = file_name(&mut names, title, "conv_1", ".md");
            assert_eq!(name, expected);
            assert!(crate::core::names::is_safe_piece(&name));
        }
        assert!(crate::core::names::is_safe_piece(&file_name(&mut names, &"龘".repeat(500), "x", ".md")));
    }
}
