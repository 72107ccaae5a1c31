//! File locations: in a vault, or in a copy of the program's folder.

use crate::apps::obsidian::{BACKUP, HISTORY, INDEX, SESSIONS, TRASH, TRASH_INDEX, history};
use crate::core::source_fs::SourceTree;

const FOLDERS: [&str; 2] = ["", "Assets/History/"];

/// The files of one root.
#[derive(Default)]
pub(crate) struct Files {
    pub folder: String,
    pub is_alone: bool,
    pub index: Option<String>,
    pub trash_index: Option<String>,
    pub sessions: Vec<String>,
    pub trash: Vec<String>,
    pub histories: Vec<String>,
}

/// Finds the roots of a tree.
pub(crate) fn places(tree: &dyn SourceTree) -> Vec<Files> {
    let found: Vec<Files> =
        FOLDERS.iter().map(|folder| files(tree, folder)).filter(|files| is_ours(tree, files)).collect();
    match (tree.entries(), found.is_empty()) {
        ([only], true) if looks_like_session(tree, &only.name) => {
            vec![Files { is_alone: true, sessions: vec![only.name.clone()], ..Files::default() }]
        }
        ([only], true) if history::looks_like(tree, &only.name) => {
            vec![Files { is_alone: true, histories: vec![only.name.clone()], ..Files::default() }]
        }
        _ => found,
    }
}

fn files(tree: &dyn SourceTree, folder: &str) -> Files {
    let there = |name: &str| Some(format!("{folder}{name}")).filter(|name| tree.has(name));
    let inside = |part: &str| {
        let prefix = format!("{folder}{part}");
        let names = tree.entries().iter().map(|entry| &entry.name);
        let is_one = |rest: &str| rest.ends_with(".json") && !rest.contains('/');
        names.filter(|name| name.strip_prefix(&prefix).is_some_and(is_one)).cloned().collect()
    };
    Files {
        folder: folder.to_owned(),
        is_alone: false,
        index: there(INDEX),
        trash_index: there(TRASH_INDEX),
        sessions: inside(SESSIONS),
        trash: inside(TRASH),
        histories: [HISTORY, BACKUP].into_iter().filter_map(there).collect(),
    }
}

/// Other programs have a folder of sessions too, so one of the files must look like one where no name says enough.
fn is_ours(tree: &dyn SourceTree, files: &Files) -> bool {
    let has_history = files.histories.iter().any(|name| name.ends_with(HISTORY));
    let looks_like = |names: &[String]| names.iter().take(16).any(|name| looks_like_session(tree, name));
    files.index.is_some() || has_history || looks_like(&files.sessions) || looks_like(&files.trash)
}

fn looks_like_session(tree: &dyn SourceTree, name: &str) -> bool {
    let Ok(file) = tree.open(name) else { return false };
    let Ok(start) = file.slice(0, file.len().min(64 << 10)) else { return false };
    let start = String::from_utf8_lossy(&start);
    let is_object = start.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    is_object && start.contains("\"sessionId\"") && start.contains("\"messages\"")
}
