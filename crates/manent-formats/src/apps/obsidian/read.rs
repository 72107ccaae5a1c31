//! Reader: all files are scanned before the first session is emitted, because the skeletons of all of them come first.

use crate::apps::obsidian::entry::Entry;
use crate::apps::obsidian::files::{Files, places};
use crate::apps::obsidian::history::Copied;
use crate::apps::obsidian::index::{Index, Which};
use crate::apps::obsidian::session::Session;
use crate::apps::obsidian::{
    Generation, INDEX, Kept, NAME, RootFrame, Run, SessionFrame, TRASH_INDEX, entry, history, index, message, session,
};
use crate::core::item::*;
use crate::core::json::{Frame, Outline, Shape, Span};
use crate::core::problem::{Place, Problem, ReadError, Repair, RepairKind};
use crate::core::source_fs::{JsonFile, SourceTree};
use crate::core::time::millis;
use crate::core::unique::Unique;
use crate::core::unmapped::UnmappedFields;
use manent_model::{ConversationStatus, Json, Time, TimeSource, Timestamp};
use std::collections::HashMap;

const SESSION: Shape = Shape::Object(&[("messages", Shape::List(&Shape::Value))]);
/// Returns whether a file tree contains this format.
pub fn finds(tree: &dyn SourceTree) -> bool {
    !places(tree).is_empty()
}

/// Reads everything of this format in a tree.
pub fn read(tree: &dyn SourceTree, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let places = places(tree);
    if places.is_empty() {
        let why = "no sessions_index.json, sessions or chat_history.json, and no session".to_owned();
        return Err(ReadError::Foreign { file: tree.label().to_owned(), format: NAME, why });
    }
    for files in places {
        let (unmapped, externals, told) = (UnmappedFields::default(), Unique::default(), Vec::new());
        Reader { tree, files, unmapped, externals, told }.all(sink)?;
    }
    Ok(())
}

/// A session with the places of its messages.
#[derive(Default)]
struct Found {
    /// The name of the file that contains it.
    name: String,
    external: String,
    session: Session,
    frame: SessionFrame,
    title: String,
    messages: Vec<Span>,
    is_trashed: bool,
    trashed_at: Option<Timestamp>,
}

impl Found {
    /// Its name in the program.
    fn id(&self) -> &str {
        self.session.id.as_deref().unwrap_or_else(|| stem(&self.name))
    }

    fn created(&self) -> Option<Timestamp> {
        self.session.created.and_then(millis)
    }
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".json").unwrap_or(file)
}

struct Reader<'a> {
    tree: &'a dyn SourceTree,
    files: Files,
    unmapped: UnmappedFields,
    externals: Unique,
    /// Items that are found before the root can be reported.
    told: Vec<Item>,
}

impl Reader<'_> {
    fn all(mut self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let (index, trash_index) = self.indexes()?;
        let mut frame = RootFrame {
            folder: self.files.folder.clone(),
            is_alone: self.files.is_alone,
            index: index.frame.clone(),
            trash_index: trash_index.frame.clone(),
            histories: Vec::new(),
        };
        let mut sessions = self.sessions(index)?;
        sessions.extend(self.trash(trash_index)?);
        let files = &self.files;
        let is_legacy = files.sessions.is_empty() && files.index.is_none() && files.trash.is_empty();
        self.histories(&mut sessions, &mut frame)?;
        for found in &mut sessions {
            self.name(found);
        }
        let generation = if is_legacy { Generation::Legacy } else { Generation::Sessions };
        let files = &self.files;
        let lone = files.sessions.iter().chain(&files.histories).next();
        let path = match (&files.index, lone) {
            (Some(index), _) => index.clone(),
            (None, Some(lone)) => lone.clone(),
            (None, None) => files.folder.clone(),
        };
        let generation = generation.name().to_owned();
        sink.take(Item::Root(Root { format: NAME, generation, path, style: Json::of(&frame) }))?;
        std::mem::take(&mut self.told).into_iter().try_for_each(|item| sink.take(item))?;
        for found in &sessions {
            self.conversation(found, sink)?;
        }
        self.unmapped.emit(sink)
    }

    fn repair(&mut self, place: Place, what: RepairKind, why: String) {
        self.told.push(Item::Repair(Repair { place, what, why }));
    }

    fn indexes(&mut self) -> Result<(Index, Index), ReadError> {
        let mut read = |name: Option<&String>, which| match name {
            Some(name) => index::read(self.tree, name, &which, &mut self.told),
            None => Ok(Index::default()),
        };
        let index = read(self.files.index.as_ref(), Which::Sessions)?;
        let trash = read(self.files.trash_index.as_ref(), Which::Trash)?;
        for frame in index.frame.iter() {
            self.unmapped.scan(&frame.skeleton.text, "index", &["version", "currentSessionId", "sessions"]);
        }
        index.entries.iter().for_each(|entry| self.unmapped.scan(&entry.text, "index entry", &entry::MAPPED));
        trash.entries.iter().for_each(|entry| self.unmapped.scan(&entry.text, "trash entry", &entry::TRASH_MAPPED));
        Ok((index, trash))
    }

    /// Opens the session files; unreadable ones are reported.
    fn open(&mut self, names: &[String]) -> Result<Vec<Option<Found>>, ReadError> {
        let mut sessions = Vec::with_capacity(names.len());
        for name in names {
            self.told.push(Item::Found { record: "session", count: 1 });
            let file = JsonFile::open(self.tree, name, &SESSION)?;
            let frame = match &file.root {
                Some(Outline::Object { .. }) => Some(file.frame()?),
                _ => None,
            };
            let read = frame.and_then(|frame| Some((session::read(&frame.skeleton.text)?, frame)));
            let Some((session, frame)) = read else {
                let why = "the file is no session".to_owned();
                self.told.push(file.problem(file.whole(), "session", why)?);
                sessions.push(None);
                continue;
            };
            self.torn(&file, &frame)?;
            for removed in file.removed()? {
                self.told.extend(file.unreadable(&removed)?);
            }
            self.unmapped.scan(&frame.skeleton.text, "session", &session::MAPPED);
            let list = file.root.as_ref().and_then(|root| root.member("messages"));
            let messages: Vec<Span> = list.map_or(&[][..], Outline::items).iter().map(Outline::span).collect();
            let below = name.strip_prefix(&self.files.folder).unwrap_or(name).to_owned();
            let count = messages.len() as u32;
            let frame = SessionFrame { file: below, frame: Some(frame), messages: count, ..SessionFrame::default() };
            let title = session.name.clone().unwrap_or_default();
            sessions.push(Some(Found { name: name.clone(), session, frame, title, messages, ..Found::default() }));
        }
        Ok(sessions)
    }

    /// Reports the bytes after the end of a truncated file, and invalid UTF-8 in them.
    fn torn(&mut self, file: &JsonFile<'_>, frame: &Frame) -> Result<(), ReadError> {
        let broken = match file.rest() {
            Some(rest) => Some((rest, "the file ends, or goes wrong, before its last bracket")),
            None if file.is_mended(frame)? => Some((file.whole(), "what stands around the records is no UTF-8")),
            None => None,
        };
        if let Some((span, why)) = broken {
            self.told.push(Item::Found { record: "rest of a file", count: 1 });
            self.told.push(file.problem(span, "rest of a file", why.to_owned())?);
        }
        Ok(())
    }

    /// Sorts sessions by their index; those that it does not contain come last.
    fn sessions(&mut self, index: Index) -> Result<Vec<Found>, ReadError> {
        let names = self.files.sessions.clone();
        let mut found = self.open(&names)?;
        let mut sessions = Vec::with_capacity(found.len());
        let by_file: HashMap<String, usize> =
            names.iter().enumerate().map(|(at, name)| (stem(name).to_owned(), at)).collect();
        let by_id: HashMap<String, usize> =
            found.iter().enumerate().filter_map(|(at, found)| Some((found.as_ref()?.id().to_owned(), at))).collect();
        for entry in index.entries {
            let place = [&by_file, &by_id].into_iter().filter_map(|places| places.get(&entry.id).copied());
            let taken = place.filter(|place| found[*place].is_some()).take(1).collect::<Vec<_>>();
            match taken.first().and_then(|place| found[*place].take()) {
                Some(mut session) => {
                    if session.session.name.is_none() {
                        session.title = entry.name.unwrap_or_default();
                    }
                    session.frame.entry = Some(entry.text);
                    sessions.push(session);
                }
                None => self.lost(entry, INDEX),
            }
        }
        let current = index.current.filter(|current| !sessions.iter().any(|one| one.id() == current));
        if let Some(current) = current.filter(|current| !found.iter().flatten().any(|one| one.id() == current)) {
            let why = format!("the open session {current} is not there");
            self.repair(Place::file(&self.named(INDEX)), RepairKind::PointerDangling, why);
        }
        for orphan in found.into_iter().flatten() {
            if index.frame.is_some() {
                let why = format!("session {} is in no index and is taken in", orphan.id());
                self.repair(Place::file(&orphan.name), RepairKind::FileOrphaned, why);
            }
            sessions.push(orphan);
        }
        if self.files.index.is_none() && !self.files.is_alone && !sessions.is_empty() {
            let why = "there is no index; the sessions themselves say what there is".to_owned();
            self.repair(Place::file(&self.named(INDEX)), RepairKind::IndexRebuilt, why);
        }
        Ok(sessions)
    }

    fn named(&self, file: &str) -> String {
        format!("{}{file}", self.files.folder)
    }

    fn lost(&mut self, entry: Entry, file: &str) {
        let place = Place::file(&self.named(file));
        let why = format!("no file of session {} is there that can be read and is not listed already", entry.id);
        self.repair(place.clone(), RepairKind::FileLost, why.clone());
        self.told.push(Item::Found { record: "session", count: 1 });
        self.told.push(Item::Problem(Problem { place, record: "session", why, bytes: entry.text.into_bytes() }));
    }

    /// Sorts deleted sessions by their index, if there is one.
    fn trash(&mut self, index: Index) -> Result<Vec<Found>, ReadError> {
        let names = self.files.trash.clone();
        let mut found = self.open(&names)?;
        let mut sessions = Vec::with_capacity(found.len());
        for entry in index.entries {
            let place = found.iter().position(|one| one.as_ref().is_some_and(|one| one.id() == entry.id));
            match place.and_then(|place| found[place].take()) {
                Some(mut session) => {
                    session.trashed_at = entry.deleted.and_then(millis);
                    session.frame.trash_entry = Some(entry.text);
                    sessions.push(session);
                }
                None => self.lost(entry, TRASH_INDEX),
            }
        }
        sessions.extend(found.into_iter().flatten());
        for session in &mut sessions {
            session.is_trashed = true;
            // A second file of one session has the time of its deletion behind its id.
            let time = stem(&session.name).strip_prefix(session.id()).and_then(|rest| rest.strip_prefix('_'));
            let time = time.and_then(|time| time.parse().ok()).and_then(millis);
            session.trashed_at = session.trashed_at.or(time);
        }
        Ok(sessions)
    }

    /// Imports a legacy file unless it was copied into a session; otherwise keeps it beside the sessions.
    fn histories(&mut self, sessions: &mut Vec<Found>, frame: &mut RootFrame) -> Result<(), ReadError> {
        let copied = sessions.iter().position(|found| found.id().starts_with("migrated_"));
        let mut is_taken = self.files.index.is_some() || copied.is_some();
        let mut copied = match copied {
            Some(place) => Some(self.copied(&sessions[place], place)?),
            None => None,
        };
        for name in self.files.histories.clone() {
            let file = JsonFile::open(self.tree, &name, &history::SHAPE)?;
            let Some(Outline::List { items, .. }) = &file.root else {
                self.told.push(Item::Found { record: "history", count: 1 });
                let why = "the file is no array of messages".to_owned();
                self.told.push(file.problem(file.whole(), "history", why)?);
                continue;
            };
            self.torn(&file, &file.frame()?)?;
            let count = items.len() as u32;
            let mut kept = match is_taken {
                true => history::keep(&file, copied.as_ref())?,
                false => {
                    let place = sessions.len();
                    let found = self.legacy(&name, items.iter().map(Outline::span).collect());
                    copied = Some(self.copied(&found, place)?);
                    sessions.push(found);
                    let run = Run { conversation: place as u32, from: 0, count };
                    crate::apps::obsidian::HistoryFrame {
                        name: name.clone(),
                        frame: file.frame()?,
                        records: vec![Kept::Same(run)],
                    }
                }
            };
            if is_taken {
                self.keep_unmapped(&file, items)?;
            }
            is_taken = true;
            kept.name = name.strip_prefix(&self.files.folder).unwrap_or(&name).to_owned();
            frame.histories.push(kept);
        }
        Ok(())
    }

    fn keep_unmapped(&mut self, file: &JsonFile<'_>, items: &[Outline]) -> Result<(), ReadError> {
        let mut count = 0;
        self.told.push(Item::Found { record: "message", count: items.len() as u64 });
        for item in items {
            match file.text(item.span())? {
                Ok(_) => count += 1,
                Err(why) => self.told.push(file.problem(item.span(), "message", why)?),
            }
        }
        if count > 0 {
            self.told.push(Item::Unmapped { record: "message", key: None, count });
        }
        Ok(())
    }

    fn legacy(&self, name: &str, messages: Vec<Span>) -> Found {
        // The reader's clock must not be used: the same file would become another session each time.
        let at = self.tree.entry(name).and_then(|entry| entry.modified).unwrap_or_default();
        let created = crate::core::time::to_millis(at);
        let title = history::migrated_name(at);
        let session = Session {
            id: Some(history::migrated_id(at)),
            name: Some(title.clone()),
            created: Some(created),
            updated: Some(created),
        };
        let frame = SessionFrame { messages: messages.len() as u32, ..SessionFrame::default() };
        Found { name: name.to_owned(), session, frame, title, messages, ..Found::default() }
    }

    fn copied(&self, found: &Found, place: usize) -> Result<Copied, ReadError> {
        let file = JsonFile::again(self.tree, &found.name)?;
        let mut texts = Vec::with_capacity(found.messages.len());
        for span in &found.messages {
            let is_message = |text: &String| message::read(text, Time::default()).is_ok();
            let text = match file.text(*span)?.ok().filter(is_message) {
                Some(text) => Some(text),
                None => file.mended(*span)?.map(|(text, _)| text).filter(is_message),
            };
            // Messages are counted as they are handed on; one that cannot be read has no number.
            texts.extend(text);
        }
        Ok(Copied { conversation: place as u32, texts })
    }

    /// Gives a session the name that it has among all of them.
    fn name(&mut self, found: &mut Found) {
        found.external = self.externals.take(found.id());
        if found.external != found.id() {
            let why = format!("session {} is there again and becomes a conversation of its own", found.id());
            self.repair(Place::file(&found.name), RepairKind::IdRepeated, why);
        }
        if found.created().is_none() {
            let why = format!("session {} does not say when it was made", found.id());
            self.repair(Place::file(&found.name), RepairKind::TimeMissing, why);
        }
    }

    fn conversation(&mut self, found: &Found, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let is_legacy = found.frame.file.is_empty();
        let item = ConversationItem {
            title: found.title.clone(),
            status: if found.is_trashed { ConversationStatus::Trashed } else { ConversationStatus::Active },
            created_at: found.created(),
            active_at: found.session.updated.and_then(millis),
            trashed_at: found.trashed_at,
            // A legacy file has no record of a session: one is made of all its messages.
            ..ConversationItem::new(
                found.external.clone(),
                Json::of(&found.frame),
                if is_legacy { "" } else { "session" },
            )
        };
        sink.take(Item::Conversation(Box::new(item)))?;
        sink.take(Item::Found { record: "message", count: found.messages.len() as u64 })?;
        let known = if found.created().is_some() { TimeSource::Inherited } else { TimeSource::Unknown };
        let time = Time { at: found.created().unwrap_or_default(), source: known };
        let file = JsonFile::again(self.tree, &found.name)?;
        let mut last_role = None;
        for span in &found.messages {
            let of = |text: String| message::read(&text, time).map(|message| (message, text));
            let mut read = file.text(*span)?.and_then(of);
            if let (Err(_), Some((text, removed))) = (&read, file.mended(*span)?)
                && let Ok(rest) = of(text)
            {
                for removed in &removed {
                    file.unreadable(removed)?.into_iter().try_for_each(|item| sink.take(item))?;
                }
                read = Ok(rest);
            }
            let (message, text) = match read {
                Ok(read) => read,
                Err(why) => {
                    sink.take(file.problem(*span, "message", why)?)?;
                    continue;
                }
            };
            self.unmapped.scan(&text, "message", &message::MAPPED);
            if message.is_halved {
                let why = "half a character stands in a text; a mark stands for it here".to_owned();
                let place = Place::byte(&found.name, span.from);
                sink.take(Item::Repair(Repair { place, what: RepairKind::TextHalved, why }))?;
            }
            last_role = Some(message.content.role.clone());
            sink.take(Item::Message(Box::new(MessageItem {
                external: None,
                follows: Follows::Last,
                content: message.content,
                reply_to: None,
                raw: Some(text),
                record: "message",
            })))?;
        }
        if last_role.as_deref() == Some("user") {
            let why = format!("session {} ends with a question", found.external);
            sink.take(Item::Repair(Repair { place: Place::file(&found.name), what: RepairKind::TailUnanswered, why }))?;
        }
        sink.take(Item::End { head: None })
    }
}
