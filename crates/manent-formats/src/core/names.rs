//! Sanitized file names for exports: names from outside are validated before they are used as paths.

use std::collections::HashSet;

/// Returns whether a path stays below the target folder, on every system.
pub fn is_safe(name: &str) -> bool {
    let is_drive =
        |piece: &str| piece.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && piece[1..].starts_with(':');
    let is_odd = |letter: char| letter == '\\' || letter.is_control();
    name.len() <= 1_024
        && !name.contains(is_odd)
        && name.split('/').all(|piece| !piece.is_empty() && piece != "." && piece != ".." && !is_drive(piece))
}

/// Makes a name from outside one that is safe: what leads outside is taken out of it.
pub fn safe(name: &str) -> String {
    if is_safe(name) {
        return name.to_owned();
    }
    let pieces = name.split(['/', '\\']).map(|piece| piece.replace(|letter: char| letter.is_control(), "_"));
    let pieces: Vec<String> = pieces.filter(|piece| is_safe(piece)).collect();
    let safe = pieces.join("/");
    if is_safe(&safe) { safe } else { "file".to_owned() }
}

/// Returns whether a name is a single file name without folders.
pub fn is_safe_piece(name: &str) -> bool {
    name.len() <= 200 && !name.contains('/') && is_safe(name)
}

/// Names that are taken, so that no file is written over another.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// Reserves a name; returns whether it was free.
    pub fn take(&mut self, name: &str) -> bool {
        // On some systems two names that differ in case only are one file.
        self.0.insert(name.to_lowercase())
    }

    /// Takes a name, or the first free one that is numbered behind its stem.
    pub fn unique(&mut self, stem: &str, end: &str) -> String {
        let mut name = format!("{stem}{end}");
        let mut number = 1;
        while !self.take(&name) {
            number += 1;
            name = format!("{stem}_{number}{end}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_outside_does_not_lead_outside() {
        for name in ["a.json", "sessions/a b.json", "数据/agt:01/x", "...", "a/.b"] {
            assert!(is_safe(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "a\\b", "C:/a", "a/c:b", "a\0b", "a\nb"]
        {
            assert!(!is_safe(name), "{name}");
        }
        assert!(!is_safe_piece("a/b"));
        let safe = ["a/b", "/tmp/x", "../../x.json", "C:\\x\\y", "..", "", "a\0b"].map(safe);
        assert_eq!(safe, ["a/b", "tmp/x", "x.json", "x/y", "file", "file", "a_b"]);
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        assert_eq!(["a", "A", "a"].map(|stem| names.unique(stem, ".json")), ["a.json", "A_2.json", "a_3.json"]);
    }
}
