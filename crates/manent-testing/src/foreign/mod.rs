//! Test data of other programs: locations of real files, and comparison of two file sets.

pub mod sqlite;

use crate::not_run;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Real files, if they are here; otherwise says so.
pub fn fixtures(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MANENT_FIXTURES").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"));
    let found = Some(root.join(folder)).filter(|folder| folder.exists());
    if found.is_none() {
        not_run("the real files of the five formats: MANENT_FIXTURES does not lead to them");
    }
    found
}

/// The lines of a text file; for a SQLite file its rows, regardless of their position in the file.
fn lines(bytes: &[u8]) -> Cow<'_, str> {
    match bytes.starts_with(b"SQLite format 3\0") {
        true => Cow::Owned(sqlite::dump(bytes)),
        false => String::from_utf8_lossy(bytes),
    }
}

/// The files and lines that differ, as few as possible.
pub fn difference<B: AsRef<[u8]>>(before: &BTreeMap<String, B>, after: &BTreeMap<String, B>) -> String {
    let mut told = Vec::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        match (before.get(name).map(AsRef::as_ref), after.get(name).map(AsRef::as_ref)) {
            (Some(_), None) => told.push(format!("gone: {name}")),
            (None, Some(_)) => told.push(format!("new: {name}")),
            (Some(before), Some(after)) if before != after && lines(before) != lines(after) => {
                told.push(format!("changed: {name}"));
                told.extend(changed_lines(&lines(before), &lines(after)));
            }
            _ => {}
        }
    }
    told.join("\n")
}

/// The lines that went and came.
fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    // How many lines both have in common from each pair of places on.
    let mut common = vec![vec![0u32; after.len() + 1]; before.len() + 1];
    for one in (0..before.len()).rev() {
        for other in (0..after.len()).rev() {
            common[one][other] = match before[one] == after[other] {
                true => common[one + 1][other + 1] + 1,
                false => common[one + 1][other].max(common[one][other + 1]),
            };
        }
    }
    let (mut one, mut other, mut lines) = (0, 0, Vec::new());
    while one < before.len() || other < after.len() {
        if one < before.len() && other < after.len() && before[one] == after[other] {
            (one, other) = (one + 1, other + 1);
        } else if other == after.len() || (one < before.len() && common[one + 1][other] >= common[one][other + 1]) {
            lines.push(format!("-{}", before[one]));
            one += 1;
        } else {
            lines.push(format!("+{}", after[other]));
            other += 1;
        }
    }
    lines
}
