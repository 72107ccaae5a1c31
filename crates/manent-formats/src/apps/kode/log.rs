//! Event logs: one event per line, identified by channel and line, because their own numbers repeat.

use crate::apps::kode::call_record::time;
use crate::apps::kode::file_reader::Reader;
use crate::apps::kode::find::AgentFolder;
use crate::apps::kode::frame::{Doubled, LogFrame};
use crate::core::json::{Bytes, Members, RECORD_MAX, Span};
use crate::core::jsonl::read_lines;
use crate::core::problem::{Place, ReadError, RepairKind};
use manent_model::{Event, Json, Timestamp, hex};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// More lines than a program writes between two flushes of a log; a longer run is not looked for.
const RUN_MAX: usize = 4_096;

/// A log with its events.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub frame: LogFrame,
    pub events: Vec<Entry>,
}

/// An event of a log.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub body: Json,
    pub at: Option<Timestamp>,
    pub cursor: Option<i64>,
}

/// A line that could be read.
struct Line {
    before: String,
    entry: Entry,
    after: String,
}

fn entry(text: &str) -> Result<Entry, String> {
    let body = Json::parse(text).map_err(|problem| format!("no JSON: {problem}"))?;
    let members = Members::parse(body.text()).ok_or("an event is an object")?;
    let inner = members.object("event").unwrap_or_default();
    let bookmark = members.object("bookmark").or_else(|| inner.object("bookmark")).unwrap_or_default();
    let at = time(&bookmark, "timestamp").or_else(|| time(&members, "timestamp")).or_else(|| time(&inner, "timestamp"));
    let cursor = members.whole("cursor").or_else(|| bookmark.whole("seq"));
    Ok(Entry { at, cursor, body })
}

/// Stands for an event in the frame of its log.
pub(crate) fn digest(body: &str) -> String {
    hex::encode(&Sha256::digest(body.as_bytes()))
}

impl Reader<'_> {
    /// Reads a log, and what its write-ahead file adds to it.
    pub fn log(&mut self, agent: &AgentFolder, file: &str, channel: &str) -> Result<Log, ReadError> {
        let (mut lines, blank) = match agent.has(file) {
            true => self.lines(&agent.path(file))?,
            false => (Vec::new(), String::new()),
        };
        let ahead = format!("{}.wal", file.strip_suffix(".log").unwrap_or(file));
        if ahead != file && agent.has(&ahead) {
            self.log_ahead(&agent.path(&ahead), &mut lines)?;
        }
        let mut frame = LogFrame { file: file.to_owned(), channel: channel.to_owned(), blank, ..LogFrame::default() };
        frame.crlf = lines.iter().filter(|line| line.after == "\r\n").count() * 2 > lines.len();
        let usual = if frame.crlf { "\r\n" } else { "\n" };
        for (place, line) in lines.iter().enumerate() {
            let is_last = place + 1 == lines.len();
            if is_last && line.before.is_empty() && line.after.is_empty() {
                frame.unended = Some(lines.len() as u32);
            } else if !line.before.is_empty() || line.after != usual {
                frame.odd.push((place as u32, line.before.clone(), line.after.clone()));
            }
        }
        let path = agent.path(file);
        let events = self.without_doubled(&path, lines, &mut frame)?;
        frame.first = events.first().map(|event| digest(event.body.text())).unwrap_or_default();
        frame.count = events.len() as u32;
        self.repeated(&path, &events)?;
        Ok(Log { frame, events })
    }

    /// Reads the lines of a file; those that are not events are reported. The bytes before the first line are returned
    /// as well if there is no line.
    fn lines(&mut self, path: &str) -> Result<(Vec<Line>, String), ReadError> {
        let Some(bytes) = self.open(path)? else { return Ok((Vec::new(), String::new())) };
        let error = |source| ReadError::File { file: path.to_owned(), source };
        let (mut lines, mut pending): (Vec<Line>, String) = (Vec::new(), String::new());
        let mut count = 0;
        for (number, span) in pieces(&*bytes).map_err(error)?.into_iter().enumerate() {
            if span.len() > RECORD_MAX {
                count += 1;
                let why = format!("the line is larger than {} MiB", RECORD_MAX >> 20);
                self.stretch((path, &*bytes), span, "event", why)?;
                continue;
            }
            let piece = bytes.slice(span.from, span.to).map_err(error)?;
            let text = std::str::from_utf8(&piece);
            if let Ok(blank) = text
                && blank.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty()
            {
                // Nothing is on the line: it belongs to the one before it, or to the first.
                match lines.last_mut() {
                    Some(line) => line.after.push_str(blank),
                    None => pending.push_str(blank),
                }
                continue;
            }
            count += 1;
            let read = text.map_err(|error| format!("no UTF-8 at byte {}", error.valid_up_to()));
            let read = read.and_then(|text| {
                let inner = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r']);
                let value = inner.trim_end_matches([' ', '\t', '\r', '\n']);
                let before = text[..text.len() - inner.len()].to_owned();
                Ok(Line { before, entry: entry(value)?, after: inner[value.len()..].to_owned() })
            });
            match read {
                Ok(mut line) => {
                    line.before.insert_str(0, &std::mem::take(&mut pending));
                    lines.push(line);
                }
                Err(why) => self.problem(Place::line(path, number as u64 + 1), "event", why, piece)?,
            }
        }
        self.found("event", count)?;
        Ok((lines, pending))
    }

    /// Adds the lines of a write-ahead file that the log does not end with yet.
    fn log_ahead(&mut self, path: &str, lines: &mut Vec<Line>) -> Result<(), ReadError> {
        self.found("wal", 1)?;
        self.keep_unmapped("wal", 1)?;
        let (ahead, _) = self.lines(path)?;
        if ahead.is_empty() {
            return self.repair(
                Place::file(path),
                RepairKind::WalEmpty,
                "no event is in it; it is left out".to_owned(),
            );
        }
        let same = |one: &Line, other: &Line| one.entry.body == other.entry.body;
        let overlap = (1..=ahead.len().min(lines.len())).rev().find(|count| {
            let end = &lines[lines.len() - count..];
            end.iter().zip(&ahead).all(|(one, other)| same(one, other))
        });
        let overlap = overlap.unwrap_or(0);
        if overlap > 0 {
            self.keep_unmapped("event", overlap)?;
            let why = format!("the log ends with {overlap} of its {} events; they are not added again", ahead.len());
            self.repair(Place::file(path), RepairKind::EventsDoubled, why)?;
        }
        let more = ahead.len() - overlap;
        if more > 0 {
            if let Some(last) = lines.last_mut().filter(|last| !last.after.ends_with('\n')) {
                last.after.push('\n');
            }
            let crlf = lines.last().is_some_and(|line| line.after == "\r\n");
            lines.extend(ahead.into_iter().skip(overlap).map(|line| Line {
                before: String::new(),
                after: if crlf { "\r\n" } else { "\n" }.to_owned(),
                ..line
            }));
            let why = format!("{more} events of the write-ahead file are added to the log");
            self.repair(Place::file(path), RepairKind::WalApplied, why)?;
        }
        Ok(())
    }

    /// Takes out runs of lines that repeat the run before them: a crash between writing the log and deleting its
    /// write-ahead file makes the program write them a second time.
    fn without_doubled(&mut self, path: &str, lines: Vec<Line>, frame: &mut LogFrame) -> Result<Vec<Entry>, ReadError> {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let texts: Vec<u32> = lines
            .iter()
            .map(|line| {
                let next = known.len() as u32;
                *known.entry(line.entry.body.text()).or_insert(next)
            })
            .collect();
        let mut newest: HashMap<u32, usize> = HashMap::new();
        // For each line the number of the event that it is, and whether it is that for the first time.
        let mut numbers: Vec<(u32, bool)> = Vec::with_capacity(lines.len());
        let mut count = 0;
        let mut place = 0;
        while place < lines.len() {
            let run = newest.get(&texts[place]).copied().filter(|_| lines[place].entry.cursor.is_some());
            let run = run.filter(|from| {
                let length = place - from;
                length <= RUN_MAX && texts.get(place..place + length) == Some(&texts[*from..place])
            });
            match run {
                Some(from) => {
                    let length = place - from;
                    let of = stretches(numbers[from..place].iter().map(|(number, _)| *number));
                    frame.doubled.push(Doubled { after: count, of });
                    for at in 0..length {
                        numbers.push((numbers[from + at].0, false));
                        newest.insert(texts[place + at], place + at);
                    }
                    place += length;
                }
                None => {
                    newest.insert(texts[place], place);
                    numbers.push((count, true));
                    count += 1;
                    place += 1;
                }
            }
        }
        let repeated = lines.len() - count as usize;
        if repeated > 0 {
            let why = format!("{repeated} lines repeat those before them; they are told once");
            self.keep_unmapped("event", repeated)?;
            self.repair(Place::file(path), RepairKind::EventsDoubled, why)?;
        }
        Ok(lines.into_iter().zip(numbers).filter(|(_, (_, is_first))| *is_first).map(|(line, _)| line.entry).collect())
    }

    fn repeated(&mut self, path: &str, events: &[Entry]) -> Result<(), ReadError> {
        let mut known = HashSet::new();
        let repeated = events.iter().filter_map(|event| event.cursor).filter(|cursor| !known.insert(*cursor)).count();
        if repeated > 0 {
            let why = format!("{repeated} cursors are used again; the line says which event it is");
            self.repair(Place::file(path), RepairKind::IdRepeated, why)?;
        }
        Ok(())
    }
}

/// Numbers that follow each other, as the first and how many.
fn stretches(numbers: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match stretches.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => stretches.push((number, 1)),
        }
    }
    stretches
}

/// Merges the events of several logs for people: ordered by time, keeping the order within each log.
pub(crate) fn in_order(logs: &[Log]) -> Vec<(usize, usize)> {
    let mut heads = vec![0; logs.len()];
    let mut newest: Vec<Timestamp> = vec![Timestamp(i64::MIN); logs.len()];
    let total: usize = logs.iter().map(|log| log.events.len()).sum();
    let mut order = Vec::with_capacity(total);
    while order.len() < total {
        let mut best: Option<(Timestamp, Option<i64>, usize)> = None;
        for (place, log) in logs.iter().enumerate() {
            let Some(event) = log.events.get(heads[place]) else { continue };
            // A clock that goes back does not bring an event before those above it.
            let at = event.at.unwrap_or(newest[place]).max(newest[place]);
            let key = (at, event.cursor, place);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        let Some((at, _, place)) = best else { break };
        order.push((place, heads[place]));
        newest[place] = at;
        heads[place] += 1;
    }
    order
}

/// Writes a log.
pub(crate) fn write(frame: &LogFrame, bodies: &[String]) -> String {
    let mut lines: Vec<&str> = Vec::with_capacity(bodies.len());
    let mut doubled = frame.doubled.iter().peekable();
    for (place, body) in bodies.iter().enumerate() {
        lines.push(body);
        while let Some(run) = doubled.next_if(|run| run.after as usize == place + 1) {
            let range = |(first, count): &(u32, u32)| *first as usize..(*first + *count) as usize;
            let texts = run.of.iter().flat_map(|stretch| bodies.get(range(stretch)).unwrap_or_default());
            lines.extend(texts.map(String::as_str));
        }
    }
    let mut text = if lines.is_empty() { frame.blank.clone() } else { String::new() };
    for (place, line) in lines.iter().enumerate() {
        let odd = frame.odd.binary_search_by_key(&(place as u32), |(at, _, _)| *at).ok();
        let odd = odd.and_then(|at| frame.odd.get(at));
        text.push_str(odd.map_or("", |(_, before, _)| before));
        text.push_str(line);
        let is_last = place + 1 == lines.len();
        match odd {
            _ if is_last && frame.unended == Some(lines.len() as u32) => {}
            Some((_, _, after)) if is_last || after.ends_with('\n') => text.push_str(after),
            _ => text.push_str(if frame.crlf { "\r\n" } else { "\n" }),
        }
    }
    text
}

/// The lines of a file with their endings, and the bytes before the first and after the last.
fn pieces(bytes: &dyn Bytes) -> std::io::Result<Vec<Span>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for line in read_lines(bytes)? {
        let to = line.span.to + line.end.len() as u64;
        pieces.push(Span { from, to });
        from = to;
    }
    if from < bytes.len() {
        pieces.push(Span { from, to: bytes.len() });
    }
    Ok(pieces)
}

/// Drops the events before the first that a log still has.
pub(crate) fn drop_rotated(events: &mut Vec<Event>, log: &LogFrame) {
    let last = events.len().checked_sub(log.count as usize).filter(|_| !log.first.is_empty());
    let is_first = |place: &usize| digest(events[*place].body.text()) == log.first;
    if let Some(from) = last.and_then(|last| (0..=last).rev().filter(|place| *place < events.len()).find(is_first)) {
        events.drain(..from);
    }
}
