//! The data model of Manent and its pure rules: no I/O, no SQL, no async.
//!
//! Read in this order: a [`conversation`] has branches; a branch is a sequence of [`message`]s at [`address`]es; the
//! branches and a head make a [`path`]; a message has [`part`]s. The other types are attached to these or stored
//! beside them, and [`search`] finds text in them.

mod base32;
pub mod id;
pub mod time;
mod raw;
pub mod json;
pub mod part;
pub mod address;
pub mod path;
pub mod message;
mod content_json;
pub mod conversation;
pub mod tool_call;
pub mod nouns;
pub mod realm;
pub mod stats;
pub mod name;
pub mod words;
pub mod search;
pub mod key;
pub mod tenant;
pub mod digest;
pub mod hex;
pub mod mark;

pub use address::{Address, BranchNo, Range};
pub use conversation::{
    Conversation, ConversationDraft, ConversationKind, ConversationPatch, ConversationStatus, ConversationTimes,
};
pub use digest::{Digest, DigestKey};
pub use id::{
    BranchId, CallId, ConversationId, FoldId, IdProblem, InputId, KeyId, MemoryId, MessageId, NoteId, ProjectId,
    SourceId, TenantId,
};
pub use json::{Json, JsonProblem};
pub use key::{Key, KeyDigest, KeyDraft, KeyWord};
pub use message::{Author, Content, Message, MessageStatus, NewMessage, Seen};
pub use name::{NameProblem, check_name};
pub use nouns::{
    Bookmark, Call, CallOutcome, Document, Event, Fold, FoldKind, Input, Lease, Memory, Note, Origin, OriginObject,
    Project, ProjectPatch, Quarantined, Scratch, Source, State, Stretch,
};
pub use part::{Body, Extra, Part};
pub use path::{Base, Branch, Branches, Head, Piece, Sums};
pub use realm::{KeyScope, KeyScopes, Realm};
pub use stats::{Stats, Tally};
pub use tenant::{AuditActor, AuditEntry, DEFAULT_TENANT, Tenant, TenantStatus, User};
pub use time::{Day, Known, Micros, Time};
pub use tool_call::{ToolCall, ToolState, ToolStep};
pub use words::count_words;
