//! File locations: in the folder of the program or in its parent.

use crate::apps::personalab::document::Kind;
use crate::core::source_fs::SourceTree;
use std::collections::BTreeMap;

const FOLDERS: [&str; 2] = ["", "data/"];
/// The database of vectors.
pub(crate) const VECTORS: &str = "event_library/chroma_db/";
/// As version 0.2 calls the file that describes an instance.
const METADATA: &str = "metadata.json";

/// The files of one root.
#[derive(Default)]
pub(crate) struct Files {
    pub folder: String,
    pub instances: Vec<Instance>,
    pub conversations: Vec<Conversation>,
    pub documents: Vec<Document>,
    /// The files of the vectors, below their folder.
    pub vectors: Vec<String>,
    /// Another root of the same folder hands these on.
    pub has_told_vectors: bool,
}

/// The files of an instance.
#[derive(Default)]
pub(crate) struct Instance {
    pub folder: String,
    /// The file that describes it, below its folder.
    pub state: Option<&'static str>,
    has_metadata: bool,
    pub has_character: bool,
    /// Below its folder, in `sessions/`.
    pub sessions: Vec<String>,
}

/// The files of a conversation.
#[derive(Default)]
pub(crate) struct Conversation {
    pub folder: String,
    pub has_metadata: bool,
    pub has_character: bool,
    pub has_plot: bool,
    pub has_lines: bool,
}

/// The file of a document.
pub(crate) struct Document {
    pub kind: Kind,
    pub id: String,
    /// Below the root's folder.
    pub name: String,
}

/// Returns whether a file tree contains this format.
pub fn finds(tree: &dyn SourceTree) -> bool {
    !places(tree).is_empty()
}

/// Finds the roots of a tree: one for each generation that something is there of.
pub(crate) fn places(tree: &dyn SourceTree) -> Vec<Files> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let mut files = files(tree, folder);
        let has_talks = files.instances.iter().any(|one| !one.sessions.is_empty())
            || files.conversations.iter().any(|one| one.has_lines);
        let has_documents = files.documents.iter().any(|document| document.kind.is_telling());
        if !has_talks && !has_documents && !has_settings(tree, &files) {
            continue;
        }
        if !files.instances.is_empty() && !files.conversations.is_empty() {
            let conversations = std::mem::take(&mut files.conversations);
            let (folder, vectors) = (folder.to_owned(), files.vectors.clone());
            found.push(files);
            found.push(Files { folder, conversations, vectors, has_told_vectors: true, ..Files::default() });
        } else {
            found.push(files);
        }
    }
    found
}

/// Every program has a `config.json`; that of this one speaks of plots.
fn has_settings(tree: &dyn SourceTree, files: &Files) -> bool {
    let settings = files.documents.iter().find(|document| document.kind == Kind::Settings);
    let text = settings.and_then(|document| tree.read(&format!("{}{}", files.folder, document.name), 1 << 20).ok());
    text.is_some_and(|text| String::from_utf8_lossy(&text).contains("\"director_plot_control\""))
}

fn files(tree: &dyn SourceTree, folder: &str) -> Files {
    let mut files = Files { folder: folder.to_owned(), ..Files::default() };
    let mut instances: BTreeMap<&str, Instance> = BTreeMap::new();
    let mut conversations: BTreeMap<&str, Conversation> = BTreeMap::new();
    for entry in tree.entries() {
        let Some(name) = entry.name.strip_prefix(folder) else { continue };
        if let Some(name) = name.strip_prefix(VECTORS) {
            files.vectors.push(name.to_owned());
            continue;
        }
        let pieces: Vec<&str> = name.split('/').collect();
        match pieces[..] {
            ["instances", id, "instance_state.json"] => {
                instances.entry(id).or_default().state = Some("instance_state.json")
            }
            ["instances", id, METADATA] => instances.entry(id).or_default().has_metadata = true,
            ["instances", id, "character_state.json"] => instances.entry(id).or_default().has_character = true,
            ["instances", id, "sessions", file] if file.ends_with(".jsonl") => {
                instances.entry(id).or_default().sessions.push(file.to_owned());
            }
            ["conversations", id, "metadata.json"] => conversations.entry(id).or_default().has_metadata = true,
            ["conversations", id, "character_snapshot.json"] => {
                conversations.entry(id).or_default().has_character = true
            }
            ["conversations", id, "plot_state.json"] => conversations.entry(id).or_default().has_plot = true,
            ["conversations", id, "conversation.jsonl"] => conversations.entry(id).or_default().has_lines = true,
            _ => {
                files.documents.extend(Kind::of(&pieces).map(|(kind, id)| Document { kind, id, name: name.to_owned() }))
            }
        }
    }
    for (id, instance) in instances {
        let mut instance = Instance { folder: id.to_owned(), ..instance };
        if instance.has_metadata && instance.state.replace(instance.state.unwrap_or(METADATA)).is_some() {
            // Of two files that describe it the newer one does.
            let (kind, name) = (Kind::Instance, format!("instances/{id}/{METADATA}"));
            files.documents.push(Document { kind, id: format!("{id}/{METADATA}"), name });
        }
        match instance.sessions.is_empty() {
            false => files.instances.push(instance),
            // Nothing was said there yet, so there is no conversation that could carry what it is.
            true => files.documents.extend(unspoken(&instance)),
        }
    }
    let named = |(id, one): (&str, Conversation)| Conversation { folder: id.to_owned(), ..one };
    files.conversations = conversations.into_iter().map(named).collect();
    files
}

fn unspoken(instance: &Instance) -> Vec<Document> {
    let id = &instance.folder;
    let document = |kind, file: &str| Document { kind, id: id.clone(), name: format!("instances/{id}/{file}") };
    let state = instance.state.map(|file| document(Kind::Instance, file));
    let character = instance.has_character.then(|| document(Kind::CharacterState, "character_state.json"));
    state.into_iter().chain(character).collect()
}
