//! File tree of a folder or a single file. Symlinks are not followed: a foreign folder could lead anywhere.

use crate::core::json::Bytes;
use crate::core::problem::ReadError;
use crate::core::source_fs::files::Opened;
use crate::core::source_fs::{ENTRIES_MAX, Entry, SourceTree};
use manent_model::Timestamp;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const DEPTH_MAX: usize = 64;
/// Suffixes of the files that SQLite keeps beside an open database.
const BESIDE: [&str; 2] = ["-wal", "-journal"];

/// A folder, or one file.
#[derive(Debug)]
pub struct Folder {
    label: String,
    entries: Vec<Entry>,
    paths: Vec<PathBuf>,
    passed_over: Vec<(String, &'static str)>,
}

impl Folder {
    /// Lists the files below a path.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let label = path.display().to_string();
        let (mut found, mut passed_over) = (Vec::new(), Vec::new());
        let failed = |source| ReadError::File { file: label.clone(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for beside in BESIDE {
                let path = path.with_file_name(format!("{name}{beside}"));
                if let Some(metadata) = std::fs::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file()) {
                    found.push((listed(format!("{name}{beside}"), &metadata), path));
                }
            }
            found.push((listed(name, &metadata), path.to_owned()));
        } else {
            walk(path, "", 0, &mut found, &mut passed_over).map_err(|error| match error {
                WalkError::Failed(source) => failed(source),
                WalkError::TooLarge(what, limit) => ReadError::TooLarge { file: label.clone(), what, limit },
            })?;
        }
        found.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        let (entries, paths) = found.into_iter().unzip();
        passed_over.sort_unstable();
        Ok(Self { label, entries, paths, passed_over })
    }
}

pub(crate) fn listed(name: String, metadata: &std::fs::Metadata) -> Entry {
    let modified = metadata.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
    Entry { name, size: metadata.len(), modified: modified.map(|time| Timestamp(time.as_microsecond())) }
}

/// Why a folder was not walked to its end.
enum WalkError {
    Failed(io::Error),
    TooLarge(&'static str, String),
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

fn walk(
    folder: &Path,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(Entry, PathBuf)>,
    passed_over: &mut Vec<(String, &'static str)>,
) -> Result<(), WalkError> {
    if depth > DEPTH_MAX {
        return Err(WalkError::TooLarge("the depth", format!("{DEPTH_MAX} folders")));
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), depth + 1, found, passed_over)?;
        } else if kind.is_file() {
            found.push((listed(name, &entry.metadata()?), entry.path()));
        } else {
            let why =
                if kind.is_symlink() { "a symbolic link, which is not followed" } else { "no file and no folder" };
            passed_over.push((name, why));
        }
        if found.len() + passed_over.len() > ENTRIES_MAX {
            return Err(WalkError::TooLarge("the number of files", ENTRIES_MAX.to_string()));
        }
    }
    Ok(())
}

impl SourceTree for Folder {
    fn label(&self) -> &str {
        &self.label
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn passed_over(&self) -> &[(String, &'static str)] {
        &self.passed_over
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let place = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        let place = place.map_err(|_| io::ErrorKind::NotFound)?;
        Ok(Box::new(Opened::new(File::open(&self.paths[place])?)?))
    }
}
