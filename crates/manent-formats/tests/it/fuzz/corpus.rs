//! What is mutated: our own samples, the real files where they are, and every input that once broke a reader.

use super::Files;
use crate::kit::{files, fixtures, folder};
use manent_formats::core::source_fs::MemoryTree;
use manent_formats::readable;
use std::path::{Path, PathBuf};

/// Larger ones only make it slow.
const SIZE_MAX: usize = 256 << 10;

/// The folder of what once broke something: `<format>/<case>/<files>`.
pub fn kept(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format)
}

/// The cases of a folder, in order.
pub fn cases(path: &Path) -> Vec<(String, Files)> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("a case").path()).collect();
    names.sort();
    names.iter().map(|path| (path.display().to_string(), files(&folder(path)))).collect()
}

/// All that there is of a format.
pub fn of(format: &str) -> Vec<Files> {
    let mut all: Vec<Files> = samples(format).iter().map(|tree| files(tree)).collect();
    all.extend(cases(&kept(format)).into_iter().map(|(_, files)| files));
    if let Some(path) = fixtures(format) {
        all.extend(cases(&path).into_iter().map(|(_, files)| files));
    }
    all.retain(|files| files.values().map(Vec::len).sum::<usize>() <= SIZE_MAX);
    assert!(!all.is_empty(), "there is nothing of {format} to begin with; put a case into {}", kept(format).display());
    all
}

fn samples(format: &str) -> Vec<MemoryTree> {
    use crate::{kode, obsidian, personalab, tables, veloca};
    match format {
        manent_formats::apps::veloca::NAME => {
            let odd = [veloca::samples::mixed(), veloca::samples::twice()];
            veloca::samples::all().into_iter().chain(odd).collect()
        }
        manent_formats::apps::obsidian::NAME => {
            use obsidian::samples::*;
            vec![several(), trash_index(), odd(), windows(), migrated()]
        }
        manent_formats::apps::personalab::NAME => {
            use personalab::samples::*;
            vec![instances(), odd(), odd_conversations(), documents(), oldest(), broken()]
        }
        manent_formats::apps::kode::NAME => kode::folders(),
        manent_formats::apps::tables::NAME => {
            use tables::samples::*;
            [draft(), odd()].iter().map(|bytes| crate::sqlite::tree("tables.sqlite", bytes)).collect()
        }
        // Another format brings its cases in its folder.
        _ => Vec::new(),
    }
}

/// Words that readers look for, from all formats: keys and names of files.
pub fn words() -> Vec<String> {
    let mut words = std::collections::BTreeSet::new();
    for files in readable().flat_map(|format| samples(format.name)).map(|tree| files(&tree)) {
        for (name, bytes) in files {
            words.extend(name.split('/').map(str::to_owned));
            let text = String::from_utf8_lossy(&bytes).into_owned();
            words.extend(text.split('"').skip(1).step_by(2).filter(|word| word.len() < 40).map(str::to_owned));
        }
    }
    words.into_iter().collect()
}
