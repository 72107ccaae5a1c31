//! Dates in a query: `2026-11`, `7d`, `yesterday`, in the local time of the user.

use crate::time::Micros;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use jiff::{Span, Timestamp};

/// The values that `before:` and `after:` accept.
pub(super) const EXPECTED: &str = "a date such as 2026, 2026-11, 2026-11-17, 7d, 24h, 2w, 3mo, 1y, today or yesterday";

/// When and where a query is asked; this crate has no clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// The moment.
    pub now: Micros,
    /// How far the person's clock is ahead of UTC.
    pub offset_seconds: i32,
}

impl Clock {
    /// Returns the moment that a text names: a date begins at its midnight, a span ends now.
    pub(super) fn moment(self, text: &str) -> Option<Micros> {
        let text = text.to_ascii_lowercase();
        let moment = match text.as_str() {
            "today" => self.midnight(self.today()?),
            "yesterday" => self.midnight(self.today()?.yesterday().ok()?),
            _ => self.date(&text).or_else(|| self.date_time(&text)).or_else(|| self.ago(&text)),
        };
        moment.map(|moment| Micros(moment.as_microsecond()))
    }

    fn offset(self) -> Option<Offset> {
        Offset::from_seconds(self.offset_seconds).ok()
    }

    fn local(self) -> Option<DateTime> {
        let now = Timestamp::from_microsecond(self.now.0).ok()?;
        Some(self.offset()?.to_datetime(now))
    }

    fn today(self) -> Option<Date> {
        self.local().map(|local| local.date())
    }

    fn midnight(self, date: Date) -> Option<Timestamp> {
        self.offset()?.to_timestamp(date.to_datetime(Time::midnight())).ok()
    }

    /// A year, a month or a day, with all their digits.
    fn date(self, text: &str) -> Option<Timestamp> {
        let mut numbers = text.split('-').zip([4, 2, 2]).map(|(digits, width)| match digits.len() == width {
            true if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse::<i16>().ok(),
            _ => None,
        });
        let (year, month, day) =
            (numbers.next()??, numbers.next().unwrap_or(Some(1))?, numbers.next().unwrap_or(Some(1))?);
        if text.split('-').count() > 3 {
            return None;
        }
        self.midnight(Date::new(year, month as i8, day as i8).ok()?)
    }

    fn date_time(self, text: &str) -> Option<Timestamp> {
        match text.contains('t') {
            true => text.parse().ok().or_else(|| self.offset()?.to_timestamp(text.parse().ok()?).ok()),
            false => None,
        }
    }

    fn ago(self, text: &str) -> Option<Timestamp> {
        let unit = text.find(|character: char| !character.is_ascii_digit())?;
        let count: i64 = text[..unit].parse().ok()?;
        let span = match &text[unit..] {
            "h" => Span::new().try_hours(count),
            "d" => Span::new().try_days(count),
            "w" => Span::new().try_weeks(count),
            "mo" => Span::new().try_months(count),
            "y" => Span::new().try_years(count),
            _ => return None,
        };
        let then = self.local()?.checked_sub(span.ok()?).ok()?;
        self.offset()?.to_timestamp(then).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, offset_seconds: i32) -> String {
        let now = "2026-03-31T20:30:00Z".parse().expect("a time");
        Clock { now, offset_seconds }.moment(text).map_or("none".to_owned(), |moment| moment.to_string())
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
            "7m",
            "99999999y",
            "20261",
            "٢٠٢٦",
        ] {
            assert_eq!(shown(text, 0), "none", "{text}");
        }
        assert_eq!(shown("today", i32::MAX), "none");
    }
}
