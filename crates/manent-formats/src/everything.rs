//! Reader of every store in a file tree, of any format and in any folder; lists unrecognised files.

use crate::apps::kode;
use crate::core::item::{Item, Root, Sink};
use crate::core::problem::{Place, Problem, ReadError};
use crate::core::source_fs::{ReadNames, SourceTree, StoreTree};
use crate::formats::{Format, readable};
use std::collections::BTreeSet;

/// More folders than this are not looked into.
const FOLDERS_MAX: usize = 20_000;
/// Files of operating systems and of SQLite that hold no conversations; a report leaves them out.
const LITTER: [&str; 4] = [".DS_Store", "Thumbs.db", "desktop.ini", "-shm"];

/// Reads all that is of a known format, or of the one that is asked for, then tells what was left out.
///
/// An unreadable store does not prevent reading the others: it is reported as a problem. It is an error if nothing
/// could be read.
pub fn read_everything(
    tree: &dyn SourceTree,
    asked: Option<&'static Format>,
    sink: &mut dyn Sink,
) -> Result<(), ReadError> {
    let read = ReadNames::default();
    let (mut failed, mut has_read) = (Vec::new(), false);
    let mut is_done = BTreeSet::new();
    for folder in folders(tree) {
        for format in readable().filter(|format| asked.is_none_or(|asked| asked.name == format.name)) {
            let part = StoreTree::unread(tree, &folder, &read);
            // Agents are found in every folder below at once.
            let is_whole = format.name == kode::NAME && is_done.contains(format.name);
            if part.entries().is_empty() || is_whole || !(format.finds)(&part) {
                continue;
            }
            is_done.insert(format.name);
            let mut below = BelowSink { sink: &mut *sink, folder: &folder };
            match (format.read)(&part.reading(&read), &mut below) {
                Ok(()) => has_read = true,
                Err(ReadError::Stopped) => return Err(ReadError::Stopped),
                Err(error) => failed.push((format!("{}{folder}", tree_label(tree)), error)),
            }
        }
    }
    match (has_read, asked) {
        (true, _) => {}
        (false, _) if !failed.is_empty() => return Err(failed.swap_remove(0).1),
        // A requested format is read without detection; its reader reports errors.
        (false, Some(format)) => return (format.read)(tree, sink),
        (false, None) => return Err(ReadError::Unrecognised { file: tree.label().to_owned() }),
    }
    for (place, error) in failed {
        sink.take(Item::Found { record: "store", count: 1 })?;
        let (place, why) = (Place::file(&place), with_causes(&error));
        sink.take(Item::Problem(Problem { place, record: "store", why, bytes: Vec::new() }))?;
    }
    let unread = StoreTree::unread(tree, "", &read);
    for entry in unread.entries().iter().filter(|entry| !LITTER.iter().any(|end| entry.name.ends_with(end))) {
        sink.take(Item::LeftOut { name: entry.name.clone(), why: "of no known format" })?;
    }
    for (name, why) in tree.passed_over() {
        sink.take(Item::LeftOut { name: name.clone(), why })?;
    }
    Ok(())
}

fn tree_label(tree: &dyn SourceTree) -> String {
    match tree.label() {
        "" => String::new(),
        label => format!("{}/", label.trim_end_matches('/')),
    }
}

fn with_causes(error: &ReadError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The root, then every folder, the nearest first; each with a `/` at its end.
fn folders(tree: &dyn SourceTree) -> Vec<String> {
    let mut folders = BTreeSet::from([(0, String::new())]);
    for entry in tree.entries() {
        for (place, _) in entry.name.match_indices('/') {
            let folder = &entry.name[..=place];
            folders.insert((folder.matches('/').count(), folder.to_owned()));
        }
        if folders.len() > FOLDERS_MAX {
            break;
        }
    }
    folders.into_iter().map(|(_, folder)| folder).collect()
}

/// Names places by where they are in the whole tree.
struct BelowSink<'a> {
    sink: &'a mut dyn Sink,
    folder: &'a str,
}

impl Sink for BelowSink<'_> {
    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        let below = |name: String| format!("{}{name}", self.folder);
        let place = |place: Place| Place { file: below(place.file), ..place };
        self.sink.take(match item {
            item if self.folder.is_empty() => item,
            Item::Root(root) => Item::Root(Root { path: below(root.path), ..root }),
            Item::Problem(problem) => Item::Problem(Problem { place: place(problem.place), ..problem }),
            Item::Repair(mut repair) => {
                repair.place = place(repair.place);
                Item::Repair(repair)
            }
            item => item,
        })
    }
}
