//! Which folders are agents, and which file is whose.

use super::Generation;
use crate::tree::Tree;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The folder of a pool that was shut down; it looks like an agent and is none.
pub(super) const POOL: &str = "__pool_meta__";

/// Folders of an agent's folder, and folders of those.
const FOLDERS: [&str; 6] =
    ["runtime", "events", "snapshots", "history/windows", "history/compressions", "history/recovered"];

/// A folder of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Below the root; empty where it is the root itself.
    pub folder: String,
    /// Its files, by their names below the folder.
    pub files: Vec<String>,
    /// The place of the agent in whose folder it lies.
    pub parent: Option<usize>,
    pub is_flat: bool,
}

impl Found {
    /// The name of a file below the root.
    pub fn path(&self, file: &str) -> String {
        match self.folder.is_empty() {
            true => file.to_owned(),
            false => format!("{}/{file}", self.folder),
        }
    }

    pub fn has(&self, file: &str) -> bool {
        self.files.iter().any(|known| known == file)
    }

    /// Files directly in one of its folders, with the rest of their names.
    pub fn inside<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files.iter().filter_map(move |file| {
            let leaf = file.strip_prefix(folder)?.strip_prefix('/')?;
            (!leaf.contains('/')).then_some((file.as_str(), leaf))
        })
    }
}

/// Splits a name into the folder of an agent and the file in it, as the layout since 2.7.0 would.
fn home(name: &str) -> Option<&str> {
    let (above, leaf) = name.rsplit_once('/').unwrap_or(("", name));
    let inside = FOLDERS.iter().find_map(|folder| match above.strip_suffix(folder)? {
        "" => Some(""),
        rest => rest.strip_suffix('/'),
    });
    // A snapshot may be called `meta`, so the folders come first.
    inside.or((leaf == "meta.json").then_some(above))
}

/// The folder that a folder lies in; none for the root.
fn above(folder: &str) -> Option<&str> {
    (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
}

fn is_flat_file(leaf: &str) -> bool {
    matches!(leaf, "messages.json" | "events.jsonl" | "info.json")
        || (leaf.starts_with("snapshot-") && leaf.ends_with(".json"))
}

/// Finds the agents of a tree, in order of their folders, so that a parent comes before its forks.
pub(super) fn agents(tree: &dyn Tree) -> Vec<Found> {
    let mut layered: HashSet<&str> = HashSet::new();
    let mut flat: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in tree.entries() {
        if let Some(folder) = home(&entry.name) {
            layered.insert(folder);
        }
        let (above, leaf) = entry.name.rsplit_once('/').unwrap_or(("", &entry.name));
        if is_flat_file(leaf) {
            flat.entry(above).or_default().push(leaf);
        }
    }
    flat.retain(|folder, files| {
        let is_whole = files.contains(&"messages.json") && files.iter().any(|file| *file != "messages.json");
        is_whole && !layered.contains(folder)
    });
    let is_agent = |folder: &str| layered.contains(folder) || flat.contains_key(folder);
    let mut agents: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in tree.entries() {
        // The nearest folder above that is an agent owns the file.
        let mut above = entry.name.rsplit_once('/').map(|(above, _)| above).or(Some(""));
        while let Some(folder) = above {
            if is_agent(folder) {
                let rest = entry.name[folder.len()..].trim_start_matches('/');
                agents.entry(folder).or_default().push(rest.to_owned());
                break;
            }
            above = self::above(folder);
        }
    }
    let places: HashMap<&str, usize> = agents.keys().enumerate().map(|(place, folder)| (*folder, place)).collect();
    let found = agents.iter().map(|(folder, files)| {
        let parent = std::iter::successors(above(folder), |folder| above(folder)).find_map(|above| places.get(above));
        Found {
            folder: (*folder).to_owned(),
            files: files.clone(),
            parent: parent.copied(),
            is_flat: flat.contains_key(folder),
        }
    });
    found.collect()
}

/// Says whether a folder holds more than a `meta.json`, which other programs have too.
pub(super) fn is_certain(tree: &dyn Tree, found: &Found) -> bool {
    let known = ["runtime/messages.json", "runtime/tool-calls.json", "runtime/messages.wal", "events/progress.log"];
    if found.is_flat || known.iter().any(|file| found.has(file)) {
        return true;
    }
    let log = |file: &String| file.starts_with("events/") && (file.ends_with(".log") || file.ends_with(".wal"));
    if found.files.iter().any(log) {
        return true;
    }
    found.has("meta.json") && begins_with(tree, &found.path("meta.json"), "\"agentId\"")
}

fn begins_with(tree: &dyn Tree, name: &str, word: &str) -> bool {
    let Ok(file) = tree.open(name) else { return false };
    let Ok(start) = file.slice(0, file.len().min(64 << 10)) else { return false };
    String::from_utf8_lossy(&start).contains(word)
}

/// Tells the generation from names, and where these say nothing from the first tool calls.
pub(super) fn generation(tree: &dyn Tree, agents: &[Found]) -> Generation {
    if agents.iter().all(|found| found.is_flat) {
        return Generation::Flat;
    }
    let names = || agents.iter().flat_map(|found| found.files.iter());
    let is_sharp = |file: &String| {
        matches!(file.as_str(), "runtime/messages.json.wal" | "runtime/tool-calls.json.wal" | "runtime/skills.json")
            || file == "snapshots/index.json"
    };
    let words = ["\"callId\"", "\"toolName\"", "\"state\": \"completed\"", "\"state\":\"completed\""];
    let calls = agents.iter().filter(|found| found.has("runtime/tool-calls.json")).take(8);
    let is_camel =
        |found: &Found| words.iter().any(|word| begins_with(tree, &found.path("runtime/tool-calls.json"), word));
    if names().any(is_sharp) || calls.clone().any(is_camel) {
        return Generation::CSharp;
    }
    let leaf = |found: &Found| found.folder.rsplit('/').next().unwrap_or_default().contains(':');
    let snapshot = |file: &String| file.starts_with("snapshots/sfp:");
    match agents.iter().any(leaf) || names().any(snapshot) {
        true => Generation::Colon,
        false => Generation::Current,
    }
}
