//! Progress of long work, on standard error.

use crate::screen::Screen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::io::{self, Read};
use std::time::Duration;

fn target(screen: &Screen) -> ProgressDrawTarget {
    match screen.quiet || !std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

/// Work whose end nobody can foretell.
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Begins to turn.
    pub fn start(screen: &Screen, doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(screen)).with_message(doing.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Says how far it has come.
    pub fn tell(&self, records: u64) {
        self.0.set_prefix(records.to_string());
        self.0.set_position(records);
    }

    /// Goes away.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

/// A reader that shows how far it has come.
pub struct Reading<R> {
    inner: R,
    bar: ProgressBar,
}

impl<R> Reading<R> {
    /// Begins; without a size, only what was read is shown.
    pub fn start(screen: &Screen, inner: R, size: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(size, target(screen));
        let template = match size {
            Some(_) => "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            None => "{spinner} {bytes} {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { inner, bar }
    }
}

impl<R: Read> Read for Reading<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}

impl<R> Drop for Reading<R> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
