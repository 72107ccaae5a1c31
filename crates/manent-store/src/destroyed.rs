//! What went when a store was destroyed.

/// What went when a store was destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Destroyed {
    /// Conversations, wherever they were in their life.
    pub conversations: i64,
    /// Messages, on whatever branch.
    pub messages: i64,
    /// Rows of a server, all together.
    pub rows: i64,
    /// Files.
    pub files: i64,
    /// Their bytes.
    pub bytes: i64,
}
