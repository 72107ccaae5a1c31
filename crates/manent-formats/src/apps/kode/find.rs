//! Discovery of agent folders, and assignment of files to agents.

use crate::apps::kode::{CHANNELS, Generation};
use crate::core::json::Members;
use crate::core::source_fs::SourceTree;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The folder of a pool that was shut down; it looks like an agent and is none.
const POOL: &str = "__pool_meta__";

/// Folders of an agent's folder, and folders of those.
const FOLDERS: [&str; 6] =
    ["runtime", "events", "snapshots", "history/windows", "history/compressions", "history/recovered"];

/// A folder of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentFolder {
    /// Path below the root; empty for the root itself.
    pub folder: String,
    /// Its files, by their names below the folder.
    pub files: Vec<String>,
    /// Index of the agent whose folder contains this one.
    pub parent: Option<usize>,
    pub is_flat: bool,
}

impl AgentFolder {
    /// The name of a file below the root.
    pub fn path(&self, file: &str) -> String {
        match self.folder.is_empty() {
            true => file.to_owned(),
            false => format!("{}/{file}", self.folder),
        }
    }

    /// Returns whether it is the list of a pool that was shut down.
    pub fn is_pool(&self) -> bool {
        self.folder.rsplit('/').next() == Some(POOL) && self.files == ["meta.json"]
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

/// The folder of the agent that a file belongs to, if the file name is specific to agents. A `snapshots` or `events`
/// folder alone does not make an agent: a project that contains a store may have one.
fn home(name: &str) -> Option<&str> {
    let (above, leaf) = name.rsplit_once('/').unwrap_or(("", name));
    let is_ours = |folder: &str| match folder {
        "runtime" => ["messages.", "tool-calls.", "todos.json", "media-cache.json", "skills.json"]
            .iter()
            .any(|start| leaf.starts_with(start)),
        "events" => CHANNELS.iter().any(|channel| leaf.strip_prefix(channel).is_some_and(|end| end.starts_with('.'))),
        folder => folder.starts_with("history/") && (leaf.ends_with(".json") || leaf.ends_with(".txt")),
    };
    FOLDERS.iter().filter(|folder| is_ours(folder)).find_map(|folder| match above.strip_suffix(folder)? {
        "" => Some(""),
        rest => rest.strip_suffix('/'),
    })
}

/// The folder of a meta file that is an agent's: other programs have such files too.
fn described<'a>(tree: &dyn SourceTree, name: &'a str) -> Option<&'a str> {
    let (above, leaf) = name.rsplit_once('/').unwrap_or(("", name));
    let folder = above.rsplit('/').next().unwrap_or_default();
    // A snapshot may be called `meta`.
    if leaf != "meta.json" || FOLDERS.contains(&folder) {
        return None;
    }
    let named = ["agt-", "agt:", "fork-", "fork:", POOL].iter().any(|start| folder.starts_with(start));
    (named || begins_with(tree, name, "\"agentId\"")).then_some(above)
}

/// The parent folder; `None` for the root.
fn above(folder: &str) -> Option<&str> {
    (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
}

fn is_flat_file(leaf: &str) -> bool {
    matches!(leaf, "messages.json" | "events.jsonl" | "info.json")
        || (leaf.starts_with("snapshot-") && leaf.ends_with(".json"))
}

/// Finds the agents of a tree, in order of their folders, so that a parent comes before its forks.
pub(crate) fn agents(tree: &dyn SourceTree) -> Vec<AgentFolder> {
    let mut layered: HashSet<&str> = HashSet::new();
    let mut flat: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in tree.entries() {
        layered.extend(home(&entry.name).or_else(|| described(tree, &entry.name)));
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
            above = crate::apps::kode::find::above(folder);
        }
    }
    let found = agents.into_iter().map(|(folder, files)| AgentFolder {
        folder: folder.to_owned(),
        files,
        parent: None,
        is_flat: flat.contains_key(folder),
    });
    found.collect()
}

/// Sets the parent of each agent to the one whose folder contains it.
pub(crate) fn adopt(agents: &mut [AgentFolder]) {
    let places: HashMap<String, usize> =
        agents.iter().enumerate().map(|(place, found)| (found.folder.clone(), place)).collect();
    for found in agents {
        let mut folders = std::iter::successors(above(&found.folder), |folder| above(folder));
        found.parent = folders.find_map(|folder| places.get(folder)).copied();
    }
}

fn begins_with(tree: &dyn SourceTree, name: &str, word: &str) -> bool {
    let Ok(file) = tree.open(name) else { return false };
    let Ok(start) = file.slice(0, file.len().min(64 << 10)) else { return false };
    String::from_utf8_lossy(&start).contains(word)
}

/// Tells the generation from names, and where these say nothing from the first tool calls.
pub(crate) fn generation(tree: &dyn SourceTree, agents: &[AgentFolder]) -> Generation {
    if agents.iter().all(|found| found.is_flat) {
        return Generation::Flat;
    }
    let names = || agents.iter().flat_map(|found| found.files.iter());
    let is_sharp = |file: &String| {
        matches!(file.as_str(), "runtime/messages.json.wal" | "runtime/tool-calls.json.wal" | "runtime/skills.json")
            || file == "snapshots/index.json"
    };
    let mut calls = agents.iter().filter(|found| found.has("runtime/tool-calls.json")).take(8);
    let is_camel = |found: &AgentFolder| is_camel(tree, &found.path("runtime/tool-calls.json"));
    if names().any(is_sharp) || calls.any(is_camel) {
        return Generation::CSharp;
    }
    let leaf = |found: &AgentFolder| found.folder.rsplit('/').next().unwrap_or_default().contains(':');
    let snapshot = |file: &String| file.starts_with("snapshots/sfp:");
    match agents.iter().any(leaf) || names().any(snapshot) {
        true => Generation::Colon,
        false => Generation::Current,
    }
}

/// Returns whether the tool call records are those of the C# port.
fn is_camel(tree: &dyn SourceTree, name: &str) -> bool {
    let Ok(bytes) = tree.read(name, 1 << 20) else { return false };
    let Ok(records) = serde_json::from_slice::<Vec<&serde_json::value::RawValue>>(&bytes) else { return false };
    records.iter().take(8).filter_map(|record| Members::parse(record.get())).any(|record| {
        let state = record.raw("state").unwrap_or_default();
        record.raw("callId").is_some()
            || state.trim_start_matches('"').starts_with(|letter: char| !letter.is_uppercase())
    })
}
