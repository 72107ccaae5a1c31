//! ULID generator and clock: time and randomness from the system, or derived from the idempotency key of a request.

use manent_model::Timestamp;
use parking_lot::Mutex;

/// Monotonic ULID generator: ids of one process sort in the order of their creation.
pub(crate) struct UlidGenerator {
    last: Mutex<(u64, u128)>,
    clock: Clock,
}

/// Source of the time.
enum Clock {
    /// The system clock.
    System,
    /// A fixed time: that of the first attempt of a request.
    Stopped(Timestamp),
}

/// A ULID has 80 random bits.
const RANDOM_BITS: u32 = 80;

impl Default for UlidGenerator {
    fn default() -> Self {
        Self { last: Mutex::default(), clock: Clock::System }
    }
}

impl UlidGenerator {
    /// Creates the generator of one request: a retry with the same calls in the same order gets the same ids.
    pub(crate) fn of_request(key: &[u8], at: Timestamp) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("manent 2026 ids of a request");
        hasher.update(&at.0.to_le_bytes());
        hasher.update(key);
        let mut bytes = [0; 16];
        bytes[6..].copy_from_slice(&hasher.finalize().as_bytes()[..10]);
        let last = Mutex::new((milliseconds(at), with_room(bytes)));
        Self { last, clock: Clock::Stopped(at) }
    }

    /// Returns the time now.
    pub(crate) fn now(&self) -> Timestamp {
        match self.clock {
            Clock::System => manent_store::now(),
            Clock::Stopped(at) => at,
        }
    }

    /// Generates an id of any kind: `ids.make(MessageId::new)`.
    pub(crate) fn make<T>(&self, new: fn(u64, [u8; 10]) -> T) -> T {
        let now = milliseconds(self.now());
        let mut last = self.last.lock();
        let (milliseconds, chance) = match now > last.0 {
            true => (now, random()),
            // In the same millisecond, or when the clock went back, the random part is incremented.
            false => (last.0, last.1 + 1),
        };
        *last = match chance >> RANDOM_BITS {
            0 => (milliseconds, chance),
            _ => (milliseconds + 1, random()),
        };
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&last.1.to_be_bytes()[6..]);
        new(last.0, bytes)
    }
}

fn milliseconds(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or(0) / 1_000
}

fn random() -> u128 {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes[6..]).expect("the system gives random bytes");
    with_room(bytes)
}

/// Clears the highest bit, so that incrementing within a millisecond does not overflow.
fn with_room(mut bytes: [u8; 16]) -> u128 {
    bytes[6] &= 0x7F;
    u128::from_be_bytes(bytes)
}

/// Prefix of generated idempotency keys.
const OWN_KEY: &str = "mnt-";
/// The hexadecimal digits of its time.
const TIME_DIGITS: usize = 16;
const RANDOM_DIGITS: usize = 16;
const REMEMBERED_SECONDS: i64 = 7 * 24 * 3600;
const CLOCKS_DIFFER_SECONDS: i64 = 3600;

/// Generates an idempotency key for a request that came without one; it contains its creation time.
pub fn request_key() -> String {
    let chance: String = fresh_key()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{OWN_KEY}{:0TIME_DIGITS$x}{chance}", manent_store::now().0)
}

/// Returns the creation time of a key, if [`request_key`] could have generated it within the last week, for which keys
/// are remembered.
pub(crate) fn made_at(key: &str) -> Option<Timestamp> {
    let digits = key.strip_prefix(OWN_KEY).filter(|digits| digits.len() == TIME_DIGITS + RANDOM_DIGITS)?;
    let time = i64::from_str_radix(digits.get(..TIME_DIGITS)?, 16).ok()?;
    let now = manent_store::now().0;
    let is_recent = time > now - REMEMBERED_SECONDS * 1_000_000 && time < now + CLOCKS_DIFFER_SECONDS * 1_000_000;
    is_recent.then_some(Timestamp(time))
}

/// Returns a random key.
pub(crate) fn fresh_key() -> Vec<u8> {
    let mut key = vec![0u8; 16];
    getrandom::fill(&mut key).expect("the system gives random bytes");
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use manent_model::MessageId;

    #[test]
    fn ids_only_ever_grow() {
        let ids = UlidGenerator::default();
        let made: Vec<MessageId> = (0..10_000).map(|_| ids.make(MessageId::new)).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_key_of_our_own_says_when_it_was_made() {
        let before = manent_store::now();
        let (key, other) = (request_key(), request_key());
        assert_ne!(key, other);
        let made = made_at(&key).expect("just now");
        assert!(before <= made && made <= manent_store::now());
        let in_days = |days: i64| format!("mnt-{:016x}{:016x}", manent_store::now().0 + days * 24 * 3_600_000_000, 0);
        for strange in ["mnt-", "mnt-ffffffffffffffff0000000000000000", "mnt-中", &in_days(-8), &in_days(1)] {
            assert_eq!(made_at(strange), None, "{strange}");
        }
        assert!(made_at(&in_days(-6)).is_some());
    }

    #[test]
    fn a_request_makes_the_same_ids_again_and_another_makes_others() {
        let make = |key: &[u8], at| {
            let ids = UlidGenerator::of_request(key, Timestamp(at));
            (0..100).map(|_| ids.make(MessageId::new)).collect::<Vec<_>>()
        };
        let made = make(b"a", 1_700_000_000_000_000);
        assert_eq!(made, make(b"a", 1_700_000_000_000_000));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        for other in [make(b"b", 1_700_000_000_000_000), make(b"a", 1_700_000_000_000_001)] {
            assert!(made.iter().all(|id| !other.contains(id)));
        }
    }
}
