//! The terminal while the picker has it: raw keys, another screen, and everything as it was in the end.

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Another screen, lines that do not wrap, pasted text in brackets.
const ENTER: &str = "\x1b[?1049h\x1b[?7l\x1b[?2004h";
const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// How the terminal was, while it is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A terminal that is given back when this goes.
pub struct Terminal {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Takes the terminal. Keys come as bytes; none at all each time a while has passed.
    pub fn enter() -> Result<(Self, UnboundedReceiver<Vec<u8>>)> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            bail!("-i needs a terminal to type and to look at; without it, `manent search QUERY` prints what it finds");
        }
        restore_on_panic();
        let before = tcgetattr(std::io::stdin()).context("looking at the terminal")?;
        let mut raw = before.clone();
        raw.make_raw();
        // A read ends after a tenth of a second, so that the one who reads can be asked to stop, and an escape alone be
        // told from one that begins a sequence.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 1;
        *BEFORE.lock() = Some(before);
        let stop = Arc::new(AtomicBool::new(false));
        let mut terminal = Self { stop: stop.clone(), reader: None };
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).context("taking the terminal")?;
        write(ENTER)?;
        let (sender, receiver) = unbounded_channel();
        terminal.reader = Some(std::thread::spawn(move || read(&sender, &stop)));
        Ok((terminal, receiver))
    }

    /// Says whether the terminal is still ours; a panic elsewhere gives it back.
    pub fn is_ours(&self) -> bool {
        BEFORE.lock().is_some()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            // Whoever reads next, a pager perhaps, is to get all the keys.
            let _ = reader.join();
        }
        give_back();
    }
}

fn give_back() {
    let before = BEFORE.lock().take();
    if let Some(before) = before {
        let _ = write(LEAVE);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}

/// What a panic says is to be read on the usual screen.
fn restore_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            usual(panic);
        }));
    });
}

/// Writes to the terminal.
pub fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to the terminal")
}

fn read(sender: &UnboundedSender<Vec<u8>>, stop: &AtomicBool) {
    let mut bytes = [0; 1_024];
    let mut at_once = 0;
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        let read = match rustix::io::read(std::io::stdin(), &mut bytes) {
            Ok(read) => read,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        // A terminal that is gone has nothing to read, and says so without waiting.
        at_once = if read == 0 && started.elapsed() < Duration::from_millis(20) { at_once + 1 } else { 0 };
        if at_once > 20 || sender.send(bytes[..read].to_vec()).is_err() {
            return;
        }
    }
}
