//! Keyed token-bucket rate limiter (GCRA).

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Number of remembered callers above which idle ones are forgotten.
const KEYS_MAX: usize = 10_000;

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Sustained requests per second.
    pub per_second: u32,
    /// Burst size: requests at once.
    pub burst: u32,
}

impl Rate {
    /// A rate whose burst is a multiple of the requests per second.
    pub const fn with_burst(per_second: u32, factor: u32) -> Self {
        Self { per_second, burst: per_second.saturating_mul(factor) }
    }
}

/// The rate limiter, keyed by caller.
pub struct RateLimiter<Caller> {
    /// Per caller, the time at which its bucket is full again (GCRA's theoretical arrival time).
    full_at: Mutex<HashMap<Caller, Instant>>,
}

impl<Caller> Default for RateLimiter<Caller> {
    fn default() -> Self {
        Self { full_at: Mutex::default() }
    }
}

impl<Caller: Hash + Eq> RateLimiter<Caller> {
    /// Counts a request; fails with the time to wait if it exceeds the rate.
    pub fn check(&self, caller: Caller, rate: Rate, now: Instant) -> Result<(), Duration> {
        let each = Duration::from_secs(1) / rate.per_second.max(1);
        let most = each * rate.burst.max(1);
        let mut full_at = self.full_at.lock();
        if full_at.len() >= KEYS_MAX {
            full_at.retain(|_, when| *when > now);
        }
        let when = full_at.entry(caller).or_insert(now);
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
    fn rate_limit_allows_a_burst_and_then_waits() {
        let rates = RateLimiter::default();
        let rate = Rate { per_second: 10, burst: 3 };
        let start = Instant::now();
        let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
        assert!((0..3).all(|_| rates.check("a", rate, at(0)).is_ok()));
        assert_eq!(rates.check("a", rate, at(0)), Err(Duration::from_millis(100)));
        assert_eq!(rates.check("b", rate, at(0)), Ok(()), "another is not held up");
        assert_eq!(rates.check("a", rate, at(100)), Ok(()));
        assert!(rates.check("a", rate, at(100)).is_err());
        assert!((0..3).all(|_| rates.check("a", rate, at(10_000)).is_ok()), "what was not used is stored");
        assert!(rates.check("a", rate, at(10_000)).is_err(), "but not without end");
    }

    #[test]
    fn idle_callers_are_forgotten() {
        let rates = RateLimiter::default();
        let rate = Rate { per_second: 1_000, burst: 1 };
        let start = Instant::now();
        for caller in 0..KEYS_MAX {
            rates.check(caller, rate, start).expect("the first");
        }
        rates.check(KEYS_MAX, rate, start + Duration::from_secs(1)).expect("the first");
        assert_eq!(rates.full_at.lock().len(), 1);
    }
}
