//! Crash simulator: the possible disk contents after a power cut.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use crate::inode::{self, Edit};
use crate::log::Log;

/// What became of the changes that were not yet synced in one crash state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashState {
    /// Writes and truncates that reached the disk whole.
    pub kept: usize,
    /// Writes and truncates that left no trace.
    pub dropped: usize,
    /// Writes of which only some sectors reached the disk.
    pub torn: usize,
}

/// The unit a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Writes the files as they may be after a cut at `crash_point` into the directory `into`.
pub(crate) fn lay_out(log: &Log, crash_point: usize, rng: &mut Rng, into: &Path) -> io::Result<CrashState> {
    let mut state = CrashState::default();
    let names: Vec<_> = log.names_at_crash(crash_point).collect();
    let root = common_directory(names.iter().map(|(path, _)| *path));
    for (path, candidates) in names {
        let below_root = path.strip_prefix(&root).expect("the root was made from these paths");
        let target = into.join(below_root);
        clear(&target)?;
        let Some(number) = choose(&candidates, rng) else {
            continue;
        };
        let (mut image, unsynced) = log.inode(number).at_crash(crash_point);
        let luck = Odds::draw(rng);
        for edit in unsynced {
            luck.apply(edit, &mut image, rng, &mut state);
        }
        if let Some(directory) = target.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(target, image)?;
    }
    Ok(state)
}

/// Chooses one of the files a name may refer to. Half of the time it is the newest.
fn choose(candidates: &[Option<usize>], rng: &mut Rng) -> Option<usize> {
    let (newest, older) = candidates.split_last()?;
    if older.is_empty() || rng.bool() { *newest } else { older[rng.usize(..older.len())] }
}

/// Removes what an earlier crash state, or a database opened in it, left at `target`.
fn clear(target: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal", "-search", "-search-wal", "-search-shm"] {
        let mut path = target.as_os_str().to_owned();
        path.push(suffix);
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the deepest directory that all paths are in.
fn common_directory<'a>(paths: impl Iterator<Item = &'a Path>) -> PathBuf {
    let directories = paths.filter_map(Path::parent).map(Path::to_path_buf);
    directories
        .reduce(|common, directory| {
            let shared = common.components().zip(directory.components()).take_while(|(left, right)| left == right);
            shared.map(|(component, _)| component).collect()
        })
        .unwrap_or_default()
}

/// How probable it is, in percent, that an unsynced change of one file is kept or dropped; otherwise it is torn.
///
/// Each change is decided independently, but the odds differ from file to file. With even odds everywhere, a long run
/// of writes would never be there whole, nor miss just one, and a file would never be far ahead of another.
struct Odds {
    kept: u8,
    dropped: u8,
}

impl Odds {
    fn draw(rng: &mut Rng) -> Odds {
        let (kept, dropped) = match rng.u8(..5) {
            0 => (100, 0),
            1 => (0, 100),
            2 => (90, 5),
            3 => (5, 90),
            _ => (34, 33),
        };
        Odds { kept, dropped }
    }

    fn apply(&self, edit: &Edit, image: &mut Vec<u8>, rng: &mut Rng, state: &mut CrashState) {
        let dice = rng.u8(..100);
        if dice < self.kept {
            edit.apply(image);
            state.kept += 1;
        } else if dice < self.kept + self.dropped {
            state.dropped += 1;
        } else {
            match edit {
                Edit::Write { offset, data } if sectors(*offset, data).count() > 1 => {
                    tear(*offset, data, image, rng);
                    state.torn += 1;
                }
                // A sector or a file's size is changed whole or not at all.
                Edit::Write { .. } | Edit::Truncate { .. } if rng.bool() => {
                    edit.apply(image);
                    state.kept += 1;
                }
                Edit::Write { .. } | Edit::Truncate { .. } => state.dropped += 1,
            }
        }
    }
}

/// Writes some of the sectors: the first few or, one time in three, any.
fn tear(offset: usize, data: &[u8], image: &mut Vec<u8>, rng: &mut Rng) {
    let count = sectors(offset, data).count();
    let prefix = (rng.u8(..3) > 0).then(|| rng.usize(1..count));
    for (index, (sector_offset, sector)) in sectors(offset, data).enumerate() {
        if prefix.map_or_else(|| rng.bool(), |length| index < length) {
            inode::write(image, sector_offset, sector);
        }
    }
}

/// Cuts a write at the sector boundaries of the file.
///
/// Only bytes of the write itself are ever lost, also in a sector it shares with older data. SQLite assumes that
/// of the disk by default (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`).
fn sectors(offset: usize, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = offset;
    let mut rest = data;
    std::iter::from_fn(move || {
        let (sector, tail) = rest.split_at(rest.len().min(SECTOR_BYTES - at % SECTOR_BYTES));
        let start = at;
        at += sector.len();
        rest = tail;
        (!sector.is_empty()).then_some((start, sector))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_write_changes_whole_sectors_of_its_own_bytes_only() {
        const OFFSET: usize = 300;
        let data = [1; 2000];
        let mut rng = Rng::with_seed(1);
        for _ in 0..100 {
            let mut image = vec![0; 4096];
            tear(OFFSET, &data, &mut image, &mut rng);
            assert!(image[..OFFSET].iter().all(|byte| *byte == 0));
            assert!(image[OFFSET + data.len()..].iter().all(|byte| *byte == 0));
            for (offset, sector) in sectors(OFFSET, &data) {
                let written = &image[offset..offset + sector.len()];
                assert!(written.iter().all(|byte| *byte == written[0]), "torn inside the sector at {offset}");
            }
        }
    }

    #[test]
    fn sectors_are_cut_at_the_boundaries_of_the_file() {
        let cut = |offset, size_bytes| -> Vec<(usize, usize)> {
            let data = vec![0; size_bytes];
            sectors(offset, &data).map(|(offset, sector)| (offset, sector.len())).collect()
        };
        assert_eq!(cut(0, 1024), [(0, 512), (512, 512)]);
        assert_eq!(cut(500, 24), [(500, 12), (512, 12)]);
        assert_eq!(cut(512, 10), [(512, 10)]);
        assert_eq!(cut(0, 0), []);
    }
}
