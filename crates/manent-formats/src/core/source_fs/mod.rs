//! Virtual file system over a folder, a zip, a single file, or memory. Readers see names and bytes only.

mod subdirectory;
mod file;
mod files;
mod folder;
mod store_tree;
mod zip;

use crate::core::json::Bytes;
use crate::core::problem::ReadError;
pub use file::JsonFile;
pub use files::Files;
pub use folder::Folder;
use manent_model::Timestamp;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
pub use store_tree::{ReadNames, StoreTree};
pub use subdirectory::Subdirectory;
pub use zip::Zip;

/// More entries than any program of these writes.
pub const ENTRIES_MAX: usize = 250_000;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name below the root, with `/` between folders. It came from outside: never a path.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, where that is known.
    pub modified: Option<Timestamp>,
}

/// Files below a root.
pub trait SourceTree {
    /// Label of the root for messages.
    fn label(&self) -> &str;
    /// All files, in order of name.
    fn entries(&self) -> &[Entry];
    /// Opens one of them.
    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>>;

    /// Entries that are never opened, with the reason: symlinks, devices.
    fn passed_over(&self) -> &[(String, &'static str)] {
        &[]
    }

    /// Returns what is known about a file.
    fn entry(&self, name: &str) -> Option<&Entry> {
        let place = self.entries().binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        self.entries().get(place)
    }

    /// Returns whether a file exists.
    fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }
}

impl dyn SourceTree + '_ {
    /// Opens a file; an error names the file.
    pub fn file(&self, name: &str) -> Result<Box<dyn Bytes + '_>, ReadError> {
        self.open(name).map_err(|source| ReadError::File { file: name.to_owned(), source })
    }

    /// Reads a small file whole.
    pub fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, ReadError> {
        let file = self.file(name)?;
        if file.len() > max {
            let limit = format!("{} MiB", max >> 20);
            return Err(ReadError::TooLarge { file: name.to_owned(), what: "the size", limit });
        }
        file.slice(0, file.len()).map_err(|source| ReadError::File { file: name.to_owned(), source })
    }
}

/// Opens a path: a folder, a zip, or a file.
pub fn at(path: &Path) -> Result<Box<dyn SourceTree + Send>, ReadError> {
    let failed = |source| ReadError::File { file: path.display().to_string(), source };
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Ok(Box::new(Folder::open(path)?));
    }
    let mut file = File::open(path).map_err(failed)?;
    match Zip::is_one(&mut file).map_err(failed)? {
        true => Ok(Box::new(Zip::open(&path.display().to_string(), file)?)),
        false => Ok(Box::new(Folder::open(path)?)),
    }
}

/// Opens files that have no path here: one may be a zip.
pub fn of(label: &str, mut files: Vec<(String, File)>) -> Result<Box<dyn SourceTree + Send>, ReadError> {
    let failed = |source| ReadError::File { file: label.to_owned(), source };
    if let [(name, file)] = files.as_mut_slice()
        && Zip::is_one(file).map_err(failed)?
    {
        let file = file.try_clone().map_err(failed)?;
        return Ok(Box::new(Zip::open(name, file)?));
    }
    // The name comes from the sender of an upload and must not be used as a path.
    let files = files.into_iter().map(|(name, file)| (crate::core::names::safe(&name), file)).collect();
    Ok(Box::new(Files::new(label, files).map_err(failed)?))
}

/// Files in memory: small uploads, and exports to download.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTree {
    label: String,
    entries: Vec<Entry>,
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryTree {
    /// Builds a tree of files.
    pub fn new(label: &str, files: BTreeMap<String, Vec<u8>>) -> Self {
        let entry = |(name, bytes): (&String, &Vec<u8>)| {
            let size = bytes.len() as u64;
            Entry { name: name.clone(), size, modified: None }
        };
        let entries = files.iter().map(entry).collect();
        Self { label: label.to_owned(), entries, files }
    }
}

impl SourceTree for MemoryTree {
    fn label(&self) -> &str {
        &self.label
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let bytes = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(bytes.as_slice().to_vec()))
    }
}
