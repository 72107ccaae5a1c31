//! Assignment of records to sessions, keeping only their positions in memory.

use crate::apps::veloca::read::{Reader, TORN};
use crate::apps::veloca::session::Session;
use crate::apps::veloca::{FileFrame, SessionFrame, compaction, entry, session, workspace};
use crate::core::item::Item;
use crate::core::json::{Members, Outline, Shape, Span, Style};
use crate::core::problem::{ReadError, RepairKind};
use crate::core::source_fs::JsonFile;
use crate::core::unique::Unique;
use manent_model::Timestamp;
use std::collections::{HashMap, HashSet};

const WORKSPACES: &str = "veloca-session-workspaces.json";

/// A session with the places of its records.
#[derive(Default)]
pub(crate) struct Found {
    pub external: String,
    pub session: Session,
    pub frame: SessionFrame,
    pub entries: Vec<Span>,
    /// Each with the entry that triggered it.
    pub compactions: Vec<(Span, Option<String>)>,
    pub project: Option<String>,
}

/// The content of a file.
pub(crate) struct GroupedFile {
    pub sessions: Vec<Found>,
    /// See [`FileFrame::order`].
    pub order: Vec<(u32, u32)>,
    /// See [`FileFrame::compactions`].
    pub compactions: Vec<(u32, u32)>,
    /// See [`FileFrame::workspaces`].
    pub workspaces: Option<Box<FileFrame>>,
}

/// Sessions while they are gathered.
#[derive(Default)]
struct Sessions {
    all: Vec<Found>,
    /// Those that can be named; of several with one id the first.
    places: HashMap<String, usize>,
    externals: Unique,
    /// The sessions of entries that a compaction names.
    owners: HashMap<String, usize>,
}

impl Sessions {
    fn push(&mut self, found: Found) -> usize {
        let place = self.all.len();
        let id = found.session.id.as_ref().unwrap_or(&found.external);
        self.places.entry(id.clone()).or_insert(place);
        self.all.push(found);
        place
    }
}

/// A compaction of a flat file that is not assigned yet.
struct LooseCompaction {
    span: Span,
    session: Option<String>,
    trigger: Option<String>,
    at: Option<Timestamp>,
}

impl Reader<'_> {
    pub fn group(&mut self, root: &Outline, style: Style) -> Result<GroupedFile, ReadError> {
        let mut sessions = self.sessions(root, style)?;
        let loose = self.loose(root)?;
        let order = self.flat_entries(root, &mut sessions, &loose)?;
        let compactions = self.compactions(loose, &mut sessions)?;
        let workspaces = self.workspaces(&mut sessions)?;
        Ok(GroupedFile { sessions: sessions.all, order, compactions, workspaces })
    }

    fn sessions(&mut self, root: &Outline, style: Style) -> Result<Sessions, ReadError> {
        let outlines = root.member("sessions").map_or(&[][..], Outline::items);
        self.take(Item::Found { record: "session", count: outlines.len() as u64 })?;
        let mut sessions = Sessions::default();
        for (place, outline) in outlines.iter().enumerate() {
            let skeleton = self.file.skeleton(outline, style, 2)?;
            let read = skeleton.and_then(|(skeleton, removed)| {
                let session = session::read(&skeleton.text)?;
                Ok((skeleton, session, removed))
            });
            let (skeleton, session, removed) = match read {
                Ok(read) => read,
                Err(why) => {
                    self.skip(outline.span(), "session", why)?;
                    self.strays(outline)?;
                    continue;
                }
            };
            self.unreadable(&removed)?;
            self.unmapped.scan(&skeleton.text, "session", &session::MAPPED);
            let id = session.id.clone().unwrap_or_else(|| format!("#{place}"));
            let external = sessions.externals.take(&id);
            if external != id {
                let why = format!("session {id} is listed again and becomes a conversation of its own");
                self.repair(self.place(outline.span()), RepairKind::IdRepeated, why)?;
            }
            let entries: Vec<Span> = spans(outline, "entries").collect();
            self.take(Item::Found { record: "entry", count: entries.len() as u64 })?;
            let mut found = Found { external, session, entries, ..Found::default() };
            for span in spans(outline, "compacted_entries").chain(spans(outline, "compacted_dialogues")) {
                let read = self.compaction(span)?;
                found.compactions.extend(read.map(|read| (read.span, read.trigger)));
            }
            found.frame.skeleton = Some(skeleton);
            sessions.push(found);
        }
        Ok(sessions)
    }

    /// Unreadable records of a session are reported one by one: they may be larger than a session's own text.
    fn strays(&mut self, outline: &Outline) -> Result<(), ReadError> {
        let lists = [("entries", "entry"), ("compacted_entries", "compaction"), ("compacted_dialogues", "compaction")];
        for (list, record) in lists {
            for span in spans(outline, list) {
                self.take(Item::Found { record, count: 1 })?;
                self.skip(span, record, "its session cannot be read".to_owned())?;
            }
        }
        Ok(())
    }

    /// Counts a compaction, and reads its session.
    fn compaction(&mut self, span: Span) -> Result<Option<LooseCompaction>, ReadError> {
        self.take(Item::Found { record: "compaction", count: 1 })?;
        match self.file.text(span)?.and_then(|text| compaction::read(&text)) {
            Ok(read) => Ok(Some(LooseCompaction { span, session: read.session, trigger: read.trigger, at: read.at })),
            Err(why) => self.skip(span, "compaction", why).map(|()| None),
        }
    }

    fn loose(&mut self, root: &Outline) -> Result<Vec<LooseCompaction>, ReadError> {
        let mut loose = Vec::new();
        for span in spans(root, "compacted_dialogues").chain(spans(root, "compacted_entries")) {
            loose.extend(self.compaction(span)?);
        }
        Ok(loose)
    }

    /// Assigns each entry of a flat file to its session, and returns the order of sessions as runs.
    fn flat_entries(
        &mut self,
        root: &Outline,
        sessions: &mut Sessions,
        loose: &[LooseCompaction],
    ) -> Result<Vec<(u32, u32)>, ReadError> {
        let wanted: HashSet<&str> = loose.iter().filter_map(|one| one.trigger.as_deref()).collect();
        self.nested_owners(&wanted, sessions)?;
        let mut order: Vec<(u32, u32)> = Vec::new();
        for span in spans(root, "entries") {
            self.take(Item::Found { record: "entry", count: 1 })?;
            let read = |text: String| {
                let members = Members::parse(&text).ok_or("the entry is no JSON object")?;
                let id = members.text("session_id").ok_or("the entry does not say which session it belongs to")?;
                Ok((id, members.text("entry_id").filter(|id| wanted.contains(id.as_str()))))
            };
            let mut read_whole = self.file.text(span)?.and_then(&read);
            if let (Err(_), Some((text, _))) = (&read_whole, self.file.mended(span)?) {
                read_whole = read(text);
            }
            let (id, trigger) = match read_whole {
                Ok(read) => read,
                Err(why) => {
                    self.skip(span, "entry", why)?;
                    continue;
                }
            };
            let place = match sessions.places.get(&id) {
                Some(place) => *place,
                None => {
                    let why = format!("no session {id} is listed; its entries make one");
                    self.repair(self.place(span), RepairKind::PointerDangling, why)?;
                    let session = Session { id: Some(id.clone()), ..Session::default() };
                    let external = sessions.externals.take(&id);
                    sessions.push(Found { external, session, ..Found::default() })
                }
            };
            if let Some(trigger) = trigger {
                sessions.owners.entry(trigger).or_insert(place);
            }
            sessions.all[place].entries.push(span);
            follow(&mut order, place);
        }
        Ok(order)
    }

    /// Finds the sessions of nested entries, for compactions that are not nested.
    fn nested_owners(&mut self, wanted: &HashSet<&str>, sessions: &mut Sessions) -> Result<(), ReadError> {
        if wanted.is_empty() {
            return Ok(());
        }
        for (place, found) in sessions.all.iter().enumerate() {
            for span in &found.entries {
                let text = self.file.text(*span)?.unwrap_or_default();
                let id = Members::parse(&text).and_then(|members| members.text("entry_id"));
                if let Some(id) = id.filter(|id| wanted.contains(id.as_str())) {
                    sessions.owners.entry(id).or_insert(place);
                }
            }
        }
        Ok(())
    }

    /// Gives each compaction of a flat file to its session: the one that it names, that of its trigger, or the one that
    /// spoke last before it.
    fn compactions(
        &mut self,
        loose: Vec<LooseCompaction>,
        sessions: &mut Sessions,
    ) -> Result<Vec<(u32, u32)>, ReadError> {
        let mut order = Vec::new();
        let mut lasts: Option<Vec<(Option<Timestamp>, usize)>> = None;
        for one in loose {
            let named = one.session.as_ref().and_then(|id| sessions.places.get(id).copied());
            let triggered = one.trigger.as_ref().and_then(|trigger| sessions.owners.get(trigger).copied());
            let place = match named.or(triggered) {
                Some(place) => Some(place),
                None => {
                    let lasts = match &lasts {
                        Some(lasts) => lasts,
                        None => lasts.insert(self.lasts(&sessions.all)?),
                    };
                    let before = lasts.partition_point(|(at, _)| *at <= one.at);
                    let last = before.checked_sub(1).map(|before| lasts[before].1);
                    last.or_else(|| (!sessions.all.is_empty()).then_some(0))
                }
            };
            let Some(place) = place else {
                self.skip(one.span, "compaction", "no session is there that it could belong to".to_owned())?;
                continue;
            };
            follow(&mut order, place);
            sessions.all[place].compactions.push((one.span, one.trigger));
        }
        Ok(order)
    }

    /// When each session spoke last, in this order.
    fn lasts(&self, sessions: &[Found]) -> Result<Vec<(Option<Timestamp>, usize)>, ReadError> {
        let mut lasts = Vec::new();
        for (place, found) in sessions.iter().enumerate() {
            let Some(last) = found.entries.last() else { continue };
            let read = self.file.text(*last)?.and_then(|text| entry::read(&text));
            lasts.push((read.ok().map(|entry| entry.content.time.at), place));
        }
        lasts.sort_unstable();
        Ok(lasts)
    }

    /// Reads the file that says which workspace a session belongs to.
    fn workspaces(&mut self, sessions: &mut Sessions) -> Result<Option<Box<FileFrame>>, ReadError> {
        let folder = self.file.name.rfind('/').map_or("", |at| &self.file.name[..=at]);
        let name = format!("{folder}{WORKSPACES}");
        if !self.tree.has(&name) {
            return Ok(None);
        }
        let shape = Shape::Object(&[("sessions", Shape::List(&Shape::Value))]);
        let file = JsonFile::open(self.tree, &name, &shape)?;
        let Some(root @ Outline::Object { .. }) = &file.root else {
            self.take(Item::Found { record: "file", count: 1 })?;
            let problem = file.problem(file.whole(), "file", "the file of workspaces is no object".to_owned())?;
            return self.take(problem).map(|()| None);
        };
        for (place, span) in spans(root, "sessions").enumerate() {
            self.take(Item::Found { record: "workspace", count: 1 })?;
            let read = file.text(span)?.and_then(|raw| {
                let read = workspace::read(&raw)?;
                let owner = sessions.places.get(&read.session).ok_or("no session has this id")?;
                match &sessions.all[*owner].frame.workspace {
                    Some(_) => Err("its session has a workspace already".to_owned()),
                    None => Ok((read, *owner, raw)),
                }
            });
            match read {
                Ok((read, owner, raw)) => {
                    self.unmapped.scan(&raw, "workspace", &workspace::MAPPED);
                    let owner = &mut sessions.all[owner];
                    owner.project = Some(read.key.clone());
                    owner.frame.workspace_place = Some(place as u32);
                    owner.frame.workspace = Some(raw);
                    self.take(Item::Project(read.project()))?;
                }
                Err(why) => {
                    let problem = file.problem(span, "workspace", why)?;
                    self.take(problem)?;
                }
            }
        }
        if let Some(rest) = file.rest() {
            self.take(Item::Found { record: "file", count: 1 })?;
            let problem = file.problem(rest, "file", TORN.to_owned())?;
            self.take(problem)?;
        }
        let (order, compactions) = (Vec::new(), Vec::new());
        Ok(Some(Box::new(FileFrame { frame: file.frame()?, name, order, compactions, workspaces: None })))
    }
}

fn spans<'a>(outline: &'a Outline, name: &str) -> impl Iterator<Item = Span> + 'a {
    outline.member(name).map_or(&[][..], Outline::items).iter().map(Outline::span)
}

/// Counts one more record of a conversation behind those before it.
fn follow(order: &mut Vec<(u32, u32)>, place: usize) {
    match order.last_mut() {
        Some((last, count)) if *last == place as u32 => *count += 1,
        _ => order.push((place as u32, 1)),
    }
}
