//! The system clock.

use manent_model::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
