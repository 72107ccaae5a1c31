//! Unique names.

use std::collections::{HashMap, HashSet};

/// Names that are taken.
#[derive(Debug, Default)]
pub struct Unique {
    taken: HashSet<String>,
    repeats: HashMap<String, usize>,
}

impl Unique {
    /// Reserves a name, or a similar one if it is taken.
    pub fn take(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.taken.insert(name.clone()) {
            let repeat = self.repeats.entry(wanted.to_owned()).or_default();
            *repeat += 1;
            // A file may be full of one name: a plus for each would grow with the square of it.
            name = match *repeat {
                1..=3 => format!("{wanted}{}", "+".repeat(*repeat)),
                _ => format!("{wanted}+{repeat}"),
            };
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_another_one() {
        let mut unique = Unique::default();
        let names = ["a", "a+", "a", "a", "a", "b"].map(|wanted| unique.take(wanted));
        assert_eq!(names, ["a", "a+", "a++", "a+++", "a+4", "b"]);
    }
}
