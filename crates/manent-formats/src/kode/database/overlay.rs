//! A tree with files that are not there: those that rows stand for.

use crate::json::Bytes;
use crate::tree::{Entry, Tree};
use std::collections::BTreeMap;
use std::io;

/// Files of a tree, and in front of them others.
pub(in crate::kode) struct Overlay<'a> {
    base: &'a dyn Tree,
    files: BTreeMap<String, Vec<u8>>,
    entries: Vec<Entry>,
}

impl<'a> Overlay<'a> {
    /// Puts files in front of a tree, from which some are left out.
    pub fn new(base: &'a dyn Tree, files: BTreeMap<String, Vec<u8>>, is_left_out: impl Fn(&str) -> bool) -> Self {
        let is_below = |entry: &&Entry| !files.contains_key(&entry.name) && !is_left_out(&entry.name);
        let mut entries: Vec<Entry> = base.entries().iter().filter(is_below).cloned().collect();
        entries.extend(files.iter().map(|(name, bytes)| Entry {
            name: name.clone(),
            size: bytes.len() as u64,
            modified: None,
        }));
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Self { base, files, entries }
    }
}

impl Tree for Overlay<'_> {
    fn label(&self) -> &str {
        self.base.label()
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        match self.files.get(name) {
            Some(bytes) => Ok(Box::new(bytes.clone())),
            None => self.base.open(name),
        }
    }
}
