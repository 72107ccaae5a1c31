//! Files and folders that only their owner can access: conversations and secrets are private.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options that create files with owner-only permissions.
pub fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder with owner-only permissions; fails if it exists.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    folder_builder().create(folder)
}

/// Creates a folder and its parents with owner-only permissions; an existing one is left unchanged.
pub fn create_folders(folder: &Path) -> io::Result<()> {
    folder_builder().recursive(true).create(folder)
}

fn folder_builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
