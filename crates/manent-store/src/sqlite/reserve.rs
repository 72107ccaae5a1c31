//! Disk reserve: a preallocated file beside a store, released so that a deletion can be written on a full disk.
//!
//! A deletion needs space before it frees any: journal rows, pages in the write-ahead log, the index. It writes no more
//! pages than the store has, and a step of a purge or an erasure touches at most 500 rows; so the reserve is half the
//! store, at least 256 KiB and at most 4 MiB. Added to that is the growth of the file at the next checkpoint: without
//! that space the log could not be emptied, and an erasure ends with an empty log. Other writes never use the reserve.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Suffix of the name of the file.
pub(crate) const SUFFIX: &str = "-reserve";

const BYTES_MIN: u64 = 256 << 10;
const BYTES_MAX: u64 = 4 << 20;

/// After a checkpoint, surplus from this size on is released.
const SURPLUS_BYTES: u64 = 1 << 20;

/// It is allocated in parts of this size, so that a disk with little space holds at least some of it.
const PART_BYTES: u64 = 64 << 10;

/// The reserve of one store. The file alone says how much there is: other processes use it too.
pub(crate) struct Reserve {
    store: PathBuf,
    file: PathBuf,
}

impl Reserve {
    pub(crate) fn of(store: &Path) -> Self {
        let mut file = store.as_os_str().to_owned();
        file.push(SUFFIX);
        Self { store: store.to_owned(), file: file.into() }
    }

    /// `grown` is the size of the store after a checkpoint.
    fn wanted(&self, grown: u64) -> u64 {
        let bytes = std::fs::metadata(&self.store).map_or(0, |store| store.len());
        let for_deletion = (grown / 2).clamp(BYTES_MIN, BYTES_MAX);
        (for_deletion + grown.saturating_sub(bytes)).next_multiple_of(PART_BYTES)
    }

    /// Grows or shrinks the reserve to fit a store of this size, as far as the disk has space. Says whether
    /// nothing is missing.
    pub(crate) fn top_up(&self, grown: u64) -> bool {
        let wanted = self.wanted(grown);
        let has = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        if (wanted..wanted + SURPLUS_BYTES).contains(&has) {
            return true;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let Ok(mut file) = options.open(&self.file) else { return false };
        let Ok(mut length) = file.metadata().map(|file| file.len()) else { return false };
        if length > wanted {
            return file.set_len(wanted).is_ok();
        }
        while length < wanted {
            if allocate(&mut file, length).is_err() {
                // A part that was begun is given back: ordinary writes may have it.
                let _ = file.set_len(length);
                return false;
            }
            length += PART_BYTES;
        }
        true
    }

    /// Gives its space back to the disk. Says whether there was any.
    pub(crate) fn release(&self) -> bool {
        let Ok(file) = OpenOptions::new().write(true).open(&self.file) else { return false };
        file.metadata().is_ok_and(|file| file.len() > 0) && file.set_len(0).is_ok()
    }
}

/// Allocates one more part behind the end of the file.
#[cfg(target_os = "linux")]
fn allocate(file: &mut File, from: u64) -> std::io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(&*file, FallocateFlags::empty(), from, PART_BYTES) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => write_part(file, from),
        allocated => Ok(allocated?),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &mut File, from: u64) -> std::io::Result<()> {
    write_part(file, from)
}

/// The same by writing, where the system cannot allocate.
fn write_part(file: &mut File, from: u64) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(from))?;
    file.write_all(&[0; PART_BYTES as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_is_allocated_private_and_released_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store.db");
        let bytes = 3 << 20;
        std::fs::write(&store, vec![0; 3 << 20]).expect("written");
        let reserve = Reserve::of(&store);
        assert!(!reserve.release(), "there is none yet");
        assert!(reserve.top_up(bytes));
        let file = std::fs::metadata(folder.path().join("store.db-reserve")).expect("made");
        assert_eq!(file.len(), 3 << 19);
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            assert!(file.blocks() * 512 >= file.len(), "{} blocks", file.blocks());
            assert_eq!(file.mode() & 0o777, 0o600);
        }
        assert!(reserve.release());
        assert!(!reserve.release(), "it was released");
        assert!(reserve.top_up(bytes));
    }

    #[test]
    fn reserve_of_any_store_has_bounds() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store.db");
        assert_eq!(Reserve::of(&store).wanted(0), BYTES_MIN);
        File::create(&store).and_then(|file| file.set_len(1 << 40)).expect("a file with a hole");
        assert_eq!(Reserve::of(&store).wanted(1 << 40), BYTES_MAX);
    }

    #[test]
    fn reserve_covers_what_the_log_will_add_to_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store.db");
        std::fs::write(&store, vec![0; 1 << 20]).expect("written");
        let reserve = Reserve::of(&store);
        let size = || std::fs::metadata(folder.path().join("store.db-reserve")).map_or(0, |file| file.len());
        assert!(reserve.top_up(5 << 20));
        assert_eq!(size(), (5 << 19) + (4 << 20));
        // The log was copied.
        std::fs::write(&store, vec![0; 5 << 20]).expect("written");
        assert!(reserve.top_up(5 << 20));
        assert_eq!(size(), 5 << 19);
    }
}
