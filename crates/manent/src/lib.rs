//! Manent, the database for AI conversations: one durable store for chats, agent runs and role-play.
//!
//! ```
//! # async fn example() -> manent::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("manent-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).expect("a temporary folder");
//! # let path = folder.join("chats.db");
//! use manent::{ConversationDraft, Database, MessageDraft, Scope};
//!
//! let database = Database::open(&path)?;
//! let draft = ConversationDraft { title: "天气".into(), ..Default::default() };
//! let chat = database.create(draft).await?.id;
//!
//! database.append(chat, MessageDraft::user("北京今天天气怎么样？")).await?;
//! let answer = database.append(chat, MessageDraft::assistant("晴，25 度。")).await?;
//!
//! // Ask again: the old answer stays as an alternative.
//! database.regenerate(chat, answer, MessageDraft::assistant("多云，22 度。")).await?;
//! assert_eq!(database.siblings(answer).await?.len(), 2);
//!
//! // Everything can be taken back.
//! database.undo(Scope::Conversation(chat)).await?;
//! let page = database.last(chat, 50).await?;
//! assert_eq!(page.messages[1].content.body.words(), "晴，25 度。");
//! # database.close().await?;
//! # std::fs::remove_dir_all(&folder).expect("our own folder");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod error;
mod ulid;
mod message_draft;
mod location;
mod database;
mod conversation;
mod message;
mod stream;
mod annotations;
mod run;
mod undo;
mod resolve;
mod draft;
mod project;
mod library;
mod blob;
mod journal;
mod search;
mod maintenance;
mod backup;
mod erase;
pub mod jsonl;
pub mod import;
pub mod export;
mod tenants;

pub use annotations::FoldDraft;
pub use backup::BackupPlan;
pub use blob::BlobReader;
pub use database::Database;
pub use erase::{ErasedContent, Kept, OldBackups};
pub use error::{Error, Result};
pub use export::{DiskOut, DownloadBundle, ExportPlan, Exported, Lost, Replace, StagedFile};
pub use import::{FileImportReport, ImportMode};
pub use jsonl::{ExportSelection, ImportProblem, JsonlImportReport, LinesReport};
pub use library::MemoryDraft;
pub use location::Location;
pub use manent_formats as formats;
pub use manent_model as model;
pub use manent_model::{
    Author, Body, BranchId, CallId, CallOutcome, Conversation, ConversationDraft, ConversationId, ConversationKind,
    ConversationPatch, ConversationStatus, Document, Event, FoldId, FoldKind, InputId, Json, Memory, MemoryId, Message,
    MessageId, MessageRange, MessageStatus, NoteId, Origin, Part, Project, ProjectId, ProjectPatch, Quarantined,
    Source, SourceId, Stats, Time, Timestamp, ToolCall, ToolState,
};
pub use manent_store as store;
pub use manent_store::{
    Annotations, AnnotationsCursor, AnnotationsQuery, BackupReport, BoundedCount, BranchInfo, Change, Committed,
    Conflict, ContextMessage, ConversationPage, CountMode, Coverage, CursorProblem, DamagedRecord, Direction,
    DoctorReport, EraseTarget, EventsQuery, Expect, Finish, Grouping, Hit, Include, IndexStatus, JournalEntry,
    JournalKind, JournalPage, JournalQuery, ListCursor, ListOrder, ListQuery, LocatedMessage, MemoriesQuery,
    MessagePage, OriginsQuery, Position, Receipt, SearchCursor, SearchOrder, SearchPage, StatsQuery, StoreError,
    ToolCallTrail, Transaction, UndoScope, VerifyReport,
};
pub use manent_text as text;
pub use message::FollowUps;
pub use message_draft::MessageDraft;
pub use run::CallDraft;
pub use search::SearchQuery;
pub use stream::STREAM_LEASE;
pub use tenants::{AuthenticatedKey, Erasure, Refusal, Tenants};
pub use ulid::request_key;
pub use undo::{UndoStep, UndoSteps};
