//! History of one file's content, independent of its name.

/// A change of a file's content.
pub(crate) enum Edit {
    Write { offset: usize, data: Box<[u8]> },
    Truncate { size_bytes: usize },
}

impl Edit {
    /// Makes the whole change.
    pub(crate) fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Edit::Write { offset, data } => write(image, *offset, data),
            Edit::Truncate { size_bytes } => image.resize(*size_bytes, 0),
        }
    }
}

/// Writes `data` at `offset`; a gap before it reads as zeros, as it does on a disk.
pub(crate) fn write(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

/// A file and everything that was done to its content, in order.
///
/// A stamp is the length of the log just after an operation: the operation happened before a crash at `crash_point`
/// if its stamp is at most that.
pub(crate) struct Inode {
    edits: Vec<(usize, Edit)>,
    syncs: Vec<Sync>,
    snapshots: Vec<Snapshot>,
    current: Vec<u8>,
    bytes_since_snapshot: usize,
}

struct Sync {
    stamp: usize,
    /// How many edits this and all earlier syncs have made durable.
    edits_durable: usize,
}

struct Snapshot {
    edits_applied: usize,
    image: Vec<u8>,
}

/// Small files are not worth more snapshots than this: replaying as many bytes takes microseconds.
const SNAPSHOT_BYTES_MIN: usize = 64 * 1024;

impl Inode {
    /// Starts with `image`, which is on the disk already.
    pub(crate) fn new(image: Vec<u8>) -> Inode {
        let snapshots = vec![Snapshot { edits_applied: 0, image: image.clone() }];
        Inode { edits: Vec::new(), syncs: Vec::new(), snapshots, current: image, bytes_since_snapshot: 0 }
    }

    /// Adds an edit that is not durable yet.
    pub(crate) fn edit(&mut self, stamp: usize, edit: Edit) {
        edit.apply(&mut self.current);
        self.bytes_since_snapshot += match &edit {
            Edit::Write { data, .. } => data.len(),
            Edit::Truncate { .. } => 0,
        };
        self.edits.push((stamp, edit));
        // A snapshot each time the file has been rewritten once over: snapshots then take no more memory than the
        // edits, and finding an image never replays more bytes than the image has.
        if self.bytes_since_snapshot >= self.current.len().max(SNAPSHOT_BYTES_MIN) {
            self.bytes_since_snapshot = 0;
            self.snapshots.push(Snapshot { edits_applied: self.edits.len(), image: self.current.clone() });
        }
    }

    /// Returns how many edits there are; a sync that begins now makes these durable.
    pub(crate) fn edits_len(&self) -> usize {
        self.edits.len()
    }

    /// Adds a sync that ended now, and that began when there were `edits_durable` edits.
    pub(crate) fn sync(&mut self, stamp: usize, edits_durable: usize) {
        // Of two syncs at the same time, the one that began first may end last.
        let before = self.syncs.last().map_or(0, |sync| sync.edits_durable);
        self.syncs.push(Sync { stamp, edits_durable: edits_durable.max(before) });
    }

    /// Returns what is certainly on the disk at `crash_point`, and the edits after it, which may be.
    pub(crate) fn at_crash(&self, crash_point: usize) -> (Vec<u8>, impl Iterator<Item = &Edit>) {
        let happened = self.edits.partition_point(|(stamp, _)| *stamp <= crash_point);
        let synced = self.syncs.partition_point(|sync| sync.stamp <= crash_point);
        let durable = self.syncs[..synced].last().map_or(0, |sync| sync.edits_durable);
        (self.image(durable), self.edits[durable..happened].iter().map(|(_, edit)| edit))
    }

    /// Returns the content after the first `edits` edits.
    fn image(&self, edits: usize) -> Vec<u8> {
        let after = self.snapshots.partition_point(|snapshot| snapshot.edits_applied <= edits);
        let snapshot = &self.snapshots[after - 1];
        let mut image = snapshot.image.clone();
        for (_, edit) in &self.edits[snapshot.edits_applied..edits] {
            edit.apply(&mut image);
        }
        image
    }
}
