//! Files on disk: written beside their places, and put there together when all of them are whole.

use manent_formats::Out;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// What to do with files that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Nothing is written over.
    Never,
    /// The new file takes the place of the old one.
    Files,
}

/// Files below a folder, or one file.
#[derive(Debug)]
pub struct DiskOut {
    root: PathBuf,
    /// All that is written goes into this one file.
    single: bool,
    replace: Replace,
    staged: Vec<(PathBuf, PathBuf)>,
    /// Names beside the first that a single file cannot hold.
    left_out: Vec<String>,
}

impl DiskOut {
    /// Files go below this folder; a path that ends like a file is one file.
    pub fn new(path: &Path, replace: Replace) -> Self {
        let single = path.is_file() || (path.extension().is_some() && !path.is_dir());
        Self { root: path.to_owned(), single, replace, staged: Vec::new(), left_out: Vec::new() }
    }

    fn target(&self, name: &str) -> io::Result<PathBuf> {
        let relative = Path::new(name);
        let safe = !name.is_empty()
            && !name.contains(['\\', '\0'])
            && relative.components().all(|part| matches!(part, Component::Normal(_)));
        match safe {
            true => Ok(self.root.join(relative)),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "a name from outside is no path")),
        }
    }

    /// Puts everything in place, and returns what was written and what a single file could not hold.
    pub fn finish(mut self) -> io::Result<(Vec<PathBuf>, Vec<String>)> {
        for (temporary, _) in &self.staged {
            File::open(temporary)?.sync_all()?;
        }
        let mut written = Vec::new();
        // What is not in place when something fails goes with this.
        while let Some((temporary, target)) = self.staged.first().cloned() {
            match self.replace {
                Replace::Files => std::fs::rename(&temporary, &target)?,
                // A link refuses what a rename would replace.
                Replace::Never => {
                    std::fs::hard_link(&temporary, &target)?;
                    std::fs::remove_file(&temporary)?;
                }
            }
            self.staged.remove(0);
            if let Some(folder) = target.parent() {
                sync(folder)?;
            }
            written.push(target);
        }
        Ok((written, std::mem::take(&mut self.left_out)))
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

impl Drop for DiskOut {
    /// What was not finished leaves nothing behind.
    fn drop(&mut self) {
        for (temporary, _) in &self.staged {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

impl Out for DiskOut {
    fn create<'a>(&'a mut self, name: &str) -> io::Result<Box<dyn Write + 'a>> {
        let target = match self.single {
            false => self.target(name)?,
            true if self.staged.is_empty() => self.root.clone(),
            true => {
                self.left_out.push(name.to_owned());
                return Ok(Box::new(io::sink()));
            }
        };
        if self.replace == Replace::Never && target.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is there already", target.display())));
        }
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut temporary = target.clone().into_os_string();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary)?;
        self.staged.push((temporary, target));
        Ok(Box::new(file))
    }
}
