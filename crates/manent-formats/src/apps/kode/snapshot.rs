//! Snapshots: all messages at a moment, mapped to a position on a known path or to a branch.

use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::frame::Mark;
use crate::apps::kode::list::StoredMessage;
use crate::apps::kode::message_trie::MessageTrie;
use crate::apps::kode::window::{Folded, MESSAGES, Window, odd};
use crate::core::item::BookmarkItem;
use crate::core::json::{Frame, Members, Outline, Shape, Style};
use crate::core::problem::ReadError;
use manent_model::Json;

const RECORDS: Shape = Shape::List(&Shape::Value);
const SNAPSHOT: Shape = Shape::Object(&[("messages", RECORDS)]);

/// A snapshot as it was read.
pub(crate) struct Snapshot {
    id: String,
    file: String,
    frame: Frame,
    list: &'static str,
    pub messages: Vec<StoredMessage>,
}

/// The files of snapshots, with the ids that their names say.
fn files(agent: &AgentFolder) -> Vec<(String, String)> {
    let layered = agent.inside("snapshots").filter(|(_, leaf)| *leaf != "index.json");
    let mut files: Vec<(String, String)> =
        layered.filter_map(|(file, leaf)| Some((file.to_owned(), leaf.strip_suffix(".json")?.to_owned()))).collect();
    if agent.is_flat {
        let flat = agent.files.iter().filter_map(|file| Some((file, file.strip_prefix("snapshot-")?)));
        files.extend(flat.filter_map(|(file, rest)| Some((file.clone(), rest.strip_suffix(".json")?.to_owned()))));
    }
    files
}

impl Reader<'_> {
    pub fn snapshots(&mut self, agent: &AgentFolder) -> Result<Vec<Snapshot>, ReadError> {
        let mut snapshots = Vec::new();
        for (file, id) in files(agent) {
            let path = agent.path(&file);
            let Some(opened) = self.history(&path, "snapshot", &SNAPSHOT)? else { continue };
            let (list, outline, id) = match &opened.root {
                root @ Outline::List { .. } => ("", Some(root), id),
                root => {
                    let named = Members::parse(&opened.frame.skeleton.text).and_then(|members| members.text("id"));
                    ("messages", root.member("messages"), named.unwrap_or(id))
                }
            };
            let messages = self.records(&path, &*opened.bytes, outline, MESSAGES)?;
            let frame = match opened.is_torn {
                true => Frame::fresh(&format!("{{\"id\":{},\"messages\":[]}}", Json::of(&id).text()), Style::PRETTY),
                false => opened.frame,
            };
            let list = if opened.is_torn { "messages" } else { list };
            snapshots.push(Snapshot { id, file, frame, list, messages });
        }
        Ok(snapshots)
    }
}

/// Finds the place that a snapshot remembers, and makes a branch where there is none.
pub(crate) fn bookmark(
    snapshot: Snapshot,
    trie: &mut MessageTrie,
    folds: &[Folded],
    windows: &[Window],
) -> BookmarkItem {
    let first = snapshot.messages.first();
    let fold = folds.iter().find(|fold| first.is_some_and(|first| first.compact == fold.summary.compact));
    let (parent, from) = match fold {
        Some(fold) => (Some(fold.last), 1),
        None => (None, 0),
    };
    let path = trie.put(parent, &snapshot.messages[from..]);
    let head = path.last().copied().or(parent);
    let mut records: Vec<&str> = fold.iter().map(|fold| fold.summary.text.as_str()).collect();
    records.extend(path.iter().map(|index| trie.text(*index)));
    let level = if snapshot.list.is_empty() { 1 } else { 2 };
    let mark = Mark::Snapshot {
        odd: odd(&snapshot.messages, &records, snapshot.frame.style, level),
        view: fold.map(|fold| windows[fold.window].id.clone()),
        file: snapshot.file,
        frame: snapshot.frame,
        list: snapshot.list.to_owned(),
    };
    BookmarkItem { name: snapshot.id, head, metadata: Some(Json::of(&mark)), record: "snapshot" }
}
