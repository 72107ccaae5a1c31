//! Timing side channel test: does the time to refuse a key tell an unknown one from a wrong one?

use super::Owner;
use crate::facts::Fact;
use ::manent::Tenants;
use ::manent::model::{ApiKeySecret, KeyId};
use anyhow::{Result, ensure};
use std::time::Instant;

/// How often each kind is refused.
const TRIES: usize = 400_000;

/// Beyond this, Welch's t says that two kinds take different times; the usual bound of such tests.
const BOUND: f64 = 4.5;

/// What is left of the slowest: interruptions of the machine hide what is looked for.
const KEPT: f64 = 0.95;

/// Number of bytes of an id that contain its time; the others are random.
const TIME: usize = 6;

/// Wrong ones, unknown ones, and unknown ones again, which tell how large chance alone can be.
const KINDS: usize = 3;
const WRONG: usize = 0;

/// Number of keys generated before they are tried.
const BATCH: usize = 1_000;

/// Refuses all kinds in a random order and compares their times.
pub fn of(tenants: &Tenants, owners: &[Owner]) -> Result<Fact> {
    let known: Vec<KeyId> =
        owners.iter().filter_map(|owner| ApiKeySecret::read(&owner.key)).map(|word| word.id).collect();
    ensure!(known.len() == owners.len(), "keys can be read");
    let mut chance = fastrand::Rng::with_seed(7);
    let secret = |chance: &mut fastrand::Rng| -> [u8; 32] { std::array::from_fn(|_| chance.u8(..)) };
    let mut times = [const { Vec::new() }; KINDS];
    while times.iter().any(|times: &Vec<f64>| times.len() < TRIES) {
        // They are made before the first of them is tried: what making one leaves behind in the machine is not looked for.
        let words: Vec<(usize, String)> = (0..BATCH)
            .map(|_| {
                let (kind, mut id) = (chance.usize(..KINDS), known[chance.usize(..known.len())]);
                // One that is unknown might have been made at the same time: an unusual id is not looked for either.
                if kind != WRONG {
                    let mut other = *id.as_bytes();
                    other[TIME..].iter_mut().for_each(|byte| *byte = chance.u8(..));
                    id = KeyId::from_bytes(other);
                }
                (kind, ApiKeySecret::new(id, secret(&mut chance)).reveal())
            })
            .collect();
        for (kind, word) in words {
            let started = Instant::now();
            let admitted = std::hint::black_box(tenants.authenticate(&word));
            let took = started.elapsed();
            ensure!(admitted.is_err(), "a wrong key was let in");
            times[kind].push(took.as_nanos() as f64);
        }
    }
    let [wrong, unknown, again] = times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times.truncate((times.len() as f64 * KEPT) as usize);
        Sample::of(&times)
    });
    let (t, noise) = (wrong.welch(&unknown), again.welch(&unknown));
    Ok(Fact {
        what: "a wrong key and an unknown key, refused: Welch's t of their times".to_owned(),
        found: format!(
            "{t:+.2} ({:.1} ns and {:.1} ns, {TRIES} each; unknown against unknown {noise:+.2})",
            wrong.mean, unknown.mean
        ),
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
