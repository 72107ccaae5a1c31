//! Keyset cursor of a page of conversations.

use crate::api::cursor_serde::serde_as_text;
use manent_model::{ConversationId, Timestamp, hex};
use std::fmt;
use std::str::FromStr;

/// The last conversation of a page, with its sort key.
///
/// Outside it is an opaque text that needs no escaping in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// Pinned.
    pub pinned: bool,
    /// When something was last said.
    pub active_at: Timestamp,
    /// The conversation.
    pub id: ConversationId,
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid list cursor")]
pub struct CursorProblem;

impl fmt::Display for ListCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![u8::from(self.pinned)];
        bytes.extend_from_slice(&self.active_at.0.to_be_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        formatter.write_str(&hex::encode(&bytes))
    }
}

impl FromStr for ListCursor {
    type Err = CursorProblem;

    fn from_str(text: &str) -> Result<Self, CursorProblem> {
        let bytes: [u8; 25] = hex::decode(text).and_then(|bytes| bytes.try_into().ok()).ok_or(CursorProblem)?;
        let (mut active_at, mut id) = ([0; 8], [0; 16]);
        active_at.copy_from_slice(&bytes[1..9]);
        id.copy_from_slice(&bytes[9..]);
        let pinned = match bytes[0] {
            0 => false,
            1 => true,
            _ => return Err(CursorProblem),
        };
        Ok(Self { pinned, active_at: Timestamp(i64::from_be_bytes(active_at)), id: ConversationId::from_bytes(id) })
    }
}

serde_as_text!(ListCursor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_down() {
        for (pinned, micros) in [(true, 0), (false, -1), (true, i64::MAX), (false, i64::MIN)] {
            let cursor = ListCursor { pinned, active_at: Timestamp(micros), id: ConversationId::new(7, [9; 10]) };
            let text = cursor.to_string();
            assert_eq!(text.parse(), Ok(cursor));
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        for rubbish in ["", "00", "zz", &"02".repeat(25), &"00".repeat(26)] {
            assert_eq!(rubbish.parse::<ListCursor>(), Err(CursorProblem));
        }
    }
}
