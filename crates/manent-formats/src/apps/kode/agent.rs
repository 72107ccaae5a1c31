//! One agent: its files combined into a conversation.

use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::folds::{complete, fold_item, unreached};
use crate::apps::kode::frame::{AgentFrame, Kept, Mark};
use crate::apps::kode::list::Listed;
use crate::apps::kode::log::{Log, in_order};
use crate::apps::kode::message_trie::MessageTrie;
use crate::apps::kode::meta::Meta;
use crate::apps::kode::window::{Folded, MESSAGES, Window, lines, unfold};
use crate::apps::kode::{BREAKPOINT, CHANNELS, STATES, message, meta, snapshot};
use crate::core::item::*;
use crate::core::json::Members;
use crate::core::problem::{Place, ReadError};
use crate::core::unique::Unique;
use manent_model::{ConversationKind, Json, Time, TimeSource, Timestamp};
use std::collections::HashMap;

/// An agent with what is known before its files are read.
pub(crate) struct Agent<'a> {
    pub found: &'a AgentFolder,
    pub external: String,
    pub forked_from: Option<String>,
}

/// An agent that is being put together.
pub(crate) struct Put<'a> {
    pub agent: &'a Agent<'a>,
    meta: Meta,
    pub time: Time,
    pub frame: AgentFrame,
    pub trie: MessageTrie,
    /// The messages of the path.
    pub path: Vec<MessageIndex>,
    pub folds: Vec<Folded>,
    pub windows: Vec<Window>,
    bookmarks: Vec<BookmarkItem>,
    states: Vec<StateItem>,
    pub calls: Vec<ToolCallItem>,
    pub logs: Vec<Log>,
    has_meta: bool,
    extent: Extent,
}

impl Reader<'_> {
    pub fn agent(&mut self, agent: &Agent<'_>) -> Result<(), ReadError> {
        let (meta, kept) = self.meta(agent.found)?;
        let time = Time { at: meta.created_at.unwrap_or(Timestamp(0)), source: TimeSource::Inherited };
        let mut put = Put {
            agent,
            time,
            has_meta: kept.is_some(),
            frame: AgentFrame {
                folder: agent.found.folder.clone(),
                is_meta_lost: kept.is_none() && agent.found.has(meta_file(agent.found)),
                meta: kept,
                rows: self.rows.remove(&agent.found.folder),
                ..AgentFrame::default()
            },
            meta,
            trie: MessageTrie::default(),
            path: Vec::new(),
            folds: Vec::new(),
            windows: Vec::new(),
            bookmarks: Vec::new(),
            states: Vec::new(),
            calls: Vec::new(),
            logs: Vec::new(),
            extent: Extent::default(),
        };
        self.messages(&mut put)?;
        self.calls(&mut put)?;
        self.states(&mut put)?;
        self.logs(&mut put)?;
        self.left_over(agent.found)?;
        self.tell(put)
    }

    /// Reads the metadata of an agent; empty if it is unreadable, which is reported.
    fn meta(&mut self, found: &AgentFolder) -> Result<(Meta, Option<Kept>), ReadError> {
        let file = meta_file(found);
        if !found.has(file) {
            return Ok((Meta::default(), None));
        }
        let path = found.path(file);
        let Some(kept) = self.value(&path, file, "agent")? else { return Ok((Meta::default(), None)) };
        match meta::read(&kept.text) {
            Ok(meta) => {
                self.unmapped.scan(&kept.text, "agent", &meta::MAPPED);
                Ok((meta, Some(kept)))
            }
            Err(why) => {
                self.problem(Place::file(&path), "agent", why, kept.text.into_bytes())?;
                Ok((Meta::default(), None))
            }
        }
    }

    fn messages(&mut self, put: &mut Put<'_>) -> Result<(), ReadError> {
        let found = put.agent.found;
        let file = if found.is_flat { "messages.json" } else { "runtime/messages.json" };
        let Listed { frame, records, replaced, is_partial } = self.list(found, file, MESSAGES)?;
        put.extent = if is_partial { Extent::Partial } else { Extent::Whole };
        put.frame.messages = frame;
        let (windows, compressions) = self.windows(found)?;
        put.frame.compressions = compressions;
        let snapshots = self.snapshots(found)?;
        let in_windows: usize = windows.iter().map(|window| window.messages.len()).sum();
        let in_snapshots: usize = snapshots.iter().map(|snapshot| snapshot.messages.len()).sum();
        let count = records.len() + replaced.len() + in_windows + in_snapshots;
        for said in &records {
            self.unmapped.scan(&said.text, "message", &message::MAPPED);
        }
        let (path, folds) = unfold(&records, &windows, put.extent);
        put.path = put.trie.put(None, &path);
        put.bookmarks = unreached(&mut put.trie, &windows, &folds);
        for snapshot in snapshots {
            put.bookmarks.push(snapshot::bookmark(snapshot, &mut put.trie, &folds, &windows));
        }
        if !replaced.is_empty() {
            let before = put.trie.len();
            let (replaced, _) = unfold(&replaced, &windows, Extent::Whole);
            let head = put.trie.put(None, &replaced).last().copied();
            if put.trie.len() > before {
                let metadata = Some(Json::of(&Mark::Replaced));
                put.bookmarks.push(BookmarkItem { name: file.to_owned(), head, metadata, record: "" });
            }
        }
        put.frame.is_blank = put.path.is_empty() && put.trie.len() > 0;
        (put.windows, put.folds) = (windows, folds);
        name_apart(&mut put.bookmarks);
        self.keep_unmapped("message", count.saturating_sub(put.trie.len()))
    }

    fn states(&mut self, put: &mut Put<'_>) -> Result<(), ReadError> {
        let after = put.path.last().copied();
        for (name, file) in STATES {
            if !put.agent.found.has(file) {
                continue;
            }
            let Some(kept) = self.value(&put.agent.found.path(file), file, name)? else { continue };
            let value = Json::parse(&kept.text).expect("a value was read as JSON");
            put.states.push(StateItem { name: name.to_owned(), after, value, record: name });
            put.frame.states.push((name.to_owned(), kept.around));
        }
        if let Some(value) = put.meta.breakpoint.clone() {
            put.states.push(StateItem { name: BREAKPOINT.to_owned(), after, value, record: "" });
        }
        Ok(())
    }

    fn logs(&mut self, put: &mut Put<'_>) -> Result<(), ReadError> {
        let found = put.agent.found;
        let mut channels: Vec<String> = CHANNELS.iter().map(|channel| (*channel).to_owned()).collect();
        for (_, leaf) in found.inside("events") {
            let channel = leaf.strip_suffix(".log").or_else(|| leaf.strip_suffix(".wal"));
            if let Some(channel) = channel.filter(|channel| !channels.iter().any(|known| known == channel)) {
                channels.push(channel.to_owned());
            }
        }
        for channel in channels {
            let (log, ahead) = (format!("events/{channel}.log"), format!("events/{channel}.wal"));
            if found.has(&log) || found.has(&ahead) {
                let log = self.log(found, &log, &channel)?;
                if found.has(&log.frame.file) || !log.events.is_empty() {
                    put.logs.push(log);
                }
            }
        }
        if found.is_flat && found.has("events.jsonl") {
            put.logs.push(self.log(found, "events.jsonl", "events")?);
        }
        Ok(())
    }

    /// Files that are of no use to anybody but are not thrown away in silence.
    fn left_over(&mut self, found: &AgentFolder) -> Result<(), ReadError> {
        for file in &found.files {
            let path = found.path(file);
            if file.ends_with(".wal.corrupted") {
                let Some(bytes) = self.bytes(&path)? else { continue };
                self.found("wal", 1)?;
                self.problem(Place::file(&path), "wal", "its program could not read it", bytes)?;
            } else if !is_known(found, file) {
                let Some(bytes) = self.bytes(&path)? else { continue };
                self.found("file", 1)?;
                self.problem(Place::file(&path), "file", "no file of this format has this name", bytes)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, mut put: Put<'_>) -> Result<(), ReadError> {
        put.frame.logs = put.logs.iter().map(|log| log.frame.clone()).collect();
        let known = lines(&put.logs);
        let folds: Vec<FoldItem> = put.folds.iter().map(|fold| fold_item(fold, &put, &known)).collect();
        let meta = &put.meta;
        let frame = Json::of(&put.frame);
        let item = ConversationItem {
            title: meta.template.clone(),
            kind: ConversationKind::Agent,
            metadata: meta.metadata.clone(),
            forked_from: put.agent.forked_from.clone(),
            created_at: meta.created_at,
            active_at: meta.updated_at,
            extent: put.extent,
            ..ConversationItem::new(put.agent.external.clone(), frame, if put.has_meta { "agent" } else { "" })
        };
        self.take(Item::Conversation(Box::new(item)))?;
        put.trie.items(put.time).try_for_each(|item| self.take(item))?;
        folds.into_iter().try_for_each(|fold| self.take(Item::Fold(fold)))?;
        for mut bookmark in std::mem::take(&mut put.bookmarks) {
            complete(&mut bookmark, &put, &known);
            self.take(Item::Bookmark(bookmark))?;
        }
        put.states.into_iter().try_for_each(|state| self.take(Item::State(state)))?;
        put.calls.into_iter().try_for_each(|call| self.take(Item::ToolCall(call)))?;
        let mut newest: HashMap<usize, Timestamp> = HashMap::new();
        for (log, line) in in_order(&put.logs) {
            let event = &put.logs[log].events[line];
            let at = event.at.or_else(|| newest.get(&log).copied()).unwrap_or(put.time.at);
            newest.insert(log, at);
            let channel = put.logs[log].frame.channel.clone();
            self.take(Item::Event(EventItem { channel, at, body: event.body.clone(), record: "event" }))?;
        }
        let has_branches = put.trie.len() > put.path.len();
        self.take(Item::End { head: put.path.last().copied().filter(|_| has_branches) })
    }
}

/// The file that says what an agent is.
fn meta_file(found: &AgentFolder) -> &'static str {
    if found.is_flat { "info.json" } else { "meta.json" }
}

/// Two places of one name cannot be told apart.
fn name_apart(bookmarks: &mut [BookmarkItem]) {
    let mut known = Unique::default();
    for bookmark in bookmarks {
        bookmark.name = known.take(&bookmark.name);
    }
}

/// Returns whether a file was read as the kind that its name implies.
fn is_known(found: &AgentFolder, file: &str) -> bool {
    let leaf = file.rsplit('/').next().unwrap_or(file);
    if found.is_flat {
        let tail =
            ["messages.json", "messages.json.tmp", "messages.wal", "messages.json.wal", "events.jsonl", "info.json"];
        return tail.contains(&file) || (file == leaf && leaf.starts_with("snapshot-") && leaf.ends_with(".json"));
    }
    let list =
        |stem: &str| [".json", ".wal", ".json.tmp", ".json.wal"].iter().any(|end| file == format!("{stem}{end}"));
    match file.rsplit_once('/').map_or("", |(above, _)| above) {
        "" => file == "meta.json",
        "runtime" => {
            list("runtime/messages") || list("runtime/tool-calls") || STATES.iter().any(|(_, known)| *known == file)
        }
        "events" => leaf.ends_with(".log") || leaf.ends_with(".wal"),
        "history/windows" | "history/compressions" => leaf.ends_with(".json"),
        "history/recovered" => true,
        "snapshots" => leaf.ends_with(".json"),
        _ => false,
    }
}

/// Reads the id of an agent, before anything else of it.
pub(crate) fn id_of(reader: &Reader<'_>, found: &AgentFolder) -> Option<String> {
    let file = found.path(meta_file(found));
    let bytes = reader.tree.read(&file, 1 << 26).ok()?;
    let kept = crate::apps::kode::file_reader::kept(&bytes, "").ok()?;
    Members::parse(&kept.text)?;
    meta::read(&kept.text).ok()?.id
}
