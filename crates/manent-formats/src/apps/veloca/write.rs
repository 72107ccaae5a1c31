//! Writer: each record from its source text if known, otherwise formatted like its neighbours.

use crate::apps::veloca::compaction::Compaction;
use crate::apps::veloca::entry::Entry;
use crate::apps::veloca::session::Session;
use crate::apps::veloca::tools::Tools;
use crate::apps::veloca::{FileFrame, GENERATIONS, Generation, LISTS, NAME, SessionFrame, compaction, entry, session};
use crate::core::export::*;
use crate::core::json::{Frame, ListOut, Members, Object, Segment, Skeleton, Style, merge};
use crate::core::losses::{LeftTail, Losses};
use crate::core::time::moment;
use manent_model::{Content, ConversationId, ConversationStatus, Fold, FoldKind, MessageId, Part, ToolState};
use std::collections::HashMap;
use std::io::Write;

/// Writes conversations into one file; into two where they have workspaces.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    let root = library.root().cloned();
    let known = root.as_ref().and_then(|root| Generation::of(&root.generation));
    let asked = unsupported_option(NAME, &GENERATIONS, generation, Generation::of)?;
    // The newest generation, which both real readers accept; no program reads the first one, which is the seed's.
    let generation = asked.or(known).unwrap_or(Generation::Rust);
    let frame = root.and_then(|root| root.style.read::<FileFrame>().ok());
    let frame = frame.filter(|_| known == Some(generation));
    let mut frame = frame.unwrap_or_else(|| fresh(generation));
    let mut writer = Writer {
        library,
        generation,
        source: known.unwrap_or(generation),
        style: frame.frame.style,
        losses: Losses::default(),
        workspaces: Vec::new(),
    };
    let told = writer.conversations()?;
    writer.with_root_lists(&mut frame, &told);
    {
        let file = |source| WriteError::File { file: frame.name.clone(), source };
        let mut target = std::io::BufWriter::new(out.create(&frame.name).map_err(file)?);
        writer.file(&frame, told, &mut target)?;
        target.flush().map_err(file)?;
    }
    writer.write_workspaces(frame.workspaces.as_deref(), out)?;
    Ok(writer.losses.told())
}

/// The skeleton of a new file.
fn fresh(generation: Generation) -> FileFrame {
    let text = match generation.is_nested() {
        true => "{\"sessions\":[]}".to_owned(),
        false => format!("{{\"sessions\":[],\"entries\":[],\"{}\":[]}}", generation.compactions()),
    };
    FileFrame {
        name: if generation == Generation::Rust { "otherone-storage.json" } else { "veloca-storage.json" }.to_owned(),
        frame: Frame::fresh(&text, Style::PRETTY),
        order: Vec::new(),
        compactions: Vec::new(),
        workspaces: None,
    }
}

/// A conversation that is being written.
struct SessionPlan {
    place: usize,
    conversation: ConversationId,
    /// Its number in the file it came from.
    ordinal: Option<i64>,
    id: String,
    session: String,
    frame: SessionFrame,
    is_listed: bool,
    has_messages: bool,
    compactions: Vec<String>,
    /// How many of its messages were written.
    written: usize,
    tools: Tools,
    tail: LeftTail,
}

struct Writer<'a> {
    library: &'a mut dyn ExportSource,
    generation: Generation,
    /// The generation of the records that were read.
    source: Generation,
    style: Style,
    losses: Losses,
    workspaces: Vec<(u32, String)>,
}

/// A loss of the generation whose programs show and send everything.
const UNREAD: &str = "status that its programs do not read";

fn failed(source: std::io::Error) -> WriteError {
    WriteError::File { file: "the sessions".to_owned(), source }
}

impl Writer<'_> {
    fn conversations(&mut self) -> Result<Vec<SessionPlan>, WriteError> {
        let mut told = Vec::with_capacity(self.library.count());
        for place in 0..self.library.count() {
            let out = self.library.conversation(place)?;
            told.push(self.session(place, &out)?);
        }
        Ok(told)
    }

    fn session(&mut self, place: usize, out: &ExportedConversation) -> Result<SessionPlan, WriteError> {
        let conversation = &out.conversation;
        let record = out.record.as_ref();
        let frame: SessionFrame =
            record.and_then(|record| serde_json::from_str(record.raw.as_deref()?).ok()).unwrap_or_default();
        let was = frame.skeleton.as_ref().and_then(|skeleton| session::read(&skeleton.text).ok());
        // An id may be there twice, which only the generation that it came from can tell apart.
        let id = was.as_ref().and_then(|was| was.id.clone()).filter(|_| !self.is_moved());
        let id = id.or_else(|| record?.external.clone());
        let id = id.unwrap_or_else(|| uuid(conversation.id.as_bytes()));
        let has_messages = !self.library.messages(place, 0)?.is_empty();
        // One without an id gets it where entries must name it.
        let is_nameless = was.as_ref().is_some_and(|was| was.id.is_none())
            && !self.is_moved()
            && (self.generation.is_nested() || !has_messages);
        let created = |was: &Session| was.at == Some(conversation.created_at);
        let now = Session {
            id: (!is_nameless).then(|| id.clone()),
            name: conversation.title.clone(),
            is_deleted: conversation.status == ConversationStatus::Trashed,
            at: Some(conversation.created_at),
            time: match &was {
                Some(was) if created(was) || was.at.is_none() => was.time.clone(),
                _ => Some(entry::time_text(conversation.created_at, self.generation)),
            },
            metadata: conversation.metadata.clone(),
        };
        let is_implicit = record.is_some() && frame.skeleton.is_none();
        let is_listed = !is_implicit || !now.name.is_empty() || now.is_deleted || self.generation.is_nested();
        let text = match (&frame.skeleton, &was) {
            (Some(skeleton), Some(was)) => {
                let (was, now) = (session::write(was, self.source), session::write(&now, self.generation));
                merge(&skeleton.text, &was, &now, self.style, 2)
            }
            _ => self.style.format(&session::write(&now, self.generation).text(), 2),
        };
        self.look_for_losses(out, &now);
        self.losses.events(self.library, place, conversation.id)?;
        if let Some((place, workspace)) = frame.workspace_place.zip(frame.workspace.clone()) {
            self.workspaces.push((place, workspace));
        }
        let compactions = self.compactions(place, out, &id)?;
        let is_new = frame.skeleton.is_none() || self.is_moved();
        let needed = [("entries", has_messages), ("compacted_entries", !compactions.is_empty())];
        let needed = needed.into_iter().filter(|(_, is_needed)| *is_needed || is_new).map(|(list, _)| list).collect();
        let text = self.with_lists(text, needed);
        let ordinal = record.map(|record| record.ordinal);
        Ok(SessionPlan {
            place,
            conversation: conversation.id,
            ordinal,
            id,
            session: text,
            frame,
            is_listed,
            has_messages,
            compactions,
            written: 0,
            tools: self.tools(place, out)?,
            tail: LeftTail::default(),
        })
    }

    /// Finds the calls that are sealed and have no result, which get one in the file.
    fn tools(&mut self, place: usize, out: &ExportedConversation) -> Result<Tools, WriteError> {
        let mut tools = Tools::default();
        let sealed = out.tool_calls.iter().filter(|(call, _)| call.state == ToolState::Sealed);
        for (call, _) in sealed {
            tools.sealed.entry(call.message).or_default().push((call.call_id.clone(), call.name.clone()));
        }
        let mut from = 0;
        while !tools.sealed.is_empty() {
            let page = self.library.messages(place, from)?;
            if page.is_empty() {
                break;
            }
            from += page.len();
            let bodies = page.iter().map(|message| &message.content.body).filter(|body| body.may_have_tools());
            for part in bodies.flat_map(|body| body.parts()) {
                if let Part::ToolResult { call, .. } = part {
                    tools.sealed.values_mut().for_each(|calls| calls.retain(|(id, _)| *id != call));
                }
            }
            tools.sealed.retain(|_, calls| !calls.is_empty());
        }
        Ok(tools)
    }

    /// Returns whether records are written in another generation than they were read in.
    fn is_moved(&self) -> bool {
        self.source != self.generation
    }

    /// Ensures that a file has every list that is needed, and always one of sessions, which its programs look for
    /// first.
    fn with_root_lists(&self, frame: &mut FileFrame, told: &[SessionPlan]) {
        let is_flat = !self.generation.is_nested();
        let needed = [
            ("sessions", true),
            ("entries", is_flat && told.iter().any(|one| one.has_messages)),
            (self.generation.compactions(), is_flat && told.iter().any(|one| !one.compactions.is_empty())),
        ];
        let skeleton = &mut frame.frame.skeleton;
        let members = Members::parse(&skeleton.text).unwrap_or_default();
        let (mut was, mut now) = (Object::new(), Object::new());
        for (name, is_needed) in needed {
            let raw = members.raw(name);
            was = was.with_some(name, raw.map(|_| 0));
            now = if is_needed && raw != Some("[]") {
                now.with(name, &[0; 0])
            } else {
                now.with_some(name, raw.map(|_| 0))
            };
        }
        if was != now {
            skeleton.text = merge(&skeleton.text, &was, &now, self.style, 0);
        }
    }

    /// A session of the nested generations has its lists; one of a flat file has none.
    fn with_lists(&self, text: String, needed: Vec<&str>) -> String {
        let Some(members) = Members::parse(&text) else { return text };
        let (mut was, mut now) = (Object::new(), Object::new());
        for (name, _) in &members.0 {
            was = was.with(name, &0);
            if self.generation.is_nested() || !LISTS.contains(&name.as_ref()) {
                now = now.with(name, &0);
            }
        }
        for list in needed {
            if self.generation.is_nested() && members.raw(list) != Some("[]") {
                now.0.retain(|(name, _)| name != list);
                now = now.with(list, &[0; 0]);
            }
        }
        self.laid(merge(&text, &was, &now, self.style, 2), 2)
    }

    /// A record of another generation stood at another level.
    fn laid(&self, text: String, level: usize) -> String {
        match self.is_moved() {
            true => self.style.format(&text, level),
            false => text,
        }
    }

    fn look_for_losses(&mut self, out: &ExportedConversation, now: &Session) {
        let id = out.conversation.id;
        self.losses.add(id, "branches that are not shown", out.other_branches);
        self.losses.add(id, "values of state", out.states.len());
        self.losses.add(id, "bookmarks", out.bookmarks.len());
        self.losses.add(id, "tags", out.conversation.tags.len());
        self.losses.add(id, "links to other conversations", out.links());
        self.losses.add(
            id,
            "folds that are no summary",
            out.folds.iter().filter(|(fold, _)| fold.kind != FoldKind::Summary).count(),
        );
        if self.generation != Generation::Rust {
            self.losses.add(id, "metadata", usize::from(now.metadata.is_some()));
        }
        if self.generation == Generation::Nested && self.is_moved() {
            let unused = out.folds.iter().filter(|(fold, _)| fold.kind == FoldKind::Summary && !fold.active).count();
            self.losses.add(id, UNREAD, usize::from(now.is_deleted) + unused);
        }
    }

    fn compactions(
        &mut self,
        place: usize,
        out: &ExportedConversation,
        session: &str,
    ) -> Result<Vec<String>, WriteError> {
        let summaries = out.folds.iter().filter(|(fold, _)| fold.kind == FoldKind::Summary);
        let mut texts = Vec::new();
        let mut order: Option<Vec<(MessageId, String)>> = None;
        for (fold, record) in summaries {
            let raw = record.as_ref().and_then(|record| record.raw.as_deref());
            let was = raw.and_then(|raw| compaction::read(raw).ok());
            let ids = match &mut order {
                Some(ids) => ids,
                none => none.insert(self.ids(place)?),
            };
            let now = self.compaction(fold, was.as_ref(), ids, session);
            let level = if self.generation.is_nested() { 4 } else { 2 };
            texts.push(match (raw, &was) {
                (Some(raw), Some(was)) => {
                    let (was, now) = (compaction::write(was, self.source), compaction::write(&now, self.generation));
                    self.laid(merge(raw, &was, &now, self.style, level), level)
                }
                _ => self.style.format(&compaction::write(&now, self.generation).text(), level),
            });
        }
        Ok(texts)
    }

    fn compaction(
        &self,
        fold: &Fold,
        was: Option<&Compaction>,
        ids: &[(MessageId, String)],
        session: &str,
    ) -> Compaction {
        let name = |id: MessageId| ids.iter().find(|(known, _)| *known == id).map(|(_, name)| name.clone());
        let trigger = match was {
            // The values of the record stay, whether or not their targets exist.
            Some(was) => was.trigger.clone(),
            None => {
                let last = fold.covers.last().map(|stretch| stretch.last);
                let behind = ids.iter().skip_while(|(id, _)| Some(*id) != last).nth(1).map(|(_, name)| name.clone());
                behind.or_else(|| name(fold.after))
            }
        };
        let is_dangling = was.is_some_and(|was| was.is_used && !fold.active && fold.covers.is_empty());
        Compaction {
            id: was.map_or_else(|| Some(uuid(fold.id.as_bytes())), |was| was.id.clone()),
            session: match was {
                Some(was) if !self.is_moved() => was.session.clone(),
                _ => Some(session.to_owned()),
            },
            trigger,
            summary: fold.summary.clone().unwrap_or_default(),
            at: Some(fold.at),
            time: match was {
                Some(was) => was.time.clone(),
                None => Some(entry::time_text(fold.at, self.generation)),
            },
            is_used: fold.active || is_dangling,
        }
    }

    /// The ids of the messages of a conversation, in order.
    fn ids(&mut self, place: usize) -> Result<Vec<(MessageId, String)>, WriteError> {
        let mut ids = Vec::new();
        loop {
            let page = self.library.messages(place, ids.len())?;
            if page.is_empty() {
                return Ok(ids);
            }
            ids.extend(page.iter().map(|message| (message.id, id_of(message))));
        }
    }

    /// The entries of a message: one, or one for each result of a tool where no entry of the file held them together.
    fn entries_of(&mut self, message: &ExportedMessage, told: &mut SessionPlan) -> Vec<String> {
        told.tools.look(message);
        let mut texts: Vec<String> = match told.tools.pieces(message) {
            Some(pieces) => pieces.iter().filter_map(|piece| self.entry(piece, told)).collect(),
            None => self.entry(message, told).into_iter().collect(),
        };
        texts.extend(told.tools.results_missing(message).iter().filter_map(|piece| self.entry(piece, told)));
        texts
    }

    fn entry(&mut self, message: &ExportedMessage, told: &SessionPlan) -> Option<String> {
        let raw = message.record.as_ref().and_then(|record| record.raw.as_deref());
        let was = raw.and_then(|raw| entry::read(raw).ok());
        let mut content = message.content.clone();
        if message.is_removed {
            // Records that cannot be marked as removed are left out, as the program does.
            if self.generation == Generation::Nested {
                return None;
            }
            content.seen.by_reader = false;
        }
        let is_same = was.as_ref().is_some_and(|was| was.content == content) && !self.is_moved();
        if !is_same {
            self.message_losses(&content, told.conversation);
        }
        let time = was.as_ref().filter(|was| was.content.time == content.time).and_then(|was| was.time.clone());
        let now = Entry {
            id: was.as_ref().map_or_else(|| Some(id_of(message)), |was| was.id.clone()),
            session: was
                .as_ref()
                .and_then(|was| was.session.clone())
                .filter(|_| !self.is_moved())
                .or_else(|| Some(told.id.clone())),
            content,
            time: time.filter(|time| !self.is_moved() || moment(time).is_some()),
        };
        let level = if self.generation.is_nested() { 4 } else { 2 };
        Some(match (raw, &was) {
            (Some(raw), Some(was)) => {
                let (was, now) = (entry::write(was, self.source), entry::write(&now, self.generation));
                self.laid(merge(raw, &was, &now, self.style, level), level)
            }
            _ => self.style.format(&entry::write(&now, self.generation).text(), level),
        })
    }

    fn message_losses(&mut self, content: &Content, conversation: ConversationId) {
        let parts = content.body.parts();
        let count = |of: fn(&Part) -> bool| parts.iter().filter(|part| of(part)).count();
        let others = count(|part| matches!(part, Part::Media { .. } | Part::Source { .. } | Part::Opaque(_)));
        self.losses.add(conversation, "parts that are no text, thought or tool", others);
        // An entry asks or answers, and answers once.
        let results = count(|part| matches!(part, Part::ToolResult { .. }));
        let held = usize::from(count(|part| matches!(part, Part::ToolCall { .. })) == 0);
        self.losses.add(conversation, "results of tools beside others", results.saturating_sub(held));
        self.losses.add(conversation, "authors", usize::from(content.author.is_some()));
        self.losses.add(conversation, "models", usize::from(content.model.is_some()));
        if !matches!(self.generation, Generation::Thinking | Generation::Nested) {
            self.losses.add(conversation, "thoughts", count(|part| matches!(part, Part::Reasoning { .. })));
        }
        if self.generation != Generation::Rust {
            self.losses.add(conversation, "metadata of messages", usize::from(content.metadata.is_some()));
        }
        if self.generation == Generation::Nested {
            self.losses.add(conversation, UNREAD, usize::from(!content.seen.by_reader));
        }
    }

    fn file(
        &mut self,
        frame: &FileFrame,
        mut told: Vec<SessionPlan>,
        target: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let lists: Vec<&str> = match self.generation.is_nested() {
            true => vec!["sessions"],
            false => LISTS.to_vec(),
        };
        target.write_all(frame.frame.before.as_bytes()).map_err(failed)?;
        for segment in frame.frame.skeleton.segments(&lists) {
            match segment {
                Segment::Text(text) => target.write_all(text.as_bytes()).map_err(failed)?,
                Segment::List("sessions") => self.sessions(frame, &mut told, target)?,
                Segment::List("entries") => self.entries(frame, &mut told, target)?,
                Segment::List(name) if name == self.generation.compactions() => {
                    let mut texts = Vec::new();
                    let mut next: Vec<usize> = vec![0; told.len()];
                    for (place, count) in runs(&frame.compactions, &told) {
                        let from = next[place];
                        let to = told[place].compactions.len().min(from + count);
                        texts.extend_from_slice(&told[place].compactions[from..to]);
                        next[place] = to;
                    }
                    for (one, from) in told.iter().zip(next) {
                        texts.extend_from_slice(&one.compactions[from..]);
                    }
                    self.list(&frame.frame.skeleton, name, &texts, 2, target)?;
                }
                // The list of another generation: what its skeleton says of an empty one.
                Segment::List(name) => self.list(&frame.frame.skeleton, name, &[], 2, target)?,
            }
        }
        target.write_all(frame.frame.after.as_bytes()).map_err(failed)
    }

    fn list(
        &self,
        skeleton: &Skeleton,
        name: &str,
        items: &[String],
        level: usize,
        target: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let gap = skeleton.gap(name, items.len(), self.style, level);
        if items.is_empty() {
            return target.write_all(gap.open.as_bytes()).map_err(failed);
        }
        for (place, item) in items.iter().enumerate() {
            target.write_all(gap.before(place).as_bytes()).map_err(failed)?;
            target.write_all(item.as_bytes()).map_err(failed)?;
        }
        target.write_all(gap.close.as_bytes()).map_err(failed)
    }

    fn sessions(
        &mut self,
        frame: &FileFrame,
        told: &mut [SessionPlan],
        target: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let listed = told.iter().filter(|one| one.is_listed).count();
        let gap = frame.frame.skeleton.gap("sessions", listed, self.style, 2);
        if listed == 0 {
            return target.write_all(gap.open.as_bytes()).map_err(failed);
        }
        for (place, one) in told.iter_mut().filter(|one| one.is_listed).enumerate() {
            target.write_all(gap.before(place).as_bytes()).map_err(failed)?;
            match self.generation.is_nested() {
                true => self.nested(one, target)?,
                false => target.write_all(one.session.as_bytes()).map_err(failed)?,
            }
        }
        target.write_all(gap.close.as_bytes()).map_err(failed)
    }

    fn nested(&mut self, told: &mut SessionPlan, target: &mut dyn Write) -> Result<(), WriteError> {
        let gaps = told.frame.skeleton.as_ref().map(|skeleton| skeleton.gaps.clone()).unwrap_or_default();
        let skeleton = Skeleton { text: told.session.clone(), gaps };
        for segment in skeleton.segments(&["entries", "compacted_entries"]) {
            match segment {
                Segment::Text(text) => target.write_all(text.as_bytes()).map_err(failed)?,
                Segment::List("entries") => {
                    let mut list = ListOut::new(&skeleton, "entries", self.style, 4);
                    while self.some(told, &mut list, usize::MAX, target)? {}
                    list.end(target).map_err(failed)?;
                }
                Segment::List(name) => {
                    let texts = std::mem::take(&mut told.compactions);
                    self.list(&skeleton, name, &texts, 4, target)?;
                }
            }
        }
        Ok(())
    }

    /// Writes entries of a flat file in the order in which their sessions spoke.
    fn entries(
        &mut self,
        frame: &FileFrame,
        told: &mut [SessionPlan],
        target: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let mut list = ListOut::new(&frame.frame.skeleton, "entries", self.style, 2);
        for (place, count) in runs(&frame.order, told) {
            self.some(&mut told[place], &mut list, count, target)?;
        }
        for one in told.iter_mut() {
            while self.some(one, &mut list, usize::MAX, target)? {}
        }
        list.end(target).map_err(failed)
    }

    /// Writes up to this many of a conversation's messages that were read from the file, with the new ones after each;
    /// returns whether there may be more.
    fn some(
        &mut self,
        told: &mut SessionPlan,
        list: &mut ListOut,
        mut count: usize,
        target: &mut dyn Write,
    ) -> Result<bool, WriteError> {
        loop {
            let page = self.library.messages(told.place, told.written)?;
            if page.is_empty() {
                let tail = std::mem::take(&mut told.tail);
                if self.generation == Generation::Nested {
                    tail.tell(&mut self.losses, told.conversation);
                }
                return Ok(false);
            }
            for message in &page {
                if message.record.is_some() {
                    if count == 0 {
                        return Ok(true);
                    }
                    count -= 1;
                }
                told.written += 1;
                told.tail.look(message);
                for text in self.entries_of(message, told) {
                    let place = Some(list.count());
                    list.item(&text, place, target).map_err(failed)?;
                }
            }
        }
    }

    fn write_workspaces(&mut self, frame: Option<&FileFrame>, out: &mut dyn FileSink) -> Result<(), WriteError> {
        let Some(frame) = frame else { return Ok(()) };
        self.workspaces.sort_by_key(|(place, _)| *place);
        let texts: Vec<String> = self.workspaces.iter().map(|(_, text)| text.clone()).collect();
        let whole = frame.frame.filled(&[("sessions", texts)]);
        let file = |source| WriteError::File { file: frame.name.clone(), source };
        let mut target = out.create(&frame.name).map_err(file)?;
        target.write_all(whole.as_bytes()).and_then(|()| target.flush()).map_err(file)
    }
}

/// Runs of records, by the numbers of the conversations that are written now.
fn runs(order: &[(u32, u32)], told: &[SessionPlan]) -> Vec<(usize, usize)> {
    let places: HashMap<i64, usize> =
        told.iter().enumerate().filter_map(|(place, one)| Some((one.ordinal?, place))).collect();
    let found = order.iter().filter_map(|(ordinal, run)| Some((*places.get(&i64::from(*ordinal))?, *run as usize)));
    found.collect()
}

pub(crate) fn id_of(message: &ExportedMessage) -> String {
    let known = message.record.as_ref().and_then(|record| record.external.clone());
    known.unwrap_or_else(|| uuid(message.id.as_bytes()))
}
