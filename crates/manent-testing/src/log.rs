//! Log of all operations on durable files, in one order.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::inode::{Edit, Inode};
use crate::vfs::{DirectorySync, Role};

/// The history of a set of files and of their names.
///
/// Names and contents are apart because a deleted journal can come back after a power cut although another journal
/// has taken its name.
#[derive(Default)]
pub(crate) struct Log {
    length: usize,
    inodes: Vec<Inode>,
    // Ordered, so that the same random numbers always mean the same crash state.
    names: BTreeMap<PathBuf, Vec<Binding>>,
    /// The journals and WALs that were never synced, and their directories.
    new_journals: HashMap<usize, PathBuf>,
}

/// From some operation on, a name refers to a file or, when it was deleted, to nothing.
struct Binding {
    stamp: usize,
    inode: Option<usize>,
    /// The stamp of the operation that made the directory entry certain.
    durable: Option<usize>,
}

/// A sync that has begun: it promises nothing about what happens from then on.
pub(crate) struct BegunSync {
    number: usize,
    edits: usize,
    length: usize,
}

impl Log {
    /// Returns how many operations there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Returns the file that `path` refers to.
    pub(crate) fn find(&self, path: &Path) -> Option<usize> {
        self.names.get(path)?.last()?.inode
    }

    /// Returns a file and its history.
    pub(crate) fn inode(&self, number: usize) -> &Inode {
        &self.inodes[number]
    }

    /// Takes in a file that came to be without us, so it counts as safely on the disk.
    pub(crate) fn adopt(&mut self, path: &Path, image: Vec<u8>) -> usize {
        // The first we hear of a name: it was there before everything else.
        let stamp = if self.names.contains_key(path) { self.length } else { 0 };
        self.bind(path, image, stamp, Some(stamp))
    }

    /// Adds the creation of an empty file.
    pub(crate) fn create(&mut self, path: &Path, role: Role) -> usize {
        let stamp = self.next_stamp();
        let number = self.bind(path, Vec::new(), stamp, None);
        if role == Role::Journal {
            self.new_journals.insert(number, directory_of(path).to_path_buf());
        }
        number
    }

    /// Adds a change of a file's content.
    pub(crate) fn edit(&mut self, number: usize, edit: Edit) {
        let stamp = self.next_stamp();
        self.inodes[number].edit(stamp, edit);
    }

    /// Notes what a sync that begins now will have made durable when it ends.
    pub(crate) fn begin_sync(&self, number: usize) -> BegunSync {
        BegunSync { number, edits: self.inodes[number].edits_len(), length: self.length }
    }

    /// Adds a sync, which ended now.
    ///
    /// It makes the file's creation durable as well. POSIX asks for a sync of the directory too. SQLite syncs it
    /// with the first sync of a new journal or WAL, which settles all names in it; for a new database it does not,
    /// but the file systems in use keep the name of any new file that is synced.
    pub(crate) fn end_sync(&mut self, begun: BegunSync) {
        let stamp = self.next_stamp();
        self.inodes[begun.number].sync(stamp, begun.edits);
        for bindings in self.names.values_mut() {
            // From the end, because a journal's name has stood for as many files as there were transactions.
            let newest_first = &mut bindings.iter_mut().rev();
            if let Some(binding) = newest_first.find(|binding| binding.inode == Some(begun.number)) {
                binding.durable.get_or_insert(stamp);
            }
        }
        if let Some(directory) = self.new_journals.remove(&begun.number) {
            self.sync_directory(&directory, begun.length, stamp);
        }
    }

    /// Adds the deletion of a file, if `path` is one of ours.
    pub(crate) fn delete(&mut self, path: &Path, directory: DirectorySync) {
        if self.find(path).is_none() {
            return;
        }
        let stamp = self.next_stamp();
        let bindings = self.names.get_mut(path).expect("find saw the name");
        bindings.push(Binding { stamp, inode: None, durable: None });
        if directory == DirectorySync::Done {
            self.sync_directory(directory_of(path), stamp, stamp);
        }
    }

    /// Returns the files each name may refer to if the power is cut at `crash_point`, the newest last.
    ///
    /// The list begins with the newest one that is certain; `None` means that there is no such file.
    pub(crate) fn names_at_crash(&self, crash_point: usize) -> impl Iterator<Item = (&Path, Vec<Option<usize>>)> {
        self.names.iter().map(move |(path, bindings)| {
            let happened = &bindings[..bindings.partition_point(|binding| binding.stamp <= crash_point)];
            let certain = |binding: &Binding| binding.durable.is_some_and(|stamp| stamp <= crash_point);
            let candidates = match happened.iter().rposition(certain) {
                Some(first) => happened[first..].iter().map(|binding| binding.inode).collect(),
                None => std::iter::once(None).chain(happened.iter().map(|binding| binding.inode)).collect(),
            };
            (path.as_path(), candidates)
        })
    }

    fn next_stamp(&mut self) -> usize {
        self.length += 1;
        self.length
    }

    fn bind(&mut self, path: &Path, image: Vec<u8>, stamp: usize, durable: Option<usize>) -> usize {
        let number = self.inodes.len();
        self.inodes.push(Inode::new(image));
        let bindings = self.names.entry(path.to_path_buf()).or_default();
        let inode = Some(number);
        bindings.push(Binding { stamp, inode, durable });
        number
    }

    /// Settles the names in `directory` as they were when the log had `length` operations.
    fn sync_directory(&mut self, directory: &Path, length: usize, stamp: usize) {
        for (path, bindings) in &mut self.names {
            let newest_first = &mut bindings.iter_mut().rev();
            if directory_of(path) == directory
                && let Some(binding) = newest_first.find(|binding| binding.stamp <= length)
            {
                binding.durable.get_or_insert(stamp);
            }
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().expect("SQLite's paths are absolute and name a file")
}
