//! File tree view of a single top-level folder, as created by packing a folder.

use crate::core::json::Bytes;
use crate::core::source_fs::{Entry, SourceTree};
use std::io;

/// The content of the top folder of a tree.
pub struct Subdirectory {
    tree: Box<dyn SourceTree + Send>,
    prefix: String,
    entries: Vec<Entry>,
}

impl Subdirectory {
    /// Enters the top folder if it contains everything; otherwise returns the tree.
    pub fn the_top(tree: Box<dyn SourceTree + Send>) -> Result<Self, Box<dyn SourceTree + Send>> {
        let first = tree.entries().first().and_then(|entry| entry.name.split_once('/'));
        let Some(prefix) = first.map(|(top, _)| format!("{top}/")) else { return Err(tree) };
        if !tree.entries().iter().all(|entry| entry.name.starts_with(&prefix)) {
            return Err(tree);
        }
        let below = |entry: &Entry| Entry { name: entry.name[prefix.len()..].to_owned(), ..entry.clone() };
        let entries = tree.entries().iter().map(below).collect();
        Ok(Self { tree, prefix, entries })
    }

    /// The tree as it was.
    pub fn whole(self) -> Box<dyn SourceTree + Send> {
        self.tree
    }
}

impl SourceTree for Subdirectory {
    fn label(&self) -> &str {
        self.tree.label()
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn passed_over(&self) -> &[(String, &'static str)] {
        self.tree.passed_over()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        self.tree.open(&format!("{}{name}", self.prefix))
    }
}
