//! Time: when something happened, and how that is known.

use serde::{Deserialize, Serialize};

/// How a time is known. Order never depends on it: order is by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// Recorded when it happened.
    #[default]
    Exact,
    /// Taken from a neighbour or from the conversation.
    Inherited,
    /// Taken from the file that held it.
    File,
    /// Nobody knows; the value is a place holder.
    Unknown,
}

/// A moment: microseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    const DAY: i64 = 86_400_000_000;

    /// Returns the number of the day since 1970-01-01 in UTC.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(Self::DAY)
    }
}

/// A moment together with how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Time {
    /// The moment.
    pub at: Micros,
    /// How it is known.
    #[serde(default, skip_serializing_if = "is_exact")]
    pub known: Known,
}

fn is_exact(known: &Known) -> bool {
    *known == Known::Exact
}

impl Time {
    /// Returns a time that was recorded when it happened.
    pub const fn exact(micros: i64) -> Self {
        Self { at: Micros(micros), known: Known::Exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_before_1970_belongs_to_the_day_before() {
        assert_eq!(Micros(-1).day(), -1);
        assert_eq!(Micros(0).day(), 0);
        assert_eq!(Micros(86_400_000_000).day(), 1);
    }
}
