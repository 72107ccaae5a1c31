//! Timestamps, and how precisely they are known.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How a time is known. Order never depends on it: order is by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// Recorded when it happened.
    #[default]
    Exact,
    /// Taken from a neighbour or from the conversation.
    Inherited,
    /// Taken from the file that held it.
    File,
    /// Unknown; the value is a placeholder.
    Unknown,
}

/// A timestamp: microseconds since 1970 in UTC.
///
/// In JSON it is RFC 3339 text in UTC, with a fraction only if needed: `2026-11-16T08:00:00.25Z`. Years outside RFC
/// 3339 have a sign and six digits, as in ISO 8601: `+012026-11-16T08:00:00Z`. A number of microseconds is accepted as
/// well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    const DAY: i64 = 86_400_000_000;

    /// Returns the number of the day since 1970-01-01 in UTC.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(Self::DAY)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => fmt::Display::fmt(&timestamp, formatter),
            Err(_) => far(self.0, formatter),
        }
    }
}

/// Writes a moment of a year that has more than four digits.
fn far(micros: i64, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (second, micro) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let of_day = second.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    write!(formatter, "{}T{hour:02}:{minute:02}:{second:02}", Day(Timestamp(micros).day()))?;
    if micro > 0 {
        write!(formatter, ".{}", format!("{micro:06}").trim_end_matches('0'))?;
    }
    formatter.write_str("Z")
}

/// Parses the output of [`far`] only.
fn read_far(text: &str) -> Option<Timestamp> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let Day(day) = day.parse().ok()?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut seconds = 0;
    for part in time.split(':') {
        seconds = seconds * 60 + part.parse::<u8>().ok().map(i128::from)?;
    }
    let micro: i128 = format!("{fraction:0<6}").parse().ok()?;
    let micros = Timestamp(i64::try_from((i128::from(day) * 86_400 + seconds) * 1_000_000 + micro).ok()?);
    (micros.to_string() == text).then_some(micros)
}

/// A day, counted from 1970-01-01 in UTC. Its text, also in JSON, is the date: `2026-11-16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub i64);

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom(format!("not a date as 2026-11-16: {text}")))
    }
}

impl JsonSchema for Day {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date" })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years begin in March here, so that a leap day is the last of its year; an era has 400 years.
        let days = self.0.saturating_add(719_468);
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        match (0..=9_999).contains(&year) {
            true => write!(formatter, "{year:04}-{month:02}-{day:02}"),
            false => write!(formatter, "{year:+07}-{month:02}-{day:02}"),
        }
    }
}

impl FromStr for Day {
    type Err = TimeProblem;

    fn from_str(text: &str) -> Result<Self, TimeProblem> {
        let mut parts = text.rsplitn(3, '-').map(|part| part.parse::<i32>().map_err(|_| TimeProblem));
        let mut part = || parts.next().ok_or(TimeProblem)?.map(i64::from);
        let (day, month, year) = (part()?, part()?, part()?);
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5 + day - 1;
        let found = Self(era * 146_097 + day_of_era - 719_468);
        if found.to_string() == text { Ok(found) } else { Err(TimeProblem) }
    }
}

impl FromStr for Timestamp {
    type Err = TimeProblem;

    fn from_str(text: &str) -> Result<Self, TimeProblem> {
        match text.parse::<jiff::Timestamp>() {
            Ok(timestamp) => Ok(Self(timestamp.as_microsecond())),
            Err(_) => read_far(text).or_else(|| text.parse().map(Self).ok()).ok_or(TimeProblem),
        }
    }
}

/// A text that is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time looks like 2026-11-16T08:00:00Z")]
pub struct TimeProblem;

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => serializer.serialize_i64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
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

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time as RFC 3339 text in UTC, with a fraction of up to six digits where it has one.",
            "type": "string",
            "format": "date-time",
        })
    }
}

/// A moment together with how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// The moment.
    pub at: Timestamp,
    /// How it is known.
    #[serde(default, skip_serializing_if = "is_exact")]
    pub source: TimeSource,
}

fn is_exact(known: &TimeSource) -> bool {
    *known == TimeSource::Exact
}

impl Time {
    /// Returns a time that was recorded when it happened.
    pub const fn exact(micros: i64) -> Self {
        Self { at: Timestamp(micros), source: TimeSource::Exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_before_1970_belongs_to_the_day_before() {
        assert_eq!(Timestamp(-1).day(), -1);
        assert_eq!(Timestamp(0).day(), 0);
        assert_eq!(Timestamp(86_400_000_000).day(), 1);
    }

    #[test]
    fn every_moment_survives_json() {
        for micros in [0, -1, 1, 1_763_280_000_250_000, -62_135_596_800_000_001, i64::MAX, i64::MIN] {
            let text = serde_json::to_string(&Timestamp(micros)).expect("a moment is JSON");
            assert_eq!(serde_json::from_str::<Timestamp>(&text).expect("our own text"), Timestamp(micros), "{text}");
        }
        assert_eq!(Timestamp(1_763_280_000_250_000).to_string(), "2025-11-16T08:00:00.25Z");
        assert_eq!(serde_json::to_string(&Timestamp(0)).ok().as_deref(), Some("\"1970-01-01T00:00:00Z\""));
        assert_eq!("2025-11-16T16:00:00+08:00".parse(), Ok(Timestamp(1_763_280_000_000_000)));
        assert_eq!("yesterday".parse::<Timestamp>(), Err(TimeProblem));
    }

    #[test]
    fn moment_of_a_far_year_is_text_as_well() {
        assert_eq!(Timestamp(i64::MAX).to_string(), "+294247-01-10T04:00:54.775807Z");
        assert_eq!(Timestamp(i64::MIN).to_string(), "-290308-12-21T19:59:05.224192Z");
        for micros in [i64::MIN, i64::MAX, 253_402_300_800_000_000, -377_705_116_800_000_001] {
            let text = serde_json::to_string(&Timestamp(micros)).expect("a moment is JSON");
            assert!(text.starts_with('"'), "{text}");
            assert_eq!(serde_json::from_str::<Timestamp>(&text).expect("our own text"), Timestamp(micros), "{text}");
        }
        for text in ["+294247-01-10T04:00:54.775808Z", "+012026-13-01T00:00:00Z", "+012026-01-01T24:00:00Z", "T", "Z"] {
            assert_eq!(text.parse::<Timestamp>(), Err(TimeProblem), "{text}");
        }
    }

    #[test]
    fn day_is_written_as_the_date_of_its_moments() {
        for micros in
            [0, -1, 951_782_400_000_000, 1_709_164_800_000_000, 1_763_280_000_000_000, -62_135_596_800_000_001]
        {
            let (day, moment) = (Day(Timestamp(micros).day()), Timestamp(micros).to_string());
            assert_eq!(Some((day.to_string().as_str(), "T")), moment.find('T').map(|end| (&moment[..end], "T")));
            assert_eq!(day.to_string().parse(), Ok(day));
        }
        assert_eq!("2026-02-29".parse::<Day>(), Err(TimeProblem));
    }
}
