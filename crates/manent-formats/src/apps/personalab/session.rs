//! Message lines of one session or conversation: found first, emitted later.

use crate::apps::personalab::head::Head;
use crate::apps::personalab::line::Kind;
use crate::apps::personalab::{SessionFrame, head, line};
use crate::core::item::*;
use crate::core::json::{Bytes, Members, Mended, RECORD_MAX, mend};
use crate::core::jsonl::{JsonlFrame, Line, read_lines};
use crate::core::problem::{Place, Problem, ReadError, Repair, RepairKind};
use crate::core::source_fs::SourceTree;
use crate::core::unmapped::UnmappedFields;
use manent_model::{Time, TimeSource, Timestamp};

/// The lines of a file, by what they are.
#[derive(Default)]
pub(crate) struct SessionFile {
    pub name: String,
    pub frame: SessionFrame,
    pub head: Option<Head>,
    said: Vec<Line>,
    /// Items from lines that are not messages.
    told: Vec<Item>,
}

/// The last message.
pub(crate) struct MessageLine {
    pub count: u32,
    pub is_unanswered: bool,
}

impl SessionFile {
    /// Looks through a file of lines.
    pub(crate) fn open(tree: &dyn SourceTree, name: &str, unmapped: &mut UnmappedFields) -> Result<Self, ReadError> {
        let bytes = tree.file(name)?;
        let error = |source| ReadError::File { file: name.to_owned(), source };
        let lines = read_lines(&*bytes).map_err(error)?;
        let mut session = Self { name: name.to_owned(), ..Self::default() };
        session.frame.lines = JsonlFrame::of(&*bytes, &lines).map_err(error)?;
        let (mut records, mut kept, mut unreadable) = (0, 0, Vec::new());
        for line in lines {
            let text = text(&*bytes, &line).map_err(error)?;
            if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                session.other(&text.unwrap_or_default(), &line);
                continue;
            }
            records += 1;
            let read = text.and_then(|text| {
                let Mended { text, removed } = mended(text);
                for removed in removed {
                    let why = format!("{} is no JSON; the rest of its line is taken in", removed.path);
                    unreadable.push((removed.span.behind(line.span.from), line.number, why));
                }
                line::kind(&text).map(|kind| (kind, text)).ok_or("the line is no JSON object".to_owned())
            });
            match read {
                Ok((Kind::Message, _)) => {
                    session.frame.lines.record(session.said.len() as u32, line.end);
                    session.said.push(line);
                }
                Ok((Kind::Head, text)) if session.head.is_none() && session.said.is_empty() => {
                    records -= 1;
                    unmapped.scan(&text, "metadata", &head::MAPPED);
                    session.head = Some(head::read(&text));
                    session.frame.before_head = session.frame.lines.others.len() as u32;
                    session.frame.head = Some((text, line.end.to_owned()));
                }
                Ok((_, text)) => {
                    kept += 1;
                    session.other(&text, &line);
                }
                Err(why) => {
                    let end = line.span.to.min(line.span.from + RECORD_MAX);
                    let bytes = bytes.slice(line.span.from, end).map_err(error)?;
                    let place = Place::line(name, line.number);
                    session.told.push(Item::Problem(Problem { place, record: "line", why, bytes }));
                }
            }
        }
        for (span, number, why) in unreadable {
            let (place, bytes) = (Place::line(name, number), bytes.slice(span.from, span.to).map_err(error)?);
            session.told.push(Item::Found { record: "member", count: 1 });
            session.told.push(Item::Problem(Problem { place, record: "member", why, bytes }));
        }
        session.told.push(Item::Found { record: "line", count: records });
        if kept > 0 {
            session.told.push(Item::Unmapped { record: "line", key: None, count: kept });
        }
        Ok(session)
    }

    fn other(&mut self, text: &str, line: &Line) {
        self.frame.lines.others.push((self.said.len() as u32, format!("{text}{}", line.end)));
    }

    /// Hands on what was said.
    pub(crate) fn tell(
        &mut self,
        tree: &dyn SourceTree,
        created: Option<Timestamp>,
        sink: &mut dyn Sink,
        unmapped: &mut UnmappedFields,
    ) -> Result<MessageLine, ReadError> {
        std::mem::take(&mut self.told).into_iter().try_for_each(|item| sink.take(item))?;
        let mut said = MessageLine { count: 0, is_unanswered: false };
        if self.said.is_empty() {
            return Ok(said);
        }
        let bytes = tree.file(&self.name)?;
        let known = if created.is_some() { TimeSource::Inherited } else { TimeSource::Unknown };
        let mut before = Time { at: created.unwrap_or_default(), source: known };
        for place in &self.said {
            let at = Place::line(&self.name, place.number);
            let text = text(&*bytes, place).map_err(|source| ReadError::File { file: self.name.clone(), source })?;
            let text = text.map(|text| mended(text).text);
            let read = text.and_then(|text| line::read(&text, before).map(|line| (line, text)).ok_or_else(changed));
            let (line, text) = match read {
                Ok(read) => read,
                Err(why) => {
                    let problem = Problem { place: at, record: "line", why, bytes: Vec::new() };
                    sink.take(Item::Problem(problem))?;
                    continue;
                }
            };
            unmapped.scan(&text, "line", &line::MAPPED);
            let mut repair =
                |what, why: &str| sink.take(Item::Repair(Repair { place: at.clone(), what, why: why.to_owned() }));
            if line.is_halved {
                repair(RepairKind::TextHalved, "half a character stands in a text; a mark stands for it here")?;
            }
            let is_summary = line.content.role == line::SUMMARY;
            if line.content.time.source != TimeSource::Exact && !is_summary {
                repair(
                    RepairKind::TimeMissing,
                    "the line has no time that can be read; it has that of the line before",
                )?;
            }
            before = line.content.time;
            said.is_unanswered = line.content.role == "user";
            said.count += 1;
            sink.take(Item::Message(Box::new(MessageItem {
                external: None,
                follows: Follows::Last,
                content: line.content,
                reply_to: None,
                raw: Some(text),
                record: "line",
            })))?;
        }
        Ok(said)
    }
}

/// Takes members that are no JSON out of a line.
fn mended(text: String) -> Mended {
    let mended = if Members::parse(&text).is_none() { mend(&text) } else { None };
    mended.unwrap_or(Mended { text, removed: Vec::new() })
}

fn changed() -> String {
    "the file changed while it was read".to_owned()
}

fn text(bytes: &dyn Bytes, line: &Line) -> std::io::Result<Result<String, String>> {
    if line.span.len() > RECORD_MAX {
        return Ok(Err(format!("the line is larger than {} MiB", RECORD_MAX >> 20)));
    }
    let bytes = bytes.slice(line.span.from, line.span.to)?;
    Ok(String::from_utf8(bytes).map_err(|_| "the line is no UTF-8".to_owned()))
}
