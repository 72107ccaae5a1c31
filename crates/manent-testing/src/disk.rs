//! A small file system that fills up quickly, for disk-full tests.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A file system of a few megabytes in memory; it is taken away with its handle.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts one; only root may.
    pub fn mount(megabytes: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().ok()?;
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk(folder))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it up to about a hundred kilobytes with a file, which can be removed again.
    pub fn fill(&self, filler: &Path) -> std::io::Result<()> {
        let mut file = std::fs::File::create(filler)?;
        while file.write_all(&[7; 4_096]).is_ok() {}
        let length = file.metadata()?.len();
        file.set_len(length.saturating_sub(100_000))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}
