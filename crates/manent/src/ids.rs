//! Where ids and times come from: the clock and the system's chance.

use manent_model::Micros;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes ids that only ever grow within a process, so that messages sort as they were made.
#[derive(Default)]
pub(crate) struct Ids {
    last: Mutex<(u64, u128)>,
}

/// Ten bytes of chance are eighty bits.
const CHANCE_BITS: u32 = 80;

impl Ids {
    /// Returns the time now.
    pub(crate) fn now(&self) -> Micros {
        now()
    }

    /// Makes an id of any kind: `ids.make(MessageId::new)`.
    pub(crate) fn make<T>(&self, new: fn(u64, [u8; 10]) -> T) -> T {
        let now = now().0 as u64 / 1_000;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (milliseconds, chance) = match now > last.0 {
            true => (now, random()),
            // In the same millisecond, or when the clock went back, the chance grows by one.
            false => (last.0, last.1 + 1),
        };
        *last = match chance >> CHANCE_BITS {
            0 => (milliseconds, chance),
            _ => (milliseconds + 1, random()),
        };
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&last.1.to_be_bytes()[6..]);
        new(last.0, bytes)
    }
}

fn random() -> u128 {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes[6..]).expect("the system gives random bytes");
    // The highest bit stays free, so that counting up within a millisecond does not run over.
    bytes[6] &= 0x7F;
    u128::from_be_bytes(bytes)
}

/// Returns the time now.
pub(crate) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Micros(since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX)))
}

/// Returns bytes for a key that nobody has used.
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
        let ids = Ids::default();
        let made: Vec<MessageId> = (0..10_000).map(|_| ids.make(MessageId::new)).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
