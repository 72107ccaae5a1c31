//! Writer: each record from its source text if known, otherwise as documented.

use crate::apps::personalab::document::Kind;
use crate::apps::personalab::files::VECTORS;
use crate::apps::personalab::head::Head;
use crate::apps::personalab::line::Line;
use crate::apps::personalab::plan::{Instance, SessionPlan};
use crate::apps::personalab::read::without_plot;
use crate::apps::personalab::state_fields::StateFieldFrame;
use crate::apps::personalab::vectors::VectorFrame;
use crate::apps::personalab::{
    GENERATIONS, Generation, NAME, PERSONAS, PLOT, RootFrame, document, fresh, head, line, plan, vectors,
};
use crate::core::export::*;
use crate::core::json::{Frame, Members, Object, Skeleton, Style, merge, merge_text};
use crate::core::jsonl::JsonlWriter;
use crate::core::losses::{LeftTail, Losses};
use crate::core::names::{Names, is_safe};
use manent_model::{Content, ConversationStatus, Json, Part, State, TimeSource};
use std::io::{BufWriter, Write};

/// Writes conversations, documents, and what characters have become.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    let root = library.root().cloned();
    let source = root.as_ref().and_then(|root| Generation::of(&root.generation));
    let asked = unsupported_option(NAME, &GENERATIONS, generation, Generation::of)?;
    let generation = asked.or(source).unwrap_or(Generation::Instances);
    let frame = root.filter(|_| source.is_some()).and_then(|root| root.style.read::<RootFrame>().ok());
    let held = vectors::held(library, frame.as_ref())?;
    let mut folder = frame.map_or_else(|| "data/".to_owned(), |frame| frame.folder);
    if !is_safe(folder.trim_end_matches('/')) {
        folder = String::new();
    }
    let mut writer = Writer { library, out, generation, source, folder, losses: Losses::default() };
    let has_settings = writer.documents()?;
    if source.is_none() && !has_settings {
        writer.file("config.json", &fresh::settings())?;
    }
    for held in held {
        writer.vectors(&held)?;
    }
    match generation {
        Generation::Instances => writer.instances()?,
        Generation::Conversations => writer.conversations()?,
    }
    Ok(writer.losses.told())
}

struct Writer<'a> {
    library: &'a mut dyn ExportSource,
    out: &'a mut dyn FileSink,
    generation: Generation,
    /// The generation of what was read.
    source: Option<Generation>,
    folder: String,
    losses: Losses,
}

/// The value of a state that holds now: of the first conversation that has one its last. It is laid out like the oldest.
fn state(sessions: &[&[State]], name: &str, style: Style, level: usize) -> Option<String> {
    let is_it = |state: &&State| state.name == name;
    let last = sessions.iter().find_map(|states| states.iter().rfind(is_it))?.value.as_ref()?;
    let mut oldest = sessions.iter().rev().flat_map(|states| states.iter().filter(is_it));
    let first = oldest.find_map(|state| state.value.as_ref()).unwrap_or(last);
    match first == last {
        true => Some(last.text().to_owned()),
        false => Some(merge_text(first.text(), last.text(), style, level)),
    }
}

impl Writer<'_> {
    fn file(&mut self, name: &str, text: &str) -> Result<(), WriteError> {
        let name = format!("{}{name}", self.folder);
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = self.out.create(&name).map_err(failed)?;
        target.write_all(text.as_bytes()).and_then(|()| target.flush()).map_err(failed)
    }

    /// Writes documents; says whether the settings were among them.
    fn documents(&mut self) -> Result<bool, WriteError> {
        let mut has_settings = false;
        let mut names = Names::default();
        let is_own = self.source == Some(self.generation);
        for kind in Kind::ALL {
            for (document, record) in self.library.documents(kind.name())? {
                let Some(body) = &document.body else { continue };
                let raw = record.as_ref().and_then(|record| record.raw.as_deref());
                let written = document::write(kind, &document.id, body, raw, self.generation, is_own, &mut names);
                if let Some((name, text)) = written {
                    has_settings |= name == "config.json";
                    self.file(&name, &text)?;
                }
            }
        }
        Ok(has_settings)
    }

    /// Writes a file of the vectors, a piece at a time.
    fn vectors(&mut self, held: &VectorFrame) -> Result<(), WriteError> {
        let name = format!("{}{VECTORS}{}", self.folder, held.name);
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = self.out.create(&name).map_err(failed)?;
        let is_held = self.library.copy_blob(&held.sha256, &mut |piece| target.write_all(piece).map_err(failed))?;
        match is_held {
            true => target.flush().map_err(failed),
            false => Err(WriteError::Library(format!("the bytes of {name} are not held").into())),
        }
    }

    fn instances(&mut self) -> Result<(), WriteError> {
        for instance in plan::instances(self.library, self.source)? {
            let prefix = format!("instances/{}/", instance.folder);
            for session in &instance.sessions {
                let head = self.head(session, &instance);
                self.look_for_losses(session);
                self.losses.events(self.library, session.place, session.out.conversation.id)?;
                self.lines(&format!("{prefix}sessions/{}", session.name), session, head)?;
            }
            // The open session takes precedence; other sessions supply missing values.
            let open = instance.current();
            let others = (0..instance.sessions.len()).rev().filter(|place| *place != open);
            let order = std::iter::once(open).chain(others);
            let states: Vec<&[State]> = order.map(|place| instance.sessions[place].out.states.as_slice()).collect();
            let style = instance.frame.state.as_ref().map_or(Style::PRETTY, |state| state.frame.style);
            let value = |name: &str| state(&states, name, style, 1);
            let plot = value(PLOT).or_else(|| (!instance.is_own).then(fresh::plot));
            if let Some(text) = instance_state(&instance, open, plot) {
                let file = if instance.frame.file.is_empty() { "instance_state.json" } else { &instance.frame.file };
                self.file(&format!("{prefix}{file}"), &text)?;
            }
            // One that comes from elsewhere has a character of which nothing is known.
            let persona = |name: &str| value(name).or_else(|| (!instance.is_own).then(|| "\"\"".to_owned()));
            if let Some(text) = character(instance.frame.character.as_ref(), persona, Object::new()) {
                self.file(&format!("{prefix}character_state.json"), &text)?;
            }
        }
        Ok(())
    }

    /// The first line of a session, with its end.
    fn head(&self, session: &SessionPlan, instance: &Instance) -> Option<(String, String)> {
        let created_at = session.out.conversation.created_at;
        let continued = session.out.continued_from.as_deref();
        let continued =
            continued.and_then(|from| instance.sessions.iter().find(|other| other.external() == Some(from)));
        match (&session.frame.head, session.head()) {
            (Some((text, end)), Some(was)) => {
                // A link to something that is not there came in as none, and stays as it is.
                let from = continued.map(|other| other.id.clone()).or_else(|| was.continued_from.clone());
                let now = Head { continued_from: from, ..was.at(created_at) };
                Some((merge(text, &head::write(&was), &head::write(&now), Style::COMPACT, 0), end.clone()))
            }
            _ if session.is_own => None,
            _ => {
                let now = Head {
                    instance: Some(instance.id.clone()),
                    id: Some(session.id.clone()),
                    created: Some(created_at.to_string()),
                    continued_from: continued.map(|other| other.id.clone()),
                    ..Head::default()
                };
                Some((head::write(&now).text(), session.frame.lines.end().to_owned()))
            }
        }
    }

    fn conversations(&mut self) -> Result<(), WriteError> {
        for session in plan::conversations(self.library, self.source)? {
            let prefix = format!("conversations/{}/", session.name);
            self.look_for_losses(&session);
            self.losses.events(self.library, session.place, session.out.conversation.id)?;
            let head = session.frame.head.clone().filter(|_| session.is_own);
            if !session.frame.has_no_lines || !self.library.messages(session.place, 0)?.is_empty() {
                self.lines(&format!("{prefix}conversation.jsonl"), &session, head)?;
            }
            if let Some(text) = metadata(&session) {
                self.file(&format!("{prefix}metadata.json"), &text)?;
            }
            let value = |name: &str| state(&[&session.out.states], name, Style::PRETTY, 0);
            if let Some(plot) = value(PLOT) {
                let (before, after) = session.frame.plot.clone().unwrap_or_default();
                let plot = if session.frame.plot.is_some() { plot } else { Style::PRETTY.format(&plot, 0) };
                self.file(&format!("{prefix}plot_state.json"), &format!("{before}{plot}{after}"))?;
            }
            let fresh = Object::new()
                .with("source_preset", "")
                .with("snapshot_created_at", &session.out.conversation.created_at.to_string());
            let persona = |name: &str| value(name).or_else(|| (!session.is_own).then(|| "\"\"".to_owned()));
            if let Some(text) = character(session.frame.character.as_ref().filter(|_| session.is_own), persona, fresh) {
                self.file(&format!("{prefix}character_snapshot.json"), &text)?;
            }
        }
        Ok(())
    }

    fn lines(&mut self, name: &str, session: &SessionPlan, head: Option<(String, String)>) -> Result<(), WriteError> {
        let name = format!("{}{name}", self.folder);
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = BufWriter::new(self.out.create(&name).map_err(failed)?);
        let mut lines = JsonlWriter::new(&session.frame.lines, &mut target).map_err(failed)?;
        if let Some((text, end)) = head {
            lines.first_others(session.frame.before_head).and_then(|()| lines.line(&text, &end)).map_err(failed)?;
        }
        let (mut from, mut turn, mut tail) = (0, 0, LeftTail::default());
        loop {
            let page = self.library.messages(session.place, from)?;
            if page.is_empty() {
                break;
            }
            from += page.len();
            page.iter().for_each(|message| tail.look(message));
            for message in page.iter().filter(|message| !message.is_removed) {
                let number = message.record.as_ref().and_then(|record| u32::try_from(record.ordinal).ok());
                if let Some(text) = said(message, &mut turn, &mut |what, count| {
                    self.losses.add(session.out.conversation.id, what, count);
                }) {
                    lines.record(&text, number).map_err(failed)?;
                }
            }
        }
        tail.tell(&mut self.losses, session.out.conversation.id);
        lines.end().and_then(|()| target.flush()).map_err(failed)
    }

    fn look_for_losses(&mut self, session: &SessionPlan) {
        let (out, conversation) = (&session.out, &session.out.conversation);
        let mut lost = |what, count| self.losses.add(conversation.id, what, count);
        let held = PERSONAS.iter().chain([&PLOT]).filter(|name| out.states.iter().any(|state| state.name == **name));
        lost("branches that are not shown", out.other_branches);
        lost("earlier and other values of state", out.states.len() - held.count());
        lost("bookmarks", out.bookmarks.len());
        lost("folds", out.folds.len());
        lost("records of tool calls", out.tool_calls.len());
        lost("tags", conversation.tags.len());
        lost("people", conversation.members.len() + usize::from(conversation.creator.is_some()));
        lost("metadata", usize::from(conversation.metadata.is_some()));
        lost("pins", usize::from(conversation.pinned));
        lost("status", usize::from(conversation.status != ConversationStatus::Active));
        let is_nameless = conversation.title.is_empty() || out.record.is_some() && names_itself(session);
        lost("names of conversations", usize::from(!is_nameless));
        let is_held = out.continued_from.is_some() && self.generation == Generation::Instances;
        lost("links to other conversations", out.links() - usize::from(is_held));
        lost("projects", usize::from(out.project.is_some() && self.generation == Generation::Conversations));
    }
}

/// There are no names in this format: what was read is called by its id.
fn names_itself(session: &SessionPlan) -> bool {
    let external = session.external().unwrap_or_default();
    let title = &session.out.conversation.title;
    session.id == *title || external.rsplit('/').next() == Some(title) || external == title
}

/// Writes a message as a line; none for what the format has no line for.
fn said(message: &ExportedMessage, turn: &mut u32, lost: &mut dyn FnMut(&'static str, usize)) -> Option<String> {
    let content = &message.content;
    let raw = message.record.as_ref().and_then(|record| record.raw.as_deref());
    if let (Some(raw), Some(was)) = (raw, raw.and_then(|raw| line::read(raw, content.time))) {
        let is_same = was.content.time == content.time || content.time.source != TimeSource::Exact;
        let time = if is_same { was.time.clone() } else { Some(content.time.at.to_string()) };
        // An edit does not set the turn: it keeps that of the line it replaces.
        let content = Content { turn: content.turn.or(was.content.turn), ..content.clone() };
        *turn = content.turn.unwrap_or(*turn);
        let now = Line { content, time, is_halved: false };
        return Some(merge(raw, &line::write(&was), &line::write(&now), Style::COMPACT, 0));
    }
    let is_summary = content.role == line::SUMMARY;
    if !is_summary && !matches!(content.role.as_str(), "user" | "assistant") {
        lost("messages of other roles", 1);
        return None;
    }
    if !content.seen.by_reader {
        lost("hidden messages", 1);
        return None;
    }
    let is_held = |part: &&Part| matches!(part, Part::Text { .. } | Part::Summary { .. });
    lost("parts that are no text", content.body.parts().iter().filter(|part| !is_held(part)).count());
    if !content.body.parts().iter().any(|part| is_held(&part)) {
        // A line without words would be a turn in which nothing was said.
        return None;
    }
    lost("authors", usize::from(content.author.is_some()));
    lost("models", usize::from(content.model.is_some()));
    lost("metadata of messages", usize::from(content.metadata.is_some()));
    let mut content = content.clone();
    if is_summary {
        content.turn = None;
        return Some(line::write(&Line { content, time: None, is_halved: false }).text());
    }
    // A question begins a turn, and its answer belongs to it.
    *turn = content.turn.unwrap_or(if content.role == "user" { *turn + 1 } else { (*turn).max(1) });
    content.turn = Some(*turn);
    let time = Some(content.time.at.to_string());
    Some(line::write(&Line { content, time, is_halved: false }).text())
}

/// The document of an instance, with the state of its plot.
fn instance_state(instance: &Instance, open: usize, plot: Option<String>) -> Option<String> {
    let metadata = instance.project.as_ref().and_then(|project| project.metadata.as_ref());
    if let Some(slots) = &instance.frame.state {
        let mut slots = slots.clone();
        let was = without_plot(&slots.frame).and_then(|was| Object::of(was.text()));
        if let Some((was, now)) = was.zip(metadata.and_then(|now| Object::of(now.text()))) {
            slots.frame.skeleton.text = merge(&slots.frame.skeleton.text, &was, &now, slots.frame.style, 0);
        }
        if instance.sessions[open].out.record.is_none() {
            // A roll-over opens the session that it makes; a name that leads nowhere stays as it is otherwise.
            let named = |id: &str| Object::new().with("current_session_id", id);
            let text = &slots.frame.skeleton.text;
            slots.frame.skeleton.text =
                merge(text, &named(""), &named(&instance.sessions[open].id), slots.frame.style, 0);
        }
        return Some(slots.filled(&[PLOT], |_| plot.clone()));
    }
    if instance.is_own && instance.frame.file.is_empty() && plot.is_none() {
        return None;
    }
    let known = metadata.and_then(|metadata| Members::parse(metadata.text()));
    let text = |name: &str| known.as_ref().and_then(|known| known.text(name));
    let object = Object::new()
        .with("instance_id", &instance.id)
        .with("character_id", &text("character_id").unwrap_or_default())
        .with("background_id", &text("background_id"))
        .with("current_session_id", &instance.sessions[open].id)
        .with("created_at", &instance.created_at().to_string());
    let object = object.with_some(PLOT, plot.and_then(|plot| Json::parse(&plot).ok()));
    Some(Style::PRETTY.format(&object.text(), 0))
}

/// The definition and state of a character; a new file only if there is a value for it.
fn character(slots: Option<&StateFieldFrame>, value: impl Fn(&str) -> Option<String>, fresh: Object) -> Option<String> {
    if let Some(slots) = slots {
        return Some(slots.filled(&PERSONAS, value));
    }
    let values = PERSONAS.map(&value);
    if values.iter().all(Option::is_none) {
        return None;
    }
    let mut object = fresh;
    for (name, value) in PERSONAS.iter().zip(values) {
        object.0.push(((*name).to_owned(), value.unwrap_or_else(|| "\"\"".to_owned())));
    }
    Some(Style::PRETTY.format(&object.text(), 0))
}

/// The document of a conversation of v2.
fn metadata(session: &SessionPlan) -> Option<String> {
    let created_at = session.out.conversation.created_at;
    if let Some(frame) = session.frame.metadata.as_ref().filter(|_| session.is_own) {
        let was = head::read(&frame.skeleton.text);
        let now = was.at(created_at);
        let object = |head: &Head| head::write_file(&session.id, head.created.as_ref());
        let text = merge(&frame.skeleton.text, &object(&was), &object(&now), frame.style, 0);
        let frame = Frame { skeleton: Skeleton { text, ..Skeleton::default() }, ..frame.clone() };
        return Some(format!("{}{}{}", frame.before, frame.skeleton.text, frame.after));
    }
    if session.is_own {
        return None;
    }
    let project = session.out.project.as_ref().and_then(|(project, _)| project.metadata.as_ref());
    let known = project.and_then(|metadata| Members::parse(metadata.text()));
    let text = |name: &str| known.as_ref().and_then(|known| known.text(name));
    let presets = Object::new()
        .with("character", &text("character_id").unwrap_or_default())
        .with("background", &text("background_id"))
        .with("summaries", &[0; 0]);
    let scope = Object::new().with("mode", "self_only").with("related_conversations", &[0; 0]);
    let mut object = head::write_file(&session.id, Some(&created_at.to_string()));
    object.0.push(("presets".to_owned(), presets.text()));
    object.0.push(("rag_scope".to_owned(), scope.text()));
    Some(Style::PRETTY.format(&object.text(), 0))
}
