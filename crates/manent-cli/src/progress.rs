//! Progress of long work, on standard error.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manent::{Database, IndexStatus, Position};
use std::io::{self, IsTerminal, Read};
use std::time::Duration;
use tokio::time::Instant;

/// Time after which progress is shown.
const LONG: Duration = Duration::from_millis(500);

fn target(output: &Output) -> ProgressDrawTarget {
    match output.quiet || !std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

/// Spinner for work of unknown length.
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Shows the spinner.
    pub fn start(output: &Output, doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(output)).with_message(doing.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Updates the progress.
    pub fn tell(&self, records: u64) {
        self.0.set_prefix(records.to_string());
        self.0.set_position(records);
    }

    /// Removes it from the screen.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Progress bar of the index: indexed changes of all changes.
pub struct Indexing(ProgressBar);

impl Indexing {
    /// Starts.
    pub fn start(output: &Output) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target(output));
        if let Ok(style) = ProgressStyle::with_template("indexing {bar:30} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Updates the progress.
    pub fn tell(&self, indexed: IndexStatus, last: Position) {
        self.0.set_length(last.max(indexed.position).max(0) as u64);
        self.0.set_position((indexed.position - indexed.waiting).max(0) as u64);
    }

    /// Removes it from the screen.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Waits until the index is complete, with a progress bar if that takes long.
pub async fn when_indexed(database: &Database, output: &Output) -> manent::Result<()> {
    let waited = database.when_indexed();
    tokio::pin!(waited);
    let mut ticks = tokio::time::interval_at(Instant::now() + LONG, Duration::from_millis(100));
    let mut shown: Option<Indexing> = None;
    let done = loop {
        tokio::select! {
            done = &mut waited => break done,
            _ = ticks.tick() => {
                let bar = shown.get_or_insert_with(|| Indexing::start(output));
                bar.tell(database.indexed(), database.position());
            }
        }
    };
    if let Some(bar) = shown {
        bar.end();
    }
    done
}

/// A reader that shows its progress.
pub struct Reading<R> {
    inner: R,
    bar: ProgressBar,
}

impl<R> Reading<R> {
    /// Starts; without a size, only the bytes read are shown.
    pub fn start(output: &Output, inner: R, size: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(size, target(output));
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
