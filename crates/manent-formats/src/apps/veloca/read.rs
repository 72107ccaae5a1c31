//! Reader: one pass to find the records, then session by session, so that memory does not grow with the file.

use crate::apps::veloca::calls::Calls;
use crate::apps::veloca::entry::Entry;
use crate::apps::veloca::group::{Found, GroupedFile};
use crate::apps::veloca::{FileFrame, Generation, NAME, compaction, entry};
use crate::core::item::*;
use crate::core::json::{Members, Outline, Removed, Shape, Span};
use crate::core::problem::{Place, ReadError, Repair, RepairKind};
use crate::core::source_fs::{JsonFile, SourceTree};
use crate::core::unmapped::UnmappedFields;
use manent_model::{ConversationKind, ConversationStatus, FoldKind, Json, Time, TimeSource};
use std::collections::{HashMap, HashSet};

const RECORDS: Shape = Shape::List(&Shape::Value);
const SESSION: Shape =
    Shape::Object(&[("entries", RECORDS), ("compacted_entries", RECORDS), ("compacted_dialogues", RECORDS)]);
const FILE: Shape = Shape::Object(&[
    ("sessions", Shape::List(&SESSION)),
    ("entries", RECORDS),
    ("compacted_dialogues", RECORDS),
    ("compacted_entries", RECORDS),
]);
const NAMES: [&str; 2] = ["veloca-storage.json", "otherone-storage.json"];
/// Why the end of a file is reported.
pub(crate) const TORN: &str = "the file ends, or goes wrong, before its last bracket";

/// Returns the files of this format in a tree: at its root, in `.veloca/` and in `.otherone/`, or the only file there is.
pub fn finds(tree: &dyn SourceTree) -> Vec<String> {
    let found: Vec<String> = usual().filter(|name| tree.has(name)).collect();
    match (tree.entries(), found.is_empty()) {
        ([only], true) if looks_like(tree, &only.name) => vec![only.name.clone()],
        _ => found,
    }
}

/// Paths that the programs write to.
fn usual() -> impl Iterator<Item = String> {
    let folders = ["", ".veloca/", ".veloca/storage/", ".otherone/", ".otherone/storage/", "storage/"];
    folders.into_iter().flat_map(|folder| NAMES.map(|name| format!("{folder}{name}")))
}

/// Inspects the beginning of a file: `sessions` is its first list, with the program's field names. Programs that sort
/// keys write the entries first.
fn looks_like(tree: &dyn SourceTree, name: &str) -> bool {
    let Ok(file) = tree.open(name) else { return false };
    let Ok(start) = file.slice(0, file.len().min(64 << 10)) else { return false };
    let start = String::from_utf8_lossy(&start);
    let is_object = start.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let has = |word: &str| start.contains(word);
    let has_sessions = has("\"sessions\"")
        && ["\"session_id\"", "\"compacted_dialogues\"", "\"compacted_entries\""].into_iter().any(has);
    is_object && (has_sessions || ["\"entry_id\"", "\"session_id\""].into_iter().all(has))
}

/// Reads every file of this format in a tree.
pub fn read(tree: &dyn SourceTree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let files = finds(tree);
    if files.is_empty() {
        let why = "no veloca-storage.json or otherone-storage.json, and no list of sessions".to_owned();
        return Err(ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why });
    }
    for name in files {
        let mut file = JsonFile::open(tree, &name, &FILE)?;
        let Some(root @ Outline::Object { .. }) = file.root.take() else {
            let why = "the file is no object".to_owned();
            return Err(ReadError::Foreign { file: name, format: NAME, why });
        };
        let mut reader = Reader { tree, file, sink, unmapped: UnmappedFields::default(), early: Some(Vec::new()) };
        reader.file(root)?;
    }
    Ok(())
}

/// Items found before the root is reported, because its frame needs the whole file.
enum Early {
    Item(Item),
    /// A skipped record. Its bytes are read when they can be handed on: a file may be full of such.
    Skipped(Span, &'static str, String),
}

pub(crate) struct Reader<'a> {
    pub tree: &'a dyn SourceTree,
    pub file: JsonFile<'a>,
    pub unmapped: UnmappedFields,
    sink: &'a mut dyn Sink,
    early: Option<Vec<Early>>,
}

impl Reader<'_> {
    fn file(&mut self, root: Outline) -> Result<(), ReadError> {
        let generation = self.generation(&root)?;
        let style = self.file.style()?;
        let GroupedFile { sessions, order, compactions, workspaces } = self.group(&root, style)?;
        let has_list = ["compacted_dialogues", "compacted_entries"].iter().any(|list| root.member(list).is_some());
        let is_named = usual().any(|name| name == self.file.name);
        if !is_named && !has_list && sessions.iter().all(|found| found.session.id.is_none()) {
            // The field names may be in a skipped part; without them the file would not be recognised again.
            let why = "no session has an id".to_owned();
            return Err(ReadError::Foreign { file: self.file.name.clone(), format: NAME, why });
        }
        self.root_asides(&root);
        self.file.root = Some(root);
        let removed = self.file.removed()?;
        self.unreadable(&removed)?;
        let frame =
            FileFrame { name: self.file.name.clone(), frame: self.file.frame()?, order, compactions, workspaces };
        let early = self.early.take().unwrap_or_default();
        self.take(Item::Root(Root {
            format: NAME,
            generation: generation.name().to_owned(),
            path: self.file.name.clone(),
            style: Json::of(&frame),
        }))?;
        for early in early {
            match early {
                Early::Item(item) => self.take(item)?,
                Early::Skipped(span, record, why) => self.skip(span, record, why)?,
            }
        }
        for found in &sessions {
            self.conversation(found)?;
        }
        if let Some(rest) = self.file.rest() {
            self.take(Item::Found { record: "file", count: 1 })?;
            self.skip(rest, "file", TORN.to_owned())?;
        }
        std::mem::take(&mut self.unmapped).emit(self.sink)
    }

    pub fn take(&mut self, item: Item) -> Result<(), ReadError> {
        match &mut self.early {
            Some(early) => {
                early.push(Early::Item(item));
                Ok(())
            }
            None => self.sink.take(item),
        }
    }

    /// Reports members that are no JSON.
    pub fn unreadable(&mut self, removed: &[Removed]) -> Result<(), ReadError> {
        for removed in removed {
            for item in self.file.unreadable(removed)? {
                self.take(item)?;
            }
        }
        Ok(())
    }

    pub fn place(&self, span: Span) -> Place {
        Place::byte(&self.file.name, span.from)
    }

    /// Reports a record that is not taken in, with its bytes.
    pub fn skip(&mut self, span: Span, record: &'static str, why: String) -> Result<(), ReadError> {
        match &mut self.early {
            Some(early) => {
                early.push(Early::Skipped(span, record, why));
                Ok(())
            }
            None => {
                let problem = self.file.problem(span, record, why)?;
                self.sink.take(problem)
            }
        }
    }

    pub fn repair(&mut self, place: Place, what: RepairKind, why: String) -> Result<(), ReadError> {
        self.take(Item::Repair(Repair { place, what, why }))
    }

    /// Tells the generation from what the file holds; a file may mix them, and all of it is read anyway.
    fn generation(&self, root: &Outline) -> Result<Generation, ReadError> {
        let nested = root.member("sessions").map_or(&[][..], Outline::items).iter();
        let nested = nested.filter_map(|session| session.member("entries"));
        let first = nested.clone().find_map(|entries| entries.items().first());
        let has = |entry: &Outline, name: &str| -> Result<Option<bool>, ReadError> {
            let text = self.file.text(entry.span())?.ok();
            Ok(text.and_then(|text| Some(Members::parse(&text)?.raw(name).is_some())))
        };
        if nested.clone().next().is_some() || root.member("entries").is_none() {
            let rust = first.map_or(Ok(None), |entry| has(entry, "session_id"))?;
            return Ok(if rust == Some(true) { Generation::Rust } else { Generation::Nested });
        }
        if root.member("compacted_entries").is_some() {
            return Ok(Generation::Thinking);
        }
        for entry in root.member("entries").map_or(&[][..], Outline::items) {
            if let Some(has_content) = has(entry, "content")? {
                return Ok(if has_content { Generation::Content } else { Generation::Message });
            }
        }
        Ok(Generation::Message)
    }

    fn conversation(&mut self, found: &Found) -> Result<(), ReadError> {
        let session = &found.session;
        let internal = session.metadata.as_ref().is_some_and(|metadata| {
            let kind = Members::parse(metadata.text()).and_then(|metadata| metadata.text("session_kind"));
            kind.as_deref() == Some("agent_internal")
        });
        let item = ConversationItem {
            title: session.name.clone(),
            kind: if internal { ConversationKind::Agent } else { ConversationKind::Chat },
            status: if session.is_deleted { ConversationStatus::Trashed } else { ConversationStatus::Active },
            metadata: session.metadata.clone(),
            created_at: session.at,
            project: found.project.clone(),
            // One that only entries name came from no record.
            ..ConversationItem::new(
                found.external.clone(),
                Json::of(&found.frame),
                if found.frame.skeleton.is_some() { "session" } else { "" },
            )
        };
        self.take(Item::Conversation(Box::new(item)))?;
        let mut triggers: HashMap<&str, Option<MessageIndex>> = HashMap::new();
        for (_, trigger) in &found.compactions {
            triggers.extend(trigger.as_deref().map(|trigger| (trigger, None)));
        }
        let mut calls = Calls::default();
        let (mut count, mut last_role) = (0, None);
        for span in &found.entries {
            let Some((entry, text)) = self.entry(*span)? else { continue };
            if let Some(trigger) = entry.id.as_deref().and_then(|id| triggers.get_mut(id)) {
                trigger.get_or_insert(count);
            }
            calls.look(count, &entry);
            last_role = Some(entry.content.role.clone()).filter(|_| entry.content.seen.by_reader).or(last_role);
            self.take(Item::Message(Box::new(MessageItem {
                external: entry.id,
                follows: Follows::Last,
                content: entry.content,
                reply_to: None,
                raw: Some(text),
                record: "entry",
            })))?;
            count += 1;
        }
        self.folds(found, count, &triggers)?;
        for item in calls.unanswered() {
            let why = format!("tool call {} has no result and is sealed here; the file stays as it is", item.call_id);
            self.repair(Place::file(&self.file.name), RepairKind::ToolCallUnanswered, why)?;
            self.take(Item::ToolCall(item))?;
        }
        if last_role.as_deref() == Some("user") {
            let why = format!("session {} ends with a question", found.external);
            self.repair(Place::file(&self.file.name), RepairKind::TailUnanswered, why)?;
        }
        self.take(Item::End { head: None })
    }

    fn entry(&mut self, span: Span) -> Result<Option<(Entry, String)>, ReadError> {
        let mut read = |text: String| {
            let members = Members::parse(&text).ok_or("an entry is an object")?;
            let entry = entry::of(&members)?;
            self.unmapped.members(&members, "entry", &entry::MAPPED);
            drop(members);
            Ok((entry, text))
        };
        let mut whole = self.file.text(span)?.and_then(&mut read);
        if let (Err(_), Some((text, removed))) = (&whole, self.file.mended(span)?)
            && let Ok(rest) = read(text)
        {
            self.unreadable(&removed)?;
            whole = Ok(rest);
        }
        match whole {
            Ok((entry, text)) => {
                if entry.content.time.source == TimeSource::Unknown {
                    let why = "the entry has no time that can be read".to_owned();
                    self.repair(self.place(span), RepairKind::TimeMissing, why)?;
                }
                Ok(Some((entry, text)))
            }
            Err(why) => self.skip(span, "entry", why).map(|()| None),
        }
    }

    fn folds(
        &mut self,
        found: &Found,
        count: u32,
        triggers: &HashMap<&str, Option<MessageIndex>>,
    ) -> Result<(), ReadError> {
        for (span, _) in &found.compactions {
            let read = self.file.text(*span)?.and_then(|text| compaction::read(&text).map(|read| (read, text)));
            let Some(last) = count.checked_sub(1) else {
                let why = "nothing was said in its session, so there is nothing that it folds".to_owned();
                self.skip(*span, "compaction", why)?;
                continue;
            };
            let (compaction, raw) = match read {
                Ok(read) => read,
                Err(why) => {
                    self.skip(*span, "compaction", why)?;
                    continue;
                }
            };
            self.unmapped.scan(&raw, "compaction", &compaction::MAPPED);
            let trigger = compaction.trigger.as_deref().and_then(|trigger| triggers.get(trigger).copied().flatten());
            if trigger.is_none() {
                let named = compaction.trigger.as_deref().unwrap_or("that is not named");
                let why = format!("trigger {named} is not in session {}; the fold covers nothing", found.external);
                self.repair(self.place(*span), RepairKind::TriggerDangling, why)?;
            }
            self.take(Item::Fold(FoldItem {
                external: compaction.id,
                after: trigger.unwrap_or(last),
                kind: FoldKind::Summary,
                // The request of the program begins with the trigger, so the summary does not cover it.
                covers: trigger.and_then(|trigger| Some((0, trigger.checked_sub(1)?))),
                summary: Some(compaction.summary),
                made_by: None,
                active: compaction.is_used && trigger.is_some(),
                at: compaction.at.map(|at| Time { at, source: TimeSource::Exact }),
                raw,
                record: "compaction",
            }))?;
        }
        Ok(())
    }

    /// Content of the file beside its lists is kept with the file; so is a list that another one replaces.
    fn root_asides(&mut self, root: &Outline) {
        let Outline::Object { members, .. } = root else { return };
        let mut lists = HashSet::new();
        for (key, _) in members.iter().rev() {
            if !crate::apps::veloca::LISTS.contains(&key.as_str()) || !lists.insert(key) {
                self.unmapped.add("file", key);
            }
        }
    }
}
