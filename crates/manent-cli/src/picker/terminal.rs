//! Raw mode and the alternate screen of the terminal, restored on drop and on panic.

use anyhow::{Context, Result, bail};
use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use crossterm::terminal::{
    DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};
use crossterm::{cursor, execute};
use std::io::{IsTerminal, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Interval at which the reader checks whether it is to stop, and the caller whether the window was resized.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A terminal in raw mode.
pub struct Terminal {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Enters raw mode. The receiver yields `None` after each poll interval without an event.
    pub fn enter() -> Result<(Self, UnboundedReceiver<Option<Event>>)> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            bail!("-i needs a terminal to type and to look at; without it, `manent search QUERY` prints what it finds");
        }
        restore_on_panic();
        enable_raw_mode().context("setting the terminal to raw mode")?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut terminal = Self { stop: stop.clone(), reader: None };
        execute!(stdout(), EnterAlternateScreen, DisableLineWrap, EnableBracketedPaste)
            .context("writing to the terminal")?;
        let (sender, events) = unbounded_channel();
        terminal.reader = Some(std::thread::spawn(move || read(&sender, &stop)));
        Ok((terminal, events))
    }

    /// Returns whether the terminal is still in raw mode; a panic on any thread restores it.
    pub fn is_raw(&self) -> bool {
        is_raw_mode_enabled().unwrap_or(false)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // The next program that reads the terminal, such as a pager, must get every key.
            let _ = reader.join();
        }
        restore();
    }
}

fn restore() {
    if is_raw_mode_enabled().unwrap_or(false) {
        let _ = execute!(stdout(), DisableBracketedPaste, EnableLineWrap, cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Restores the terminal before a panic message is printed.
fn restore_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            previous(panic);
        }));
    });
}

fn read(sender: &UnboundedSender<Option<Event>>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let event = match event::poll(POLL_INTERVAL) {
            Ok(true) => event::read().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        if !event.is_ok_and(|event| sender.send(event).is_ok()) {
            return;
        }
    }
}
