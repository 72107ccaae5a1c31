//! Virtual file tree of open files: uploads, which have no path.

use crate::core::json::Bytes;
use crate::core::source_fs::{Entry, SourceTree};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Files by name, each open.
#[derive(Debug)]
pub struct Files {
    label: String,
    entries: Vec<Entry>,
    files: Vec<Arc<File>>,
}

impl Files {
    /// Builds a tree of files; of two with one name the last wins.
    pub fn new(label: &str, files: Vec<(String, File)>) -> io::Result<Self> {
        let mut found = std::collections::BTreeMap::new();
        for (name, file) in files {
            found.insert(
                name.clone(),
                (crate::core::source_fs::folder::listed(name, &file.metadata()?), Arc::new(file)),
            );
        }
        let (entries, files) = found.into_values().unzip();
        Ok(Self { label: label.to_owned(), entries, files })
    }
}

impl SourceTree for Files {
    fn label(&self) -> &str {
        &self.label
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let place = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        let place = place.map_err(|_| io::ErrorKind::NotFound)?;
        Ok(Box::new(Opened::new(Arc::clone(&self.files[place]))?))
    }
}

/// A file that is read.
pub(crate) struct Opened<F> {
    file: F,
    length: u64,
}

impl<F: std::borrow::Borrow<File>> Opened<F> {
    pub(crate) fn new(file: F) -> io::Result<Self> {
        let length = file.borrow().metadata()?.len();
        Ok(Self { file, length })
    }
}

impl<F: std::borrow::Borrow<File>> Bytes for Opened<F> {
    fn len(&self) -> u64 {
        self.length
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self.file.borrow(), buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self.file.borrow(), buffer, offset)
    }
}
