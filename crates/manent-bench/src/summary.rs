//! Latency statistics of many timed operations.

use std::time::Duration;

use serde::Deserialize;

/// The figures of one measure in one round, or the medians over rounds.
///
/// Peers outside this process report the same figures as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Summary {
    /// Operations finished per second of wall time.
    pub per_second: f64,
    /// The median latency.
    pub p50_us: f64,
    /// The latency that one operation in a hundred exceeds.
    pub p99_us: f64,
}

impl Summary {
    /// Sums up operations that together took `elapsed` of wall time.
    ///
    /// Panics if there are none: a driver always finishes at least one.
    pub fn of(mut latencies: Vec<Duration>, elapsed: Duration) -> Summary {
        assert!(!latencies.is_empty(), "a driver finishes at least one operation");
        latencies.sort_unstable();
        let percentile = |hundredths: usize| {
            let rank = (latencies.len() * hundredths).div_ceil(100);
            latencies[rank.max(1) - 1].as_secs_f64() * 1e6
        };
        Summary {
            per_second: latencies.len() as f64 / elapsed.as_secs_f64(),
            p50_us: percentile(50),
            p99_us: percentile(99),
        }
    }

    /// Returns the median of each figure by itself, or `None` without rounds.
    pub fn median(rounds: &[Summary]) -> Option<Summary> {
        let of = |figure: fn(&Summary) -> f64| median(rounds.iter().map(figure).collect());
        Some(Summary {
            per_second: of(|round| round.per_second)?,
            p50_us: of(|round| round.p50_us)?,
            p99_us: of(|round| round.p99_us)?,
        })
    }
}

/// Returns the middle value, the lower one of two, or `None` of nothing.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    values.get(middle).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let latencies = (1..=200).map(Duration::from_micros).collect();
        let summary = Summary::of(latencies, Duration::from_secs(2));
        assert_eq!(summary.per_second, 100.0);
        assert_eq!(summary.p50_us.round(), 100.0);
        assert_eq!(summary.p99_us.round(), 198.0);
    }

    #[test]
    fn one_operation_is_its_own_median() {
        let summary = Summary::of(vec![Duration::from_micros(7)], Duration::from_secs(1));
        assert_eq!((summary.p50_us.round(), summary.p99_us.round()), (7.0, 7.0));
    }

    #[test]
    fn the_median_ignores_one_wild_round() {
        assert_eq!(median(vec![3.0, 900.0, 1.0, 2.0, 2.5]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
