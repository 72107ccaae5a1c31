//! Files that do not hold still, cannot be opened, or lead back to themselves.

use super::*;
use manent::formats::core::json::Bytes;
use manent::formats::core::source_fs::Entry;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that changes while it is read: after some openings its content is another.
struct Moving {
    before: MemoryTree,
    after: MemoryTree,
    /// Openings left until it changes.
    left: AtomicUsize,
}

impl Moving {
    fn of(before: &Files, after: &Files, openings: usize) -> Box<Self> {
        let memory = |files: &Files| MemoryTree::new("files", files.clone());
        Box::new(Self { before: memory(before), after: memory(after), left: AtomicUsize::new(openings) })
    }
}

impl SourceTree for Moving {
    fn label(&self) -> &str {
        self.before.label()
    }

    fn entries(&self) -> &[Entry] {
        self.before.entries()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.before.open(name),
            Err(_) => self.after.open(name),
        }
    }
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_is_taken_in_whole_the_next_time() {
    let whole = sessions(SESSIONS);
    let grown = sessions(&SESSIONS.replace("\"再见\"", "\"再见, 明天见\""));
    let cut = sessions(&SESSIONS[..SESSIONS.len() / 2]);
    let gone = sessions("");
    for after in [&grown, &cut, &gone] {
        for openings in 0..6 {
            let database = open();
            let format = formats::format("veloca").expect("veloca");
            let moving = Moving::of(&whole, after, openings);
            // It may be told as an error or as records that cannot be read; it is never a defect.
            if let Err(error) = database.import_tree(moving, format, ImportMode::Store, |_| {}).await {
                assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
            }
            assert_sound(&database).await;
            // What the writer was about to write is what is here in the end.
            import(&database, &grown).await;
            assert_same(&grown, &written(&database, "veloca").await);
            assert_eq!(database.store().conversation_ids(None, 9).await.expect("readable").len(), 2);
            assert_sound(&database).await;
        }
    }
}

/// A folder with a file without read permission.
struct Locked(MemoryTree, &'static str);

impl SourceTree for Locked {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn entries(&self) -> &[Entry] {
        self.0.entries()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Bytes + '_>> {
        match name == self.1 {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => self.0.open(name),
        }
    }
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_named_and_nothing_is_taken_in() {
    let (database, name) = (open(), "veloca-storage.json");
    let tree = Box::new(Locked(MemoryTree::new("files", sessions(SESSIONS)), name));
    let format = formats::format("veloca").expect("veloca");
    let refused = database.import_tree(tree, format, ImportMode::Store, |_| {}).await;
    let Err(Error::Unreadable { source }) = refused else { panic!("{refused:?}") };
    assert!(source.to_string().contains(name), "{source}");
    assert_eq!(database.sources().await.expect("readable"), []);
    import(&database, &sessions(SESSIONS)).await;
    assert_same(&sessions(SESSIONS), &written(&database, "veloca").await);
}

#[tokio::test]
async fn a_folder_that_leads_back_to_itself_is_read_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).expect("made");
    std::fs::write(folder.path().join("veloca-storage.json"), SESSIONS).expect("written");
    std::os::unix::fs::symlink(folder.path(), inner.join("up")).expect("linked");
    std::os::unix::fs::symlink("round", inner.join("round")).expect("linked");
    let tree = Box::new(Folder::open(folder.path()).expect("a folder"));
    assert_eq!(tree.entries().len(), 1);
    let (database, format) = (open(), formats::format("veloca").expect("veloca"));
    let report = database.import_tree(tree, format, ImportMode::Store, |_| {}).await.expect("imported");
    assert_eq!((report.conversations.len(), report.skipped()), (2, 0));
}
