//! File fingerprints: detect whether a file was written since the last check, without opening it.

use super::connection::SqliteOptions;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// After this time a further write changes the modification time of a file for certain.
const SETTLED: Duration = Duration::from_secs(1);

/// When the file and its WAL were last written, and how long they are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileFingerprint([Option<(u64, SystemTime)>; 2]);

impl FileFingerprint {
    /// Reads the fingerprint; none if there is no file.
    pub(super) fn of(options: &SqliteOptions) -> Option<Self> {
        let look = |path: &Path| {
            let file = std::fs::metadata(path).ok()?;
            // Readers alone create and remove an empty WAL.
            (file.len() > 0).then_some((file.len(), file.modified().ok()?))
        };
        let stamp = Self([look(&options.path), look(&options.sibling_path("-wal"))]);
        (options.vfs.is_none() && stamp.0[0].is_some()).then_some(stamp)
    }

    /// Clocks of file systems are coarse: two writes close together may bear one time.
    pub(super) fn is_settled(&self) -> bool {
        self.0.iter().flatten().all(|(_, time)| time.elapsed().is_ok_and(|since| since > SETTLED))
    }
}
