//! One exported file: written under a temporary name beside its target, then put in place.

use crate::private_files;
use crate::transfer::export::Replace;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file that only its owner reads, under a temporary name until [`Self::place`]. Dropped before that, it leaves nothing behind.
#[derive(Debug)]
pub struct StagedFile {
    temporary: PathBuf,
    target: PathBuf,
    replace: Replace,
    is_placed: bool,
}

/// A target that holds the new file, and how to take that back.
#[derive(Debug)]
pub(crate) struct Placed {
    target: PathBuf,
    /// The previous file, under another name.
    old: Option<PathBuf>,
}

impl StagedFile {
    /// Creates the temporary file. The target must be free or, with [`Replace::Files`], a regular file: links, folders and
    /// devices are refused.
    pub fn create(target: &Path, replace: Replace) -> io::Result<(Self, File)> {
        check(target, replace)?;
        let temporary = beside(target, "tmp");
        let file = private_files::open_options().write(true).create_new(true).open(&temporary)?;
        Ok((Self { temporary, target: target.to_owned(), replace, is_placed: false }, file))
    }

    /// Syncs the file and puts it in place.
    pub fn place(self) -> io::Result<()> {
        self.sync()?;
        self.put()?.keep();
        Ok(())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(&self.temporary)?.sync_all()
    }

    /// Puts the file in place, so that it can be taken back while others are put in theirs.
    pub(crate) fn put(mut self) -> io::Result<Placed> {
        check(&self.target, self.replace)?;
        let mut placed = Placed { target: self.target.clone(), old: None };
        match self.replace {
            Replace::Files => {
                if self.target.exists() {
                    let old = beside(&self.target, "old");
                    std::fs::hard_link(&self.target, &old)?;
                    placed.old = Some(old);
                }
                if let Err(error) = std::fs::rename(&self.temporary, &self.target) {
                    placed.keep();
                    return Err(error);
                }
            }
            // A link refuses what a rename would replace.
            Replace::Never => {
                std::fs::hard_link(&self.temporary, &self.target)?;
                std::fs::remove_file(&self.temporary)?;
            }
        }
        self.is_placed = true;
        match self.target.parent().map_or(Ok(()), sync_folder) {
            Ok(()) => Ok(placed),
            Err(error) => {
                placed.take_back();
                Err(error)
            }
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

impl Placed {
    /// Lets go of what was there before.
    pub(crate) fn keep(self) -> PathBuf {
        if let Some(old) = &self.old {
            let _ = std::fs::remove_file(old);
        }
        self.target
    }

    /// Makes the target what it was before.
    pub(crate) fn take_back(self) {
        let _ = match &self.old {
            Some(old) => std::fs::rename(old, &self.target),
            None => std::fs::remove_file(&self.target),
        };
    }
}

/// Says why a file cannot be written here.
fn check(target: &Path, replace: Replace) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(target) else { return Ok(()) };
    let (kind, name) = (metadata.file_type(), target.display());
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    if kind.is_symlink() {
        // Through a link, an unrelated file would be overwritten.
        return refused(format!("{name} is a symbolic link; remove it or choose another name"));
    }
    if !kind.is_file() {
        return refused(format!("{name} exists and is not a file; remove it or choose another name"));
    }
    match replace {
        Replace::Files => Ok(()),
        Replace::Never => refused(format!("{name} exists already; --force writes over it")),
    }
}

fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.to_owned().into_os_string();
    name.push(format!(".{}.{ending}", std::process::id()));
    PathBuf::from(name)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}
