//! Times as people write them: `2026-11`, `7d`, `yesterday`, in their own time zone.

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Zoned};
use manent_model::time::Timestamp;

/// The values that `before:` and `after:` accept.
pub(crate) const EXPECTED: &str = "a date such as 2026, 2026-11, 2026-11-17, 7d, 24h, 2w, 3mo, 1y, today or yesterday";

/// The current time and the user's offset from UTC; this crate reads no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// The current time.
    pub now: Timestamp,
    /// The offset of the user's time zone from UTC.
    pub offset_seconds: i32,
}

impl Clock {
    /// Parses a time relative to this clock.
    pub(crate) fn timestamp(self, text: &str) -> Option<Timestamp> {
        let zone = TimeZone::fixed(Offset::from_seconds(self.offset_seconds).ok()?);
        parse_time(text, &jiff::Timestamp::from_microsecond(self.now.0).ok()?.to_zoned(zone))
    }
}

/// Parses a time: a date is its midnight in the zone of `now`, a span ends at `now`.
pub fn parse_time(text: &str, now: &Zoned) -> Option<Timestamp> {
    let text = text.to_ascii_lowercase();
    let zoned = match text.as_str() {
        "now" => now.clone(),
        "today" => now.start_of_day().ok()?,
        "yesterday" => now.yesterday().ok()?.start_of_day().ok()?,
        _ => {
            return calendar_date(&text, now).or_else(|| date_time(&text, now)).or_else(|| {
                let then = now.checked_sub(parse_span(&text)?).ok()?;
                Some(from_zoned(&then))
            });
        }
    };
    Some(from_zoned(&zoned))
}

/// Parses a time in the future: a span begins at `now`.
pub fn parse_future_time(text: &str, now: &Zoned) -> Option<Timestamp> {
    match parse_span(text) {
        Some(span) => now.checked_add(span).ok().map(|then| from_zoned(&then)),
        None => parse_time(text, now),
    }
}

/// Parses a span such as `7d`, `3mo` or `1h30m`.
fn parse_span(text: &str) -> Option<Span> {
    let begins_with_digit = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
    text.parse::<Span>().ok().filter(|span| begins_with_digit && !span.is_negative())
}

fn from_zoned(zoned: &Zoned) -> Timestamp {
    Timestamp(zoned.timestamp().as_microsecond())
}

/// A year, a month or a day, with all their digits.
fn calendar_date(text: &str, now: &Zoned) -> Option<Timestamp> {
    let mut numbers = text.split('-').zip([4, 2, 2]).map(|(digits, width)| {
        let is_number = digits.len() == width && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { digits.parse::<i16>().ok() } else { None }
    });
    let (year, month, day) = (numbers.next()??, numbers.next().unwrap_or(Some(1))?, numbers.next().unwrap_or(Some(1))?);
    if text.split('-').count() > 3 {
        return None;
    }
    let date = Date::new(year, month as i8, day as i8).ok()?;
    date.to_zoned(now.time_zone().clone()).ok().map(|midnight| from_zoned(&midnight))
}

/// A date and time, in the zone of `now` unless it has its own.
fn date_time(text: &str, now: &Zoned) -> Option<Timestamp> {
    if !text.contains('t')
        || !text.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'+' || *byte == b'-')
    {
        return None;
    }
    let local =
        || text.parse::<DateTime>().ok()?.to_zoned(now.time_zone().clone()).ok().map(|zoned| from_zoned(&zoned));
    text.parse().ok().or_else(local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, offset_seconds: i32) -> String {
        let now = "2026-03-31T20:30:00Z".parse().expect("a time");
        Clock { now, offset_seconds }.timestamp(text).map_or("none".to_owned(), |time| time.to_string())
    }

    #[test]
    fn dates_are_those_of_the_person_who_asks() {
        for (text, offset, expected) in [
            ("2026", 0, "2026-01-01T00:00:00Z"),
            ("2026-11", 0, "2026-11-01T00:00:00Z"),
            ("2026-11-17", 0, "2026-11-17T00:00:00Z"),
            ("2026-11-17", 8 * 3600, "2026-11-16T16:00:00Z"),
            ("today", 0, "2026-03-31T00:00:00Z"),
            ("today", 8 * 3600, "2026-03-31T16:00:00Z"),
            ("Yesterday", 8 * 3600, "2026-03-30T16:00:00Z"),
            ("2026-11-17T10:00", 3600, "2026-11-17T09:00:00Z"),
            ("2026-11-17T10:00:00Z", 3600, "2026-11-17T10:00:00Z"),
            ("2026-11-17T10:00:00+02:00", 3600, "2026-11-17T08:00:00Z"),
            ("90m", 0, "2026-03-31T19:00:00Z"),
            ("1d12h", 0, "2026-03-30T08:30:00Z"),
            ("24h", 0, "2026-03-30T20:30:00Z"),
            ("7d", 0, "2026-03-24T20:30:00Z"),
            ("2w", 0, "2026-03-17T20:30:00Z"),
            ("1mo", 0, "2026-02-28T20:30:00Z"),
            ("1y", 0, "2025-03-31T20:30:00Z"),
        ] {
            assert_eq!(shown(text, offset), expected, "{text}");
        }
        for text in [
            "",
            "soon",
            "26",
            "2026-13",
            "2026-02-30",
            "2026-1",
            "2026-11-17-1",
            "d",
            "-3d",
            "99999999y",
            "20261",
            "٢٠٢٦",
        ] {
            assert_eq!(shown(text, 0), "none", "{text}");
        }
        assert_eq!(shown("today", i32::MAX), "none");
    }
}
