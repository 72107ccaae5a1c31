//! Keyed token-bucket rate limiter (GCRA).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of remembered callers above which idle ones are forgotten.
const REMEMBERED: usize = 10_000;

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Sustained requests per second.
    pub per_second: u32,
    /// Burst size: requests at once.
    pub burst: u32,
}

/// The rate limiter, keyed by caller.
pub struct Rates<Asker> {
    /// Per caller, the time at which its bucket is full again (GCRA's theoretical arrival time).
    rested: Mutex<HashMap<Asker, Instant>>,
}

impl<Asker> Default for Rates<Asker> {
    fn default() -> Self {
        Self { rested: Mutex::default() }
    }
}

impl<Asker: Hash + Eq> Rates<Asker> {
    /// Counts a request; fails with the time to wait if it exceeds the rate.
    pub fn count(&self, asker: Asker, rate: Rate, now: Instant) -> Result<(), Duration> {
        let each = Duration::from_secs(1) / rate.per_second.max(1);
        let most = each * rate.burst.max(1);
        let mut rested = self.rested.lock().unwrap_or_else(PoisonError::into_inner);
        if rested.len() >= REMEMBERED {
            rested.retain(|_, when| *when > now);
        }
        let when = rested.entry(asker).or_insert(now);
        let next = (*when).max(now) + each;
        match next.duration_since(now) > most {
            true => Err(next.duration_since(now) - most),
            false => {
                *when = next;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_may_ask_so_often_and_then_waits() {
        let rates = Rates::default();
        let rate = Rate { per_second: 10, burst: 3 };
        let start = Instant::now();
        let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        assert!((0..3).all(|_| rates.count("a", rate, at(0)).is_ok()));
        assert_eq!(rates.count("a", rate, at(0)), Err(Duration::from_millis(100)));
        assert_eq!(rates.count("b", rate, at(0)), Ok(()), "another is not held up");
        assert_eq!(rates.count("a", rate, at(100)), Ok(()));
        assert!(rates.count("a", rate, at(100)).is_err());
        assert!((0..3).all(|_| rates.count("a", rate, at(10_000)).is_ok()), "what was not used is stored");
        assert!(rates.count("a", rate, at(10_000)).is_err(), "but not without end");
    }

    #[test]
    fn who_has_rested_is_forgotten() {
        let rates = Rates::default();
        let rate = Rate { per_second: 1_000, burst: 1 };
        let start = Instant::now();
        for asker in 0..REMEMBERED {
            rates.count(asker, rate, start).expect("the first");
        }
        rates.count(REMEMBERED, rate, start + Duration::from_secs(1)).expect("the first");
        assert_eq!(rates.rested.lock().expect("whole").len(), 1);
    }
}
