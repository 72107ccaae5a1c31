//! Whether the time that a key takes to be refused tells an unknown one from a wrong one.

use super::Owner;
use crate::facts::Fact;
use ::manent::Tenants;
use ::manent::model::{KeyId, KeyWord};
use anyhow::{Result, ensure};
use std::time::Instant;

/// How often each kind is refused.
const TRIES: usize = 400_000;

/// Beyond this, Welch's t says that two kinds take different times; the usual bound of such tests.
const BOUND: f64 = 4.5;

/// What is left of the slowest: interruptions of the machine hide what is looked for.
const KEPT: f64 = 0.95;

/// Refuses both kinds in a random order and compares their times.
pub fn of(tenants: &Tenants, owners: &[Owner]) -> Result<Fact> {
    let known: Vec<KeyId> = owners.iter().filter_map(|owner| KeyWord::read(&owner.key)).map(|word| word.id).collect();
    ensure!(known.len() == owners.len(), "keys can be read");
    let mut chance = fastrand::Rng::with_seed(7);
    let secret = |chance: &mut fastrand::Rng| -> [u8; 32] { std::array::from_fn(|_| chance.u8(..)) };
    let mut times = [Vec::with_capacity(TRIES), Vec::with_capacity(TRIES)];
    while times[0].len() < TRIES || times[1].len() < TRIES {
        let kind = usize::from(chance.bool());
        let id = match kind {
            0 => known[chance.usize(..known.len())],
            _ => KeyId::new(chance.u64(..1 << 44), std::array::from_fn(|_| chance.u8(..))),
        };
        let word = KeyWord::new(id, secret(&mut chance)).reveal();
        let started = Instant::now();
        let admitted = std::hint::black_box(tenants.admit(&word));
        let took = started.elapsed();
        ensure!(admitted.is_err(), "a wrong key was let in");
        times[kind].push(took.as_nanos() as f64);
    }
    let [wrong, unknown] = times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times.truncate((times.len() as f64 * KEPT) as usize);
        Sample::of(&times)
    });
    let t = wrong.welch(&unknown);
    Ok(Fact {
        what: "a wrong key and an unknown key, refused: Welch's t of their times".to_owned(),
        found: format!("{t:+.2} ({:.0} ns and {:.0} ns, {TRIES} each)", wrong.mean, unknown.mean),
        limit: format!("-{BOUND} to {BOUND}"),
        met: t.abs() <= BOUND,
    })
}

/// What remains of many times.
struct Sample {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Sample {
    fn of(times: &[f64]) -> Self {
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { count, mean, variance }
    }

    fn welch(&self, other: &Self) -> f64 {
        (self.mean - other.mean) / (self.variance / self.count + other.variance / other.count).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_from_none() {
        let mut chance = fastrand::Rng::with_seed(1);
        let mut times = |mean: f64| -> Vec<f64> { (0..10_000).map(|_| mean + 100.0 * chance.f64()).collect() };
        let (one, same, other) = (times(500.0), times(500.0), times(505.0));
        assert!(Sample::of(&one).welch(&Sample::of(&same)).abs() < BOUND);
        assert!(Sample::of(&one).welch(&Sample::of(&other)).abs() > BOUND);
    }
}
