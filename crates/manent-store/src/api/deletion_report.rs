//! Deletion counts of a destroyed store.

use std::io::ErrorKind;
use std::path::Path;

/// Deletion counts of a destroyed store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletionReport {
    /// Conversations in any status.
    pub conversations: i64,
    /// Messages, on all branches.
    pub messages: i64,
    /// Rows of a server, all together.
    pub rows: i64,
    /// Files.
    pub files: i64,
    /// Their bytes.
    pub bytes: i64,
}

impl DeletionReport {
    /// Removes a file and counts it. A file that is already gone is not counted; of a symbolic link, only the link is
    /// removed.
    pub fn remove_file(&mut self, path: &Path) -> std::io::Result<()> {
        let removed = std::fs::symlink_metadata(path).and_then(|metadata| {
            std::fs::remove_file(path)?;
            Ok(metadata.len())
        });
        match removed {
            Ok(size) => {
                self.files += 1;
                self.bytes += i64::try_from(size).unwrap_or(i64::MAX);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}
