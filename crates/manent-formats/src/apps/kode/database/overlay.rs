//! Virtual file tree: adds the files that database rows represent, and renames others.

use crate::core::json::Bytes;
use crate::core::source_fs::{Entry, SourceTree};
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Files of a tree, and in front of them others.
pub(crate) struct Overlay<'a> {
    base: &'a dyn SourceTree,
    files: BTreeMap<String, Vec<u8>>,
    entries: Vec<Entry>,
    /// Names of the files of the tree there.
    names: HashMap<String, String>,
    label: String,
}

impl<'a> Overlay<'a> {
    /// Overlays files on those of a tree with the same names.
    pub fn new(
        base: &'a dyn SourceTree,
        label: String,
        files: BTreeMap<String, Vec<u8>>,
        name: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let (mut entries, mut names) = (Vec::new(), HashMap::new());
        for entry in base.entries() {
            if let Some(here) = name(&entry.name).filter(|here| !files.contains_key(here)) {
                names.insert(here.clone(), entry.name.clone());
                entries.push(Entry { name: here, ..entry.clone() });
            }
        }
        entries.extend(files.iter().map(|(name, bytes)| Entry {
            name: name.clone(),
            size: bytes.len() as u64,
            modified: None,
        }));
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Self { base, files, entries, names, label }
    }
}

impl SourceTree for Overlay<'_> {
    fn label(&self) -> &str {
        &self.label
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        match self.files.get(name) {
            Some(bytes) => Ok(Box::new(bytes.clone())),
            None => self.base.open(self.names.get(name).ok_or(io::ErrorKind::NotFound)?),
        }
    }
}
