//! Interactive search of `manent search -i`: searches while the query is typed, and opens the chosen hit.

mod input;
mod terminal;
mod preview;
mod frame;

use crate::context::CommandContext;
use anyhow::{Context, Result, bail};
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use crossterm::{Command, cursor, execute};
use input::Input;
use manent::store::LocatedMessage;
use manent::{
    BoundedCount, ConversationId, Hit, Include, MessageId, SearchCursor, SearchOrder, SearchPage, SearchQuery,
};
use preview::Preview;
use std::io::{Write as _, stdout};
use std::time::Duration;
use terminal::Terminal;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

/// Delay of a search after the last key press.
const DEBOUNCE: Duration = Duration::from_millis(60);
/// Page size of a search.
const HITS: u32 = 50;
/// Limit of terminals for one clipboard sequence.
const COPY_BYTES_MAX: usize = 74_000;

/// The chosen hit.
pub struct Picked {
    pub conversation: ConversationId,
    pub message: Option<MessageId>,
}

/// The searched conversations.
#[derive(Clone, PartialEq, Eq)]
enum Scope {
    All,
    One(ConversationId, String),
    Everything,
}

/// The requested page of hits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    First,
    After(SearchCursor),
}

/// Results of the background tasks.
enum PickerEvent {
    Found { number: u64, page: Page, found: manent::Result<SearchPage> },
    Read(manent::Result<LocatedMessage>),
}

/// State of the picker.
struct Picker<'a> {
    context: &'a CommandContext,
    sender: UnboundedSender<PickerEvent>,
    input: Input,
    scope: Scope,
    order: SearchOrder,
    include: Include,
    hits: Vec<Hit>,
    total: Option<BoundedCount>,
    next: Option<SearchCursor>,
    chosen: usize,
    top: usize,
    preview: Option<Preview>,
    problem: Option<String>,
    notice: Option<&'static str>,
    /// Number of the newest search; results of older ones are ignored.
    number: u64,
    /// Number of the newest search that finished.
    answered: u64,
    /// When the next search starts.
    due: Option<Instant>,
    /// Enter was pressed before the search finished: opens the first hit of its result.
    opens: bool,
    /// The message that is being read.
    reading: Option<MessageId>,
}

/// The effect of a key.
enum Outcome {
    Stay,
    Leave,
    Open,
}

/// Runs the picker; returns `None` if it is left without a choice.
pub async fn pick(context: &CommandContext, query: SearchQuery) -> Result<Option<Picked>> {
    let (sender, results) = unbounded_channel();
    let scope = match query.within {
        Some(id) => Scope::One(id, context.database.conversation(id).await?.title),
        None if query.include.trashed && query.include.branches => Scope::Everything,
        None => Scope::All,
    };
    let (terminal, events) = Terminal::enter()?;
    let mut picker = Picker {
        context,
        sender,
        input: Input::of(&query.text),
        scope,
        order: query.order,
        include: query.include,
        hits: Vec::new(),
        total: None,
        next: None,
        chosen: 0,
        top: 0,
        preview: None,
        problem: None,
        notice: None,
        number: 0,
        answered: 0,
        due: Some(Instant::now()),
        opens: false,
        reading: None,
    };
    let picked = picker.run(&terminal, events, results).await;
    drop(terminal);
    picked
}

impl Picker<'_> {
    async fn run(
        &mut self,
        terminal: &Terminal,
        mut events: UnboundedReceiver<Option<Event>>,
        mut results: UnboundedReceiver<PickerEvent>,
    ) -> Result<Option<Picked>> {
        let ended = crate::commands::serve::ended();
        tokio::pin!(ended);
        let mut drawn = (size(), String::new());
        loop {
            let (width, height) = size();
            self.keep_in_view(height);
            let drawing = ((width, height), self.drawing(width, height)?);
            if drawing != drawn {
                let mut out = stdout().lock();
                out.write_all(drawing.1.as_bytes()).and_then(|()| out.flush()).context("writing to the terminal")?;
                drawn = drawing;
            }
            if !terminal.is_raw() {
                bail!("internal error; see the message above");
            }
            let due = self.due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600));
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else { bail!("the terminal was closed") };
                    match self.event(event, frame::list_rows(height))? {
                        Outcome::Stay => {}
                        Outcome::Leave => return Ok(None),
                        Outcome::Open => return Ok(self.picked()),
                    }
                }
                Some(event) = results.recv() => {
                    self.receive(event)?;
                    if self.is_settled() && std::mem::take(&mut self.opens) && !self.hits.is_empty() {
                        return Ok(self.picked());
                    }
                }
                () = tokio::time::sleep_until(due) => self.search(Page::First),
                () = &mut ended => return Ok(None),
            }
        }
    }

    /// Returns the bytes that draw a whole frame.
    fn drawing(&self, width: usize, height: usize) -> Result<String> {
        let frame = self.frame(width, height);
        let is_styled = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let position = |column: usize, row: usize| cursor::MoveTo(saturated(column), saturated(row));
        let mut text = String::new();
        BeginSynchronizedUpdate.write_ansi(&mut text)?;
        cursor::Hide.write_ansi(&mut text)?;
        for (row, line) in frame.rows.iter().enumerate() {
            position(0, row).write_ansi(&mut text)?;
            text.push_str(&if is_styled { line.styled() } else { line.plain() });
            Clear(ClearType::UntilNewLine).write_ansi(&mut text)?;
        }
        let (row, column) = frame.cursor;
        position(column, row).write_ansi(&mut text)?;
        cursor::Show.write_ansi(&mut text)?;
        EndSynchronizedUpdate.write_ansi(&mut text)?;
        Ok(text)
    }

    fn picked(&self) -> Option<Picked> {
        let hit = self.hits.get(self.chosen)?;
        Some(Picked { conversation: hit.conversation, message: hit.message })
    }

    /// Returns whether the shown hits are those of the typed query.
    fn is_settled(&self) -> bool {
        self.due.is_none() && self.answered == self.number
    }

    fn event(&mut self, event: Option<Event>, page: usize) -> Result<Outcome> {
        match event {
            Some(Event::Key(key)) if key.kind != KeyEventKind::Release => return self.key(key, page),
            Some(Event::Paste(text)) => {
                (self.notice, self.opens) = (None, false);
                self.input.insert(&text);
                self.due = Some(Instant::now() + DEBOUNCE);
            }
            _ => {}
        }
        Ok(Outcome::Stay)
    }

    fn key(&mut self, key: KeyEvent, page: usize) -> Result<Outcome> {
        (self.notice, self.opens) = (None, false);
        // No key has a meaning together with Alt.
        if key.modifiers.contains(KeyModifiers::ALT) {
            return Ok(Outcome::Stay);
        }
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => return Ok(Outcome::Leave),
            (KeyCode::Char('d'), true) if self.input.text().is_empty() => return Ok(Outcome::Leave),
            (KeyCode::Enter, _) | (KeyCode::Char('j'), true) if !self.is_settled() => {
                self.opens = true;
                self.due = self.due.map(|_| Instant::now());
            }
            (KeyCode::Enter, _) | (KeyCode::Char('j'), true) if self.hits.get(self.chosen).is_some() => {
                return Ok(Outcome::Open);
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => self.choose(self.chosen.saturating_sub(1)),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => self.choose(self.chosen + 1),
            (KeyCode::PageUp, _) => self.choose(self.chosen.saturating_sub(page)),
            (KeyCode::PageDown, _) => self.choose(self.chosen + page),
            (KeyCode::Tab, _) | (KeyCode::Char('r'), true) => {
                self.scope = self.next_scope();
                self.due = Some(Instant::now());
            }
            (KeyCode::Char('s'), true) => {
                self.order = match self.order {
                    SearchOrder::Newest => SearchOrder::Relevance,
                    SearchOrder::Relevance => SearchOrder::Newest,
                };
                self.due = Some(Instant::now());
            }
            (KeyCode::Char('y'), true) => self.copy()?,
            _ => {
                if self.input.press(key) {
                    self.due = Some(Instant::now() + DEBOUNCE);
                }
            }
        }
        Ok(Outcome::Stay)
    }

    fn choose(&mut self, number: usize) {
        self.chosen = number.min(self.hits.len().saturating_sub(1));
        let is_last = self.chosen + 1 == self.hits.len() && self.is_settled();
        if let Some(next) = self.next.filter(|_| is_last) {
            self.search(Page::After(next));
        }
        self.read();
    }

    fn keep_in_view(&mut self, height: usize) {
        let rows = frame::list_rows(height).max(1);
        self.top = self.top.min(self.chosen).max((self.chosen + 1).saturating_sub(rows));
    }

    /// From all conversations to the one of the chosen hit, to everything, to all.
    fn next_scope(&self) -> Scope {
        let here = self.hits.get(self.chosen).map(|hit| Scope::One(hit.conversation, hit.title.clone()));
        match self.scope {
            Scope::All => here.unwrap_or(Scope::Everything),
            Scope::One(..) => Scope::Everything,
            Scope::Everything => Scope::All,
        }
    }

    /// Begins a search: the first page, or the one behind the hits that are there.
    fn search(&mut self, page: Page) {
        self.due = None;
        self.number += 1;
        let text = self.input.text();
        if text.trim().is_empty() {
            (self.hits, self.total, self.next, self.problem) = (Vec::new(), None, None, None);
            self.answered = self.number;
            return;
        }
        let everything = self.scope == Scope::Everything;
        let query = SearchQuery {
            text,
            order: self.order,
            within: match &self.scope {
                Scope::One(id, _) => Some(*id),
                _ => None,
            },
            include: Include {
                trashed: everything || self.include.trashed,
                branches: everything || self.include.branches,
                reasoning: self.include.reasoning,
            },
            neighbours: 2,
            typing: true,
            offset_seconds: self.context.now.offset().seconds(),
            after: match page {
                Page::First => None,
                Page::After(cursor) => Some(cursor),
            },
            limit: HITS,
            ..SearchQuery::default()
        };
        let (database, sender, number) = (self.context.database.clone(), self.sender.clone(), self.number);
        tokio::spawn(async move {
            let found = database.search(&query).await;
            drop(sender.send(PickerEvent::Found { number, page, found }));
        });
        // The old hits stay until the new page arrives; no further page is requested until then.
        self.next = None;
    }

    fn receive(&mut self, event: PickerEvent) -> Result<()> {
        if let PickerEvent::Found { number, .. } = &event {
            // A late answer to an older question changes nothing.
            self.answered = self.answered.max(*number);
        }
        match event {
            PickerEvent::Found { number, .. } if number != self.number => {}
            PickerEvent::Found { page, found: Ok(found), .. } => self.take(page, found),
            PickerEvent::Found { found: Err(manent::Error::Query(problem)), .. } => {
                (self.hits, self.total, self.next) = (Vec::new(), None, None);
                self.problem = Some(problem.to_string());
            }
            PickerEvent::Found { found: Err(error), .. } => return Err(error.into()),
            PickerEvent::Read(Ok(placed)) => self.show(&placed),
            // It was erased meanwhile; the words around what was found are shown instead.
            PickerEvent::Read(Err(_)) => self.reading = None,
        }
        Ok(())
    }

    fn take(&mut self, page: Page, found: SearchPage) {
        if page == Page::First {
            self.hits.clear();
            (self.chosen, self.top) = (0, 0);
        }
        self.hits.extend(found.hits);
        (self.total, self.next, self.problem) = (Some(found.total), found.next, None);
        self.preview = None;
        self.reading = None;
        self.read();
    }

    /// Reads the chosen message, unless it is there.
    fn read(&mut self) {
        let Some(hit) = self.hits.get(self.chosen) else { return };
        let is_there = self.preview.as_ref().is_some_and(|preview| preview.is_of(hit));
        let Some(message) = hit.message.filter(|message| !is_there && self.reading != Some(*message)) else { return };
        self.reading = Some(message);
        let (database, sender) = (self.context.database.clone(), self.sender.clone());
        tokio::spawn(async move { drop(sender.send(PickerEvent::Read(database.message(message).await))) });
    }

    fn show(&mut self, placed: &LocatedMessage) {
        let is_chosen = |hit: &&Hit| hit.message == Some(placed.message.id);
        if let Some(hit) = self.hits.get(self.chosen).filter(is_chosen) {
            self.preview = Some(Preview::of(&placed.message, hit, &self.input.text()));
            self.reading = None;
        }
    }

    /// Hands the text of the chosen message to the clipboard of the terminal.
    fn copy(&mut self) -> Result<()> {
        let Some(hit) = self.hits.get(self.chosen) else { return Ok(()) };
        let text = match self.preview.as_ref().filter(|preview| preview.is_of(hit)) {
            Some(preview) if !preview.text.is_empty() => &preview.text,
            _ => &hit.snippet.text,
        };
        if text.len() > COPY_BYTES_MAX {
            self.notice = Some("too long to copy");
            return Ok(());
        }
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text)).context("writing to the terminal")?;
        self.notice = Some("copied");
        Ok(())
    }
}

/// Returns the number of columns and rows.
fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

fn saturated(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
