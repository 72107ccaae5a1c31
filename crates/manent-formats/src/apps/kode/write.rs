//! Writer: each file from its skeleton if there is one, otherwise as the program would write it.

use crate::apps::kode::database::AgentFiles;
use crate::apps::kode::frame::*;
use crate::apps::kode::meta::{Changes, Meta};
use crate::apps::kode::synthesize::IdTranslation;
use crate::apps::kode::view::Summary;
use crate::apps::kode::{
    BREAKPOINT, CHANNELS, GENERATIONS, Generation, NAME, SEALED_BY_IMPORT, STATES, database, log, losses, message,
    meta, synthesize, view,
};
use crate::core::export::*;
use crate::core::json::{Members, Style};
use crate::core::losses::Losses;
use crate::core::names::is_safe;
use manent_model::{Body, Content, Event, Json, MessageId, Part, ToolCall, ToolStep};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

/// Writes conversations, a folder for each.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    let root = library.root().cloned();
    let known = root.as_ref().and_then(|root| Generation::of(&root.generation));
    let asked = unsupported_option(NAME, &GENERATIONS, generation, Generation::of)?;
    let to = asked.or(known).unwrap_or(Generation::Current);
    let names = IdTranslation { from: known.unwrap_or(to), to };
    let frame = root.and_then(|root| root.style.read::<RootFrame>().ok()).unwrap_or_default();
    if to != Generation::Sqlite {
        let mut writer = Writer::new(library, out, names);
        writer.all(&frame)?;
        return Ok(writer.losses.told());
    }
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut writer = Writer::new(library, &mut files, names);
    writer.all(&frame)?;
    let (rolled, mut losses) = (writer.rolled, writer.losses);
    database::files_to_rows(files, &rolled, frame.database, &mut losses, out)?;
    Ok(losses.told())
}

pub(crate) struct Writer<'a> {
    pub library: &'a mut dyn ExportSource,
    out: &'a mut dyn FileSink,
    pub names: IdTranslation,
    pub losses: Losses,
    /// Names that are used up.
    written: HashSet<String>,
    /// The agents, for converting their files to rows.
    rolled: Vec<AgentFiles>,
}

/// An agent that is being written.
pub(crate) struct Agent {
    pub place: usize,
    pub out: ExportedConversation,
    pub frame: AgentFrame,
    folder: String,
    pub path: Vec<ExportedMessage>,
    pub summaries: Vec<Summary>,
    pub events: BTreeMap<String, Vec<Event>>,
}

impl Agent {
    pub fn summary(&self, window: &str) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.frame.window == window)
    }

    /// The newest active summary, with the position after the messages it replaces.
    fn newest(&self) -> Option<(&Summary, usize)> {
        let active = self.summaries.iter().rev().filter(|summary| summary.is_active);
        active.filter_map(|summary| Some((summary, summary.end(&self.path)?))).next()
    }

    /// The value of a state now; none if it was never set, or unset.
    fn state(&self, name: &str) -> Option<&Json> {
        let states = || self.out.states.iter().rev().filter(|state| state.name == name);
        let is_shown = |id| self.path.iter().any(|message| message.id == id);
        // A value of another branch counts only if this branch has none.
        let state = states().find(|state| state.after.is_none_or(is_shown)).or_else(|| states().next());
        state.and_then(|state| state.value.as_ref())
    }
}

impl<'a> Writer<'a> {
    fn new(library: &'a mut dyn ExportSource, out: &'a mut dyn FileSink, names: IdTranslation) -> Self {
        Self { library, out, names, losses: Losses::default(), written: HashSet::new(), rolled: Vec::new() }
    }
}

impl Writer<'_> {
    fn all(&mut self, frame: &RootFrame) -> Result<(), WriteError> {
        let to = self.names.to;
        for pool in frame.pools.iter().filter(|_| to != Generation::Flat) {
            self.kept(&pool.around, &pool.text)?;
        }
        for place in 0..self.library.count() {
            self.agent(place)?;
        }
        if to != Generation::Flat {
            self.documents("recovered")?;
            self.documents("snapshot_index")?;
        }
        Ok(())
    }

    fn file(&mut self, name: &str, text: &str) -> Result<(), WriteError> {
        let mut name = synthesize::safe(name, || format!("file-{}", self.written.len() + 1));
        while !self.written.insert(name.clone()) {
            name.push('+');
        }
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = self.out.create(&name).map_err(failed)?;
        target.write_all(text.as_bytes()).and_then(|()| target.flush()).map_err(failed)
    }

    fn kept(&mut self, around: &Around, text: &str) -> Result<(), WriteError> {
        self.file(&around.file, &format!("{}{text}{}", around.before, around.after))
    }

    /// Writes a file of an agent, if the generation has such a file.
    pub fn put(&mut self, agent: &Agent, file: &str, text: &str) -> Result<(), WriteError> {
        let Some(file) = self.names.file(file) else { return Ok(()) };
        match agent.folder.is_empty() {
            true => self.file(&file, text),
            false => self.file(&format!("{}/{file}", agent.folder), text),
        }
    }

    pub fn put_around(&mut self, agent: &Agent, around: &Around, text: &str) -> Result<(), WriteError> {
        self.put(agent, &around.file, &format!("{}{text}{}", around.before, around.after))
    }

    fn agent(&mut self, place: usize) -> Result<(), WriteError> {
        let out = self.library.conversation(place)?;
        let raw = out.record.as_ref().and_then(|record| record.raw.as_deref());
        let frame: Option<AgentFrame> = raw.and_then(|raw| serde_json::from_str(raw).ok());
        let is_known = frame.is_some();
        let frame = frame.unwrap_or_default();
        let folder = self.names.id(&frame.folder);
        let is_usable =
            is_known && (folder.is_empty() || is_safe(&folder)) && self.written.insert(format!("{folder}/"));
        let folder = if is_usable { folder } else { synthesize::folder(&out.conversation, self.names.to) };
        let summaries = out.folds.iter().filter_map(|(fold, record)| {
            let frame = serde_json::from_str(record.as_ref()?.raw.as_deref()?).ok()?;
            Some(Summary::of(fold.clone(), frame))
        });
        let summaries = view::newest_of_each_window(summaries.collect());
        let mut path = self.path(place)?;
        if frame.is_blank && path.iter().all(|message| message.record.is_some()) {
            path.clear();
        }
        let mut events = self.events(place)?;
        for log in &frame.logs {
            events.entry(log.channel.clone()).and_modify(|events| log::drop_rotated(events, log));
        }
        let rows = frame.rows.clone();
        self.rolled.push(AgentFiles { conversation: out.conversation.id, folder: folder.clone(), rows });
        let agent = Agent { place, out, frame, folder, path, summaries, events };
        losses::of_messages(&mut self.losses, &agent.out, &agent.path);
        let (count, last_safe) = self.messages(&agent)?;
        self.meta(&agent, is_known, count, last_safe)?;
        self.calls(&agent)?;
        self.states(&agent)?;
        self.logs(&agent)?;
        if self.names.to != Generation::Flat {
            self.windows(&agent)?;
        }
        self.bookmarks(&agent)
    }

    fn path(&mut self, place: usize) -> Result<Vec<ExportedMessage>, WriteError> {
        let mut path = Vec::new();
        loop {
            let page = self.library.messages(place, path.len())?;
            if page.is_empty() {
                return Ok(path);
            }
            path.extend(page);
        }
    }

    fn events(&mut self, place: usize) -> Result<BTreeMap<String, Vec<Event>>, WriteError> {
        let mut events: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        let mut after = 0;
        loop {
            let page = self.library.events(place, after)?;
            let Some(last) = page.last() else { return Ok(events) };
            after = last.cursor;
            for event in page {
                events.entry(event.channel.clone()).or_default().push(event);
            }
        }
    }

    /// Returns whether agents are converted to the first generation, where messages and a file about them make one.
    fn is_flattened(&self) -> bool {
        self.names.from != Generation::Flat && self.names.to == Generation::Flat
    }

    /// Writes the messages; returns how many, and where a run can be taken up.
    fn messages(&mut self, agent: &Agent) -> Result<(usize, i64), WriteError> {
        let fresh = || ListFrame {
            file: if self.names.from == Generation::Flat { "messages.json" } else { "runtime/messages.json" }
                .to_owned(),
            ..ListFrame::default()
        };
        let frame = agent.frame.messages.clone().unwrap_or_else(fresh);
        let style = frame.frame.style;
        let newest = agent.newest();
        let behind = newest.map_or(0, |(_, end)| end);
        let mut texts: Vec<String> =
            newest.iter().map(|(summary, _)| view::raised(summary.text(style, 1), style)).collect();
        let first = texts.len() as i64;
        let path = sealed(&agent.path[behind..], &agent.out.tool_calls);
        texts.extend(view::own(&path, style));
        let shown = path.iter().filter(|message| !message.is_removed);
        let last_safe = message::last_safe(shown.map(|message| &message.content));
        let last_safe = if last_safe < 0 { -1 } else { last_safe + first };
        let count = texts.len();
        if agent.frame.messages.is_some() || count > 0 || self.is_flattened() {
            self.put(agent, &frame.file, &frame.frame.filled(&[("", texts)]))?;
        }
        Ok((count, last_safe))
    }

    fn meta(&mut self, agent: &Agent, is_known: bool, count: usize, last_safe: i64) -> Result<(), WriteError> {
        let conversation = &agent.out.conversation;
        let flat = self.names.from == Generation::Flat;
        // The fields of an agent differ between the first generation and later ones.
        let is_anew = flat && self.names.to != Generation::Flat;
        if let Some(kept) = agent.frame.meta.as_ref().filter(|_| !is_anew) {
            let was = meta::read(&kept.text).unwrap_or_default();
            losses::of_conversation(&mut self.losses, &agent.out, &was.template, Some(&agent.frame));
            self.losses.add(conversation.id, "metadata", usize::from(was.metadata != conversation.metadata));
            let before = agent.frame.messages.as_ref().map_or(0, |frame| frame.count as usize);
            let is_changed = before != count;
            let breakpoint = agent.state(BREAKPOINT).filter(|now| was.breakpoint.as_ref() != Some(now)).cloned();
            let changes = Changes {
                names: Some(self.names).filter(|names| names.from.separator() != names.to.separator()),
                message_count: is_changed.then_some(count),
                last_safe: is_changed.then_some(last_safe),
                breakpoint,
            };
            return self.put_around(agent, &kept.around, &meta::changed(kept, &changes));
        }
        // Without the file the program would not find the agent, so one that was torn is made anew.
        let is_lost = agent.frame.is_meta_lost;
        if is_known && !is_anew && !is_lost && !self.is_flattened() {
            // An agent without a meta file has none afterwards either; its program makes one when it starts.
            losses::of_conversation(&mut self.losses, &agent.out, "", Some(&agent.frame));
            return Ok(());
        }
        let metadata = conversation.metadata.as_ref().and_then(|metadata| Members::parse(metadata.text()));
        let template = metadata.and_then(|metadata| metadata.text("templateId")).unwrap_or_else(|| "manent".to_owned());
        let known = if is_lost { "" } else { &template };
        losses::of_conversation(&mut self.losses, &agent.out, known, None);
        let meta = Meta {
            id: None,
            template,
            created_at: Some(conversation.created_at),
            updated_at: Some(conversation.active_at.max(conversation.created_at)),
            breakpoint: agent.state(BREAKPOINT).cloned(),
            metadata: conversation.metadata.clone(),
        };
        let lineage: Vec<String> = agent.out.forked_from.iter().cloned().collect();
        let text = meta::fresh(&meta, &agent.folder, &lineage, count, last_safe);
        self.put(agent, if flat { "info.json" } else { "meta.json" }, &text)
    }

    fn states(&mut self, agent: &Agent) -> Result<(), WriteError> {
        for (name, file) in STATES {
            let Some(value) = agent.state(name) else { continue };
            if self.names.to == Generation::Flat {
                self.losses.add(agent.out.conversation.id, "values of state", 1);
                continue;
            }
            match agent.frame.states.iter().find(|(known, _)| known == name) {
                Some((_, around)) => self.put_around(agent, around, value.text())?,
                None => self.put(agent, file, &Style::PRETTY.format(value.text(), 0))?,
            }
        }
        Ok(())
    }

    fn logs(&mut self, agent: &Agent) -> Result<(), WriteError> {
        if (self.names.from == Generation::Flat) != (self.names.to == Generation::Flat) {
            // One log and logs by channel have lines of different shapes.
            let count = agent.events.values().map(Vec::len).sum();
            self.losses.add(agent.out.conversation.id, "events", count);
            return Ok(());
        }
        for frame in &agent.frame.logs {
            let events = agent.events.get(&frame.channel).map_or(&[][..], Vec::as_slice);
            let known = frame.count as usize;
            let line = |(place, event): (usize, &Event)| match place < known {
                true => event.body.text().to_owned(),
                false => synthesize::line(event),
            };
            let bodies: Vec<String> = events.iter().enumerate().map(line).collect();
            self.put(agent, &frame.file, &log::write(frame, &bodies))?;
        }
        let is_new = |channel: &str| !agent.frame.logs.iter().any(|frame| frame.channel == channel);
        for (channel, events) in agent.events.iter().filter(|(channel, _)| is_new(channel)) {
            if !CHANNELS.contains(&channel.as_str()) || self.names.to == Generation::Flat {
                self.losses.add(agent.out.conversation.id, "events of other channels", events.len());
                continue;
            }
            let bodies: Vec<String> = events.iter().map(synthesize::line).collect();
            let text = log::write(&LogFrame::default(), &bodies);
            self.put(agent, &format!("events/{channel}.log"), &text)?;
        }
        Ok(())
    }

    fn documents(&mut self, kind: &str) -> Result<(), WriteError> {
        for (document, record) in self.library.documents(kind)? {
            let raw = record.as_ref().and_then(|record| record.raw.as_deref());
            let frame: Option<RecoveredFrame> = raw.and_then(|raw| serde_json::from_str(raw).ok());
            let content = document.body.as_ref().and_then(|body| body.read::<String>().ok());
            if let (Some(frame), Some(content)) = (frame, content) {
                self.file(&self.names.id(&frame.file), &format!("{}{content}", frame.header))?;
            }
        }
        Ok(())
    }
}

/// The messages with a failed result behind each call that the import sealed and that nothing answers.
fn sealed(path: &[ExportedMessage], calls: &[(ToolCall, Vec<ToolStep>)]) -> Vec<ExportedMessage> {
    let mut open: HashMap<MessageId, Vec<&str>> = HashMap::new();
    for (call, _) in calls.iter().filter(|(call, _)| call.record.text() == SEALED_BY_IMPORT) {
        open.entry(call.message).or_default().push(&call.call_id);
    }
    let parts = |message: &ExportedMessage| {
        let body = &message.content.body;
        if body.may_have_tools() && !open.is_empty() { body.parts() } else { Vec::new() }
    };
    let answer = |part| match part {
        Part::ToolResult { call, .. } => Some(call),
        _ => None,
    };
    let answered: HashSet<String> = path.iter().flat_map(parts).filter_map(answer).collect();
    let mut whole = Vec::with_capacity(path.len());
    for message in path {
        whole.push(message.clone());
        let calls = open.get(&message.id).into_iter().flatten().filter(|call| !answered.contains(**call));
        let results: Vec<Part> = calls.map(|call| message::result_missing(call)).collect();
        if !results.is_empty() && !message.is_removed {
            let content = Content::new("user", message.content.time, Body::of(&results));
            whole.push(ExportedMessage { record: None, content, ..message.clone() });
        }
    }
    whole
}
