//! Lower bound of commits: a log without index and metadata, in a preallocated file.
//!
//! A growing file, or one that is only allocated, involves the file system's journal in every sync. So zeros are
//! written first, and records overwrite them; no store that acknowledges after a sync can be faster on the same disk.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::corpus::Corpus;
use crate::drive;
use crate::group_log::GroupLog;
use crate::measure::{Measure, WRITERS};
use crate::subject::{Side, Subject};
use crate::summary::Summary;

/// The name by which goals refer to the limit.
pub const NAME: &str = "raw pre-written log";

const CAPACITY_BYTES: u64 = 64 * 1024 * 1024;
const RECORDS: usize = 4096;

/// The pre-written log and the records that go into it.
pub struct RawLog {
    log: PrewrittenFile,
    records: Vec<Vec<u8>>,
}

impl RawLog {
    /// Writes and syncs the zeros.
    pub fn create(directory: &Path, corpus: &Corpus) -> Result<RawLog> {
        let log = PrewrittenFile::create(&directory.join("raw.log"), CAPACITY_BYTES)?;
        Ok(RawLog { log, records: corpus.all().take(RECORDS).map(|message| framed(&message.to_json())).collect() })
    }

    fn single(&mut self, window: Duration) -> Result<Summary> {
        let log = &mut self.log;
        drive::one_after_another(window, &self.records, |record| log.append_durably(record).context("appending"))
    }

    fn group(&mut self, window: Duration) -> Result<Summary> {
        let records = &self.records;
        GroupLog::run(&mut self.log, |log| {
            drive::all_together(window, WRITERS, records, |_, record| log.append(record).context("appending"))
        })
    }
}

impl Subject for RawLog {
    fn name(&self) -> &str {
        NAME
    }

    fn side(&self) -> Side {
        Side::Yardstick
    }

    fn description(&self) -> String {
        let mebibytes = CAPACITY_BYTES / 1024 / 1024;
        format!(
            "the limit: {mebibytes} MiB of synced zeros overwritten in sequence, fdatasync before every answer; \
             with {WRITERS} writers one thread writes all that is queued and syncs once"
        )
    }

    fn measure(&mut self, measure: Measure, window: Duration) -> Option<Result<Summary>> {
        match measure {
            Measure::SingleAppend => Some(self.single(window)),
            Measure::GroupAppend => Some(self.group(window)),
            _ => None,
        }
    }
}

/// A file of fixed size that is overwritten from start to end, then again from the start.
pub struct PrewrittenFile {
    file: File,
    capacity_bytes: u64,
    next: u64,
}

impl PrewrittenFile {
    fn create(path: &Path, capacity_bytes: u64) -> Result<PrewrittenFile> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).open(path).context("creating the raw log")?;
        let zeros = vec![0; 1024 * 1024];
        let mut left = capacity_bytes;
        while left > 0 {
            let now = left.min(zeros.len() as u64);
            file.write_all(&zeros[..now as usize]).context("filling the raw log with zeros")?;
            left -= now;
        }
        file.sync_all().context("syncing the raw log")?;
        Ok(PrewrittenFile { file, capacity_bytes, next: 0 })
    }

    /// Overwrites the next bytes and returns when they are on the disk.
    pub fn append_durably(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let length = bytes.len() as u64;
        assert!(length <= self.capacity_bytes, "a write never exceeds the file");
        if self.next + length > self.capacity_bytes {
            self.next = 0;
        }
        self.file.write_all_at(bytes, self.next)?;
        self.file.sync_data()?;
        self.next += length;
        Ok(())
    }
}

/// Puts the length before the record: the least that a log needs to be read again.
fn framed(record: &[u8]) -> Vec<u8> {
    let length = u32::try_from(record.len()).expect("a message is far below 4 GiB");
    [&length.to_le_bytes(), record].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_starts_over_and_never_grows() {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let path = directory.path().join("log");
        let mut log = PrewrittenFile::create(&path, 10).expect("created");
        for record in [b"aaaa", b"bbbb", b"cccc"] {
            log.append_durably(record).expect("appended");
        }
        assert_eq!(std::fs::read(&path).expect("readable"), b"ccccbbbb\0\0");
    }

    #[test]
    fn many_writers_lose_nothing() {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let path = directory.path().join("log");
        let mut log = PrewrittenFile::create(&path, 4096).expect("created");
        GroupLog::run(&mut log, |log| {
            std::thread::scope(|scope| {
                for writer in 0..16_u8 {
                    scope.spawn(move || (0..4).for_each(|_| log.append(&[b'a' + writer; 16]).expect("appended")));
                }
            });
        });
        let written = std::fs::read(&path).expect("readable");
        let mut counts = [0; 16];
        for record in written[..16 * 4 * 16].chunks(16) {
            assert!(record.iter().all(|&byte| byte == record[0]), "records stay whole");
            counts[(record[0] - b'a') as usize] += 1;
        }
        assert_eq!(counts, [4; 16]);
    }
}
