//! SQLite files of tests: made by their statements, and told row by row, without anything of ours.

use manent_formats::core::source_fs::MemoryTree;
pub use manent_testing::foreign::sqlite::{dump, file, open};
use std::collections::BTreeMap;

/// A tree of one file.
pub fn tree(name: &str, bytes: &[u8]) -> MemoryTree {
    MemoryTree::new("memory", BTreeMap::from([(name.to_owned(), bytes.to_vec())]))
}

/// The rows that differ between two files.
pub fn difference(before: &[u8], after: &[u8]) -> String {
    let dumped = |bytes: &[u8]| BTreeMap::from([("dump".to_owned(), dump(bytes).into_bytes())]);
    crate::kit::difference(&dumped(before), &dumped(after)).replacen("dump:\n", "", 1)
}
