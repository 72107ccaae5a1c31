//! The data model of Manent and its pure rules: no I/O, no SQL, no async.
//!
//! Read in this order: a [`conversation`] has branches; a branch is a sequence of [`message`]s at [`address`]es; the
//! branches and a head make a [`path`]; a message has [`part`]s. The other types are
//! [`annotation`]s of conversations, records of agent [`run`]s, or [`library`] objects beside them.

mod base32;
pub mod id;
pub mod time;
pub mod json_slice;
pub mod json;
pub mod part;
pub mod address;
pub mod path;
pub mod message;
mod content_json;
pub mod conversation;
pub mod tool_call;
pub mod annotation;
pub mod run;
pub mod library;
pub mod access_scope;
pub mod stats;
pub mod name;
pub mod word_count;
pub mod key;
pub mod tenant;
pub mod digest;
pub mod hex;
pub mod blob_placeholder;

pub use access_scope::{AccessScope, KeyScope, KeyScopes};
pub use address::{Address, BranchNo, Range};
pub use annotation::{Bookmark, Fold, FoldKind, MessageRange, Note, State};
pub use conversation::{
    Conversation, ConversationDraft, ConversationKind, ConversationPatch, ConversationStatus, ConversationTimes,
};
pub use digest::{Digest, DigestKey};
pub use id::{
    BranchId, CallId, ConversationId, FoldId, IdProblem, InputId, KeyId, MemoryId, MessageId, NoteId, ProjectId,
    SourceId, TenantId,
};
pub use json::{Json, JsonProblem};
pub use key::{ApiKeySecret, Key, KeyDigest, KeyDraft};
pub use library::{Document, Memory, Origin, OriginObject, Project, ProjectPatch, Quarantined, Scratch, Source};
pub use message::{Author, Content, Message, MessageStatus, NewMessage, Visibility};
pub use name::{NameProblem, check_name};
pub use part::{Body, Extra, Part};
pub use path::{Base, Branch, Branches, Head, Piece, Sums};
pub use run::{Call, CallOutcome, Event, Input, Lease};
pub use stats::{Stats, Tally};
pub use tenant::{AuditActor, AuditEntry, DEFAULT_TENANT, Tenant, TenantStatus, User};
pub use time::{Day, Time, TimeSource, Timestamp};
pub use tool_call::{ToolCall, ToolState, ToolStep};
pub use word_count::count_words;
