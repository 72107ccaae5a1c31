//! Exports on disk: a folder, one file, or a zip. All files are staged first and put in place together.

use crate::private_files;
use crate::transfer::export::bundle::DownloadBundle;
use crate::transfer::export::staged::StagedFile;
use manent_formats::core::names::is_safe;
use manent_formats::{FileSink, Format};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Treatment of existing files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Nothing is written over.
    Never,
    /// The new file takes the place of the old one.
    Files,
}

/// Target of an export. Until [`Self::finish`] nothing is in place; dropped before that, or failing in it, it leaves
/// everything as it was.
#[derive(Debug)]
pub struct DiskOut {
    root: PathBuf,
    layout: Layout,
    replace: Replace,
    staged: Vec<StagedFile>,
    /// Folders that were made for this export, outermost first.
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
enum Layout {
    Folder,
    /// One file; a second one is refused.
    File,
    Zip(DownloadBundle),
}

impl Layout {
    fn of(path: &Path, format: &Format) -> io::Result<Self> {
        let is_folder = path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            _ if is_folder => Ok(Self::Folder),
            "zip" => Ok(Self::Zip(DownloadBundle::new()?)),
            ending if format.file_endings.contains(&ending) => Ok(Self::File),
            _ => Ok(Self::Folder),
        }
    }
}

impl DiskOut {
    /// A path that ends in `.zip` is a zip, one with an ending of the format's own files is one file, any other a folder.
    pub fn new(path: &Path, format: &Format, replace: Replace) -> io::Result<Self> {
        let layout = Layout::of(path, format)?;
        Ok(Self { root: path.to_owned(), layout, replace, staged: Vec::new(), folders: Vec::new() })
    }

    /// Puts everything in place, or nothing, and returns what was written.
    pub fn finish(mut self) -> io::Result<Vec<PathBuf>> {
        if let Layout::Zip(parcel) = std::mem::replace(&mut self.layout, Layout::Folder) {
            let mut file = self.stage(self.root.clone())?;
            io::copy(&mut parcel.zip()?, &mut file)?;
        }
        for staged in &self.staged {
            staged.sync()?;
        }
        let mut placed = Vec::new();
        for staged in std::mem::take(&mut self.staged) {
            match staged.put() {
                Ok(one) => placed.push(one),
                Err(error) => {
                    placed.into_iter().rev().for_each(|one| one.take_back());
                    return Err(error);
                }
            }
        }
        self.folders.clear();
        Ok(placed.into_iter().map(|one| one.keep()).collect())
    }

    fn stage(&mut self, target: PathBuf) -> io::Result<File> {
        if let Some(folder) = target.parent() {
            self.make_folder(folder)?;
        }
        let (staged, file) = StagedFile::create(&target, self.replace)?;
        self.staged.push(staged);
        Ok(file)
    }

    /// Makes a folder with those above it. One below the root that is a symbolic link is refused: it leads elsewhere.
    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() || (folder.is_dir() && !self.leads_elsewhere(folder)) {
            return Ok(());
        }
        if self.leads_elsewhere(folder) {
            let why = format!("{} is a symbolic link; remove it or choose another name", folder.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if let Some(above) = folder.parent() {
            self.make_folder(above)?;
        }
        private_files::create_folder(folder)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    fn leads_elsewhere(&self, folder: &Path) -> bool {
        let mut below = folder.ancestors().take_while(|above| *above != self.root && above.starts_with(&self.root));
        below.any(Path::is_symlink)
    }
}

impl Drop for DiskOut {
    fn drop(&mut self) {
        self.staged.clear();
        for folder in self.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

impl FileSink for DiskOut {
    fn create<'a>(&'a mut self, name: &str) -> io::Result<Box<dyn Write + 'a>> {
        if !is_safe(name) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} leads outside the folder")));
        }
        let target = match self.layout {
            Layout::Zip(ref mut parcel) => return parcel.create(name),
            Layout::File if !self.staged.is_empty() => {
                let why = "the export has several files; choose a folder, or a name that ends in .zip";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            Layout::File => self.root.clone(),
            Layout::Folder => self.root.join(name),
        };
        Ok(Box::new(self.stage(target)?))
    }
}
