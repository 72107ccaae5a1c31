//! Writer: each record from its source text if known, otherwise as the program itself writes it.

use crate::apps::obsidian::plan::Plan;
use crate::apps::obsidian::{
    GENERATIONS, Generation, HISTORY, HistoryFrame, INDEX, Kept, NAME, RootFrame, Run, TRASH_INDEX, entry, history,
    message, plan, session,
};
use crate::core::export::*;
use crate::core::json::{Frame, ListOut, Members, Object, Segment, Skeleton, Style, merge};
use crate::core::losses::{LeftTail, Losses};
use crate::core::names::is_safe;
use manent_model::{ConversationId, ConversationStatus, Part};
use std::io::{BufWriter, Write};

/// Writes conversations: a file for each with an index, or one array of all messages.
pub fn write(
    library: &mut dyn ExportSource,
    out: &mut dyn FileSink,
    generation: Option<&str>,
) -> Result<Vec<Loss>, WriteError> {
    let root = library.root().cloned();
    let source = root.as_ref().and_then(|root| Generation::of(&root.generation));
    let asked = unsupported_option(NAME, &GENERATIONS, generation, Generation::of)?;
    let generation = asked.or(source).unwrap_or(Generation::Sessions);
    let frame = root.filter(|_| source.is_some()).and_then(|root| root.style.read::<RootFrame>().ok());
    let fresh = || RootFrame { folder: "Assets/History/".to_owned(), ..RootFrame::default() };
    let mut frame = frame.unwrap_or_else(fresh);
    if !is_safe(frame.folder.trim_end_matches('/')) {
        frame.folder = String::new();
    }
    let mut writer = Writer { library, out, source, frame, losses: Losses::default() };
    match generation {
        Generation::Legacy => writer.legacy()?,
        Generation::Sessions => writer.sessions()?,
    }
    Ok(writer.losses.told())
}

struct Writer<'a> {
    library: &'a mut dyn ExportSource,
    out: &'a mut dyn FileSink,
    /// The generation of what was read.
    source: Option<Generation>,
    frame: RootFrame,
    losses: Losses,
}

/// Messages on their way into a list.
struct Messages<'a> {
    library: &'a mut dyn ExportSource,
    losses: &'a mut Losses,
    style: Style,
    level: usize,
    /// Whether they moved to another file, so that each is formatted anew.
    is_moved: bool,
}

impl Writer<'_> {
    fn plans(&mut self) -> Result<Vec<Plan>, WriteError> {
        let mut plans = Vec::with_capacity(self.library.count());
        for place in 0..self.library.count() {
            let out = self.library.conversation(place)?;
            self.look_for_losses(&out);
            self.losses.events(self.library, place, out.conversation.id)?;
            plans.push(Plan::of(place, &out));
        }
        let histories = self.frame.histories.iter().map(|history| history.name.as_str());
        let taken: Vec<&str> = histories.chain([INDEX, TRASH_INDEX]).collect();
        plan::name(&mut plans, &taken);
        Ok(plans)
    }

    fn look_for_losses(&mut self, out: &ExportedConversation) {
        let (conversation, id) = (&out.conversation, out.conversation.id);
        let mut lost = |what, count| self.losses.add(id, what, count);
        lost("branches that are not shown", out.other_branches);
        lost("values of state", out.states.len());
        lost("bookmarks", out.bookmarks.len());
        lost("folds", out.folds.len());
        lost("records of tool calls", out.tool_calls.len());
        lost("tags", conversation.tags.len());
        lost("projects", usize::from(out.project.is_some()));
        lost("links to other conversations", out.links());
        lost("people", conversation.members.len() + usize::from(conversation.creator.is_some()));
        lost("metadata", usize::from(conversation.metadata.is_some()));
        lost("pins", usize::from(conversation.pinned));
        lost("status archived", usize::from(conversation.status == ConversationStatus::Archived));
    }

    /// Writes a file with a list that the callback fills.
    fn file(
        &mut self,
        name: &str,
        frame: &Frame,
        list: &'static str,
        fill: &mut dyn FnMut(
            &mut dyn ExportSource,
            &mut Losses,
            &mut ListOut,
            &mut dyn Write,
        ) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let name = format!("{}{name}", self.frame.folder);
        let failed = |source| WriteError::File { file: name.clone(), source };
        let mut target = BufWriter::new(self.out.create(&name).map_err(failed)?);
        target.write_all(frame.before.as_bytes()).map_err(failed)?;
        let level = if list.is_empty() { 1 } else { 2 };
        for segment in frame.skeleton.segments(&[list]) {
            match segment {
                Segment::Text(text) => target.write_all(text.as_bytes()).map_err(failed)?,
                Segment::List(list) => {
                    let mut items = ListOut::new(&frame.skeleton, list, frame.style, level);
                    fill(self.library, &mut self.losses, &mut items, &mut target)?;
                    items.end(&mut target).map_err(failed)?;
                }
            }
        }
        target.write_all(frame.after.as_bytes()).and_then(|()| target.flush()).map_err(failed)
    }

    fn sessions(&mut self) -> Result<(), WriteError> {
        let mut plans = self.plans()?;
        for plan in &mut plans {
            self.session(plan)?;
        }
        if !self.frame.is_alone || plans.len() != 1 {
            self.index(&plans)?;
        }
        self.trash_index(&plans)?;
        if self.source == Some(Generation::Sessions) {
            for history in std::mem::take(&mut self.frame.histories) {
                self.history(&history, &plans)?;
            }
        }
        Ok(())
    }

    fn session(&mut self, plan: &mut Plan) -> Result<(), WriteError> {
        let now = session::write(&plan.now);
        let mut frame = match (&plan.frame.frame, &plan.was) {
            (Some(frame), Some(was)) => {
                let text = merge(&frame.skeleton.text, &session::write(was), &now, frame.style, 0);
                Frame { skeleton: Skeleton { text, gaps: frame.skeleton.gaps.clone() }, ..frame.clone() }
            }
            _ => Frame::fresh(&now.text(), Style::PRETTY),
        };
        let has_list =
            Members::parse(&frame.skeleton.text).is_some_and(|members| members.raw("messages") == Some("[]"));
        if !has_list && (plan.frame.frame.is_none() || !self.library.messages(plan.place, 0)?.is_empty()) {
            frame.skeleton.text = with_list(&frame.skeleton.text, frame.style);
        }
        let (style, is_moved, mut count) = (frame.style, plan.is_legacy, 0);
        let (place, conversation) = (plan.place, plan.conversation);
        let file = plan.file.clone();
        self.file(&file, &frame, "messages", &mut |library, losses, list, target| {
            let mut messages = Messages { library, losses, style, level: 2, is_moved };
            messages.all(place, conversation, list, target)?;
            count = list.count() as u32;
            Ok(())
        })?;
        plan.messages = count;
        Ok(())
    }

    fn index(&mut self, plans: &[Plan]) -> Result<(), WriteError> {
        let fresh = || Frame::fresh(r#"{"version":"1.0","currentSessionId":"","sessions":[]}"#, Style::PRETTY);
        let mut frame = self.frame.index.clone().unwrap_or_else(fresh);
        let listed: Vec<&Plan> = plans.iter().filter(|plan| !plan.is_trashed).collect();
        let open = Members::parse(&frame.skeleton.text).and_then(|members| members.text("currentSessionId"));
        let is_there = |id: &String| listed.iter().any(|plan| plan.now.id.as_ref() == Some(id));
        if let (Some(open), Some(first)) = (open.filter(|open| !is_there(open)), listed.first()) {
            let was = Object::new().with("currentSessionId", &open);
            let now = Object::new().with("currentSessionId", &first.now.id);
            frame.skeleton.text = merge(&frame.skeleton.text, &was, &now, frame.style, 0);
        }
        let texts = listed.iter().map(|plan| match (&plan.frame.entry, plan.named()) {
            (Some(text), Some(was)) => {
                let (was, now) =
                    (entry::write(&was, plan.frame.messages), entry::write(&plan.now_named(), plan.messages));
                merge(text, &was, &now, frame.style, 2)
            }
            _ => frame.style.format(&entry::write(&plan.now_named(), plan.messages).text(), 2),
        });
        let texts: Vec<String> = texts.collect();
        self.file(INDEX, &frame, "sessions", &mut |_, _, list, target| fill(&texts, list, target))
    }

    fn trash_index(&mut self, plans: &[Plan]) -> Result<(), WriteError> {
        let Some(frame) = self.frame.trash_index.clone() else { return Ok(()) };
        let texts = plans.iter().filter(|plan| plan.is_trashed).filter_map(|plan| {
            match (&plan.frame.trash_entry, plan.named()) {
                (Some(text), Some(was)) => {
                    let deleted = Members::parse(text).and_then(|members| members.whole("deletedAt"));
                    let now = if deleted.is_some() { plan.trashed.or(deleted) } else { None };
                    let (was, now) = (entry::write_trash(&was, deleted), entry::write_trash(&plan.now_named(), now));
                    Some(merge(text, &was, &now, frame.style, 2))
                }
                // Unlisted files in the trash stay unlisted.
                _ if plan.was_trashed() => None,
                _ => Some(frame.style.format(&entry::write_trash(&plan.now_named(), plan.trashed).text(), 2)),
            }
        });
        let texts: Vec<String> = texts.collect();
        self.file(TRASH_INDEX, &frame, "items", &mut |_, _, list, target| fill(&texts, list, target))
    }

    /// Writes back a legacy file whose messages are in sessions.
    fn history(&mut self, history: &HistoryFrame, plans: &[Plan]) -> Result<(), WriteError> {
        if !is_safe(&history.name) {
            return Ok(());
        }
        let style = history.frame.style;
        self.file(&history.name, &history.frame, "", &mut |library, _, list, target| {
            let mut sources = Sources { library, plans, open: None };
            for kept in &history.records {
                match kept {
                    Kept::Text(text) => list.item(text, Some(list.count()), target).map_err(failed)?,
                    Kept::Laid(run) => sources
                        .run(run, &mut |raw| list.item(&history::laid(raw, style), Some(list.count()), target))?,
                    Kept::Same(run) => sources.run(run, &mut |raw| list.item(raw, Some(list.count()), target))?,
                }
            }
            Ok(())
        })
    }

    fn legacy(&mut self) -> Result<(), WriteError> {
        let plans = self.plans()?;
        let own = self.frame.histories.first().filter(|_| self.source == Some(Generation::Legacy)).cloned();
        let (name, frame) = match own {
            Some(own) if is_safe(&own.name) => (own.name, own.frame),
            _ => (HISTORY.to_owned(), Frame::fresh("[]", Style::PRETTY)),
        };
        for plan in &plans {
            self.losses.add(plan.conversation, "names of sessions", usize::from(!plan.has_made_up_name()));
            self.losses.add(plan.conversation, "conversations in the trash", usize::from(plan.is_trashed));
        }
        let style = frame.style;
        self.file(&name, &frame, "", &mut |library, losses, list, target| {
            for plan in plans.iter().filter(|plan| !plan.is_trashed) {
                let mut messages = Messages {
                    library: &mut *library,
                    losses: &mut *losses,
                    style,
                    level: 1,
                    is_moved: !plan.is_legacy,
                };
                messages.all(plan.place, plan.conversation, list, target)?;
            }
            Ok(())
        })
    }
}

fn failed(source: std::io::Error) -> WriteError {
    WriteError::File { file: "the messages".to_owned(), source }
}

fn fill(texts: &[String], list: &mut ListOut, target: &mut dyn Write) -> Result<(), WriteError> {
    texts.iter().enumerate().try_for_each(|(place, text)| list.item(text, Some(place), target)).map_err(failed)
}

/// Adds an empty message list to a session that has none or an invalid one.
fn with_list(text: &str, style: Style) -> String {
    let (mut was, mut now) = (Object::new(), Object::new());
    for (name, _) in Members::parse(text).unwrap_or_default().0.iter().filter(|(name, _)| name != "messages") {
        (was, now) = (was.with(name, &0), now.with(name, &0));
    }
    merge(text, &was.with("messages", &0), &now.with("messages", &[0; 0]), style, 0)
}

/// Source texts of messages, in the order of a legacy file.
struct Sources<'a> {
    library: &'a mut dyn ExportSource,
    plans: &'a [Plan],
    open: Option<Open>,
}

/// A conversation that is being gone through. A file may be made of a thousand runs, and all of them are one way through.
struct Open {
    conversation: u32,
    place: usize,
    next: usize,
    page: std::collections::VecDeque<ExportedMessage>,
    /// Events from this number on were not passed over yet.
    from: i64,
}

impl Sources<'_> {
    /// Hands on the texts of messages that follow each other; of those that are gone nothing is left to write.
    fn run(&mut self, run: &Run, take: &mut dyn FnMut(&str) -> std::io::Result<()>) -> Result<(), WriteError> {
        let (from, to) = (i64::from(run.from), i64::from(run.from) + i64::from(run.count));
        let is_behind = |open: &Open| open.conversation == run.conversation && open.from <= from;
        let mut open = match self.open.take().filter(is_behind) {
            Some(open) => open,
            None => {
                let ordinal = Some(i64::from(run.conversation));
                let Some(plan) = self.plans.iter().find(|plan| plan.ordinal == ordinal) else { return Ok(()) };
                let page = std::collections::VecDeque::new();
                Open { conversation: run.conversation, place: plan.place, next: 0, page, from: 0 }
            }
        };
        loop {
            if open.page.is_empty() {
                open.page = self.library.messages(open.place, open.next)?.into();
                open.next += open.page.len();
            }
            let Some(message) = open.page.front() else { break };
            let record = message.record.as_ref();
            if record.is_some_and(|record| record.ordinal >= to) {
                break;
            }
            if let Some(raw) = record.filter(|record| record.ordinal >= from).and_then(|record| record.raw.as_deref()) {
                take(raw).map_err(failed)?;
            }
            open.page.pop_front();
        }
        self.open = Some(Open { from: to, ..open });
        Ok(())
    }
}

impl Messages<'_> {
    fn all(
        &mut self,
        place: usize,
        conversation: ConversationId,
        list: &mut ListOut,
        target: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let (mut from, mut tail) = (0, LeftTail::default());
        loop {
            let page = self.library.messages(place, from)?;
            if page.is_empty() {
                tail.tell(self.losses, conversation);
                return Ok(());
            }
            from += page.len();
            page.iter().for_each(|message| tail.look(message));
            for message in page.iter().filter(|message| !message.is_removed) {
                if let Some(text) = self.text(message, conversation) {
                    let ordinal = message.record.as_ref().filter(|_| !self.is_moved).map(|record| record.ordinal);
                    let place = ordinal.and_then(|ordinal| usize::try_from(ordinal).ok());
                    list.item(&text, place, target).map_err(failed)?;
                }
            }
        }
    }

    fn text(&mut self, message: &ExportedMessage, conversation: ConversationId) -> Option<String> {
        let raw = message.record.as_ref().and_then(|record| record.raw.as_deref());
        let was = raw.and_then(|raw| message::read(raw, message.content.time).ok());
        let now = message::write(&message.content);
        if let (Some(raw), Some(was)) = (raw, was) {
            let text = merge(raw, &message::write(&was.content), &now, self.style, self.level);
            return Some(if self.is_moved { self.style.format(&text, self.level) } else { text });
        }
        let content = &message.content;
        let mut lost = |what, count| self.losses.add(conversation, what, count);
        // The program knows two roles, and shows whatever is in the list.
        if content.body.parts().iter().any(|part| matches!(part, Part::Summary { .. })) {
            lost("summaries", 1);
            return None;
        }
        if !matches!(content.role.as_str(), "user" | "assistant") {
            lost("messages of other roles", 1);
            return None;
        }
        if !content.seen.by_reader {
            lost("hidden messages", 1);
            return None;
        }
        let is_held = |part: &&Part| matches!(part, Part::Text { .. } | Part::Reasoning { .. });
        let parts = content.body.parts();
        lost("parts that are no text or thought", parts.iter().filter(|part| !is_held(part)).count());
        lost("authors", usize::from(content.author.is_some()));
        lost("models", usize::from(content.model.is_some()));
        lost("metadata of messages", usize::from(content.metadata.is_some()));
        lost("times of messages", usize::from(content.time.source == manent_model::TimeSource::Exact));
        Some(self.style.format(&now.text(), self.level))
    }
}
