//! Time: when something happened, and how that is known.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How a time is known. Order never depends on it: order is by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
///
/// In JSON it is a text such as `2026-11-16T08:00:00.25Z`; a moment beyond the years that such a text can name is the
/// number itself. Both are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub i64);

impl Micros {
    const DAY: i64 = 86_400_000_000;

    /// Returns the number of the day since 1970-01-01 in UTC.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(Self::DAY)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => fmt::Display::fmt(&timestamp, formatter),
            Err(_) => fmt::Display::fmt(&self.0, formatter),
        }
    }
}

impl FromStr for Micros {
    type Err = TimeProblem;

    fn from_str(text: &str) -> Result<Self, TimeProblem> {
        match text.parse::<Timestamp>() {
            Ok(timestamp) => Ok(Self(timestamp.as_microsecond())),
            Err(_) => text.parse().map(Self).map_err(|_| TimeProblem),
        }
    }
}

/// A text that is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time looks like 2026-11-16T08:00:00Z")]
pub struct TimeProblem;

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() && Timestamp::from_microsecond(self.0).is_ok() {
            true => serializer.collect_str(self),
            false => serializer.serialize_i64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(i64),
            Text(String),
        }
        if !deserializer.is_human_readable() {
            return i64::deserialize(deserializer).map(Self);
        }
        match Form::deserialize(deserializer)? {
            Form::Number(micros) => Ok(Self(micros)),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for Micros {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time as RFC 3339 text. Microseconds since 1970 are read as well, and are the answer for \
                            moments beyond the years that such a text can name.",
            "anyOf": [{ "type": "string", "format": "date-time" }, { "type": "integer", "format": "int64" }],
        })
    }
}

/// A moment together with how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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

    #[test]
    fn every_moment_survives_json() {
        for micros in [0, -1, 1, 1_763_280_000_250_000, -62_135_596_800_000_001, i64::MAX, i64::MIN] {
            let text = serde_json::to_string(&Micros(micros)).expect("a moment is JSON");
            assert_eq!(serde_json::from_str::<Micros>(&text).expect("our own text"), Micros(micros), "{text}");
        }
        assert_eq!(Micros(1_763_280_000_250_000).to_string(), "2025-11-16T08:00:00.25Z");
        assert_eq!("2025-11-16T16:00:00+08:00".parse(), Ok(Micros(1_763_280_000_000_000)));
        assert_eq!("yesterday".parse::<Micros>(), Err(TimeProblem));
    }
}
