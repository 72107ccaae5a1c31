//! Before-images: the old value of every row that a change touches, kept in the journal so that undo is a new commit.
//!
//! Undo swaps: it restores a before-image and records the replaced value as its own, so redo is the undo of an undo.
//! The encoding is positional and permanent on disk: a new need is a new variant at the end, never a new field.

use manent_model::{Digest, DigestKey};
use serde::{Deserialize, Serialize};

/// Tables whose rows can be withdrawn and restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum SoftDeletable {
    Conversation,
    Project,
    Note,
    State,
    Fold,
    ModelCall,
    ToolStep,
    Event,
    Input,
    Document,
    Memory,
    Source,
    Origin,
    Quarantine,
}

/// One old value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BeforeImage {
    /// The head of a conversation with everything that an append moves.
    Head { conversation_no: i64, branch_no: i64, key: i64, active_at: i64 },
    /// Whether a row is withdrawn.
    Flag { table: SoftDeletable, key: i64, withdrawn: bool },
    /// The metadata of a conversation.
    Conversation(Box<ConversationImage>),
    /// A bookmark, if there was one.
    Bookmark { conversation_no: i64, name: String, row: Option<BookmarkImage> },
    /// A tool call, if there was one.
    ToolCall { key: i64, part: i64, row: Option<ToolCallImage> },
    /// Whether a fold is in force.
    FoldActive { no: i64, active: bool },
    /// The commit that took an input.
    InputTaken { no: i64, taken_pos: Option<i64> },
    /// The metadata of a project.
    Project { no: i64, name: String, body: Vec<u8> },
    /// The location and text of a memory; written before authors were recorded, replaced by the next variant.
    Memory { no: i64, row: MemoryImage },
    /// The same, with its author.
    MemoryBy { no: i64, row: MemoryImage, actor_no: Option<i64> },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationImage {
    pub no: i64,
    pub project_no: Option<i64>,
    pub status: i64,
    pub title: String,
    pub pinned: bool,
    pub created_at: i64,
    pub active_at: i64,
    pub trashed_at: Option<i64>,
    pub body: Option<Vec<u8>>,
    pub tags: Vec<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BookmarkImage {
    pub branch_no: i64,
    pub key: i64,
    pub at: i64,
    pub body: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolCallImage {
    pub conversation_no: i64,
    pub call_id: String,
    pub name: String,
    pub state: i64,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryImage {
    pub collection_no: i64,
    pub project_no: Option<i64>,
    pub conversation_no: Option<i64>,
    pub key: Option<i64>,
    pub external: Option<String>,
    pub body: Vec<u8>,
}

const ENCODING: u8 = 1;
const ERASED: u8 = 0xFF;

/// Writes images for the journal; nothing at all where there are none.
pub(crate) fn encode(images: &[BeforeImage]) -> Option<Vec<u8>> {
    if images.is_empty() {
        return None;
    }
    let bytes = postcard::to_extend(images, vec![ENCODING]).expect("images are plain data");
    Some(bytes)
}

/// Reads images; `None` if they were scrubbed by an erasure or cannot be read.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<BeforeImage>> {
    match bytes.split_first() {
        Some((&ENCODING, rest)) => postcard::from_bytes(rest).ok(),
        _ => None,
    }
}

/// Says whether an erasure emptied the images of a journal row.
pub(crate) fn is_erased(before: &[u8]) -> bool {
    before.first() == Some(&ERASED)
}

/// Returns the digest of a before-image for the chain; it is kept when the before-image is scrubbed.
pub(crate) fn digest(key: &DigestKey, before: Option<&[u8]>) -> Digest {
    match before {
        Some([ERASED, digest @ ..]) if digest.len() == 16 => {
            let mut short = [0; 16];
            short.copy_from_slice(digest);
            Digest(short)
        }
        before => key.digest(&[b"before", before.unwrap_or_default()]),
    }
}

/// Returns the scrubbed form of a before-image: only its digest, so that the chain still verifies.
pub(crate) fn erased(key: &DigestKey, before: &[u8]) -> Vec<u8> {
    let mut left = vec![ERASED];
    left.extend_from_slice(&digest(key, Some(before)).0);
    left
}
