//! Reader: first the root and records outside agents, then agent by agent.

use crate::apps::kode::agent::{Agent, id_of};
use crate::apps::kode::database::{Database, Overlay, VirtualFiles};
use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::frame::{RecoveredFrame, RootFrame};
use crate::apps::kode::{Generation, NAME, database, find};
use crate::core::item::{DocumentItem, Item, Root, Sink};
use crate::core::json::RECORD_MAX;
use crate::core::problem::{Place, Problem, ReadError, RepairKind};
use crate::core::source_fs::SourceTree;
use crate::core::unique::Unique;
use crate::core::unmapped::UnmappedFields;
use manent_model::Json;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Returns whether a file tree contains agents.
pub fn finds(tree: &dyn SourceTree) -> bool {
    !find::agents(tree).is_empty() || !database::find(tree).is_empty()
}

/// Reads every agent in a tree: those of databases with the files that belong to them, then those of files alone.
pub fn read(tree: &dyn SourceTree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let mut stores = Vec::new();
    for name in database::find(tree) {
        let unrolled = database::rows_to_files(Database::open(tree, &name)?);
        stores.push(Store::of(tree, name, unrolled));
    }
    if stores.is_empty() {
        return agents(tree, None, sink);
    }
    // Of nested stores, the inner one claims its files first.
    stores.sort_by_key(|store| std::cmp::Reverse(store.base.matches('/').count()));
    let mut taken: HashSet<String> = stores.iter().flat_map(|store| store.own_files(tree)).collect();
    for place in 0..stores.len() {
        let others: HashSet<String> = stores[place + 1..]
            .iter()
            .filter(|other| other.base == stores[place].base)
            .flat_map(|other| other.ids.iter().cloned())
            .collect();
        let unrolled = std::mem::take(&mut stores[place].unrolled);
        if let Some(unrolled) = unrolled {
            stores[place].read(tree, unrolled, &others, &mut taken, sink)?;
        }
    }
    let label = tree.label().to_owned();
    let rest = Overlay::new(tree, label, BTreeMap::new(), |name| (!taken.contains(name)).then(|| name.to_owned()));
    match find::agents(&rest).is_empty() {
        true => Ok(()),
        false => agents(&rest, None, sink),
    }
}

/// A database, and the folder of the files that belong to its agents.
struct Store {
    name: String,
    /// Empty for the root, or with a `/` at its end.
    base: String,
    /// The first pieces of the ids of its agents: their folders.
    ids: HashSet<String>,
    unrolled: Option<VirtualFiles>,
}

impl Store {
    fn of(tree: &dyn SourceTree, name: String, unrolled: VirtualFiles) -> Self {
        let ids: HashSet<String> =
            unrolled.rows.keys().filter_map(|id| id.split('/').next()).map(str::to_owned).collect();
        // The program keeps the files beside the database unless it is told another folder.
        let beside = name.rfind('/').map_or("", |at| &name[..=at]);
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in tree.entries() {
            let mut from = 0;
            for (at, _) in entry.name.match_indices('/') {
                if ids.contains(&entry.name[from..at]) {
                    *votes.entry(&entry.name[..from]).or_default() += 1;
                    break;
                }
                from = at + 1;
            }
        }
        let most = votes.iter().max_by_key(|(base, count)| (**count, std::cmp::Reverse(base.len())));
        let base = match most {
            Some((base, _)) if !votes.contains_key(beside) => *base,
            _ => beside,
        };
        Self { base: base.to_owned(), name, ids, unrolled: Some(unrolled) }
    }

    /// The database itself and what SQLite keeps beside it.
    fn own_files(&self, tree: &dyn SourceTree) -> Vec<String> {
        let is_own =
            |name: &str| name.strip_prefix(&self.name).is_some_and(|end| end.is_empty() || end.starts_with('-'));
        tree.entries().iter().map(|entry| entry.name.clone()).filter(|name| is_own(name)).collect()
    }

    fn read(
        &self,
        tree: &dyn SourceTree,
        mut unrolled: VirtualFiles,
        others: &HashSet<String>,
        taken: &mut HashSet<String>,
        sink: &mut dyn Sink,
    ) -> Result<(), ReadError> {
        unrolled.frame.file = self.name.rsplit('/').next().unwrap_or_default().to_owned();
        let here = |name: &str| {
            let name = Some(name).filter(|name| !taken.contains(*name))?.strip_prefix(self.base.as_str())?;
            let is_others = name.split('/').next().is_some_and(|piece| others.contains(piece));
            (!is_others).then(|| name.to_owned())
        };
        for (entry, name) in tree.entries().iter().filter_map(|entry| Some((entry, here(&entry.name)?))) {
            if unrolled.files.contains_key(&name) {
                unrolled.told.push(Item::Found { record: "file", count: 1 });
                let (place, why) = (Place::file(&entry.name), "the database beside it says this".to_owned());
                let bytes = tree.read(&entry.name, RECORD_MAX)?;
                unrolled.told.push(Item::Problem(Problem { place, record: "file", why, bytes }));
            }
        }
        let label = match self.base.as_str() {
            "" => tree.label().to_owned(),
            base => format!("{}/{}", tree.label().trim_end_matches('/'), base.trim_end_matches('/')),
        };
        let files = std::mem::take(&mut unrolled.files);
        let overlay = Overlay::new(tree, label, files, here);
        let used: Vec<String> =
            tree.entries().iter().map(|entry| entry.name.clone()).filter(|name| here(name).is_some()).collect();
        agents(&overlay, Some(unrolled), sink)?;
        taken.extend(used);
        Ok(())
    }
}

fn agents(tree: &dyn SourceTree, unrolled: Option<VirtualFiles>, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let (pools, mut agents): (Vec<AgentFolder>, Vec<AgentFolder>) =
        find::agents(tree).into_iter().partition(AgentFolder::is_pool);
    if agents.is_empty() && pools.is_empty() && unrolled.is_none() {
        let why = "no folder with a meta.json, messages or events of an agent".to_owned();
        return Err(ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why });
    }
    find::adopt(&mut agents);
    let label = tree.label().trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut early: Vec<Item> = Vec::new();
    let mut reader =
        Reader { tree, sink: &mut early, unmapped: UnmappedFields::default(), rows: HashMap::new(), mended: 0 };
    let mut style = reader.pools(&pools)?;
    let (generation, rows, told) = match unrolled {
        Some(VirtualFiles { frame, rows, told, .. }) => {
            style.database = Some(frame);
            (Generation::Sqlite, rows, told)
        }
        None => (find::generation(tree, &agents), HashMap::new(), Vec::new()),
    };
    let generation = generation.name().to_owned();
    sink.take(Item::Root(Root { format: NAME, generation, path: label.clone(), style: Json::of(&style) }))?;
    told.into_iter().chain(early).try_for_each(|item| sink.take(item))?;
    let mut reader = Reader { tree, sink, unmapped: UnmappedFields::default(), rows, mended: 0 };
    let externals = reader.externals(&agents, &label)?;
    for (found, external) in agents.iter().zip(&externals) {
        reader.recovered(found, external)?;
    }
    for (found, external) in agents.iter().zip(&externals) {
        let forked_from = found.parent.map(|parent| externals[parent].clone());
        reader.agent(&Agent { found, external: external.clone(), forked_from })?;
    }
    std::mem::take(&mut reader.unmapped).emit(reader.sink)
}

impl Reader<'_> {
    /// The lists of agents that ran when their pools were shut down: no conversations, and kept with the root.
    fn pools(&mut self, pools: &[AgentFolder]) -> Result<RootFrame, ReadError> {
        let mut frame = RootFrame::default();
        for found in pools {
            let path = found.path("meta.json");
            if let Some(kept) = self.value(&path, &path, "pool")? {
                self.keep_unmapped("pool", 1)?;
                frame.pools.push(kept);
            }
        }
        Ok(frame)
    }

    /// Gives each agent a name of its own: its id, or its folder.
    fn externals(&mut self, agents: &[AgentFolder], label: &str) -> Result<Vec<String>, ReadError> {
        let mut known = Unique::default();
        let mut externals = Vec::with_capacity(agents.len());
        for found in agents {
            let folder = if found.folder.is_empty() { label } else { &found.folder };
            let id = id_of(self, found).unwrap_or_else(|| folder.to_owned());
            let external = known.take(&id);
            if external != id {
                let why = format!("agent {id} lies in two folders; each becomes a conversation of its own");
                self.repair(Place::file(folder), RepairKind::IdRepeated, why)?;
            }
            externals.push(external);
        }
        Ok(externals)
    }

    /// Files that a compression saved, and the list of snapshots that the C# port keeps.
    fn recovered(&mut self, found: &AgentFolder, external: &str) -> Result<(), ReadError> {
        let index = found.inside("snapshots").filter(|(_, leaf)| *leaf == "index.json");
        let files = index.map(|(file, leaf)| ("snapshot_index", file, leaf));
        let files = files.chain(found.inside("history/recovered").map(|(file, leaf)| ("recovered", file, leaf)));
        for (kind, file, leaf) in files {
            let path = found.path(file);
            let Some(bytes) = self.bytes(&path)? else { continue };
            self.found(kind, 1)?;
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    self.problem(Place::file(&path), kind, "the file is no text in UTF-8", error.into_bytes())?;
                    continue;
                }
            };
            let header = if leaf.ends_with(".txt") { header(&text) } else { 0 };
            let frame = RecoveredFrame { file: path, header: text[..header].to_owned() };
            self.take(Item::Document(DocumentItem {
                kind: kind.to_owned(),
                id: format!("{external}/{leaf}"),
                project: None,
                body: Json::of(&&text[header..]),
                frame: Some(Json::of(&frame)),
                record: kind,
            }))?;
        }
        Ok(())
    }
}

/// Offset of the content of a recovered file: behind the lines with `#` and the empty one.
fn header(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        match line.trim_end() {
            "" => return at,
            line if line.starts_with("# ") => {}
            _ => return 0,
        }
    }
    0
}
