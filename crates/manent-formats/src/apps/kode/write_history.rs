//! Writer of an agent's history: windows, compressions, snapshots.

use crate::apps::kode::frame::{Mark, Odd, Shown, WindowFrame};
use crate::apps::kode::write::{Agent, Writer};
use crate::apps::kode::{message, synthesize, view};
use crate::core::export::{ExportedMessage, WriteError};
use crate::core::json::{Frame, Members, Object, Style, merge};
use crate::core::time::{iso, to_millis};
use manent_model::{Bookmark, Json};

impl Writer<'_> {
    pub fn windows(&mut self, agent: &Agent) -> Result<(), WriteError> {
        for summary in &agent.summaries {
            let inner = summary.frame.inner.as_deref().and_then(|inner| agent.summary(inner));
            let Some(messages) = summary.window(&agent.path, inner) else {
                self.losses.add(agent.out.conversation.id, "windows whose messages are gone", 1);
                continue;
            };
            let style = summary.frame.file.frame.style;
            let mut records: Vec<String> = inner.iter().map(|inner| inner.text(style, 2)).collect();
            records.extend(view::records(messages, style, 2));
            let made_by = summary.made_by.as_ref().map(Json::text);
            self.window(agent, &summary.frame.file, records, made_by)?;
        }
        for kept in &agent.frame.compressions {
            self.put_around(agent, &kept.around, &kept.text)?;
        }
        Ok(())
    }

    fn window(
        &mut self,
        agent: &Agent,
        frame: &WindowFrame,
        records: Vec<String>,
        compression: Option<&str>,
    ) -> Result<(), WriteError> {
        let style = frame.frame.style;
        let messages = view::shown(records, &frame.odd, style, 2);
        let mut events = Vec::new();
        for shown in &frame.events {
            match shown {
                Shown::Text(text) => events.push(text.clone()),
                Shown::Lines(channel, from, count) => {
                    let known = agent.events.get(channel).map_or(&[][..], Vec::as_slice);
                    let lines = known.iter().skip(*from as usize).take(*count as usize);
                    events.extend(lines.map(|event| style.format(event.body.text(), 2)));
                }
            }
        }
        self.put(agent, &frame.file, &frame.frame.filled(&[("messages", messages), ("events", events)]))?;
        match (&frame.compression, compression) {
            (Some(around), Some(text)) => self.put_around(agent, around, text),
            _ => Ok(()),
        }
    }

    pub fn bookmarks(&mut self, agent: &Agent) -> Result<(), WriteError> {
        for bookmark in &agent.out.bookmarks {
            let path = match bookmark.head {
                Some(head) => self.library.path_to(agent.place, head)?,
                None => Vec::new(),
            };
            match bookmark.metadata.as_ref().and_then(|metadata| metadata.read::<Mark>().ok()) {
                Some(Mark::Snapshot { file, frame, list, view, odd }) => {
                    let frame = self.renamed(frame);
                    let style = frame.style;
                    let summary = view.as_deref().and_then(|view| agent.summary(view));
                    let summary = summary.and_then(|summary| Some((summary, summary.end(&path)?)));
                    let mut records: Vec<String> = summary.iter().map(|(one, _)| one.text(style, 2)).collect();
                    records.extend(view::records(&path[summary.map_or(0, |(_, end)| end)..], style, 2));
                    let level = if list.is_empty() { 1 } else { 2 };
                    let texts = view::shown(records, &odd, style, level);
                    self.put(agent, &file, &frame.filled(&[(&list, texts)]))?;
                }
                Some(Mark::Window { file, compression_text }) => {
                    let records = view::records(&path, file.frame.style, 2);
                    self.window(agent, &file, records, compression_text.as_deref())?;
                }
                Some(Mark::Replaced) => {
                    self.losses.add(agent.out.conversation.id, "branches that no snapshot holds", 1)
                }
                None => self.snapshot(agent, bookmark, &path)?,
            }
        }
        Ok(())
    }

    /// The id in a snapshot changes with the name of its file.
    fn renamed(&self, mut frame: Frame) -> Frame {
        let id = Members::parse(&frame.skeleton.text).and_then(|members| members.text("id"));
        if let Some(id) = id {
            let (was, now) = (Object::new().with("id", &id), Object::new().with("id", &self.names.id(&id)));
            frame.skeleton.text = merge(&frame.skeleton.text, &was, &now, frame.style, 0);
        }
        frame
    }

    /// Writes a bookmark that was made here as a snapshot.
    fn snapshot(&mut self, agent: &Agent, bookmark: &Bookmark, path: &[ExportedMessage]) -> Result<(), WriteError> {
        let Some(file) = synthesize::snapshot(&bookmark.name, self.names.from) else {
            self.losses.add(agent.out.conversation.id, "bookmarks", 1);
            return Ok(());
        };
        let last_safe = message::last_safe(path.iter().map(|message| &message.content));
        let value = synthesize::snapshot_value(&bookmark.name, to_millis(bookmark.at), &iso(bookmark.at), last_safe);
        let texts = view::shown(view::records(path, Style::PRETTY, 2), &Odd::new(), Style::PRETTY, 2);
        self.put(agent, &file, &Frame::fresh(&value, Style::PRETTY).filled(&[("messages", texts)]))
    }
}
