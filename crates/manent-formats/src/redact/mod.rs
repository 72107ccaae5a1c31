//! Keys and passwords, taken out of what is written for others to see.
//!
//! Two things are taken for a secret: whatever stands in a member that is called one, and whatever looks like a key of a
//! provider wherever it stands. Neither is certain, so an export without them is still to be read before it is shown.

mod library;
mod lines;
mod text;

pub use library::Redacted;
pub use lines::RedactedLines;
pub use text::redact;

/// What becomes of keys and passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// They are written like everything else.
    #[default]
    Keep,
    /// Something else is written in their places.
    Remove,
}
