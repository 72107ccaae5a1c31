//! Measurement loops: repeat one operation for a time window and time each step.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::summary::Summary;

/// Runs `operation` on one record after another, around and around, until `window` has passed.
pub fn one_after_another<Record>(
    window: Duration,
    records: &[Record],
    mut operation: impl FnMut(&Record) -> Result<()>,
) -> Result<Summary> {
    let mut latencies = Vec::new();
    let start = Instant::now();
    for record in records.iter().cycle() {
        let before = Instant::now();
        operation(record)?;
        latencies.push(before.elapsed());
        if start.elapsed() >= window {
            break;
        }
    }
    Ok(Summary::of(latencies, start.elapsed()))
}

/// Runs `operation(writer, record)` on `writers` threads at once until `window` has passed.
///
/// Each thread walks the records from its own starting point, so that no two send the same one together.
pub fn all_together<Record: Sync>(
    window: Duration,
    writers: usize,
    records: &[Record],
    operation: impl Fn(usize, &Record) -> Result<()> + Sync,
) -> Result<Summary> {
    let (operation, ready) = (&operation, &Barrier::new(writers));
    let work = move |writer: usize| -> Result<(Instant, Vec<Duration>, Instant)> {
        let mut latencies = Vec::new();
        let first = writer * records.len() / writers;
        ready.wait();
        let start = Instant::now();
        for record in records.iter().cycle().skip(first) {
            let before = Instant::now();
            operation(writer, record)?;
            latencies.push(before.elapsed());
            if start.elapsed() >= window {
                break;
            }
        }
        Ok((start, latencies, Instant::now()))
    };

    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers).map(|writer| scope.spawn(move || work(writer))).collect();
        let (mut starts, mut latencies, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for thread in threads {
            let (start, mine, end) = thread.join().expect("a writer returns its errors")?;
            starts.push(start);
            latencies.extend(mine);
            ends.push(end);
        }
        // The writers' own clocks: this thread may be woken late, and a shorter time would flatter.
        let elapsed = ends.iter().max().zip(starts.iter().min()).map(|(end, start)| *end - *start);
        Ok(Summary::of(latencies, elapsed.context("there are no writers")?))
    })
}

/// Runs `read` on random conversations below `conversations` until `window` has passed.
pub fn random_conversations(
    window: Duration,
    conversations: u64,
    mut read: impl FnMut(u64) -> Result<()>,
) -> Result<Summary> {
    // The same seed for all, so that every subject reads the same conversations in the same order.
    let mut random = fastrand::Rng::with_seed(50);
    let order: Vec<u64> = (0..4096).map(|_| random.u64(0..conversations)).collect();
    one_after_another(window, &order, |&conversation| {
        read(conversation).with_context(|| format!("reading conversation {conversation}"))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_window_of_nothing_still_does_one_step() {
        let mut steps = 0;
        one_after_another(Duration::ZERO, &[1, 2], |_| {
            steps += 1;
            Ok(())
        })
        .expect("no step fails");
        assert_eq!(steps, 1);
    }

    #[test]
    fn every_writer_takes_part() {
        let seen = AtomicUsize::new(0);
        all_together(Duration::ZERO, 8, &[(); 16], |writer, ()| {
            seen.fetch_or(1 << writer, Ordering::Relaxed);
            Ok(())
        })
        .expect("no step fails");
        assert_eq!(seen.into_inner(), 0xff);
    }

    #[test]
    fn the_first_failure_is_returned() {
        let failed = all_together(Duration::from_secs(60), 2, &[()], |_, ()| anyhow::bail!("disk full"));
        assert_eq!(failed.expect_err("both fail").to_string(), "disk full");
    }
}
