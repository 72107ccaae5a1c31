//! Reading: one pass to find the records, then session by session, so that memory does not grow with the file.

use super::compaction::Compaction;
use super::entry::Entry;
use super::session::Session;
use super::{FileFrame, Generation, NAME, SessionFrame, compaction, entry, session, workspace};
use crate::aside::Asides;
use crate::item::*;
use crate::json::{Bytes, Frame, Members, Outline, RECORD_MAX, Shape, Shell, Span, Style, outline};
use crate::problem::{Broken, Place, Problem, ReadError, Repair};
use crate::tree::Tree;
use manent_model::{ConversationKind, ConversationStatus, FoldKind, Json, Known, Part, Time, ToolState, ToolStep};
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
const WORKSPACES: &str = "veloca-session-workspaces.json";

/// Returns the files of this format in a tree: at its root, in `.veloca/` and in `.otherone/`, or the only file there is.
pub fn finds(tree: &dyn Tree) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", ".veloca/", ".veloca/storage/", ".otherone/", ".otherone/storage/", "storage/"] {
        for name in ["veloca-storage.json", "otherone-storage.json"] {
            let name = format!("{folder}{name}");
            if tree.has(&name) {
                found.push(name);
            }
        }
    }
    match (tree.entries(), found.is_empty()) {
        ([only], true) if looks_like(tree, &only.name) => vec![only.name.clone()],
        _ => found,
    }
}

/// Looks at the beginning of a file: `sessions` is its first list, and what is in it has a `session_id`.
fn looks_like(tree: &dyn Tree, name: &str) -> bool {
    let Ok(file) = tree.open(name) else { return false };
    let Ok(start) = file.slice(0, file.len().min(64 << 10)) else { return false };
    let start = String::from_utf8_lossy(&start);
    let is_object = start.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let has = |word: &str| start.contains(word);
    is_object
        && has("\"sessions\"")
        && (has("\"session_id\"") || has("\"compacted_dialogues\"") || has("\"compacted_entries\""))
}

/// Reads every file of this format in a tree.
pub fn read(tree: &dyn Tree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let files = finds(tree);
    if files.is_empty() {
        let why = "no veloca-storage.json or otherone-storage.json, and no list of sessions".to_owned();
        return Err(ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why });
    }
    for name in files {
        let bytes = tree.file(&name)?;
        let outlined = outline(&*bytes, &FILE).map_err(|source| ReadError::File { file: name.clone(), source })?;
        let mut reader =
            Reader { tree, name: &name, bytes: &*bytes, sink, asides: Asides::default(), early: Some(Vec::new()) };
        reader.file(outlined.root, outlined.torn_at)?;
    }
    Ok(())
}

/// A session with the places of its records.
#[derive(Default)]
struct Found {
    external: String,
    session: Session,
    frame: SessionFrame,
    entries: Vec<Span>,
    compactions: Vec<(Span, Compaction, String)>,
    project: Option<String>,
}

struct Reader<'a> {
    tree: &'a dyn Tree,
    name: &'a str,
    bytes: &'a dyn Bytes,
    sink: &'a mut dyn Sink,
    asides: Asides,
    /// What is found before the root can be told, since its frame needs the whole file.
    early: Option<Vec<Item>>,
}

impl Reader<'_> {
    fn file(&mut self, root: Option<Outline>, torn_at: Option<u64>) -> Result<(), ReadError> {
        let Some(root @ Outline::Object { .. }) = root else {
            let why = "the file is no object".to_owned();
            return Err(ReadError::Foreign { file: self.name.to_owned(), format: NAME, why });
        };
        let generation = self.generation(&root)?;
        let style = Style::of(&self.text(Span { from: 0, to: self.bytes.len().min(4_096) })?);
        let mut sessions = self.sessions(&root, style)?;
        let workspaces = self.workspaces(&mut sessions)?;
        let order = self.flat_entries(&root, &mut sessions)?;
        let compactions = self.compactions(&root, &mut sessions)?;
        // Of a file that is cut off there is no frame: it is written anew.
        let frame = match torn_at {
            Some(_) => Frame::fresh("{}", style),
            None => Frame::of(self.bytes, &root).map_err(|source| self.error(source))?,
        };
        let frame = FileFrame { name: self.name.to_owned(), frame, order, compactions, workspaces };
        let early = self.early.take().unwrap_or_default();
        self.take(Item::Root(Root {
            format: NAME,
            generation: generation.name().to_owned(),
            path: self.name.to_owned(),
            style: Json::of(&frame),
        }))?;
        early.into_iter().try_for_each(|item| self.take(item))?;
        self.root_asides(&root);
        for found in &sessions {
            self.conversation(found)?;
        }
        if let Some(at) = torn_at {
            let rest = Span { from: at, to: self.bytes.len() };
            self.skip(rest, "file", "the file ends, or goes wrong, before its last bracket".to_owned())?;
        }
        std::mem::take(&mut self.asides).tell(self.sink)
    }

    fn take(&mut self, item: Item) -> Result<(), ReadError> {
        match &mut self.early {
            Some(early) => early.take(item),
            None => self.sink.take(item),
        }
    }

    fn error(&self, source: std::io::Error) -> ReadError {
        ReadError::File { file: self.name.to_owned(), source }
    }

    fn text(&self, span: Span) -> Result<String, ReadError> {
        let bytes = self.bytes.slice(span.from, span.to).map_err(|source| self.error(source))?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn shell(&self, outline: &Outline, style: Style, level: usize) -> Result<Shell, ReadError> {
        Shell::of(self.bytes, outline, style, level).map_err(|source| self.error(source))
    }

    fn place(&self, span: Span) -> Place {
        Place::byte(self.name, span.from)
    }

    /// Reports a record that is not taken in, with its bytes.
    fn skip(&mut self, span: Span, record: &'static str, why: String) -> Result<(), ReadError> {
        let end = span.to.min(span.from + RECORD_MAX);
        let bytes = self.bytes.slice(span.from, end).map_err(|source| self.error(source))?;
        let place = self.place(span);
        self.take(Item::Problem(Problem { place, record, why, bytes }))
    }

    fn repair(&mut self, place: Place, what: Broken, why: String) -> Result<(), ReadError> {
        self.take(Item::Repair(Repair { place, what, why }))
    }

    /// Tells the generation from what the file holds; a file may mix them, and all of it is read anyway.
    fn generation(&self, root: &Outline) -> Result<Generation, ReadError> {
        let nested = root.member("sessions").map_or(&[][..], Outline::items).iter();
        let nested = nested.filter_map(|session| session.member("entries"));
        let first = nested.clone().find_map(|entries| entries.items().first());
        if nested.clone().next().is_some() || root.member("entries").is_none() {
            let rust = match first {
                Some(entry) if entry.span().len() <= RECORD_MAX => {
                    let text = self.text(entry.span())?;
                    Members::parse(&text).is_some_and(|entry| entry.raw("session_id").is_some())
                }
                _ => false,
            };
            return Ok(if rust { Generation::Rust } else { Generation::Nested });
        }
        if root.member("compacted_entries").is_some() {
            return Ok(Generation::Thinking);
        }
        for entry in root.member("entries").map_or(&[][..], Outline::items) {
            if entry.span().len() <= RECORD_MAX {
                let text = self.text(entry.span())?;
                if let Some(entry) = Members::parse(&text) {
                    return Ok(if entry.raw("content").is_some() { Generation::Content } else { Generation::Message });
                }
            }
        }
        Ok(Generation::Message)
    }

    fn sessions(&mut self, root: &Outline, style: Style) -> Result<Vec<Found>, ReadError> {
        let outlines = root.member("sessions").map_or(&[][..], Outline::items);
        self.take(Item::Found { record: "session", count: outlines.len() as u64 })?;
        let (mut sessions, mut known) = (Vec::with_capacity(outlines.len()), HashSet::new());
        for (place, outline) in outlines.iter().enumerate() {
            let shell = match outline.span().len() > RECORD_MAX && outline.member("entries").is_none() {
                true => Err("the session is larger than 64 MiB".to_owned()),
                false => Ok(self.shell(outline, style, 2)?),
            };
            let read = shell.and_then(|shell| session::read(&shell.text).map(|session| (shell, session)));
            let (shell, session) = match read {
                Ok(read) => read,
                Err(why) => {
                    self.skip(outline.span(), "session", why)?;
                    continue;
                }
            };
            self.asides.look(&shell.text, "session", &session::HELD);
            let id = session.id.clone().unwrap_or_else(|| format!("#{place}"));
            let mut external = id.clone();
            while !known.insert(external.clone()) {
                external.push('+');
            }
            if external != id {
                let why = format!("session {id} is listed again and becomes a conversation of its own");
                self.repair(self.place(outline.span()), Broken::IdRepeated, why)?;
            }
            let spans = |name: &str| outline.member(name).map_or(&[][..], Outline::items).iter().map(Outline::span);
            let entries: Vec<Span> = spans("entries").collect();
            self.take(Item::Found { record: "entry", count: entries.len() as u64 })?;
            let mut found = Found { external, session, entries, ..Found::default() };
            for span in spans("compacted_entries").chain(spans("compacted_dialogues")) {
                self.take(Item::Found { record: "compaction", count: 1 })?;
                if let Some((compaction, text)) = self.compaction(span)? {
                    found.compactions.push((span, compaction, text));
                }
            }
            found.frame.shell = Some(shell);
            sessions.push(found);
        }
        Ok(sessions)
    }

    fn compaction(&mut self, span: Span) -> Result<Option<(Compaction, String)>, ReadError> {
        if span.len() > RECORD_MAX {
            self.skip(span, "compaction", "the compaction is larger than 64 MiB".to_owned())?;
            return Ok(None);
        }
        let text = self.text(span)?;
        match compaction::read(&text) {
            Ok(compaction) => {
                self.asides.look(&text, "compaction", &compaction::HELD);
                Ok(Some((compaction, text)))
            }
            Err(why) => self.skip(span, "compaction", why).map(|()| None),
        }
    }

    /// Gives each entry of a flat file to its session, and returns whose follow each other.
    fn flat_entries(&mut self, root: &Outline, sessions: &mut Vec<Found>) -> Result<Vec<(u32, u32)>, ReadError> {
        let entries = root.member("entries").map_or(&[][..], Outline::items);
        self.take(Item::Found { record: "entry", count: entries.len() as u64 })?;
        let mut places: HashMap<String, usize> = HashMap::new();
        for (place, found) in sessions.iter().enumerate() {
            places.insert(found.external.clone(), place);
        }
        let mut order: Vec<(u32, u32)> = Vec::new();
        for outline in entries {
            let span = outline.span();
            if span.len() > RECORD_MAX {
                self.skip(span, "entry", "the entry is larger than 64 MiB".to_owned())?;
                continue;
            }
            let text = self.text(span)?;
            let Some(members) = Members::parse(&text) else {
                self.skip(span, "entry", "the entry is no JSON object".to_owned())?;
                continue;
            };
            let Some(id) = members.text("session_id") else {
                self.skip(span, "entry", "the entry does not say which session it belongs to".to_owned())?;
                continue;
            };
            let place = match places.get(&id) {
                Some(place) => *place,
                None => {
                    let why = format!("no session {id} is listed; its entries make one");
                    self.repair(self.place(span), Broken::PointerDangling, why)?;
                    places.insert(id.clone(), sessions.len());
                    let session = Session { id: Some(id.clone()), ..Session::default() };
                    sessions.push(Found { external: id, session, ..Found::default() });
                    sessions.len() - 1
                }
            };
            sessions[place].entries.push(span);
            follow(&mut order, place);
        }
        Ok(order)
    }

    /// Gives each compaction of a flat file to its session: the one that it names, that of its trigger, or the one that
    /// spoke last before it.
    fn compactions(&mut self, root: &Outline, sessions: &mut [Found]) -> Result<Vec<(u32, u32)>, ReadError> {
        let lists = ["compacted_dialogues", "compacted_entries"].map(|name| root.member(name));
        let spans: Vec<Span> = lists.iter().flatten().flat_map(|list| list.items()).map(Outline::span).collect();
        self.take(Item::Found { record: "compaction", count: spans.len() as u64 })?;
        let mut read = Vec::new();
        for span in spans {
            if let Some((compaction, text)) = self.compaction(span)? {
                read.push((span, compaction, text));
            }
        }
        let wanted: HashSet<&str> = read.iter().filter_map(|(_, one, _)| one.trigger.as_deref()).collect();
        let triggers = self.owners(&wanted, sessions)?;
        let mut order = Vec::new();
        for (span, compaction, text) in read {
            let named = compaction.session.as_ref().and_then(|id| sessions.iter().position(|one| one.external == *id));
            let triggered = compaction.trigger.as_ref().and_then(|trigger| triggers.get(trigger).copied());
            let place = match named.or(triggered) {
                Some(place) => Some(place),
                None => self.last_before(&compaction, sessions)?,
            };
            let Some(place) = place else {
                self.skip(span, "compaction", "no session is there that it could belong to".to_owned())?;
                continue;
            };
            follow(&mut order, place);
            sessions[place].compactions.push((span, compaction, text));
        }
        Ok(order)
    }

    /// Finds the sessions of these entries.
    fn owners(&self, wanted: &HashSet<&str>, sessions: &[Found]) -> Result<HashMap<String, usize>, ReadError> {
        let mut owners = HashMap::new();
        if wanted.is_empty() {
            return Ok(owners);
        }
        for (place, found) in sessions.iter().enumerate() {
            for span in found.entries.iter().filter(|span| span.len() <= RECORD_MAX) {
                let text = self.text(*span)?;
                let id = Members::parse(&text).and_then(|members| members.text("entry_id"));
                if let Some(id) = id.filter(|id| wanted.contains(id.as_str())) {
                    owners.entry(id).or_insert(place);
                }
            }
        }
        Ok(owners)
    }

    fn last_before(&self, compaction: &Compaction, sessions: &[Found]) -> Result<Option<usize>, ReadError> {
        let mut best = None;
        for (place, found) in sessions.iter().enumerate() {
            let Some(last) = found.entries.last() else { continue };
            let at = entry::read(&self.text(*last)?).ok().map(|entry| entry.content.time.at);
            if at <= compaction.at && best.is_none_or(|(earlier, _)| earlier <= at) {
                best = Some((at, place));
            }
        }
        Ok(best.map(|(_, place)| place).or_else(|| (!sessions.is_empty()).then_some(0)))
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
            ..ConversationItem::new(found.external.clone(), Json::of(&found.frame), "session")
        };
        self.take(Item::Conversation(Box::new(item)))?;
        let mut triggers: HashMap<&str, Option<MessageIndex>> = HashMap::new();
        for (_, compaction, _) in &found.compactions {
            triggers.extend(compaction.trigger.as_deref().map(|trigger| (trigger, None)));
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
            let why = format!("tool call {} has no result and is sealed", item.call_id);
            self.repair(Place::file(self.name), Broken::ToolCallUnanswered, why)?;
            self.take(Item::ToolCall(item))?;
        }
        if last_role.as_deref() == Some("user") {
            let why = format!("session {} ends with a question", found.external);
            self.repair(Place::file(self.name), Broken::TailUnanswered, why)?;
        }
        self.take(Item::End { head: None })
    }

    fn entry(&mut self, span: Span) -> Result<Option<(Entry, String)>, ReadError> {
        if span.len() > RECORD_MAX {
            self.skip(span, "entry", "the entry is larger than 64 MiB".to_owned())?;
            return Ok(None);
        }
        let text = self.text(span)?;
        match entry::read(&text) {
            Ok(entry) => {
                self.asides.look(&text, "entry", &entry::HELD);
                if entry.content.time.known == Known::Unknown {
                    let why = "the entry has no time that can be read".to_owned();
                    self.repair(self.place(span), Broken::TimeMissing, why)?;
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
        for (span, compaction, text) in &found.compactions {
            let Some(last) = count.checked_sub(1) else {
                let why = "nothing was said in its session, so there is nothing that it folds".to_owned();
                self.skip(*span, "compaction", why)?;
                continue;
            };
            let trigger = compaction.trigger.as_deref().and_then(|trigger| triggers.get(trigger).copied().flatten());
            if trigger.is_none() {
                let named = compaction.trigger.as_deref().unwrap_or("that is not named");
                let why = format!("trigger {named} is not in session {}; the fold covers nothing", found.external);
                self.repair(self.place(*span), Broken::TriggerDangling, why)?;
            }
            self.take(Item::Fold(FoldItem {
                external: compaction.id.clone(),
                after: trigger.unwrap_or(last),
                kind: FoldKind::Summary,
                // What the program sends begins with the trigger, so it is not covered itself.
                covers: trigger.and_then(|trigger| Some((0, trigger.checked_sub(1)?))),
                summary: Some(compaction.summary.clone()),
                made_by: None,
                active: compaction.is_used && trigger.is_some(),
                at: compaction.at.map(|at| Time { at, known: Known::Exact }),
                raw: text.clone(),
                record: "compaction",
            }))?;
        }
        Ok(())
    }

    /// Reads the file that says which workspace a session belongs to.
    fn workspaces(&mut self, sessions: &mut [Found]) -> Result<Option<Box<FileFrame>>, ReadError> {
        let folder = self.name.rfind('/').map_or("", |at| &self.name[..=at]);
        let name = format!("{folder}{WORKSPACES}");
        if !self.tree.has(&name) {
            return Ok(None);
        }
        let bytes = self.tree.file(&name)?;
        let error = |source| ReadError::File { file: name.clone(), source };
        let outlined = outline(&*bytes, &Shape::Object(&[("sessions", RECORDS)])).map_err(error)?;
        let root = match (outlined.root, outlined.torn_at) {
            (Some(root @ Outline::Object { .. }), None) => root,
            _ => {
                let problem = Problem {
                    place: Place::file(&name),
                    record: "workspaces",
                    why: "the file of workspaces cannot be read".to_owned(),
                    bytes: bytes.slice(0, bytes.len().min(RECORD_MAX)).map_err(error)?,
                };
                self.take(Item::Problem(problem))?;
                return Ok(None);
            }
        };
        let text = |from, to| bytes.slice(from, to).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let records = root.member("sessions").map_or(&[][..], Outline::items);
        self.take(Item::Found { record: "workspace", count: records.len() as u64 })?;
        for (place, record) in records.iter().enumerate() {
            let span = record.span();
            let raw = text(span.from, span.to.min(span.from + RECORD_MAX)).map_err(error)?;
            let read = workspace::read(&raw).and_then(|read| {
                let owner = sessions.iter_mut().find(|found| found.external == read.session);
                owner.map(|owner| (read, owner)).ok_or_else(|| "no session has this id".to_owned())
            });
            match read {
                Ok((read, owner)) => {
                    owner.project = Some(read.key.clone());
                    owner.frame.workspace_place = Some(place as u32);
                    owner.frame.workspace = Some(raw.clone());
                    self.asides.look(&raw, "workspace", &workspace::HELD);
                    self.take(Item::Project(read.project()))?;
                }
                Err(why) => {
                    let place = Place::byte(&name, span.from);
                    let problem = Problem { place, record: "workspace", why, bytes: raw.into_bytes() };
                    self.take(Item::Problem(problem))?;
                }
            }
        }
        let frame = Frame::of(&*bytes, &root).map_err(error)?;
        let (order, compactions) = (Vec::new(), Vec::new());
        Ok(Some(Box::new(FileFrame { name: name.clone(), frame, order, compactions, workspaces: None })))
    }

    /// What stands in the file beside its lists is kept with the file.
    fn root_asides(&mut self, root: &Outline) {
        if let Outline::Object { members, .. } = root {
            for (key, _) in members.iter().filter(|(key, _)| !super::LISTS.contains(&key.as_str())) {
                self.asides.add("file", key);
            }
        }
    }
}

/// Counts one more record of a conversation behind those before it.
fn follow(order: &mut Vec<(u32, u32)>, place: usize) {
    match order.last_mut() {
        Some((last, count)) if *last == place as u32 => *count += 1,
        _ => order.push((place as u32, 1)),
    }
}

/// Tool calls that wait for their results.
#[derive(Default)]
struct Calls(Vec<ToolCallItem>);

impl Calls {
    fn look(&mut self, message: MessageIndex, entry: &Entry) {
        for (place, part) in entry.content.body.parts().iter().enumerate() {
            match part {
                Part::ToolCall { id, name, input, .. } => self.0.push(ToolCallItem {
                    part: (message, place as u32),
                    call_id: id.clone(),
                    name: name.clone(),
                    state: ToolState::Sealed,
                    body: input.clone(),
                    steps: vec![ToolStep {
                        state: ToolState::Sealed,
                        at: entry.content.time.at,
                        actor: None,
                        note: "no result in the file".to_owned(),
                    }],
                    record: "",
                }),
                Part::ToolResult { call, .. } => self.0.retain(|open| open.call_id != *call),
                _ => {}
            }
        }
    }

    fn unanswered(self) -> Vec<ToolCallItem> {
        self.0
    }
}
