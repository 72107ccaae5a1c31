//! Reader thread with a bounded channel: it blocks while the store is busy, so memory does not grow with the file.

use manent_formats::core::media::MediaExtractor;
use manent_formats::core::source_fs::SourceTree;
use manent_formats::{Format, Item, ReadError, Sink, read_everything};
use sha2::{Digest, Sha256};
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// Channel capacity in items; each is at most one record.
const WAITING: usize = 64;

/// A message of the reader thread.
pub(crate) enum Sent {
    /// SHA-256 of all files of the tree.
    Digest(String),
    /// An item that was read.
    Item(Item),
}

/// A running reader thread.
pub(crate) struct Reading {
    items: mpsc::Receiver<Sent>,
    thread: JoinHandle<Result<(), ReadError>>,
}

struct Channel(mpsc::Sender<Sent>);

impl Sink for Channel {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        self.0.blocking_send(Sent::Item(item)).map_err(|_| ReadError::Stopped)
    }
}

/// Stores of a tree that are read.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The root, in this format.
    One(&'static Format),
    /// Every store in any folder, of any format or only of the given one.
    Everything(Option<&'static Format>),
}

/// Starts the reader thread.
pub(crate) fn begin(tree: Box<dyn SourceTree + Send>, wanted: Wanted) -> Reading {
    let (sender, items) = mpsc::channel(WAITING);
    let thread = std::thread::spawn(move || {
        let digest = digest(&*tree)?;
        sender.blocking_send(Sent::Digest(digest)).map_err(|_| ReadError::Stopped)?;
        let mut channel = Channel(sender);
        let mut sink = MediaExtractor::new(&mut channel);
        match wanted {
            Wanted::One(format) => (format.read)(&*tree, &mut sink),
            Wanted::Everything(asked) => read_everything(&*tree, asked, &mut sink),
        }
    });
    Reading { items, thread }
}

impl Reading {
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        self.items.recv().await
    }

    /// Returns the result of the reading. Dropping the receiver early also ends the thread.
    pub(crate) fn end(self) -> Result<(), ReadError> {
        drop(self.items);
        let lost = || ReadError::Internal("the reader panicked".to_owned());
        self.thread.join().unwrap_or_else(|_| Err(lost()))
    }
}

/// Hashes names and contents of all files, so that the same tree is recognised at any place.
fn digest(tree: &dyn SourceTree) -> Result<String, ReadError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    for entry in tree.entries() {
        hasher.update((entry.name.len() as u64).to_le_bytes());
        hasher.update(entry.name.as_bytes());
        let failed = |source| ReadError::File { file: entry.name.clone(), source };
        let (file, mut at) = (tree.open(&entry.name).map_err(failed)?, 0);
        loop {
            let read = file.read_at(at, &mut buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            at += read as u64;
        }
        hasher.update(at.to_le_bytes());
    }
    Ok(manent_model::hex::encode(&hasher.finalize()))
}
