//! Time formats of other programs: with or without time zone, in seconds or milliseconds.

use manent_model::Timestamp;

/// Reads a time. Text without a zone is taken as UTC; the source text is kept beside it, so nothing is lost by that.
pub fn moment(text: &str) -> Option<Timestamp> {
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(timestamp.as_microsecond()));
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    Some(Timestamp(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond()))
}

/// Reads milliseconds since 1970.
pub fn millis(number: i64) -> Option<Timestamp> {
    number.checked_mul(1_000).map(Timestamp)
}

/// Writes a time as JavaScript does: `2024-01-01T00:00:00.000Z`.
pub fn iso(micros: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(micros.0) {
        Ok(timestamp) => format!("{timestamp:.3}"),
        Err(_) => micros.to_string(),
    }
}

/// Milliseconds since 1970.
pub fn to_millis(micros: Timestamp) -> i64 {
    micros.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_time_is_read() {
        let at = |text: &str| moment(text).map(|micros| micros.0);
        assert_eq!(at("2024-01-01T00:00:00.000Z"), Some(1_704_067_200_000_000));
        assert_eq!(at("2026-06-06T14:25:01.838658300+00:00"), Some(1_780_755_901_838_658));
        assert_eq!(at("2026-11-15T19:31:48.004807"), Some(1_794_771_108_004_807));
        assert_eq!(at("2026-11-15 19:31:48"), Some(1_794_771_108_000_000));
        assert_eq!(at("yesterday"), None);
        assert_eq!(iso(Timestamp(1_704_067_200_000_000)), "2024-01-01T00:00:00.000Z");
        assert_eq!(iso(Timestamp(1_704_067_200_123_999)), "2024-01-01T00:00:00.123Z");
    }
}
