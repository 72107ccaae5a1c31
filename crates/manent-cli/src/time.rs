//! Times as users enter and read them.

use anyhow::{Context, Result};
use jiff::{Unit, Zoned};
use manent::model::Timestamp;
use manent::text::{parse_future_time, parse_time};

/// Parses a time, such as `2026-11-16T08:00:00Z`, `2026-11-16`, `yesterday`, `90m` or `7d`.
pub fn read(text: &str, now: &Zoned) -> Result<Timestamp> {
    parse_time(text, now).with_context(|| unreadable(text))
}

/// Parses a time in the future; a span begins now.
pub fn read_future(text: &str, now: &Zoned) -> Result<Timestamp> {
    parse_future_time(text, now).with_context(|| unreadable(text))
}

fn unreadable(text: &str) -> String {
    format!("invalid time {text:?}; expected a time such as 2026-11-16, 2026-11-16T08:00:00Z, yesterday, 7d or 3h")
}

/// Shows how long ago something was, or the day if that was long ago.
pub fn ago(at: Timestamp, now: &Zoned) -> String {
    let Ok(timestamp) = jiff::Timestamp::from_microsecond(at.0) else { return at.to_string() };
    let then = timestamp.to_zoned(now.time_zone().clone());
    let seconds = now.timestamp().as_second() - timestamp.as_second();
    let days = then.date().until((Unit::Day, now.date())).map_or(i64::MAX, |span| i64::from(span.get_days()));
    match (seconds, days) {
        (..0, _) => then.strftime("%Y-%m-%d %H:%M").to_string(),
        (0..60, _) => "just now".to_owned(),
        (60..3600, _) => format!("{} min ago", seconds / 60),
        (_, 0) => format!("{} h ago", seconds / 3600),
        (_, 1) => then.strftime("yesterday %H:%M").to_string(),
        (_, 2..7) => then.strftime("%A %H:%M").to_string(),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// Shows a moment to the minute, in the zone of the reader.
pub fn exact(at: Timestamp, now: &Zoned) -> String {
    match jiff::Timestamp::from_microsecond(at.0) {
        Ok(timestamp) => timestamp.to_zoned(now.time_zone().clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manent::text::{Clock, Query};

    fn now() -> Zoned {
        "2026-11-16T08:30:00[Asia/Shanghai]".parse().expect("a moment")
    }

    #[test]
    fn people_say_times_in_many_ways() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text, &now()).expect(text).to_string(), expected, "{text}");
        };
        check("2026-11-16T00:00:00Z", "2026-11-16T00:00:00Z");
        check("2026-11-01", "2026-10-31T16:00:00Z");
        check("today", "2026-11-15T16:00:00Z");
        check("yesterday", "2026-11-14T16:00:00Z");
        check("7d", "2026-11-09T00:30:00Z");
        check("90min", "2026-11-15T23:00:00Z");
        check("3mo", "2026-08-16T00:30:00Z");
        for wrong in ["", "soon", "99999999999999999999d", "9223372036854775807d", "2026-13-01"] {
            assert!(read(wrong, &now()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn since_and_search_filters_read_times_alike() {
        let now = now();
        let clock = Clock { now: Timestamp(now.timestamp().as_microsecond()), offset_seconds: now.offset().seconds() };
        let filter = |time: &str| format!("{:?}", Query::parse(&format!("after:{time}"), clock).expect(time));
        for text in [
            "7m",
            "90m",
            "3h",
            "7d",
            "2w",
            "3mo",
            "1y",
            "1d12h",
            "2026",
            "2026-10",
            "2026-10-17",
            "today",
            "yesterday",
            "2026-10-17T08:00:00Z",
        ] {
            assert_eq!(filter(text), filter(&read(text, &now).expect(text).to_string()), "{text}");
        }
        assert_eq!(read("7m", &now).expect("minutes").to_string(), "2026-11-16T00:23:00Z");
    }

    #[test]
    fn a_reader_sees_how_long_ago() {
        let check = |text: &str, expected: &str| {
            assert_eq!(ago(text.parse().expect("a moment"), &now()), expected, "{text}");
        };
        check("2026-11-16T00:29:30Z", "just now");
        check("2026-11-16T00:10:00Z", "20 min ago");
        check("2026-11-15T20:30:00Z", "4 h ago");
        check("2026-11-15T06:02:00Z", "yesterday 14:02");
        check("2026-11-12T01:00:00Z", "Thursday 09:00");
        check("2026-01-12T01:00:00Z", "2026-01-12");
        check("9223372036854775807", "+294247-01-10T04:00:54.775807Z");
    }
}
