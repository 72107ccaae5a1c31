//! Redaction of API keys and passwords in exports.
//!
//! Two things count as a secret: the value of a field with the name of one, and text that looks like a provider's API
//! key. Neither is certain, so a redacted export must still be reviewed before it is shared.

mod library;
mod lines;
mod text;

pub use library::RedactedSource;
pub use lines::RedactedLines;
pub use text::redact;

/// Treatment of keys and passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// They are written like everything else.
    #[default]
    Keep,
    /// Something else is written in their places.
    Remove,
}
