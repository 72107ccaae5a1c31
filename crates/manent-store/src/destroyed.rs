//! What went when a store was destroyed.

use std::io::ErrorKind;
use std::path::Path;

/// What went when a store was destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Destroyed {
    /// Conversations, wherever they were in their life.
    pub conversations: i64,
    /// Messages, on whatever branch.
    pub messages: i64,
    /// Rows of a server, all together.
    pub rows: i64,
    /// Files.
    pub files: i64,
    /// Their bytes.
    pub bytes: i64,
}

impl Destroyed {
    /// Removes a file and counts it. One that somebody else has removed meanwhile is not counted; of a link, the link goes.
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
