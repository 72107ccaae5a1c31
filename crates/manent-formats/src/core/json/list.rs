//! Streaming writer of a JSON list whose length is not known in advance.

use crate::core::json::skeleton::{Separators, Skeleton};
use crate::core::json::style::Style;
use std::io::{self, Write};

/// The inside of a list of a shell.
pub struct ListOut {
    many: Separators,
    single: Separators,
    empty: Separators,
    count: usize,
    /// The first element waits, for a list of one may look different.
    first: Option<String>,
}

impl ListOut {
    /// Begins the list of this name.
    pub fn new(shell: &Skeleton, name: &str, style: Style, level: usize) -> Self {
        let gap = |count| shell.gap(name, count, style, level);
        Self { many: gap(2), single: gap(1), empty: gap(0), count: 0, first: None }
    }

    /// How many were written.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Writes an element; the separator before it is the original one if it had a place in the source.
    pub fn item(&mut self, text: &str, place: Option<usize>, target: &mut dyn Write) -> io::Result<()> {
        self.count += 1;
        if self.count == 1 {
            self.first = Some(text.to_owned());
            return Ok(());
        }
        if let Some(first) = self.first.take() {
            target.write_all(self.many.before(0).as_bytes())?;
            target.write_all(first.as_bytes())?;
        }
        let before = match place {
            Some(place) if place > 0 => self.many.before(place),
            _ => &self.many.between,
        };
        target.write_all(before.as_bytes())?;
        target.write_all(text.as_bytes())
    }

    /// Ends it.
    pub fn end(self, target: &mut dyn Write) -> io::Result<()> {
        match (self.count, self.first) {
            (0, _) => target.write_all(self.empty.open.as_bytes()),
            (_, Some(first)) => [&self.single.open, &first, &self.single.close]
                .into_iter()
                .try_for_each(|text| target.write_all(text.as_bytes())),
            _ => target.write_all(self.many.close.as_bytes()),
        }
    }
}
