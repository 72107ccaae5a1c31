//! Partial view of a tree: the files below one of its folders that were not read yet.

use crate::core::json::Bytes;
use crate::core::source_fs::{Entry, SourceTree};
use std::cell::RefCell;
use std::collections::HashSet;
use std::io;

/// Names of files that were read.
pub type ReadNames = RefCell<HashSet<String>>;

/// The files below a folder that were not read when it was made. A file counts as read when it is opened through it.
pub struct StoreTree<'a> {
    tree: &'a dyn SourceTree,
    folder: &'a str,
    entries: Vec<Entry>,
    read: Option<&'a ReadNames>,
}

impl<'a> StoreTree<'a> {
    /// Takes what was not read below a folder: empty for all, or with a `/` at its end.
    pub fn unread(tree: &'a dyn SourceTree, folder: &'a str, read: &'a ReadNames) -> Self {
        let known = read.borrow();
        let from = tree.entries().partition_point(|entry| entry.name.as_str() < folder);
        let below = tree.entries()[from..].iter().take_while(|entry| entry.name.starts_with(folder));
        let unread = below.filter(|entry| !known.contains(&entry.name));
        let entries = unread.map(|entry| Entry { name: entry.name[folder.len()..].to_owned(), ..entry.clone() });
        Self { tree, folder, entries: entries.collect(), read: None }
    }

    /// From now on, what is opened counts as read.
    pub fn reading(self, read: &'a ReadNames) -> Self {
        Self { read: Some(read), ..self }
    }
}

impl SourceTree for StoreTree<'_> {
    fn label(&self) -> &str {
        self.tree.label()
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let whole = format!("{}{name}", self.folder);
        if let Some(read) = self.read {
            read.borrow_mut().insert(whole.clone());
        }
        self.tree.open(&whole)
    }
}
