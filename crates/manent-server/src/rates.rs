//! How often somebody may ask: so many a second, with a store of some that were not used.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many are remembered before those that have rested are forgotten.
const REMEMBERED: usize = 10_000;

/// How often somebody may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many a second.
    pub per_second: u32,
    /// So many at once.
    pub burst: u32,
}

/// Who asked how often.
pub struct Rates<Asker> {
    /// When each of them will have rested.
    rested: Mutex<HashMap<Asker, Instant>>,
}

impl<Asker> Default for Rates<Asker> {
    fn default() -> Self {
        Self { rested: Mutex::default() }
    }
}

impl<Asker: Hash + Eq> Rates<Asker> {
    /// Counts a request; says how long to wait if it is one too many.
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
